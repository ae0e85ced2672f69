//! A file, and a folder that is served.

use futures_util::StreamExt;
use netblt_client::{Client, Options, Progress, Rate, Server, ServerOptions, Transfer};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long to wait for what has to happen.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct Scene {
    pub folder: tempfile::TempDir,
    pub bytes: Vec<u8>,
    /// BLAKE3 of the bytes, by its own crate.
    pub digest: String,
}

impl Scene {
    pub fn new(len: usize) -> Scene {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("served")).unwrap();
        let bytes: Vec<u8> = (0..len as u64)
            .map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8)
            .collect();
        std::fs::write(folder.path().join("file"), &bytes).unwrap();
        let digest = blake3::hash(&bytes).to_hex().to_string();
        Scene { folder, bytes, digest }
    }
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(folder)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
    pub fn serve(&self, options: ServerOptions) -> Server {
        Server::start(self.path("served"), &on_any_port(options)).unwrap()
    }
}

pub fn on_any_port(options: ServerOptions) -> ServerOptions {
    ServerOptions { listen: Some("127.0.0.1:0".parse().unwrap()), ..options }
}

pub fn client(server: &Server, options: Options) -> Client {
    Client::new(&server.address().to_string(), options)
}

/// 8 Mb/s, so that there is a middle: a million bytes take a second.
pub fn slow() -> Options {
    Options { rate: Rate::Fixed(8e6), death_timer_s: 1, ..Options::default() }
}

/// Polls a transfer until so many bytes are there.
pub async fn until<T: Send + 'static>(transfer: &mut Transfer<T>, bytes: u64) -> Progress {
    let mut watch = transfer.handle().progress_stream();
    loop {
        let next = futures_util::future::select(&mut *transfer, watch.next()).await;
        match next {
            futures_util::future::Either::Left(_) => panic!("over before {bytes} bytes"),
            futures_util::future::Either::Right((Some(progress), _))
                if progress.done_bytes >= bytes =>
            {
                return progress;
            }
            futures_util::future::Either::Right((progress, _)) => assert!(progress.is_some()),
        }
    }
}

pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Another process with one test of this program, which is left out otherwise.
pub fn in_another_process(test: &str, folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"])
        .env("NETBLT_FOLDER", folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}
