//! The real binary, run as a user would.
#![allow(dead_code, reason = "each test file uses its own share of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What a run of the program came to.
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Ran {
    /// Fails the test, showing everything, unless the program ended with this code.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(
            self.code,
            Some(code),
            "\n--- stdout\n{}\n--- stderr\n{}",
            self.stdout,
            self.stderr
        );
        self
    }
}

/// A scratch folder with a cache of its own, so that tests neither use nor fill the user's.
pub struct Scratch {
    folder: tempfile::TempDir,
}

impl Scratch {
    pub fn new() -> Self {
        Scratch { folder: tempfile::tempdir().expect("a scratch folder") }
    }
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, text).expect("a scratch file");
        path
    }
    /// The program with these arguments, separated by blanks, in the scratch folder.
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_netanvil"));
        command.args(arguments.split_whitespace()).current_dir(self.path());
        command.env("XDG_CACHE_HOME", self.path().join("cache")).stdin(Stdio::null());
        command
    }
    /// Runs it to its end.
    pub fn run(&self, arguments: &str) -> Ran {
        self.command(arguments).output().expect("the program starts").into()
    }
}

/// Whether this test may create network namespaces.
pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// A copy of the program that every user may read and execute.
pub fn public_copy(scratch: &Scratch) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let copy = scratch.path().join("netanvil");
    std::fs::copy(env!("CARGO_BIN_EXE_netanvil"), &copy).expect("a copy of the program");
    let everybody = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(scratch.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    std::fs::set_permissions(&copy, everybody).expect("executable by everybody");
    copy
}

/// The program run by an ordinary user (nobody), in the scratch folder.
pub fn as_ordinary_user(scratch: &Scratch, arguments: &str) -> Command {
    let program = public_copy(scratch);
    let mut command = match is_root() {
        true => {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program);
            command
        }
        false => Command::new(program),
    };
    command.args(arguments.split_whitespace()).current_dir(scratch.path());
    command.env("XDG_CACHE_HOME", scratch.path().join("cache")).stdin(Stdio::null());
    command
}
