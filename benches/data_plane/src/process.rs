//! Other people's tools as child processes, which never outlive this one.

use crate::bed::Bed;
use crate::error::{BenchError, Result, system};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ports::clock;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use units::Duration;

/// How often something that is awaited is looked for.
const LOOK: Duration = Duration::from_ms(5);
/// A tool that was asked to end is killed after this time.
const GOES_WITHIN: Duration = Duration::from_ms(1_000);
/// So much of a tool's last words is shown.
const LAST_WORDS_BYTES: usize = 600;

/// A tool that runs in the bed's namespace. Dropping it kills it.
pub struct Process {
    name: String,
    child: Child,
    said: Arc<Mutex<Vec<u8>>>,
    stop: Arc<AtomicBool>,
}

impl Process {
    /// Starts a tool on one core. It has process numbers of its own, so that all it forks is killed
    /// with it; and it is killed when this process dies, however that happens.
    pub fn start(
        bed: &Bed,
        core: usize,
        command: &[String],
        environment: &[(&str, String)],
        stop: &Arc<AtomicBool>,
    ) -> Result<Self> {
        let name = command.first().cloned().unwrap_or_default();
        let mut child = Command::new("ip")
            .args(["netns", "exec", bed.namespace(), "setpriv", "--pdeathsig", "KILL"])
            .args(["unshare", "--pid", "--fork", "--kill-child"])
            .args(["taskset", "--cpu-list", &core.to_string(), "env"])
            .args(environment.iter().map(|(key, value)| format!("{key}={value}")))
            .args(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(system(format!("start {name}")))?;
        let said = Arc::new(Mutex::new(vec![]));
        collect(child.stdout.take().expect("piped"), &said);
        collect(child.stderr.take().expect("piped"), &said);
        Ok(Process { name, child, said, stop: stop.clone() })
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has written so far.
    pub fn said(&self) -> String {
        String::from_utf8_lossy(&self.said.lock().expect("no reader panics")).into_owned()
    }

    /// Writes a line to it.
    pub fn tell(&mut self, line: &str) -> Result<()> {
        let input = self.child.stdin.as_mut().expect("piped");
        let written = input.write_all(line.as_bytes()).and_then(|()| input.write_all(b"\n"));
        written.and_then(|()| input.flush()).map_err(|_| self.failed("it no longer listens"))
    }

    /// Waits until what it has written satisfies `enough`.
    pub fn await_words(
        &mut self,
        what: &str,
        at_most: Duration,
        enough: impl Fn(&str) -> bool,
    ) -> Result<String> {
        let end = clock::now() + at_most;
        loop {
            let said = self.said();
            if enough(&said) {
                return Ok(said);
            }
            self.check_running()?;
            if clock::now() > end {
                return Err(self.failed(&format!("no {what} within {at_most}")));
            }
            clock::sleep(LOOK);
        }
    }

    /// An error if it has ended, or if the user wants to stop.
    pub fn check_running(&mut self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(BenchError::Interrupted);
        }
        let ended = self.child.try_wait().map_err(system(format!("look after {}", self.name)))?;
        match ended {
            Some(status) => {
                // Its readers may be a moment behind.
                clock::sleep(LOOK);
                Err(self.failed(&format!("it ended early ({status})")))
            }
            None => Ok(()),
        }
    }

    /// Waits until it ends by itself, and gives all that it wrote.
    pub fn wait(&mut self, at_most: Duration) -> Result<String> {
        let end = clock::now() + at_most;
        while self.child.try_wait().map_err(system("wait for a tool"))?.is_none() {
            if clock::now() > end {
                return Err(self.failed(&format!("it did not end within {at_most}")));
            }
            clock::sleep(LOOK);
        }
        Ok(self.said())
    }

    fn failed(&self, what: &str) -> BenchError {
        let said = self.said();
        let from = said.len().saturating_sub(LAST_WORDS_BYTES);
        let from = (from..=said.len()).find(|at| said.is_char_boundary(*at)).unwrap_or(0);
        BenchError::Tool {
            tool: self.name.clone(),
            what: what.into(),
            said: said[from..].trim().to_string(),
        }
    }
}

impl Drop for Process {
    /// Asks first, so that the tool can put away what it has left in the system.
    fn drop(&mut self) {
        for process in family(self.child.id()) {
            let _ = kill(Pid::from_raw(process as i32), Signal::SIGINT);
        }
        let end = clock::now() + GOES_WITHIN;
        while matches!(self.child.try_wait(), Ok(None)) && clock::now() < end {
            clock::sleep(LOOK);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A process and all its descendants, the oldest first.
pub fn family(process: u32) -> Vec<u32> {
    let mut family = vec![process];
    let mut next = 0;
    while let Some(member) = family.get(next) {
        let path = format!("/proc/{member}/task/{member}/children");
        let children = std::fs::read_to_string(path).unwrap_or_default();
        family.extend(children.split_whitespace().filter_map(|id| id.parse::<u32>().ok()));
        next += 1;
    }
    family
}

/// Keeps what comes through a pipe, from a thread of its own that ends with the pipe.
fn collect(mut pipe: impl Read + Send + 'static, said: &Arc<Mutex<Vec<u8>>>) {
    let said = said.clone();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = pipe.read(&mut buffer) {
            said.lock().expect("no reader panics").extend_from_slice(&buffer[..length]);
        }
    });
}
