//! Keys that change traffic while it is sent, typed at a terminal.

use crate::common::Scratch;
use nix::pty::openpty;
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};

/// The program at a terminal of its own, and the other end of that.
struct Terminal {
    child: Child,
    other_end: File,
    seen: String,
}

impl Terminal {
    fn start(scratch: &Scratch, arguments: &str) -> Terminal {
        let pty = openpty(None, None).expect("a terminal");
        let program = scratch.command(arguments);
        let slave = File::from(pty.slave);
        let end = || Stdio::from(slave.try_clone().unwrap());
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait"]).arg(program.get_program()).args(program.get_args());
        command.current_dir(scratch.path()).stdin(end()).stdout(end()).stderr(end());
        let child = command.spawn().expect("setsid");
        Terminal { child, other_end: File::from(pty.master), seen: String::new() }
    }

    /// Reads until a text appears that has not been seen before.
    #[track_caller]
    fn read_until(&mut self, text: &str) {
        let from = self.seen.len();
        let mut bytes = [0; 4_096];
        while !self.seen[from..].contains(text) {
            match self.other_end.read(&mut bytes) {
                Ok(count @ 1..) => self.seen += &String::from_utf8_lossy(&bytes[..count]),
                _ => panic!("{text}: not seen in\n{}", &self.seen[from..]),
            }
        }
    }

    fn press(&mut self, key: &str) {
        self.other_end.write_all(key.as_bytes()).unwrap();
    }
}

#[test]
fn keys_change_the_load_pause_and_end() {
    let scratch = Scratch::new();
    scratch.file("two.toml", "[[stream]]\nname = \"a\"\nweight = 3\n[[stream]]\nname = \"b\"\n");
    let load = "traffic --sim router --streams two.toml --rate 1kpps --duration forever";
    let mut terminal = Terminal::start(&scratch, load);
    terminal.read_until(" 1s ");
    // A key of no meaning does nothing.
    terminal.press("x*");
    terminal.read_until("now 2 kpps");
    terminal.press("2");
    terminal.read_until("now 1.5 kpps");
    terminal.press("9p");
    terminal.read_until("paused");
    terminal.press("p");
    terminal.read_until("0   16");
    terminal.press("q");
    terminal.read_until("tester     kept up");
    assert!(terminal.seen.contains("stretches"), "{}", terminal.seen);
    assert_eq!(terminal.child.wait().unwrap().code(), Some(0));
}
