//! A server of PostgreSQL that is restarted while runs come in: nothing is lost, nothing is there twice.

use crate::common::run_folder;
use fleet::{Ingested, Origin, RunRecord, Store};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Debian has the server's programs in a folder of their own.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let folders = versions.filter_map(|version| Some(version.ok()?.path().join("bin")));
    folders.filter(|folder| folder.join("postgres").exists()).max()
}

/// A server in a scratch folder, reached by a Unix socket alone.
struct Server {
    folder: tempfile::TempDir,
    programs: PathBuf,
    /// The server refuses to run as root.
    user: Option<u32>,
}

impl Server {
    fn start() -> Option<Server> {
        let Some(programs) = programs() else {
            println!("skipped: no PostgreSQL; make setup installs it");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let user = nix::unistd::geteuid().is_root().then_some(65534);
        if let Some(user) = user {
            std::os::unix::fs::chown(folder.path(), Some(user), Some(user)).unwrap();
        }
        let server = Server { folder, programs, user };
        server.run("initdb", &["-D", "data", "-U", "lab", "-A", "trust", "--no-sync"]);
        server.go();
        Some(server)
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let mut command = Command::new(self.programs.join(program));
        command.args(arguments).current_dir(self.folder.path());
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        let log = std::fs::File::create(self.folder.path().join(format!("{program}.out"))).unwrap();
        let status = command.stdout(log.try_clone().unwrap()).stderr(log).status().unwrap();
        let said = std::fs::read_to_string(self.folder.path().join(format!("{program}.out")));
        assert!(status.success(), "{program}: {}", said.unwrap_or_default());
    }

    fn go(&self) {
        self.go_with("-c listen_addresses=");
    }

    fn go_with(&self, options: &str) {
        let options = format!("-k {} {options}", self.path().display());
        self.run("pg_ctl", &["-D", "data", "-l", "server.log", "-o", &options, "-w", "start"]);
    }

    fn stop(&self, how: &str) {
        self.run("pg_ctl", &["-D", "data", "-m", how, "-w", "stop"]);
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn url(&self) -> String {
        let host = self.path().to_str().unwrap().replace('/', "%2F");
        format!("postgres://lab@{host}/postgres")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new(self.programs.join("pg_ctl"))
            .args(["-D", "data", "-m", "immediate", "-w", "stop"])
            .current_dir(self.folder.path())
            .uid(self.user.unwrap_or_else(|| nix::unistd::geteuid().as_raw()))
            .output();
    }
}

#[test]
fn nothing_is_lost_and_nothing_twice_when_the_server_is_restarted_in_mid_ingest() {
    let Some(server) = Server::start() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let count = 60;
    let records: Vec<RunRecord> = (0..count)
        .map(|day| RunRecord::read(&run_folder(scratch.path(), day), &Origin::default()).unwrap())
        .collect();
    let ingested = AtomicUsize::new(0);
    // Two programs take in the same runs while the server goes away twice: once in order, once as in a crash.
    let url = server.url();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut store = Store::open(&url).unwrap();
                for record in &records {
                    let new = store.ingest(record).unwrap() == Ingested::New;
                    ingested.fetch_add(usize::from(new), Ordering::SeqCst);
                    // However fast the machine, the server goes before all are in.
                    thread::sleep(Duration::from_millis(10));
                }
            });
        }
        for (after, how) in [(5, "fast"), (15, "immediate")] {
            while ingested.load(Ordering::SeqCst) < after {
                thread::yield_now();
            }
            server.stop(how);
            assert!(ingested.load(Ordering::SeqCst) < count, "all came in before the server went");
            server.go();
        }
    });
    assert!(ingested.load(Ordering::SeqCst) >= count - 2);
    let mut store = Store::open(&server.url()).unwrap();
    let figures: usize = records.iter().map(|record| record.figures.len()).sum();
    assert_eq!(store.counts().unwrap(), (count as u64, figures as u64));
    let filter = fleet::store::Filter { figure: Some("throughput".into()), ..Default::default() };
    let found = fleet::history::trends(&mut store, &filter).unwrap();
    let kept: Vec<&str> = found[0].points.iter().map(|point| &*point.run).collect();
    let mut sent: Vec<&RunRecord> = records.iter().collect();
    sent.sort_by_key(|record| record.started_unix_s);
    assert_eq!(kept, sent.iter().map(|record| &*record.digest).collect::<Vec<_>>());
}

#[test]
fn both_databases_tell_the_same() {
    let Some(server) = Server::start() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("results.sqlite");
    let mut stores =
        [Store::open(file.to_str().unwrap()).unwrap(), Store::open(&server.url()).unwrap()];
    for day in [4, 1, 40] {
        let origin = Origin { configuration: "plain".into(), ..Origin::default() };
        let record = RunRecord::read(&run_folder(scratch.path(), day), &origin).unwrap();
        stores
            .iter_mut()
            .for_each(|store| assert_eq!(store.ingest(&record).unwrap(), Ingested::New));
    }
    let [file, server] = stores.each_mut().map(|store| {
        let mut told = fleet::history::trends(store, &Default::default()).unwrap();
        // The second time as it is kept.
        assert_eq!(told, fleet::history::trends(store, &Default::default()).unwrap());
        // Databases sort words by rules of their own.
        told.sort_by(|a, b| a.series.id.cmp(&b.series.id));
        told
    });
    assert!(!file.is_empty() && file.iter().all(|trend| trend.points.len() == 3));
    assert_eq!(file, server);
}

/// A certificate of `host`, and of the authority that issued it.
fn certificates(host: &str) -> (rcgen::CertifiedKey<rcgen::KeyPair>, rcgen::Certificate) {
    let mut authority = rcgen::CertificateParams::new(vec![]).unwrap();
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = authority.self_signed(&key).unwrap();
    let issuer = rcgen::Issuer::from_params(&authority, &key);
    let signing_key = rcgen::KeyPair::generate().unwrap();
    let of_host = rcgen::CertificateParams::new(vec![host.to_owned()]).unwrap();
    let cert = of_host.signed_by(&signing_key, &issuer).unwrap();
    (rcgen::CertifiedKey { cert, signing_key }, certificate)
}

#[test]
fn a_server_across_a_network_is_reached_by_tls_alone() {
    let Some(server) = Server::start() else { return };
    server.stop("fast");
    let (host, authority) = certificates("localhost");
    let (_, stranger) = certificates("localhost");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let write = |name: &str, text: &str| {
        let file = server.path().join(name);
        std::fs::write(&file, text).unwrap();
        file
    };
    write("data/server.crt", &host.cert.pem());
    let key = write("data/server.key", &host.signing_key.serialize_pem());
    std::os::unix::fs::chown(&key, server.user, server.user).unwrap();
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    write("data/pg_hba.conf", "hostssl all all 127.0.0.1/32 trust\n");
    let ours = write("ours.pem", &authority.pem()).display().to_string();
    let others = write("others.pem", &stranger.pem()).display().to_string();
    server.go_with(&format!("-c listen_addresses=127.0.0.1 -c port={port} -c ssl=on"));

    let opened = |host: &str, options: &str| {
        let url = format!("postgres://lab@{host}:{port}/postgres?{options}");
        Store::open(&url)
            .map(|mut store| store.counts().unwrap())
            .map_err(|error| error.to_string())
    };
    for (host, options) in [
        ("localhost", format!("sslmode=verify-full&sslrootcert={ours}")),
        ("127.0.0.1", format!("sslmode=verify-ca&sslrootcert={ours}")),
        ("127.0.0.1", "sslmode=require".into()),
        ("127.0.0.1", "connect_timeout=5".into()),
    ] {
        assert_eq!(opened(host, &options), Ok((0, 0)), "{options}");
    }
    for (host, options, said) in [
        ("127.0.0.1", format!("sslmode=verify-full&sslrootcert={ours}"), "not valid for name"),
        (
            "localhost",
            format!("sslmode=verify-full&sslrootcert={others}"),
            "invalid peer certificate",
        ),
        ("localhost", "sslmode=verify-full".into(), "UnknownIssuer"),
        (
            "localhost",
            format!("sslmode=verify-full&sslrootcert={}", key.display()),
            "no certificate",
        ),
        ("localhost", "sslmode=disable".into(), "no encryption"),
    ] {
        let refused = opened(host, &options).unwrap_err();
        assert!(refused.contains(said), "{options}: {refused}");
    }
}

#[test]
fn a_server_that_is_not_there_is_told_without_the_password() {
    let refused = Store::open("postgres://lab:secret@127.0.0.1:1/x").unwrap_err().to_string();
    assert!(refused.contains("lab@127.0.0.1") && !refused.contains("secret"), "{refused}");
}
