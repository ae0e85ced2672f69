//! Where an Open vSwitch of the run's own keeps everything: its database, and the sockets of its programs.

use crate::error::{Result, TestbedError};
use crate::ovs::{DATABASE, PACKAGE};
use crate::program::{Program, ProgramName, find_program};
use kernel::Namespace;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The scheme of the database.
pub(crate) const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";
/// Where all of it is kept.
const FOLDERS: [&str; 4] = ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR"];
const QUIET: [&str; 3] = ["-vconsole:err", "-vsyslog:off", "-vfile:off"];
/// The socket of the database.
const SOCKET: &str = "db.sock";
/// A program of it starts and opens its socket within this time.
pub(crate) const STARTS_WITHIN: Duration = Duration::from_secs(30);

/// Whether somebody listens: a server makes its socket a moment before it does.
fn is_open(socket: &Path) -> bool {
    UnixStream::connect(socket).is_ok()
}

/// A folder of one Open vSwitch, which somebody else makes and removes.
#[derive(Debug)]
pub(crate) struct Home(PathBuf);

impl Home {
    pub fn new(folder: PathBuf) -> Self {
        Home(folder)
    }

    pub fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// The address of the database.
    pub fn database(&self) -> String {
        format!("unix:{}", self.file(SOCKET))
    }

    fn environment(&self) -> [(&'static str, String); 4] {
        FOLDERS.map(|name| (name, self.0.display().to_string()))
    }

    /// Starts a program of Open vSwitch, by way of `wrappers`, with a control socket of that name.
    pub fn start(
        &self,
        namespace: &Namespace,
        name: ProgramName,
        wrappers: &[&str],
        arguments: &[&str],
        control: &str,
    ) -> Result<Program> {
        let control = format!("--unixctl={}", self.file(control));
        let arguments = [arguments, &["--no-chdir", &control], &QUIET].concat();
        let environment = self.environment();
        let environment = environment.each_ref().map(|(name, value)| (*name, value.as_str()));
        Program::start_apart(namespace, name, wrappers, &arguments, &environment)
    }

    /// Makes an empty database and starts its server.
    pub fn start_database(&self, namespace: &Namespace, wrappers: &[&str]) -> Result<Program> {
        let database = self.file("conf.db");
        self.run("ovsdb-tool", &["create", &database, SCHEMA])?;
        let remote = format!("--remote=punix:{}", self.file(SOCKET));
        let mut server =
            self.start(namespace, DATABASE, wrappers, &[&database, &remote], "db.ctl")?;
        self.wait_for_database(&mut server)?;
        self.configure(&["--no-wait", "init"])?;
        Ok(server)
    }

    #[allow(clippy::disallowed_methods, reason = "a program starts in real time")]
    fn wait_for_database(&self, server: &mut Program) -> Result<()> {
        const STEP: Duration = Duration::from_millis(5);
        for _ in 0..STARTS_WITHIN.as_millis() / STEP.as_millis() {
            if is_open(&self.0.join(SOCKET)) {
                return Ok(());
            }
            server.check()?;
            std::thread::sleep(STEP);
        }
        let message = "it opens no socket".into();
        Err(TestbedError::Program { program: DATABASE.program, message })
    }

    /// Asks or tells the database.
    pub fn configure(&self, arguments: &[&str]) -> Result<String> {
        let database = format!("--db={}", self.database());
        self.run("ovs-vsctl", &[&[&database[..], "--no-syslog"], arguments].concat())
    }

    /// Runs a program to its end.
    pub fn run(&self, program: &'static str, arguments: &[&str]) -> Result<String> {
        let failed = |message| TestbedError::Program { program, message };
        let path = find_program(program)
            .ok_or_else(|| failed(format!("not installed; `apt install {PACKAGE}`")))?;
        let mut command = Command::new(path);
        command.args(arguments).envs(self.environment());
        let output = command.output().map_err(|error| failed(error.to_string()))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_socket_at_which_nobody_listens_is_not_open() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join(SOCKET);
        assert!(!is_open(&socket));
        drop(UnixListener::bind(&socket).unwrap());
        assert!(socket.exists() && !is_open(&socket));
        std::fs::remove_file(&socket).unwrap();
        let _listener = UnixListener::bind(&socket).unwrap();
        assert!(is_open(&socket));
    }
}
