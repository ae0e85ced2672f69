//! A terminal that a test types at.

use nix::pty::openpty;
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};

/// The program at a terminal of its own, and the other end of that.
pub struct Terminal {
    pub child: Child,
    other_end: File,
    pub seen: String,
}

impl Terminal {
    pub fn start(program: &Command) -> Terminal {
        let pty = openpty(None, None).expect("a terminal");
        let slave = File::from(pty.slave);
        let end = || Stdio::from(slave.try_clone().unwrap());
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait"]).arg(program.get_program()).args(program.get_args());
        command
            .current_dir(program.get_current_dir().unwrap())
            .stdin(end())
            .stdout(end())
            .stderr(end());
        let child = command.spawn().expect("setsid");
        Terminal { child, other_end: File::from(pty.master), seen: String::new() }
    }

    /// Reads until a text appears that has not been seen before.
    #[track_caller]
    pub fn read_until(&mut self, text: &str) {
        let from = self.seen.len();
        let mut bytes = [0; 4_096];
        while !self.seen[from..].contains(text) {
            match self.other_end.read(&mut bytes) {
                Ok(count @ 1..) => self.seen += &String::from_utf8_lossy(&bytes[..count]),
                _ => panic!("{text}: not seen in\n{}", &self.seen[from..]),
            }
        }
    }

    pub fn press(&mut self, key: &str) {
        self.other_end.write_all(key.as_bytes()).unwrap();
    }
}
