//! Devices set up for the Harvard tests: simulated ones, and those built here.

use crate::captures::Captures;
use crate::failure::{Failure, Outcome};
use crate::options::Options;
use crate::setup::{self, Setup, Subject};
use crate::supervised::Supervised;
use crate::{built, simulated, topology};
use method::harvard::{Filters, Mode, Path, Ready, SetUp, SetUpError};
use method::{Forwarding, Recorded, ResumingTester, RunError, Topology};
use sim::{Description, DeviceUnderTest, Protocol, SimTester};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use testbed::{DeviceKind, FilterRules, TestbedConfig};
use trial::{Tester, TesterDescription};

/// The device's address on its networks, the tester's being 1 (router tests of 1990).
const DEVICE_HOST: u8 = 254;
/// Networks of 192.32 on which streams come in, and on which they leave.
const INPUT_NETWORK: u8 = 100;
const OUTPUT_NETWORK: u8 = 200;

/// A laboratory with one device.
pub struct Laboratory<'a> {
    subject: &'a Subject,
    options: &'a Options,
    stop: &'a Arc<AtomicBool>,
    /// Trials of a run that goes on.
    recorded: Recorded,
    captures: Option<Captures>,
    description: TesterDescription,
    device: String,
    environment: BTreeMap<String, String>,
    stand: Stand,
}

/// A tester in virtual time before a device of any kind.
type SimulatedTester = SimTester<Box<dyn DeviceUnderTest>>;

/// The device as it is set up.
enum Stand {
    Nothing,
    Simulated(Box<SimulatedTester>),
    Built(Box<Setup>),
}

impl<'a> Laboratory<'a> {
    /// With the device of these options. What is between two interfaces of others cannot be set up
    /// from here, and is refused.
    pub fn new(
        subject: &'a Subject,
        options: &'a Options,
        stop: &'a Arc<AtomicBool>,
    ) -> Outcome<Self> {
        if let Subject::Between(_) = subject {
            return Err(Failure::new("this suite sets up filters and protocols in the device")
                .help("test a device that netanvil builds (--device) or simulates (--sim)"));
        }
        let setup = setup::prepare(subject, options, false, stop)?;
        let mut laboratory = Laboratory {
            subject,
            options,
            stop,
            recorded: Recorded::default(),
            captures: None,
            description: setup.tester.describe().clone(),
            device: setup.device.clone(),
            environment: setup.environment.clone(),
            stand: Stand::Built(Box::new(setup)),
        };
        laboratory.clear()?;
        Ok(laboratory)
    }

    /// Trials to be answered from the record.
    pub fn recall(&mut self, recorded: Recorded) {
        self.recorded = recorded;
    }
    /// What became of them.
    pub fn recorded(&self) -> &Recorded {
        &self.recorded
    }
    /// Frames to be captured from now on.
    pub fn capture(&mut self, captures: Option<Captures>) {
        self.captures = captures;
    }
    /// The device in words.
    pub fn device(&self) -> &str {
        &self.device
    }
    /// The host and the device's settings, for the report.
    pub fn environment(&self) -> BTreeMap<String, String> {
        self.environment.clone()
    }
    /// Removes what was built.
    pub fn tear_down(mut self) -> Outcome<()> {
        self.clear()
    }

    fn clear(&mut self) -> Outcome<()> {
        match std::mem::replace(&mut self.stand, Stand::Nothing) {
            Stand::Built(setup) => setup.tear_down(),
            Stand::Simulated(_) | Stand::Nothing => Ok(()),
        }
    }

    fn simulated(
        &self,
        name: &str,
        set_up: &SetUp,
    ) -> Result<(SimulatedTester, Vec<Topology>), SetUpError> {
        let device = simulated::read(name).map_err(failed)?;
        let line_rate = self.options.line_rate.unwrap_or(device.line_rate);
        simulate(&Description { line_rate, ..device }, set_up)
    }

    /// What is to be built for a set-up, and which ports it has streams between.
    fn blueprint(
        &self,
        kind: DeviceKind,
        set_up: &SetUp,
    ) -> Result<(TestbedConfig, Vec<(u16, u16)>), SetUpError> {
        let defaults = built::configuration(self.options, kind).map_err(failed)?;
        let config = built_as(defaults, set_up)?;
        let pairs = set_up.ports(config.ports, None).map_err(SetUpError::NotPossible)?;
        Ok((config, pairs))
    }

    fn build(&mut self, kind: DeviceKind, set_up: &SetUp) -> Result<Vec<Topology>, SetUpError> {
        let (config, pairs) = self.blueprint(kind, set_up)?;
        self.clear().map_err(failed)?;
        let setup = setup::build(&config, self.options, self.stop).map_err(failed)?;
        let between = |(from, to): &(u16, u16)| {
            topology::between(&setup.topology, [usize::from(*from), usize::from(*to)])
        };
        let streams = pairs.iter().map(between).collect();
        self.stand = Stand::Built(Box::new(setup));
        Ok(streams)
    }
}

impl method::harvard::Laboratory for Laboratory<'_> {
    fn describe(&self) -> TesterDescription {
        self.description.clone()
    }

    fn shows_counters(&self) -> bool {
        matches!(self.subject, Subject::Built(kind) if *kind != DeviceKind::Loopback)
    }

    fn is_possible(&self, set_up: &SetUp) -> bool {
        let is = |error| matches!(error, SetUpError::NotPossible(_));
        match self.subject {
            Subject::Simulated(name) => !self.simulated(name, set_up).is_err_and(is),
            Subject::Built(kind) => !self.blueprint(*kind, set_up).is_err_and(is),
            Subject::Between(_) => false,
        }
    }

    fn set_up(&mut self, set_up: &SetUp) -> Result<Ready<'_>, SetUpError> {
        let streams = match self.subject {
            Subject::Simulated(name) => {
                let (tester, streams) = self.simulated(name, set_up)?;
                self.stand = Stand::Simulated(Box::new(tester));
                streams
            }
            Subject::Built(kind) => self.build(*kind, set_up)?,
            Subject::Between(_) => {
                return Err(SetUpError::NotPossible("it is not ours to set up".into()));
            }
        };
        let tester: &mut dyn Tester = match &mut self.stand {
            Stand::Simulated(tester) => tester.as_mut(),
            Stand::Built(setup) => setup.tester.as_mut(),
            Stand::Nothing => return Err(failed(Failure::new("no device was set up"))),
        };
        let tester = Supervised::new(tester, self.stop.clone(), self.captures.clone());
        Ok(Ready {
            tester: Box::new(ResumingTester::new(tester, &mut self.recorded)),
            streams,
            filters: set_up.filters.in_words().into(),
        })
    }
}

fn failed(failure: Failure) -> SetUpError {
    SetUpError::Failed(RunError::Config(failure.to_string()))
}

/// What to build for a set-up: the kernel's router routes IP alone, its bridge passes everything.
fn built_as(defaults: TestbedConfig, set_up: &SetUp) -> Result<TestbedConfig, SetUpError> {
    let no = |why: &str| Err(SetUpError::NotPossible(why.into()));
    match (defaults.device, set_up.mode) {
        (DeviceKind::LinuxRouter, Mode::Ip) => {}
        (DeviceKind::LinuxRouter, Mode::Bridge) => return no("it routes (see linux-bridge)"),
        (DeviceKind::LinuxRouter, _) => return no("this kernel routes IP alone"),
        (DeviceKind::Loopback, _) if set_up.filters != Filters::None => {
            return no("a cable has no filters");
        }
        (DeviceKind::OvsUserspace, _) if set_up.filters != Filters::None => {
            return no("its frames never come by the kernel's filters");
        }
        (DeviceKind::OvsUserspace, _) => {}
        (DeviceKind::L3fwd, Mode::Ip) if set_up.filters == Filters::None && set_up.streams == 1 => {
        }
        (DeviceKind::L3fwd, _) => return no("it routes IP between two ports, without filters"),
        (DeviceKind::OvsDpdk | DeviceKind::Testpmd, _) if set_up.filters != Filters::None => {
            return no("it has no filters");
        }
        (DeviceKind::OvsDpdk | DeviceKind::Testpmd, _) if set_up.streams > 1 => {
            return no("it has two ports");
        }
        (DeviceKind::OvsDpdk | DeviceKind::Testpmd, _) => {}
        (DeviceKind::LinuxBridge | DeviceKind::LinuxMcast | DeviceKind::Loopback, _) => {}
    }
    if set_up.path == Path::Between {
        return no("it has no interface cards");
    }
    let filter = match set_up.filters {
        Filters::None => FilterRules::None,
        Filters::One => FilterRules::One,
        Filters::Ten => FilterRules::Ten,
    };
    Ok(TestbedConfig { ports: 2 * set_up.streams, filter, ..defaults })
}

/// A simulated device set up, with a tester of its own, and who has which address: the networks of
/// the filters of 1990 (192.32.100 and 192.32.200), and for a second stream those after them.
pub fn simulate(
    device: &Description,
    set_up: &SetUp,
) -> Result<(SimulatedTester, Vec<Topology>), SetUpError> {
    let no = |why: String| Err(SetUpError::NotPossible(why));
    let is_router = !device.route.is_empty();
    let forwarding = match protocol_of(set_up.mode) {
        Some(protocol) if device.route.contains(&protocol) => Forwarding::Routed,
        Some(_) if is_router => return no(format!("it routes no {}", set_up.mode)),
        None if is_router && !device.bridge => return no("it does not bridge".into()),
        _ => Forwarding::Bridged,
    };
    if set_up.filters != Filters::None && forwarding != Forwarding::Routed {
        return no("its filters are those of a router".into());
    }
    let ports_a_card = device.card.as_ref().map(|card| card.ports);
    let pairs = set_up.ports(device.ports, ports_a_card).map_err(SetUpError::NotPossible)?;
    let mut addresses = simulated::addresses(device.ports);
    let mut streams = vec![];
    for (stream, (from, to)) in pairs.iter().enumerate() {
        let ports = [usize::from(*from), usize::from(*to)];
        let all = topology::of_simulation(device.ports, forwarding);
        let mut topology = topology::between(&all, ports);
        let networks = [INPUT_NETWORK, OUTPUT_NETWORK].map(|network| network + stream as u8);
        for ((attachment, network), port) in topology.ports.iter_mut().zip(networks).zip(ports) {
            let host = |host| Ipv4Addr::new(192, 32, network, host);
            (attachment.host_ipv4, attachment.device_ipv4) = (host(1), host(DEVICE_HOST));
            addresses.interfaces[port].ipv4 = (host(DEVICE_HOST), 24);
        }
        streams.push(topology);
    }
    let second = pairs.get(1).map(|(from, _)| usize::from(*from));
    let device = device.permitting(&set_up.filters.permitted());
    let tester = device.tester_with_second(&addresses, second);
    let tester = tester.map_err(|error| failed(simulated::impossible("device", &error)))?;
    Ok((tester, streams))
}

fn protocol_of(mode: Mode) -> Option<Protocol> {
    Some(match mode {
        Mode::Ip => Protocol::Ipv4,
        Mode::AppleTalk => Protocol::Appletalk,
        Mode::Decnet => Protocol::Decnet,
        Mode::Ipx => Protocol::Ipx,
        Mode::Bridge => return None,
    })
}
