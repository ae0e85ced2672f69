//! Open vSwitch in a device's namespace: VLANs of others, without the kernel's.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";
const STARTS_WITHIN: Duration = Duration::from_secs(30);

/// Its database and its switch, running.
pub struct Ovs {
    folder: tempfile::TempDir,
    namespace: String,
    children: Vec<Child>,
}

/// Whether it is installed; says so where it is not.
pub fn is_installed() -> bool {
    let there = std::path::Path::new(SCHEMA).exists();
    if !there {
        eprintln!("skipped: it needs Open vSwitch (apt install openvswitch-switch)");
    }
    there
}

impl Ovs {
    /// Starts it in a namespace, outside of the kernel.
    pub fn start(namespace: &str) -> Ovs {
        let folder = tempfile::Builder::new().prefix("ovs-").tempdir().unwrap();
        let mut ovs = Ovs { folder, namespace: namespace.into(), children: vec![] };
        let database = ovs.file("conf.db");
        ovs.run("ovsdb-tool", &["create", &database, SCHEMA]);
        let remote = format!("--remote=punix:{}", ovs.file("db.sock"));
        ovs.spawn("ovsdb-server", &[&database, "--no-chdir", &remote]);
        let begun = Instant::now();
        while !ovs.folder.path().join("db.sock").exists() {
            assert!(begun.elapsed() < STARTS_WITHIN, "ovsdb-server opens no socket");
            std::thread::sleep(Duration::from_millis(10));
        }
        ovs.configure("--no-wait init");
        let socket = format!("unix:{}", ovs.file("db.sock"));
        ovs.spawn("ovs-vswitchd", &[&socket, "--no-chdir", "--disable-system"]);
        ovs
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace, "setpriv", "--pdeathsig", "KILL", program]);
        for folder in ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR"] {
            command.env(folder, self.folder.path());
        }
        command
    }

    fn spawn(&mut self, program: &str, arguments: &[&str]) {
        let control = format!("--unixctl={}", self.file(&format!("{program}.ctl")));
        let mut command = self.command(program);
        command.args(arguments).args([&control[..], "-vconsole:off", "-vsyslog:off"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.children.push(command.spawn().expect("start Open vSwitch"));
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let output = self.command(program).args(arguments).output().expect("start Open vSwitch");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program} {arguments:?}: {said}");
    }

    /// Tells the database, and waits until the switch has done it.
    pub fn configure(&self, words: &str) {
        let database = format!("--db=unix:{}", self.file("db.sock"));
        let mut all = vec![&database[..], "--no-syslog", "--timeout=30"];
        all.extend(words.split_whitespace());
        self.run("ovs-vsctl", &all);
    }
}

impl Ovs {
    /// Gives its packet sockets room for some thousand frames: what it has no room for while others have the
    /// processor is lost, and no test of ours.
    pub fn give_room(&self) {
        const ROOM_BYTES: usize = 16 << 20;
        let switch = self.children.last().expect("it runs");
        let sockets = kernel::give_room(switch.id(), ROOM_BYTES).expect("root gives room");
        assert!(sockets > 0, "Open vSwitch has no packet sockets");
    }
}

impl Drop for Ovs {
    fn drop(&mut self) {
        for child in self.children.iter_mut().rev() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
