//! Open vSwitch with its DPDK datapath as the device under test: a learning switch that polls two vhost-user sockets
//! on a processor, as virtual machines join it.
//!
//! Its database, its sockets and its processes are the run's own. The interfaces that it makes for itself are in a network
//! namespace without a name. memif is no way to join it: Open vSwitch 3.1 sends by a queue of the thread that forwards, the
//! second one, for which a memif of one ring has no room. What it has on disk goes as soon as both ports are joined: a kill
//! leaves nothing from then on.

mod command;
mod control;
mod counters;

use crate::config::TestbedConfig;
use crate::error::{Result, TestbedError};
use crate::ovs::{self, Home, STARTS_WITHIN};
use crate::polling::{
    BEFORE_OTHERS, Folder, PORTS, PollingDevice, PollingFacts, PortCounters, RING_BITS, RUNTIME,
    check_ring, memory_in_words, next_device, place, vhost_user_near_end,
};
use crate::program::{Program, ProgramName};
use crate::scheduling;
use command::{MEMORY_MB, MTU_BYTES, port_name, socket, words};
use control::Control;
use kernel::Namespace;
use std::path::Path;
use std::time::Duration;

const FOLDER: &str = "ovs-dpdk";
const SWITCH: ProgramName =
    ProgramName { program: "ovs-vswitchd-dpdk", package: "openvswitch-switch-dpdk" };
/// Its control socket.
const CONTROL: &str = "switch.ctl";
const ANSWERS_WITHIN: Duration = Duration::from_secs(20);

/// Why there can be no Open vSwitch with DPDK on this host; `None` where there can.
pub fn ovs_dpdk_shortfall() -> Option<String> {
    ovs::shortfall_of(SWITCH)
}

/// Refuses what it cannot be given.
pub(crate) fn check(config: &TestbedConfig) -> Result<()> {
    let refuse = |message: String| Err(TestbedError::Configuration(message));
    match config.ports {
        PORTS if config.mtu_bytes > MTU_BYTES => refuse(format!(
            "mtu_bytes = {}: ovs-dpdk has {MTU_BYTES} (frames of 1518 bytes)",
            config.mtu_bytes
        )),
        PORTS => check_ring(config.input_queue_frames, RING_BITS, "vhost-user"),
        ports => refuse(format!("ports = {ports}: ovs-dpdk is built with two; use ovs-userspace")),
    }
}

/// A running Open vSwitch with DPDK.
#[derive(Debug)]
pub struct OvsDpdk {
    /// The switch first: it would else complain that its database has gone.
    switch: Program,
    database: Program,
    control: Control,
    /// Gone once the tester has joined.
    folder: Option<Folder>,
    near_ends: [String; PORTS],
    facts: PollingFacts,
}

impl OvsDpdk {
    /// Starts one and waits until it forwards. `before_others` gives it nice -20, where this process may.
    ///
    /// # Errors
    /// If it is missing, or ends, or does not take its ports; with what it said.
    pub fn start(config: &TestbedConfig, before_others: bool) -> Result<Self> {
        config.check()?;
        if let Some(message) = ovs_dpdk_shortfall() {
            return Err(failed(message));
        }
        let place = place(config, u64::from(MEMORY_MB) << 20);
        let folder = Folder::create(FOLDER)?;
        let home = Home::new(folder.path().to_owned());
        let namespace = Namespace::create_anonymous(FOLDER)?;
        let main_cpu = place.main_cpu.to_string();
        // Its threads are where it starts, all but the one that forwards.
        let pinned = ["taskset", "-c", &main_cpu];
        let mut database = home.start_database(&namespace, &pinned)?;
        let words = words(config, place, folder.path());
        home.configure(&words.iter().map(String::as_str).collect::<Vec<_>>())?;
        let in_front: &[&str] = if before_others { &BEFORE_OTHERS } else { &[] };
        let runtime = format!("{RUNTIME}={}", folder.path().display());
        let wrappers = [in_front, &pinned, &["env", &runtime]].concat();
        let arguments = [&home.database()[..], "--disable-system"];
        let mut switch = home.start(&namespace, SWITCH, &wrappers, &arguments, CONTROL)?;
        wait_until_it_forwards(&home, &mut switch, &mut database)?;
        let control = Control::connect(Path::new(&home.file(CONTROL)), ANSWERS_WITHIN)
            .map_err(|error| failed(format!("connect to {CONTROL}: {error}")))?;
        let near = |port| {
            let socket = socket(folder.path(), port);
            vhost_user_near_end(next_device(), port, config.input_queue_frames, &socket)
        };
        let release = counters::release(&home.run(SWITCH.program, &["--version"])?);
        let release = release.unwrap_or_else(|| SWITCH.program.into());
        let memory = memory_in_words(place.has_huge_pages);
        let facts = PollingFacts {
            title: format!("{release}, a learning switch over vhost-user, one forwarding thread"),
            program: format!("{release}, {memory}"),
            command: format!("{} {}", SWITCH.program, arguments.join(" ")),
            settings: format!("ovs-vsctl {}", words.join(" ")),
            queues: format!("rings of {} frames each way at every port", config.input_queue_frames),
            mtu: format!("{MTU_BYTES} bytes"),
            forwarding_cpu: place.forwarding_cpu,
            main_cpu: place.main_cpu,
        };
        let near_ends = [near(0), near(1)];
        let folder = Some(folder);
        Ok(OvsDpdk { switch, database, control, folder, near_ends, facts })
    }
}

/// Returns when the switch has done as the database says.
#[allow(clippy::disallowed_methods, reason = "a program starts in real time")]
fn wait_until_it_forwards(home: &Home, switch: &mut Program, database: &mut Program) -> Result<()> {
    const STEP: Duration = Duration::from_millis(50);
    for _ in 0..STARTS_WITHIN.as_millis() / STEP.as_millis() {
        switch.check()?;
        database.check()?;
        let done = home.configure(&["--no-wait", "get", "open_vswitch", ".", "cur_cfg"])?;
        if done.trim() == "1" {
            return (0..PORTS).try_for_each(|port| check_port(home, port));
        }
        std::thread::sleep(STEP);
    }
    Err(failed(format!("does not forward within {STARTS_WITHIN:?}")))
}

/// Whether the switch has taken a port.
fn check_port(home: &Home, port: usize) -> Result<()> {
    let name = port_name(port);
    let get = |column| home.configure(&["--no-wait", "get", "interface", &name, column]);
    if get("ofport")?.trim().parse::<u32>().is_ok() {
        return Ok(());
    }
    let why = get("error")?;
    Err(failed(format!("does not take {name}: {}", why.trim())))
}

impl PollingDevice for OvsDpdk {
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
        scheduling::threads_named(self.switch.id(), is_forwarder)
    }

    fn counters(&mut self) -> Result<[PortCounters; PORTS]> {
        let (command, argument) = counters::COMMAND;
        let answer = match self.control.ask(command, &[argument]) {
            Ok(answer) => answer,
            Err(error) => {
                self.check()?;
                return Err(failed(format!("does not answer: {error}")));
            }
        };
        counters::parse(&answer)
            .ok_or_else(|| failed(format!("does not show its counters: {answer}")))
    }

    fn check(&mut self) -> Result<()> {
        self.switch.check()?;
        self.database.check()
    }

    /// It goes on: its ports answer to the tester's as they close.
    fn freeze(&self) {}
}

/// Threads that forward, as Open vSwitch names them: `pmd-c01/id:8`.
fn is_forwarder(name: &str) -> bool {
    name.starts_with("pmd-c")
}

fn failed(message: String) -> TestbedError {
    TestbedError::Program { program: SWITCH.program, message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DeviceKind;

    fn refusal(change: impl FnOnce(&mut TestbedConfig)) -> String {
        let mut config = TestbedConfig::of(DeviceKind::OvsDpdk);
        config.check().expect("as it is by itself it can be built");
        change(&mut config);
        config.check().expect_err("refused").to_string()
    }

    #[test]
    fn what_it_has_not_is_refused() {
        assert!(refusal(|config| config.ports = 4).contains("ports = 4"));
        assert!(refusal(|config| config.mtu_bytes = 1_501).contains("1518 bytes"));
        let said = refusal(|config| config.input_queue_frames = 32_768);
        assert!(said.contains("vhost-user holds a power of two, from 2 to 16384"), "{said}");
        assert!(refusal(|config| config.address_table = Some(9)).contains("address_table = 9"));
        let said = refusal(|config| config.filter = crate::FilterRules::One);
        assert!(said.contains("linux-router"), "{said}");
    }

    #[test]
    fn only_pmd_threads_forward() {
        assert!(is_forwarder("pmd-c01/id:8"));
        assert!(!is_forwarder("ovs-vswitchd-dp") && !is_forwarder("revalidator7"));
    }
}
