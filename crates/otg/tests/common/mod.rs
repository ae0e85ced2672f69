//! A device with a server of the API in the tester's namespace, and an unmodified snappi that drives it.
#![allow(dead_code)]

pub mod frr;
pub mod ovs;

use otg::{Ender, Engine, EngineOptions, Server};
use serde_json::Value;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread::JoinHandle;
use testbed::{Testbed, TestbedConfig};
use units::LineRate;
use wire::signature::RunKey;

const SNAPPI: &str = "snappi==1.62.0";

/// Whether this test may create namespaces; says so where it may not.
pub fn is_root() -> bool {
    let root = nix::unistd::Uid::effective().is_root();
    if !root {
        eprintln!("skipped: it needs root");
    }
    root
}

/// A virtual environment with a package from PyPI, made by the first test that needs it.
pub fn environment(name: &str, package: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let ready = folder.join("ready");
    if !ready.exists() {
        let _ = std::fs::remove_dir_all(&folder);
        done(Command::new("python3").args(["-m", "venv"]).arg(&folder));
        let quiet = ["install", "--quiet", "--disable-pip-version-check", package];
        done(Command::new(folder.join("bin/pip")).args(quiet));
        std::fs::write(ready, "").expect("write a file");
    }
    folder
}

/// The interpreter with snappi.
fn python() -> &'static Path {
    static PYTHON: OnceLock<PathBuf> = OnceLock::new();
    PYTHON.get_or_init(|| environment("otg-snappi", SNAPPI).join("bin/python"))
}

fn done(command: &mut Command) {
    let status = command.status().expect("start a program");
    assert!(status.success(), "{command:?}: {status}");
}

pub fn engine() -> Engine {
    Engine::new(EngineOptions {
        nominal_rate: LineRate::from_gbps(10),
        run_key: RunKey::from_seed(7),
    })
}

/// A device and a server.
pub struct Lab {
    pub testbed: Testbed,
    pub address: SocketAddr,
    pub engine: Engine,
    /// Of the addresses that scripts are given.
    scheme: &'static str,
    ender: Ender,
    serving: Option<JoinHandle<()>>,
}

impl Lab {
    pub fn build(config: &TestbedConfig, plain: bool) -> Lab {
        let testbed = Testbed::build(config).expect("build the device");
        let name = testbed.tester().name().to_owned();
        done(Command::new("ip").args(["-n", &name, "link", "set", "lo", "up"]));
        let engine = engine();
        let server = testbed.tester().run(|| Server::listen("127.0.0.1:0".parse().unwrap(), plain));
        let server = server.expect("enter the namespace").expect("listen");
        let (address, ender, own) = (server.address().unwrap(), server.ender(), engine.clone());
        let namespace = kernel::Namespace::named(&name).expect("find the namespace");
        let serve = move || {
            let served = namespace.run(|| server.run(&own));
            served.expect("enter the namespace").expect("serve");
        };
        let serving = Some(std::thread::spawn(serve));
        // HTTP/2 without TLS, as gRPC has it, is for whoever begins with it.
        let scheme = if plain { "grpc" } else { "https" };
        Lab { testbed, address, engine, scheme, ender, serving }
    }

    /// Runs a script of `tests/snappi` against the server, over gRPC where it is plain; gives what it prints, as JSON.
    pub fn snappi(&self, script: &str, arguments: &[&str]) -> Value {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snappi");
        let output = Command::new("ip")
            .args(["netns", "exec", self.testbed.tester().name()])
            .arg(python())
            .arg(scripts.join(script))
            .arg(format!("{}://{}", self.scheme, self.address))
            .args(arguments)
            .stderr(Stdio::inherit())
            .output()
            .expect("start python");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{script}: {}\n{text}", output.status);
        let last = text.lines().last().unwrap_or_default();
        serde_json::from_str(last).unwrap_or_else(|error| panic!("{script}: {error}\n{text}"))
    }

    /// Packets of a file as tshark reads them, the fields apart by tabs.
    pub fn tshark(path: &Path, fields: &[&str]) -> Vec<String> {
        let mut command = Command::new("tshark");
        // Every frame has its FCS, and it is checked.
        command.args(["-o", "eth.fcs:Always", "-o", "eth.check_fcs:TRUE"]);
        command.arg("-r").arg(path).args(["-T", "fields"]);
        for field in fields {
            command.args(["-e", field]);
        }
        let output = command.output().expect("start tshark");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).lines().map(String::from).collect()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.ender.end();
        if let Some(serving) = self.serving.take() {
            let _ = serving.join();
        }
    }
}
