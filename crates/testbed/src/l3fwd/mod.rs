//! DPDK's example l3fwd as the device under test: a router of longest prefixes between two memif sockets, which it polls on a
//! processor.
//!
//! It is a program and no namespace. It answers no ARP and asks for nothing: both sides know each other's addresses
//! beforehand. What it has on disk goes as soon as both ports are joined: a kill leaves nothing from then on.

mod command;
mod telemetry;

use crate::config::TestbedConfig;
use crate::error::{Result, TestbedError};
use crate::polling::{
    BEFORE_OTHERS, Folder, PORTS, PollingDevice, PollingFacts, PortCounters, RING_BITS, RUNTIME,
    Words, check_ring, memif_near_end, memory_in_words, next_device, place,
};
use crate::program::{Pipes, Program, ProgramName, find_program};
use crate::scheduling;
use std::io::{self, Read};
use std::path::Path;
use std::process::ChildStdin;
use std::time::Duration;
use telemetry::Telemetry;

const FOLDER: &str = "l3fwd";
/// Distributions have its source alone.
const PROGRAM: ProgramName = ProgramName { program: "dpdk-l3fwd", package: "dpdk-doc" };
const REMEDY: &str = "`make l3fwd` in netanvil's sources builds it out of DPDK's; then \
                      `sudo install target/l3fwd/dpdk-l3fwd /usr/local/bin`";
/// Without huge pages it clears all of its memory first, and then makes tables of 64 MiB.
const STARTS_WITHIN: Duration = Duration::from_secs(60);
const ANSWERS_WITHIN: Duration = Duration::from_secs(20);
/// It looks for its links each 100 ms, and gives up after 9 s.
const FORWARDS_WITHIN: Duration = Duration::from_secs(20);
const STEP: Duration = Duration::from_millis(20);
/// What it forwards in one buffer (RTE_MBUF_DEFAULT_BUF_SIZE less headroom), and an MTU of Ethernet.
const MTU_MAX_BYTES: u32 = 1_500;
/// What it says as it begins to forward.
const FORWARDS: &str = "entering main loop on lcore 0";
/// What it says where the driver of its ports cannot check the checksums that it asks for.
const UNCHANGED: &str = "requested Rx offloads";

/// Why there can be no l3fwd on this host; `None` where there can.
pub fn l3fwd_shortfall() -> Option<String> {
    let is_missing = find_program(PROGRAM.program).is_none();
    is_missing.then(|| format!("{} is not installed: {REMEDY}", PROGRAM.program))
}

/// Refuses what it cannot be given.
pub(crate) fn check(config: &TestbedConfig) -> Result<()> {
    let refuse = |message: String| Err(TestbedError::Configuration(message));
    match config.ports {
        PORTS if config.mtu_bytes > MTU_MAX_BYTES => refuse(format!(
            "mtu_bytes = {}: l3fwd has {MTU_MAX_BYTES} (frames of 1518 bytes)",
            config.mtu_bytes
        )),
        PORTS => check_ring(config.input_queue_frames, RING_BITS, "memif"),
        ports => refuse(format!("ports = {ports}: l3fwd is built with two; use linux-router")),
    }
}

/// A running l3fwd.
#[derive(Debug)]
pub struct L3fwd {
    program: Program,
    telemetry: Telemetry,
    /// Gone once the tester has joined.
    folder: Option<Folder>,
    near_ends: [String; PORTS],
    words: Words,
    facts: PollingFacts,
    _input: ChildStdin,
}

impl L3fwd {
    /// Starts one and waits until the tester can join it. `before_others` gives it nice -20, where this process may.
    ///
    /// # Errors
    /// If it is missing, or ends; with what it said.
    pub fn start(config: &TestbedConfig, before_others: bool) -> Result<Self> {
        config.check()?;
        if let Some(message) = l3fwd_shortfall() {
            return Err(failed(message));
        }
        let place = place(config, u64::from(command::MEMORY_MB) << 20);
        let folder = Folder::create(FOLDER)?;
        for version in [4, 6] {
            let file = command::rules_file(folder.path(), version);
            std::fs::write(&file, command::rules(version, config.destination_networks))
                .map_err(|error| TestbedError::system(format!("write {file}"), error))?;
        }
        let arguments = command::arguments(place, folder.path());
        let in_front: &[&str] = if before_others { &BEFORE_OTHERS } else { &[] };
        let runtime = folder.path().display().to_string();
        let (mut program, pipes) =
            Program::start_talking(PROGRAM, in_front, &arguments, &[(RUNTIME, &runtime)])?;
        let Pipes { input, output, errors } = pipes;
        let words = Words::of(errors);
        drain(output);
        let telemetry = wait_for_ports(&mut program, &words, folder.path())?;
        let release = words.release().unwrap_or_else(|| "DPDK".into());
        let memory = memory_in_words(place.has_huge_pages);
        let near =
            |port| memif_near_end(next_device(), port, config.input_queue_frames, folder.path());
        let facts = PollingFacts {
            title: format!(
                "{release} l3fwd over memif, router by longest prefix, one forwarding thread"
            ),
            program: format!("{release} l3fwd, longest prefix match, {memory}"),
            command: format!("{} {}", PROGRAM.program, arguments.join(" ")),
            settings: routes_in_words(config.destination_networks),
            queues: format!("rings of {} frames each way at every port", config.input_queue_frames),
            mtu: format!("{MTU_MAX_BYTES} bytes"),
            forwarding_cpu: place.forwarding_cpu,
            main_cpu: place.main_cpu,
        };
        let near_ends = [near(0), near(1)];
        let folder = Some(folder);
        Ok(L3fwd { program, telemetry, folder, near_ends, words, facts, _input: input })
    }
}

/// Its routes, all of them where they are few.
fn routes_in_words(has_networks: bool) -> String {
    let rules = [4, 6].map(|version| command::rules(version, false)).concat();
    let few = rules.trim_end().replace('\n', "; ");
    match has_networks {
        true => format!("routes: {few}; and to 256 networks of IPv4 and of IPv6 behind each port"),
        false => format!("routes: {few}"),
    }
}

/// Reads what it prints of its ports: a pipe that is full would stop it.
fn drain(mut output: impl Read + Send + 'static) {
    std::thread::spawn(move || io::copy(&mut output, &mut io::sink()));
}

/// An error with what it said if it has ended.
fn check_program(program: &mut Program, words: &Words) -> Result<()> {
    let Some(status) = program.ended() else { return Ok(()) };
    let why = match words.have(UNCHANGED) {
        true => format!(": it wants cards that check checksums, which memif does not; {REMEDY}"),
        false => words.last(),
    };
    Err(failed(format!("ended ({status}){why}")))
}

/// Returns when both ports are started: they have their sockets then.
#[allow(clippy::disallowed_methods, reason = "a program starts in real time")]
fn wait_for_ports(program: &mut Program, words: &Words, folder: &Path) -> Result<Telemetry> {
    let socket = folder.join("dpdk/device/dpdk_telemetry.v2");
    let mut telemetry = None;
    for _ in 0..STARTS_WITHIN.as_millis() / STEP.as_millis() {
        check_program(program, words)?;
        if telemetry.is_none() {
            telemetry = Telemetry::connect(&socket, ANSWERS_WITHIN).ok();
        }
        let is_started = |open: &Telemetry| {
            (0..PORTS).all(|port| open.is_started(port).is_ok_and(|started| started))
        };
        if let Some(open) = telemetry.take_if(|open| is_started(open)) {
            return Ok(open);
        }
        std::thread::sleep(STEP);
    }
    Err(failed(format!("does not start its ports within {STARTS_WITHIN:?}{}", words.last())))
}

impl PollingDevice for L3fwd {
    fn near_ends(&self) -> &[String] {
        &self.near_ends
    }

    /// It begins to forward when both links are there.
    #[allow(clippy::disallowed_methods, reason = "a program starts in real time")]
    fn joined(&mut self) -> Result<()> {
        self.folder = None;
        for _ in 0..FORWARDS_WITHIN.as_millis() / STEP.as_millis() {
            self.check()?;
            if self.words.have(FORWARDS) {
                return Ok(());
            }
            std::thread::sleep(STEP);
        }
        Err(failed(format!("does not forward within {FORWARDS_WITHIN:?}{}", self.words.last())))
    }

    fn facts(&self) -> &PollingFacts {
        &self.facts
    }

    /// The first one: its only lcore.
    fn forwarding_threads(&self) -> Vec<(u32, String)> {
        let id = self.program.id();
        scheduling::name_of(id).map(|name| (id, name)).into_iter().collect()
    }

    fn counters(&mut self) -> Result<[PortCounters; PORTS]> {
        let all = [0, 1].map(|port| self.telemetry.counters(port));
        match all {
            [Ok(near), Ok(far)] => Ok([near, far]),
            [Err(error), _] | [_, Err(error)] => {
                self.check()?;
                Err(failed(format!("does not show its counters: {error}")))
            }
        }
    }

    fn check(&mut self) -> Result<()> {
        check_program(&mut self.program, &self.words)
    }

    /// Stops it where it stands, as a testpmd: the driver is the same.
    fn freeze(&self) {
        self.program.stop();
    }
}

fn failed(message: String) -> TestbedError {
    TestbedError::Program { program: PROGRAM.program, message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DeviceKind;

    fn refusal(change: impl FnOnce(&mut TestbedConfig)) -> String {
        let mut config = TestbedConfig::of(DeviceKind::L3fwd);
        config.check().expect("as it is by itself it can be built");
        change(&mut config);
        config.check().expect_err("refused").to_string()
    }

    #[test]
    fn what_l3fwd_has_not_is_refused() {
        assert!(refusal(|config| config.ports = 4).contains("ports = 4"));
        assert!(refusal(|config| config.mtu_bytes = 1_501).contains("1518 bytes"));
        let said = refusal(|config| config.input_queue_frames = 1_000);
        assert!(said.contains("power of two, from 2 to 16384"), "{said}");
        let said = refusal(|config| config.filter = crate::FilterRules::One);
        assert!(said.contains("linux-router"), "{said}");
    }
}
