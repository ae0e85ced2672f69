//! DPDK's testpmd as the device under test: it forwards between two memif sockets, and polls them on a processor.
//!
//! It is a program and no namespace. The tester joins it with ports on devices of DPDK ([`PollingDevice::near_ends`]). What
//! it has on disk, the sockets, goes as soon as both ports are joined: a kill leaves nothing from then on.

mod command;
mod counters;

use crate::config::TestbedConfig;
use crate::error::{Result, TestbedError};
use crate::polling::{
    BEFORE_OTHERS, Folder, PORTS, PollingDevice, PollingFacts, PortCounters, RING_BITS, RUNTIME,
    Words, check_ring, is_worker, memif_near_end, memory_in_words, next_device, place,
};
use crate::program::{Pipes, Program, ProgramName, find_program};
use crate::scheduling;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::ChildStdin;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Name of what it keeps in a folder.
const FOLDER: &str = "testpmd";
const PROGRAM: ProgramName = ProgramName { program: "dpdk-testpmd", package: "dpdk-dev" };
/// What has it write line by line into a pipe (coreutils).
const BY_LINES: [&str; 2] = ["stdbuf", "-oL"];
/// Without huge pages it clears all of its memory first.
const STARTS_WITHIN: Duration = Duration::from_secs(60);
const ANSWERS_WITHIN: Duration = Duration::from_secs(20);

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
    match config.ports {
        PORTS => check_ring(config.input_queue_frames, RING_BITS, "memif"),
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
    words: Words,
    facts: PollingFacts,
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
        let place = place(config, u64::from(command::MEMORY_MB) << 20);
        let folder = Folder::create(FOLDER)?;
        let arguments = command::arguments(config, place, folder.path());
        let in_front: &[&str] = if before_others { &BEFORE_OTHERS } else { &[] };
        let wrappers = [in_front, &BY_LINES].concat();
        let runtime = folder.path().display().to_string();
        let (program, pipes) =
            Program::start_talking(PROGRAM, &wrappers, &arguments, &[(RUNTIME, &runtime)])?;
        let Pipes { input, output, errors } = pipes;
        let (lines, words) = (lines_of(output), Words::of(errors));
        let near =
            |port| memif_near_end(next_device(), port, config.input_queue_frames, folder.path());
        let mut testpmd = Testpmd {
            near_ends: [near(0), near(1)],
            folder: Some(folder),
            program,
            input,
            output: lines,
            facts: PollingFacts {
                title: String::new(),
                program: String::new(),
                command: format!("{} {}", PROGRAM.program, arguments.join(" ")),
                settings: String::new(),
                queues: format!(
                    "rings of {} frames each way at every port",
                    config.input_queue_frames
                ),
                mtu: "none: memif carries any length".into(),
                forwarding_cpu: place.forwarding_cpu,
                main_cpu: place.main_cpu,
            },
            words,
        };
        // It answers once it forwards.
        testpmd.ask(STARTS_WITHIN)?;
        let release = testpmd.words.release().unwrap_or_default();
        let mode = config.forward_mode.unwrap_or_default();
        let memory = memory_in_words(place.has_huge_pages);
        testpmd.facts.title =
            format!("{release} testpmd over memif, forward mode {mode}, one forwarding thread");
        testpmd.facts.program = format!("{release} testpmd, forward mode {mode}, {memory}");
        Ok(testpmd)
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
        failed(format!("{what}{}", self.words.last()))
    }
}

impl PollingDevice for Testpmd {
    fn near_ends(&self) -> &[String] {
        &self.near_ends
    }

    fn joined(&mut self) -> Result<()> {
        self.folder = None;
        Ok(())
    }

    fn facts(&self) -> &PollingFacts {
        &self.facts
    }

    fn forwarding_threads(&self) -> Vec<(u32, String)> {
        scheduling::threads_named(self.program.id(), is_worker)
    }

    fn counters(&mut self) -> Result<[PortCounters; PORTS]> {
        let answer = self.ask(ANSWERS_WITHIN)?;
        counters::parse(&answer)
            .ok_or_else(|| failed(format!("does not show its counters: {}", answer.join(" "))))
    }

    fn check(&mut self) -> Result<()> {
        let Some(status) = self.program.ended() else { return Ok(()) };
        Err(failed(format!("ended ({status}){}", self.words.last())))
    }

    /// Stops it where it stands. The driver of memif in DPDK 22.11 frees a queue as its far end leaves, though another
    /// thread still polls it: a testpmd that does not run cannot fail of that.
    fn freeze(&self) {
        self.program.stop();
    }
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
}
