//! FRRouting in a device's namespace: a router that speaks BGP, made by others.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const DAEMONS: &str = "/usr/lib/frr";
const STARTS_WITHIN: Duration = Duration::from_secs(30);

/// zebra and bgpd, running.
pub struct Frr {
    folder: tempfile::TempDir,
    children: Vec<Child>,
}

/// Whether it is installed; says so where it is not.
pub fn is_installed() -> bool {
    let there = Path::new(DAEMONS).join("bgpd").exists() && Path::new("/usr/sbin/bird").exists();
    if !there {
        eprintln!("skipped: it needs FRR and BIRD (apt install frr bird2)");
    }
    there
}

impl Frr {
    /// Starts it in a namespace with this configuration of bgpd, and waits until it takes commands.
    pub fn start(namespace: &str, bgpd: &str) -> Frr {
        let folder = tempfile::Builder::new().prefix("frr-").tempdir_in("/tmp").unwrap();
        std::fs::write(folder.path().join("zebra.conf"), "ip forwarding\nipv6 forwarding\n")
            .unwrap();
        std::fs::write(folder.path().join("bgpd.conf"), bgpd).unwrap();
        // The daemons give up root for a user of their own.
        let owned = Command::new("chown").args(["-R", "frr:frr"]).arg(folder.path()).status();
        assert!(owned.unwrap().success());
        let mut frr = Frr { folder, children: vec![] };
        for (daemon, socket) in [("zebra", "zebra.vty"), ("bgpd", "bgpd.vty")] {
            let child = frr.daemon(namespace, daemon);
            frr.children.push(child);
            let begun = Instant::now();
            while !frr.path(socket).exists() {
                let ended = frr.children.last_mut().unwrap().try_wait().unwrap();
                assert!(ended.is_none() && begun.elapsed() < STARTS_WITHIN, "{daemon}: {ended:?}");
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        frr
    }

    fn daemon(&self, namespace: &str, daemon: &str) -> Child {
        let path = |file: String| self.path(&file).display().to_string();
        let mut command = Command::new("ip");
        command.args(["netns", "exec", namespace, "setpriv", "--pdeathsig", "KILL"]);
        command.arg(Path::new(DAEMONS).join(daemon));
        command.args(["-f", &path(format!("{daemon}.conf")), "-i", &path(format!("{daemon}.pid"))]);
        command.args(["-z", &path("zserv.sock".into()), "--vty_socket", &path(String::new())]);
        command.args([
            "--log",
            &format!("file:{}", path(format!("{daemon}.log"))),
            "-A",
            "127.0.0.1",
        ]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.spawn().expect("start FRR")
    }

    fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    /// The command line of a shell that asks it.
    pub fn vtysh(&self) -> Vec<String> {
        let folder = self.folder.path().display().to_string();
        vec!["vtysh".into(), "--vty_socket".into(), folder]
    }
}

impl Drop for Frr {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = std::fs::read_to_string(self.path("bgpd.log")).unwrap_or_default();
            eprintln!("{log}");
        }
        for child in self.children.iter_mut().rev() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
