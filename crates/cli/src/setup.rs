//! What a run needs of the world: a tester, the device between its ports, and who has which
//! address.

use crate::failure::{Failure, Outcome};
use crate::options::{BitRate, Options, SuiteName};
use crate::{
    built, control, elsewhere, encapsulated_groups, far, hardware, host, polling, scheduling,
    simulated, suite, tolly, topology,
};
use kernel::Privilege;
use method::{Forwarding, Topology};
use ports::scheduling::Priority;
use ports::{DeviceControl, LiveOptions, LiveTester, Location, OpenPort, PortRequest};
use sim::StaticRoute;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use testbed::{DeviceKind, HardwarePorts, Testbed, TestbedConfig};
use trial::{PortId, Tester, TesterDescription};
use units::FrameSize;

/// A virtual link has no rate of its own; the theoretical maximum is computed from this one.
const NOMINAL_RATE: BitRate = BitRate(10_000_000_000);

/// A tester in front of a device.
pub struct Setup {
    /// Before the tester: a device that must stand still as its ports close.
    freeze: Option<polling::Freeze>,
    /// Runs trials.
    pub tester: Box<dyn Tester>,
    /// Who has which address, at every port.
    pub topology: Topology,
    /// The device in words.
    pub device: String,
    /// Packet filters on the device, in words; empty for none.
    pub filters: String,
    /// The host and the device's settings, for the report.
    pub environment: BTreeMap<String, String>,
    /// Builds the same tester with a device of its own, where there can be more than one.
    pub another: Option<Another>,
    /// After the tester, so that sockets close before their interfaces go.
    ground: Ground,
    /// Held while the tester lives.
    _priority: Option<Priority>,
}

/// See [`Setup::another`].
pub type Another = Box<dyn Fn() -> Outcome<Box<dyn Tester + Send>>>;

/// What the ports stand on, and is given back at the end.
enum Ground {
    Testbed(Box<Testbed>),
    Polling(polling::Ground),
    Hardware(HardwarePorts),
    Nothing,
}

/// What is tested.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    /// A device that is built here.
    Built(DeviceKind),
    /// Whatever is between two interfaces, or more.
    Between(Vec<Location>),
    /// A device in virtual time, by name or file.
    Simulated(String),
}

impl Subject {
    /// As the options name it.
    pub fn of(options: &Options) -> Outcome<Self> {
        match (&options.device, &options.ports, &options.sim) {
            (Some(kind), ..) => Ok(Subject::Built(*kind)),
            (_, Some(ports), _) if ports.len() >= 2 => Ok(Subject::Between(ports.clone())),
            (_, Some(_), _) => Err(Failure::new("a test needs two ports at least")
                .help("write --ports eth1,eth2, or --ports once for each device of DPDK")),
            (.., Some(name)) => Ok(Subject::Simulated(name.clone())),
            _ => Err(Failure::new("nothing to test")
                .help("build a device with --device linux-router (linux-bridge, linux-mcast, ovs-userspace, ovs-dpdk, testpmd, l3fwd, loopback),")
                .help("test what is between two interfaces with --ports eth1,eth2,")
                .help("or simulate one with --sim router; `netanvil devices` lists all")),
        }
    }

    /// For the name of a run folder.
    pub fn short_name(&self) -> String {
        match self {
            Subject::Built(kind) => kind.name().into(),
            Subject::Between(ports) => short_names(ports).join("-"),
            Subject::Simulated(name) => format!("sim-{name}"),
        }
    }

    /// Whether root's rights, or a user namespace in their stead, are needed.
    pub fn acquire_rights(&self) -> Outcome<()> {
        match self {
            // Programs without interfaces.
            Subject::Built(DeviceKind::Testpmd | DeviceKind::L3fwd) => Ok(()),
            Subject::Built(_) if Privilege::current() == Privilege::Ordinary => {
                Ok(kernel::enter_user_namespace()?)
            }
            _ => Ok(()),
        }
    }
}

/// Builds or opens everything that the options ask for.
pub fn prepare(
    subject: &Subject,
    options: &Options,
    yes: bool,
    stop: &Arc<AtomicBool>,
) -> Outcome<Setup> {
    if options.tunnel.is_some() && !matches!(subject, Subject::Built(_)) {
        return Err(Failure::new("--tunnel belongs to --device linux-router"));
    }
    refuse_idle_ports(subject, options)?;
    let facts = host::facts(options.device_info.as_deref().unwrap_or_default())?;
    let mut setup = match subject {
        Subject::Built(kind) => {
            let config = built::configuration(options, *kind)?;
            let mut setup = build(&config, options, stop)?;
            setup.load_groups(options)?;
            Ok(setup)
        }
        Subject::Between(ports) => between(ports, options, yes, stop),
        Subject::Simulated(name) => {
            let device = simulated::read(name)?;
            let config = suite::of_many_ports(options)?;
            let routes = config.map_or(vec![], |config| tolly::routes(&config, device.ports));
            simulate(&device, name, options.line_rate, routes)
        }
    }?;
    setup.environment.extend(facts);
    // Nobody can read the MTU of a device between given ports: the user tells it, or it is missing.
    let is_told = |name: &String| name.eq_ignore_ascii_case(built::DEVICE_MTU);
    if !setup.environment.keys().any(is_told) {
        let missing = "not known: state it by --device-info mtu=BYTES".to_owned();
        setup.environment.insert(built::DEVICE_MTU.into(), missing);
    }
    Ok(setup)
}

/// Refuses interfaces that no test would use.
fn refuse_idle_ports(subject: &Subject, options: &Options) -> Outcome<()> {
    let has_many = suite::of_many_ports(options)?.is_some();
    match subject {
        Subject::Between(ports) if ports.len() > 2 && !has_many => {
            match options.pattern.unwrap_or_default().is_pair() {
                true => Err(Failure::new(format!("{} ports are given, for one pair", ports.len()))
                    .help("load all of them with --pattern pairs or --pattern multi_port,")
                    .help("or name two: --ports eth1,eth2")),
                false => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

/// The same tester without a device, its ports joined: for the self-test. None where that takes a
/// cable.
pub fn prepare_looped(
    subject: &Subject,
    options: &Options,
    stop: &Arc<AtomicBool>,
) -> Outcome<Option<Setup>> {
    match subject {
        Subject::Built(kind) if kind.polls() => {
            let config = built::configuration(options, *kind)?;
            join(polling::Ground::looped(&config)?, &config, options, stop).map(Some)
        }
        Subject::Built(kind) => {
            let ports = built::configuration(options, *kind)?.ports;
            let looped = looped_ports(options, ports);
            virtual_pairs(looped, options.port_type, options, stop).map(Some)
        }
        Subject::Between(_) => Ok(None),
        Subject::Simulated(name) => {
            let device = looped(&simulated::read(name)?, options);
            simulate(&device, "cable", options.line_rate, vec![]).map(Some)
        }
    }
}

/// Virtual links are all alike: for the self-test a pair of our own stands for the user's. None
/// where the ports are others.
pub fn prepare_alike(
    tester: &TesterDescription,
    options: &Options,
    stop: &Arc<AtomicBool>,
) -> Outcome<Option<Setup>> {
    if tester.ports.iter().any(|port| port.driver != "veth") {
        return Ok(None);
    }
    let in_use = tester.ports.first().and_then(|port| port.port_type.parse().ok());
    let ports = looped_ports(options, tester.ports.len());
    virtual_pairs(ports, in_use, options, stop).map(Some)
}

/// How many of the tester's ports measure themselves: those that the pattern of the tests loads, in pairs.
fn looped_ports(options: &Options, ports: usize) -> usize {
    let of_many = options.suite.unwrap_or_default().is_of_many_ports();
    match options.pattern.unwrap_or_default().is_pair() && !of_many {
        true => 2,
        false => ports / 2 * 2,
    }
}

/// A simulated tester with these ports joined.
pub fn looped(device: &sim::Description, options: &Options) -> sim::Description {
    sim::Description { ports: looped_ports(options, device.ports), ..device.looped() }
}

/// Ports joined in pairs by virtual links.
fn virtual_pairs(
    ports: usize,
    port_type: Option<ports::PortType>,
    options: &Options,
    stop: &Arc<AtomicBool>,
) -> Outcome<Setup> {
    let plain = Options {
        sizes: options.sizes.clone(),
        mtu: options.mtu,
        tx_queue: options.tx_queue,
        input_queue: options.input_queue,
        line_rate: options.line_rate,
        scheduling: options.scheduling,
        queues: options.queues,
        port_count: Some(ports),
        port_type,
        ..Options::default()
    };
    let config = built::configuration(&plain, DeviceKind::Loopback)?;
    build(&config, &plain, stop)
}

/// Interfaces joined by cables in pairs, for their self-test.
pub fn prepare_cabled(
    ports: &[Location],
    options: &Options,
    yes: bool,
    stop: &Arc<AtomicBool>,
) -> Outcome<Setup> {
    refuse_idle_ports(&Subject::Between(ports.to_vec()), options)?;
    let of_cable = Options { far_ports: None, ..options.clone() };
    let mut setup = between(ports, &of_cable, yes, stop)?;
    setup.topology = setup.topology.looped();
    Ok(setup)
}

fn simulate(
    device: &sim::Description,
    name: &str,
    line_rate: Option<BitRate>,
    routes: Vec<StaticRoute>,
) -> Outcome<Setup> {
    let simulated = simulated::build(device, name, line_rate, routes.clone())?;
    let (again, of_name) = (device.clone(), name.to_owned());
    let another: Another = Box::new(move || {
        let simulated = simulated::build(&again, &of_name, line_rate, routes.clone())?;
        Ok(Box::new(simulated.tester))
    });
    let forwarding = if simulated.routes { Forwarding::Routed } else { Forwarding::Bridged };
    let filters = match device.filter.rules.len() {
        0 => String::new(),
        rules => format!("{rules} rules"),
    };
    let mut environment = host::describe();
    let as_text = toml::to_string(device).unwrap_or_default();
    environment.insert(host::DEVICE_DESCRIPTION.into(), as_text);
    environment.insert(built::DEVICE_MTU.into(), simulated::mtu_in_words(device));
    Ok(Setup {
        freeze: None,
        topology: topology::of_simulation(device.ports, forwarding),
        device: simulated.name,
        filters,
        environment,
        tester: Box::new(simulated.tester),
        another: Some(another),
        ground: Ground::Nothing,
        _priority: None,
    })
}

/// A device that is built here.
pub fn build(config: &TestbedConfig, options: &Options, stop: &Arc<AtomicBool>) -> Outcome<Setup> {
    if config.device.polls() {
        let scheduling = options.scheduling.unwrap_or_default();
        let ground = polling::Ground::start(config, scheduling)?;
        return join(ground, config, options, stop);
    }
    let testbed = Testbed::build(config)?;
    let location = |port: &testbed::TestPort| Location {
        host: None,
        interface: port.interface.clone(),
        port_type: None,
    };
    let locations: Vec<Location> = testbed.ports().iter().map(location).collect();
    let ports = testbed.tester().run(|| open(&locations, options))??;
    for (port, here) in ports.iter().zip(testbed.ports()) {
        port.play(vec![topology::hosts_of(here)]);
    }
    let device = testbed.device();
    let live = LiveOptions {
        device_cores: config.device_cpu.into_iter().collect(),
        device: device
            .clone()
            .map(|device| Box::new(control::Built::new(device)) as Box<dyn DeviceControl>),
        reads_counters: reads_counters(options),
        stop: stop.clone(),
        real_time: scheduling::real_time(options),
    };
    let mut environment = host::describe();
    environment.extend(built::settings(&testbed));
    let priority = scheduling::own(options);
    let of_device = testbed.device().and_then(|device| device.scheduling());
    environment.insert(scheduling::NAME.into(), scheduling::in_words(priority.as_ref(), of_device));
    Ok(Setup {
        freeze: None,
        tester: Box::new(LiveTester::new(ports, live).map_err(Failure::new)?),
        topology: topology::of_testbed(&testbed),
        device: built::in_words(config),
        filters: suite::filters_in_words(config),
        environment,
        another: None,
        ground: Ground::Testbed(Box::new(testbed)),
        _priority: priority,
    })
}

/// Joins a device that polls, or the tester's own ports.
fn join(
    mut ground: polling::Ground,
    config: &TestbedConfig,
    options: &Options,
    stop: &Arc<AtomicBool>,
) -> Outcome<Setup> {
    let ports = open(&ground.locations(), options).map_err(|error| ground.why_not_joined(error))?;
    ground.joined()?;
    let device = ground.control();
    let topology = topology::of_forwarder(&ports, config)?;
    let topology = if device.is_some() { topology } else { topology.looped() };
    let live = LiveOptions {
        device_cores: ground.device_cores(),
        device,
        reads_counters: reads_counters(options),
        stop: stop.clone(),
        real_time: scheduling::real_time(options),
    };
    let mut environment = host::describe();
    environment.extend(ground.settings(config));
    let priority = scheduling::own(options);
    let of_device = ground.scheduling(options.scheduling.unwrap_or_default());
    environment.insert(scheduling::NAME.into(), scheduling::in_words(priority.as_ref(), of_device));
    Ok(Setup {
        freeze: ground.freeze(),
        tester: Box::new(LiveTester::new(ports, live).map_err(Failure::new)?),
        topology,
        device: ground.in_words(),
        filters: String::new(),
        environment,
        another: None,
        ground: Ground::Polling(ground),
        _priority: priority,
    })
}

fn reads_counters(options: &Options) -> bool {
    matches!(options.suite, Some(SuiteName::Harvard1989 | SuiteName::Harvard1990))
}

fn between(
    locations: &[Location],
    options: &Options,
    yes: bool,
    stop: &Arc<AtomicBool>,
) -> Outcome<Setup> {
    elsewhere::refuse_unproven(locations, options.agent_certificates.as_deref())?;
    let names = &short_names(locations);
    let of_kernel = locations.iter().filter_map(Location::kernel_interface);
    let hardware = hardware::take(&of_kernel.map(String::from).collect::<Vec<_>>(), yes)?;
    let ports = open(locations, options)?;
    let topology = topology::of_interfaces(&ports, options)?;
    topology.check().map_err(Failure::new)?;
    let real_time = scheduling::real_time(options);
    let far = far::side(options, names, &ports, stop)?;
    let mut environment = host::describe();
    environment.extend(far.iter().map(|far| (far::NAME.to_owned(), far.in_words())));
    let device = far.map(|far| Box::new(far) as Box<dyn DeviceControl>);
    let live = LiveOptions { stop: stop.clone(), real_time, device, ..LiveOptions::default() };
    let priority = scheduling::own(options);
    environment.insert(scheduling::NAME.into(), scheduling::in_words(priority.as_ref(), None));
    let facts = serde_json::to_string(hardware.ports()).unwrap_or_default();
    environment.insert("ports".into(), facts);
    let left_on = hardware.shortfalls().join("; ");
    if !left_on.is_empty() {
        environment.insert("offloads left on".into(), left_on);
    }
    Ok(Setup {
        freeze: None,
        tester: Box::new(LiveTester::new(ports, live).map_err(Failure::new)?),
        device: device_between(names, &topology),
        topology,
        filters: String::new(),
        environment,
        another: None,
        ground: Ground::Hardware(hardware),
        _priority: priority,
    })
}

fn device_between(names: &[String], topology: &Topology) -> String {
    let names = names.join(" and ");
    match topology.forwarding {
        Forwarding::Routed => format!("router between {names}"),
        Forwarding::Bridged => format!("bridge or switch between {names}"),
        Forwarding::Looped => format!("cable between {names}"),
    }
}

fn short_names(locations: &[Location]) -> Vec<String> {
    locations.iter().map(Location::short_name).collect()
}

/// Opens ports in the network namespace of the calling thread.
fn open(locations: &[Location], options: &Options) -> Outcome<Vec<OpenPort>> {
    let largest =
        options.sizes.as_ref().and_then(|sizes| sizes.0.iter().map(|s| s.largest()).max());
    let request = |(number, location): (usize, &Location)| PortRequest {
        id: PortId(number as u16),
        interface: location.interface.clone(),
        nominal_rate: options.line_rate.unwrap_or(NOMINAL_RATE).line_rate(),
        largest_frame: largest.unwrap_or(FrameSize::MAX_ETHERNET),
        port_type: location.port_type.or(options.port_type).unwrap_or_default(),
        queues: options.queues.unwrap_or(1),
    };
    let requests: Vec<PortRequest> = locations.iter().enumerate().map(request).collect();
    if locations.iter().all(|at| at.host.is_none()) && options.agent_certificates.is_none() {
        return ports::open_ports(&requests).map_err(Failure::new);
    }
    elsewhere::open(locations, &requests, options.agent_certificates.as_deref())
}

impl Setup {
    /// The test bed, where there is one.
    pub fn testbed(&self) -> Option<&Testbed> {
        match &self.ground {
            Ground::Testbed(testbed) => Some(testbed),
            Ground::Polling(_) | Ground::Hardware(_) | Ground::Nothing => None,
        }
    }

    /// Fills the table of a device whose groups stand in one.
    fn load_groups(&mut self, options: &Options) -> Outcome<()> {
        let (Some(testbed), Some(config)) = (self.testbed(), suite::of_many_ports(options)?) else {
            return Ok(());
        };
        let groups = match testbed.config().multicast_tunnels.is_empty() {
            true => tolly::groups(&config, testbed.config()),
            false => encapsulated_groups::groups(&config, testbed.config()),
        };
        if let Some(device) = testbed.device().filter(|_| !groups.is_empty()) {
            let loaded = device.load_groups(&groups)?;
            self.environment.insert("device groups".into(), loaded.to_string());
        }
        Ok(())
    }

    /// Closes the ports, then removes the device, and says what could not be removed.
    pub fn tear_down(self) -> Outcome<()> {
        let Setup { freeze, tester, ground, .. } = self;
        drop(freeze);
        drop(tester);
        let done = match ground {
            Ground::Testbed(testbed) => testbed.destroy(),
            Ground::Polling(device) => {
                drop(device);
                Ok(())
            }
            Ground::Hardware(ports) => ports.give_back(),
            Ground::Nothing => Ok(()),
        };
        done.map_err(|error| Failure::from(error).help("`netanvil clean` removes what is left"))
    }
}
