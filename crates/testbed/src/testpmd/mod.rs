//! DPDK's testpmd as the device under test: it forwards between two memif sockets, and polls them on a processor.
//!
//! It is a program and no namespace. The tester joins it with ports on devices of DPDK ([`Testpmd::near_ends`]). What
//! it has on disk, the sockets, goes as soon as both ports are joined: a kill leaves nothing from then on.

mod command;
mod counters;
mod folder;

pub use counters::TestpmdCounters;

use crate::config::TestbedConfig;
use crate::error::{Result, TestbedError};
use crate::program::{Pipes, Program, ProgramName, find_program};
use crate::scheduling;
use command::{PORTS, Place, RING_BITS};
use folder::Folder;
use kernel::{read_file, thread};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::ChildStdin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Name of what it keeps in a folder.
pub(crate) const FOLDER: &str = "testpmd";
const PROGRAM: ProgramName = ProgramName { program: "dpdk-testpmd", package: "dpdk-dev" };
/// What has it write line by line into a pipe (coreutils).
const BY_LINES: [&str; 2] = ["stdbuf", "-oL"];
/// What puts it before other work of its session: to nice -20, wherever this process is (nice(1) adds). It has no real-time priority: it polls, and the kernel
/// stops real-time threads that never sleep for 50 ms of each second (sched(7)).
const BEFORE_OTHERS: [&str; 3] = ["nice", "-n", "-40"];
/// Where DPDK keeps what other processes may see (`eal_create_runtime_dir`).
const RUNTIME: &str = "RUNTIME_DIRECTORY";
/// Without huge pages it clears all of its memory first.
const STARTS_WITHIN: Duration = Duration::from_secs(60);
const ANSWERS_WITHIN: Duration = Duration::from_secs(20);
/// What it needs of huge pages, where it is to have them.
const HUGE_BYTES: u64 = 256 << 20;
/// Lines of its own words that are kept.
const WORDS: usize = 40;

/// Why there can be no testpmd on this host; `None` where there can.
pub fn testpmd_shortfall() -> Option<String> {
    let missing = |name: ProgramName| find_program(name.program).is_none();
    let coreutils = ProgramName { program: BY_LINES[0], package: "coreutils" };
    let missing = [PROGRAM, coreutils].into_iter().find(|name| missing(*name))?;
    Some(format!("{} is not installed: `apt install {}`", missing.program, missing.package))
}

/// Refuses what it cannot be given.
pub(crate) fn check(config: &TestbedConfig) -> Result<()> {
    let refuse = |message: String| Err(TestbedError::Configuration(message));
    let frames = config.input_queue_frames;
    let is_ring = frames.is_power_of_two() && RING_BITS.contains(&frames.ilog2());
    match config.ports {
        PORTS if is_ring => Ok(()),
        PORTS => refuse(format!(
            "input_queue_frames = {frames}: a ring of memif holds a power of two, from {} to {} frames",
            1 << RING_BITS.start(),
            1 << RING_BITS.end()
        )),
        ports => refuse(format!("ports = {ports}: testpmd forwards between two; use linux-bridge")),
    }
}

/// A running testpmd. It ends with this value, and with this process however that ends.
#[derive(Debug)]
pub struct Testpmd {
    program: Program,
    /// Gone once the tester has joined.
    folder: Option<Folder>,
    near_ends: [String; PORTS],
    input: ChildStdin,
    output: Receiver<String>,
    /// What it said last of itself.
    words: Arc<Mutex<VecDeque<String>>>,
    facts: TestpmdFacts,
}

/// What is to be told of a testpmd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestpmdFacts {
    /// `DPDK 22.11.11`.
    pub release: String,
    /// The command with which it was started.
    pub command: String,
    /// The processor of the thread that forwards.
    pub forwarding_cpu: usize,
    /// The processor of all its other threads.
    pub main_cpu: usize,
    /// Whether it has huge pages.
    pub has_huge_pages: bool,
}

impl Testpmd {
    /// Starts one and waits until it forwards. `before_others` gives it nice -20, where this process may.
    ///
    /// # Errors
    /// If it is missing, or ends; with what it said.
    pub fn start(config: &TestbedConfig, before_others: bool) -> Result<Self> {
        config.check()?;
        if let Some(message) = testpmd_shortfall() {
            return Err(failed(message));
        }
        let place = place(config);
        let folder = Folder::create()?;
        let arguments = command::arguments(config, place, folder.path());
        let in_front: &[&str] = if before_others { &BEFORE_OTHERS } else { &[] };
        let wrappers = [in_front, &BY_LINES].concat();
        let runtime = folder.path().display().to_string();
        let (program, pipes) =
            Program::start_talking(PROGRAM, &wrappers, &arguments, &[(RUNTIME, &runtime)])?;
        let Pipes { input, output, errors } = pipes;
        let (lines, words) = (lines_of(output), Arc::<Mutex<VecDeque<String>>>::default());
        keep_words(errors, words.clone());
        let near =
            |port| command::near_end(next_device(), port, config.input_queue_frames, folder.path());
        let mut testpmd = Testpmd {
            near_ends: [near(0), near(1)],
            folder: Some(folder),
            program,
            input,
            output: lines,
            facts: TestpmdFacts {
                release: String::new(),
                command: format!("{} {}", PROGRAM.program, arguments.join(" ")),
                forwarding_cpu: place.forwarding_cpu,
                main_cpu: place.main_cpu,
                has_huge_pages: place.has_huge_pages,
            },
            words,
        };
        // It answers once it forwards.
        testpmd.ask(STARTS_WITHIN)?;
        testpmd.facts.release = counters::release(&testpmd.words()).unwrap_or_default();
        Ok(testpmd)
    }

    /// The devices of DPDK, with their arguments, by which the tester joins its ports.
    pub fn near_ends(&self) -> &[String] {
        &self.near_ends
    }

    /// Both ports are joined: nobody needs the sockets' files any more.
    pub fn joined(&mut self) {
        self.folder = None;
    }

    /// What it is.
    pub fn facts(&self) -> &TestpmdFacts {
        &self.facts
    }

    /// The threads that forward, with their names.
    pub fn forwarding_threads(&self) -> Vec<(u32, String)> {
        let named = |id| Some((id, scheduling::name_of(id)?));
        let all = scheduling::threads_of(self.program.id()).into_iter().filter_map(named);
        all.filter(|(_, name)| is_worker(name)).collect()
    }

    /// What its ports have counted up to now.
    ///
    /// # Errors
    /// If it has ended, or does not answer.
    pub fn counters(&mut self) -> Result<[TestpmdCounters; PORTS]> {
        let answer = self.ask(ANSWERS_WITHIN)?;
        counters::parse(&answer)
            .ok_or_else(|| failed(format!("does not show its counters: {}", answer.join(" "))))
    }

    /// An error with what it said if it has ended.
    ///
    /// # Errors
    /// That one.
    pub fn check(&mut self) -> Result<()> {
        let Some(status) = self.program.ended() else { return Ok(()) };
        Err(failed(format!("ended ({status}){}", self.last_words())))
    }

    /// Stops it where it stands. The driver of memif in DPDK 22.11 frees a queue as its far end leaves, though another
    /// thread still polls it: a testpmd that does not run cannot fail of that.
    pub fn freeze(&self) {
        self.program.stop();
    }

    /// Gives the command for its counters; all lines of the answer.
    fn ask(&mut self, within: Duration) -> Result<Vec<String>> {
        if writeln!(self.input, "{}", counters::COMMAND).is_err() {
            return Err(self.silent("takes no commands"));
        }
        let (last, times) = counters::LAST;
        let (mut said, mut found) = (vec![], 0);
        while found < times {
            match self.output.recv_timeout(within) {
                Ok(line) => {
                    found += usize::from(line.contains(last));
                    said.push(line);
                }
                Err(RecvTimeoutError::Timeout) => {
                    return Err(self.silent(&format!("does not answer within {within:?}")));
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.silent("answers no more")),
            }
        }
        Ok(said)
    }

    /// Why it says nothing: it has ended, or something else. Its pipes close before it has ended.
    #[allow(clippy::disallowed_methods, reason = "a program ends in real time")]
    fn silent(&mut self, what: &str) -> TestbedError {
        const STEP: Duration = Duration::from_millis(10);
        for _ in 0..50 {
            if let Err(ended) = self.check() {
                return ended;
            }
            std::thread::sleep(STEP);
        }
        failed(format!("{what}{}", self.last_words()))
    }

    fn words(&self) -> Vec<String> {
        self.words.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    fn last_words(&self) -> String {
        let words = self.words();
        match words.iter().any(|line| line.contains(NO_DRIVER)) {
            true => format!(": its driver of memif is missing: `apt install {DRIVER_PACKAGE}`"),
            false => match words.last_chunk::<3>().map_or(&words[..], |last| &last[..]) {
                [] => String::new(),
                last => format!(": {}", last.join("; ")),
            },
        }
    }
}

/// What DPDK says of a virtual device for which it has no driver.
const NO_DRIVER: &str = "failed to parse device \"net_memif";
const DRIVER_PACKAGE: &str = "librte-net-memif23";

/// Both ends of a memif of the tester's own, without a device: its self-test.
#[derive(Debug)]
pub struct OwnMemif {
    folder: Option<Folder>,
    ends: [String; PORTS],
}

impl OwnMemif {
    /// Makes the folder of its socket.
    ///
    /// # Errors
    /// If that cannot be made.
    pub fn new(config: &TestbedConfig) -> Result<Self> {
        let folder = Folder::create()?;
        // The server first: the client joins it.
        let near = command::near_end(next_device(), 0, config.input_queue_frames, folder.path());
        let far = command::own_far_end(next_device(), 0, folder.path());
        Ok(OwnMemif { folder: Some(folder), ends: [far, near] })
    }

    /// The devices of DPDK, to be opened in this order.
    pub fn ends(&self) -> &[String] {
        &self.ends
    }

    /// Both are open: nobody needs the socket's file any more.
    pub fn joined(&mut self) {
        self.folder = None;
    }
}

/// Devices of DPDK have names that no other one of this process has.
fn next_device() -> u32 {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    COUNT.fetch_add(1, Ordering::Relaxed)
}

/// The processor that was asked for, and the first one beside it.
fn place(config: &TestbedConfig) -> Place {
    let allowed = thread::allowed_cores();
    let first = allowed.first().copied().unwrap_or(0);
    let forwarding_cpu = config.device_cpu.unwrap_or(first);
    let mut others = allowed.into_iter().filter(|cpu| *cpu != forwarding_cpu);
    let main_cpu = others.next().unwrap_or(forwarding_cpu);
    Place { main_cpu, forwarding_cpu, has_huge_pages: free_huge_bytes() >= HUGE_BYTES }
}

/// Huge pages that are free, of every size (Documentation/admin-guide/mm/hugetlbpage.rst).
fn free_huge_bytes() -> u64 {
    let sizes = std::fs::read_dir("/sys/kernel/mm/hugepages").into_iter().flatten().flatten();
    let free = |entry: std::fs::DirEntry| -> Option<u64> {
        let name = entry.file_name();
        let kilobytes = name.to_str()?.strip_prefix("hugepages-")?.strip_suffix("kB")?;
        let pages = read_file(entry.path().join("free_hugepages")).ok()?;
        Some(kilobytes.parse::<u64>().ok()? * 1_024 * pages.trim().parse::<u64>().ok()?)
    };
    sizes.filter_map(free).sum()
}

/// Threads that forward, as DPDK names them: `rte-worker-1` in 22.11, `lcore-worker-1` before, `dpdk-worker1` after.
fn is_worker(name: &str) -> bool {
    ["rte-worker", "lcore-worker", "dpdk-worker"].iter().any(|worker| name.starts_with(worker))
}

fn failed(message: String) -> TestbedError {
    TestbedError::Program { program: PROGRAM.program, message }
}

fn lines_of(from: impl Read + Send + 'static) -> Receiver<String> {
    let (to, lines) = channel();
    let said = BufReader::new(from);
    std::thread::spawn(move || {
        said.lines().map_while(|line| line.ok()).try_for_each(|line| to.send(line))
    });
    lines
}

/// Reads on until it ends: a pipe that is full would stop it.
fn keep_words(from: impl Read + Send + 'static, words: Arc<Mutex<VecDeque<String>>>) {
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(|line| line.ok()) {
            let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
            if words.len() == WORDS {
                words.pop_front();
            }
            words.push_back(line);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DeviceKind;

    fn refusal(change: impl FnOnce(&mut TestbedConfig)) -> String {
        let mut config = TestbedConfig::of(DeviceKind::Testpmd);
        config.check().expect("as it is by itself it can be built");
        change(&mut config);
        config.check().expect_err("refused").to_string()
    }

    #[test]
    fn what_testpmd_has_not_is_refused() {
        assert!(refusal(|config| config.ports = 4).contains("ports = 4"));
        for frames in [0, 1, 1_000, 32_768] {
            let said = refusal(|config| config.input_queue_frames = frames);
            assert!(said.contains("power of two, from 2 to 16384"), "{said}");
        }
        let said = refusal(|config| config.filter = crate::FilterRules::One);
        assert!(said.contains("linux-router"), "{said}");
        let said = refusal(|config| config.destination_networks = true);
        assert!(said.contains("linux-router"), "{said}");
        let said = refusal(|config| {
            config.impairments = vec![crate::Impairment::DropEvery { every: 3 }];
        });
        assert!(said.contains("linux-bridge"), "{said}");
        let mode = Some(crate::ForwardMode::Mac);
        let bridge =
            TestbedConfig { forward_mode: mode, ..TestbedConfig::of(DeviceKind::LinuxBridge) };
        let said = bridge.check().expect_err("refused").to_string();
        assert!(said.contains("forward_mode") && said.contains("testpmd"), "{said}");
    }

    #[test]
    fn only_workers_forward() {
        assert!(is_worker("rte-worker-1"));
        assert!(!is_worker("dpdk-testpmd") && !is_worker("eal-intr-thread"));
    }
}
