//! Servers and files of tests that move bytes by NETBLT.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// A process that is killed with -9, by a test or when it is dropped. `ip netns exec` becomes the program itself, so
/// that it is the program that is killed.
pub struct Killed(pub Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server by this command, once it says that it serves.
#[track_caller]
pub fn serving(mut command: Command) -> Killed {
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("serving"), "{line}");
    Killed(child)
}

/// Bytes of a file that do not repeat: the upper ones of multiples of the golden ratio.
pub fn file_of(len: u64) -> Vec<u8> {
    (0..len).map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}
