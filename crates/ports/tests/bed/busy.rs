//! A busy program that ends with the test.

use std::process::{Child, Command, Stdio};

/// A program that spins on one processor, dies with the test, and is in a session of its own so that
/// autogroups are equals, whatever their number of programs.
pub struct Busy(Child);

impl Busy {
    pub fn on(cpu: usize) -> Self {
        let cpu = cpu.to_string();
        let mut command = Command::new("setsid");
        command.args(["setpriv", "--pdeathsig", "KILL", "taskset", "-c", &cpu]);
        command.args(["sh", "-c", "while :; do :; done"]);
        Busy(command.stdout(Stdio::null()).spawn().expect("setsid, setpriv and taskset"))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
