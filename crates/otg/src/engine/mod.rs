//! What stands behind the API: one configuration, its ports, and what they send.

mod active;
mod board;
mod capture;
mod filter;
mod flow_trial;
mod layer1;
mod location;
mod more;
mod told;

use crate::device;
use crate::error::{Refusal, Refused};
use crate::flow::{self, FlowPlan, Ground};
use crate::model::{
    Config, ConfigAppend, ConfigDelete, ConfigUpdate, ConfigUpdateChoice, ControlState,
    ControlStateChoice, FlowsUpdatePropertyNames, StatePort, StatePortCaptureState,
    StatePortChoice, StatePortLink, StatePortLinkState, StateProtocolAllState, StateTraffic,
    StateTrafficFlowTransmitState, Warning,
};
use crate::schema::{self, Checked};
use active::{ActiveConfiguration, Port, lock};
use board::{Board, Transmit};
use capture::Captures;
use layer1::Layer1s;
use location::Location;
use ports::{Interface, LiveOptions, LiveTester, PortRequest, clock, open_ports};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use trial::{PortId, Tester};
use units::{Duration, FrameSize, LineRate};
use wire::signature::RunKey;

/// A gateway has so long to tell its hardware address when flows that need it are started.
const GATEWAYS_WITHIN: Duration = Duration::from_secs(4);

/// How the engine is set up.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Rate of ports whose driver tells none: percentages are of it.
    pub nominal_rate: LineRate,
    /// Key of the frames' signatures.
    pub run_key: RunKey,
}

/// One tester behind the API. Clones are the same tester.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    options: EngineOptions,
    /// Held while configuration or control changes something: one client at a time.
    turn: Mutex<()>,
    now: Mutex<Now>,
}

/// The configuration that is set.
#[derive(Default)]
struct Now {
    /// As the client gave it, with its defaults.
    value: Option<Value>,
    active: Option<Arc<ActiveConfiguration>>,
}

/// Checks a request and gives it its type.
pub(crate) fn typed<T: DeserializeOwned>(
    name: &str,
    request: Value,
) -> Result<(T, Checked), Refused> {
    let checked = schema::check(name, request).map_err(Refused::request)?;
    let typed = serde_json::from_value(checked.value.clone());
    let typed = typed.map_err(|error| Refused::request(vec![format!("the request: {error}")]))?;
    Ok((typed, checked))
}

fn refused(errors: Vec<Refusal>) -> Refused {
    Refused::request(errors.iter().map(Refusal::to_string).collect())
}

impl Engine {
    /// A tester without ports, until a configuration names some.
    pub fn new(options: EngineOptions) -> Engine {
        Engine { inner: Arc::new(Inner { options, turn: Mutex::default(), now: Mutex::default() }) }
    }

    /// Ends all sending and releases all ports.
    pub fn shut_down(&self) {
        let _turn = lock(&self.inner.turn);
        self.release();
    }

    fn release(&self) {
        let now = std::mem::take(&mut *lock(&self.inner.now));
        if let Some(active) = now.active {
            active.end();
        }
    }

    fn active(&self) -> Result<Arc<ActiveConfiguration>, Refused> {
        let active = lock(&self.inner.now).active.clone();
        active.ok_or_else(|| Refused::conflict("there is no configuration; set one first"))
    }

    /// Sets a configuration in place of the one before: ports open, devices answer, nothing is sent.
    ///
    /// # Errors
    /// Where it is wrong, not supported, or a port cannot be opened; then there is none.
    pub fn set_config(&self, request: Value) -> Result<Warning, Refused> {
        let _turn = lock(&self.inner.turn);
        self.set(request)
    }

    fn set(&self, request: Value) -> Result<Warning, Refused> {
        let (config, checked) = typed::<Config>("Config", request)?;
        let locations = locations(&config).map_err(refused)?;
        names(&config).map_err(refused)?;
        let ports = port_ids(&config);
        let addresses = device::interfaces(&config, &ports).map_err(refused)?;
        // Before the ports are opened, so that nothing is touched where the request is wrong.
        let layer1 = Layer1s::of(&config, &ports).map_err(refused)?;
        let nominal = layer1.nominal_rates(self.inner.options.nominal_rate, ports.len());
        let ground = Ground { ports: &ports, line_rates: &nominal, interfaces: &addresses };
        let plans = flow::plans(&config, &ground).map_err(refused)?;
        let captures =
            Captures::new(&config, &ports).map_err(|error| Refused::request(vec![error]))?;
        self.release();
        let largest = plans.iter().flat_map(|plan| &plan.legs).flat_map(|leg| leg.frames.sizes());
        let largest = FrameSize::from_bytes(largest.copied().max().unwrap_or(64));
        let (tester, ports_open) = self.open(&config, (&locations, &nominal), largest)?;
        let line_rates: Vec<LineRate> =
            tester.describe().ports.iter().map(|port| port.line_rate).collect();
        let ground = Ground { ports: &ports, line_rates: &line_rates, interfaces: &addresses };
        let plans = flow::plans(&config, &ground).map_err(refused)?;
        fits_lines(&plans, &ports_open).map_err(refused)?;
        let mut warnings = checked.warnings;
        if config.options.port_options.location_preemption {
            warnings.push(
                "options.port_options.location_preemption: netanvil takes no port from another program".into(),
            );
        }
        warnings.extend(layer1.warnings(&ports_open));
        warnings.extend(nominal_rates(&config, &tester));
        warnings.extend(flow::warnings(&config));
        warnings.extend(tester.describe().notes.iter().cloned());
        let board = Board::new(plans);
        let key = self.inner.options.run_key;
        let active =
            ActiveConfiguration::new(ports_open, addresses, (tester, board), (captures, key));
        *lock(&self.inner.now) = Now { value: Some(checked.value), active: Some(active) };
        Ok(Warning { warnings })
    }

    fn open(
        &self,
        config: &Config,
        (locations, nominal): (&[Location], &[LineRate]),
        largest_frame: FrameSize,
    ) -> Result<(LiveTester, Vec<Port>), Refused> {
        let request = |(id, location): (u16, &Location)| PortRequest {
            id: PortId(id),
            interface: location.interface.clone(),
            nominal_rate: nominal[usize::from(id)],
            largest_frame,
            port_type: location.port_type,
        };
        let requests: Vec<PortRequest> = (0..).zip(locations).map(request).collect();
        let of_port = |error: trial::TesterError| {
            let text = error.to_string();
            let at = locations.iter().position(|location| text.contains(&location.interface));
            let at = at.map_or("ports".into(), |at| format!("ports[{at}].location"));
            Refused::failed(format!("{at}: {text}"))
        };
        let open = open_ports(&requests).map_err(of_port)?;
        let mut beside = vec![];
        for (open, (port, location)) in open.iter().zip(config.ports.iter().zip(locations)) {
            let interface = Interface::open(&location.interface).map_err(of_port)?;
            let state = interface.state().map_err(of_port)?;
            beside.push(Port {
                name: port.name.clone(),
                location: port.location.clone().unwrap_or_default(),
                control: open.control(),
                before: state.counters,
                interface: Mutex::new(interface),
                mtu_bytes: state.mtu_bytes,
                line: open.describe().line_rate,
                is_physical: open.describe().line_rate_is_physical,
            });
        }
        let tester = LiveTester::new(open, LiveOptions::default()).map_err(of_port)?;
        Ok((tester, beside))
    }

    /// The configuration that is set, with the specification's defaults in it.
    pub fn config(&self) -> Value {
        lock(&self.inner.now).value.clone().unwrap_or_else(|| Value::Object(Map::new()))
    }

    /// Changes rates and sizes of flows that are not sent now.
    ///
    /// # Errors
    /// As [`set_config`](Self::set_config); or where a flow is not there, or traffic is sent.
    pub fn update_config(&self, request: Value) -> Result<Warning, Refused> {
        let _turn = lock(&self.inner.turn);
        let (update, checked) = typed::<ConfigUpdate>("ConfigUpdate", request)?;
        let flows = match (update.choice, update.flows) {
            (Some(ConfigUpdateChoice::Flows), Some(flows)) => flows,
            _ => {
                return Err(Refused::request(vec!["choice: choose `flows`, and give them".into()]));
            }
        };
        self.idle()?;
        let mut value = self.config();
        for (at, changed) in flows.flows.iter().enumerate() {
            let all = value.get_mut("flows").and_then(Value::as_array_mut);
            let named = |flow: &&mut Value| flow["name"] == changed.name.as_str();
            let flow = all.and_then(|all| all.iter_mut().find(named)).ok_or_else(|| {
                let what = format!("flows.flows[{at}].name: there is no flow `{}`", changed.name);
                Refused::request(vec![what])
            })?;
            for property in &flows.property_names {
                let property = match property {
                    FlowsUpdatePropertyNames::Rate => "rate",
                    FlowsUpdatePropertyNames::Size => "size",
                };
                flow[property] = checked.value["flows"]["flows"][at][property].clone();
            }
        }
        self.set(value)
    }

    /// Adds flows.
    ///
    /// # Errors
    /// As [`set_config`](Self::set_config); or where traffic is sent.
    pub fn append_config(&self, request: Value) -> Result<Warning, Refused> {
        let _turn = lock(&self.inner.turn);
        let (_, checked) = typed::<ConfigAppend>("ConfigAppend", request)?;
        self.idle()?;
        let mut value = self.config();
        let list = checked.value["config_append_list"].as_array().cloned().unwrap_or_default();
        let more =
            list.iter().filter_map(|resources| resources["flows"].as_array()).flatten().cloned();
        let all = value
            .as_object_mut()
            .map(|config| config.entry("flows").or_insert(Value::Array(vec![])));
        if let Some(all) = all.and_then(Value::as_array_mut) {
            all.extend(more);
        }
        self.set(value)
    }

    /// Takes flows away.
    ///
    /// # Errors
    /// As [`set_config`](Self::set_config); or where a flow is not there, or traffic is sent.
    pub fn delete_config(&self, request: Value) -> Result<Warning, Refused> {
        let _turn = lock(&self.inner.turn);
        let (request, _) = typed::<ConfigDelete>("ConfigDelete", request)?;
        self.idle()?;
        let mut value = self.config();
        for (at, resources) in request.config_delete_list.iter().enumerate() {
            for name in resources.flows.iter().flatten() {
                let all = value.get_mut("flows").and_then(Value::as_array_mut);
                let place = all
                    .as_ref()
                    .and_then(|all| all.iter().position(|flow| flow["name"] == name.as_str()));
                match (all, place) {
                    (Some(all), Some(place)) => drop(all.remove(place)),
                    _ => {
                        let path = format!("config_delete_list[{at}].flows");
                        return Err(Refused::request(vec![format!(
                            "{path}: there is no flow `{name}`"
                        )]));
                    }
                }
            }
        }
        self.set(value)
    }

    fn idle(&self) -> Result<(), Refused> {
        let active = lock(&self.inner.now).active.clone();
        match active.is_some_and(|active| lock(&active.board).running) {
            true => Err(Refused::conflict("traffic is being sent; stop it first")),
            false => Ok(()),
        }
    }

    /// Starts or stops traffic, captures, devices.
    ///
    /// # Errors
    /// Where the request is wrong, names what there is not, or a gateway is silent.
    pub fn control_state(&self, request: Value) -> Result<Warning, Refused> {
        let _turn = lock(&self.inner.turn);
        let (state, checked) = typed::<ControlState>("ControlState", request)?;
        let active = self.active()?;
        let wrong = |what: &str| Refused::request(vec![what.to_owned()]);
        let mut warnings = checked.warnings;
        match state.choice {
            ControlStateChoice::Traffic => {
                let traffic = state.traffic.ok_or_else(|| wrong("traffic: give its state"))?;
                self.traffic(&active, &traffic)?;
            }
            ControlStateChoice::Port => {
                let port = state.port.ok_or_else(|| wrong("port: give its state"))?;
                warnings.extend(self.ports(&active, &port)?);
            }
            ControlStateChoice::Protocol => {
                let all = state.protocol.and_then(|protocol| protocol.all);
                let all = all.ok_or_else(|| wrong("protocol.all: give its state"))?;
                let starts = all.state == StateProtocolAllState::Start;
                active.play(starts);
                if starts {
                    active.ask();
                }
            }
        }
        let mut board = lock(&active.board);
        warnings.append(&mut board.notes);
        match board.broken.take() {
            Some(why) => Err(Refused::failed(format!("traffic broke off: {why}"))),
            None => Ok(Warning { warnings }),
        }
    }

    fn traffic(
        &self,
        active: &Arc<ActiveConfiguration>,
        traffic: &StateTraffic,
    ) -> Result<(), Refused> {
        let missing = || Refused::request(vec!["traffic.flow_transmit: give its state".into()]);
        let transmit = traffic.flow_transmit.as_ref().ok_or_else(missing)?;
        let flows = chosen(&lock(&active.board), &transmit.flow_names)?;
        if transmit.state == StateTrafficFlowTransmitState::Start {
            resolve(active, &flows)?;
        }
        let rounds = {
            let mut board = lock(&active.board);
            for flow in flows {
                let now = board.flows[flow].transmit;
                match (transmit.state, now) {
                    (StateTrafficFlowTransmitState::Start, Transmit::Started) => {}
                    (StateTrafficFlowTransmitState::Start, _) => board.begin(flow),
                    (StateTrafficFlowTransmitState::Stop, _) => {
                        board.flows[flow].transmit = Transmit::Stopped;
                    }
                    (StateTrafficFlowTransmitState::Pause, Transmit::Started) => {
                        board.flows[flow].transmit = Transmit::Paused;
                    }
                    (StateTrafficFlowTransmitState::Resume, Transmit::Paused) => {
                        board.flows[flow].transmit = Transmit::Started;
                    }
                    _ => {}
                }
            }
            board.rounds
        };
        active.take_in();
        active.wait(rounds);
        Ok(())
    }

    fn ports(
        &self,
        active: &Arc<ActiveConfiguration>,
        state: &StatePort,
    ) -> Result<Vec<String>, Refused> {
        let wrong = |what: &str| Refused::request(vec![what.to_owned()]);
        if state.choice == StatePortChoice::Link {
            let link = state.link.as_ref().ok_or_else(|| wrong("port.link: give its state"))?;
            return set_links(active, link);
        }
        let capture =
            state.capture.as_ref().ok_or_else(|| wrong("port.capture: give its state"))?;
        let on = capture.state == StatePortCaptureState::Start;
        let mut captures = lock(&active.captures);
        let mut chosen = vec![];
        for (at, name) in capture.port_names.iter().enumerate() {
            let path = format!("port.capture.port_names[{at}]");
            let port = active.ports.iter().position(|port| port.name == *name);
            let port = port.ok_or_else(|| wrong(&format!("{path}: there is no port `{name}`")))?;
            if captures.is_on(PortId(port as u16)).is_none() {
                return Err(wrong(&format!(
                    "{path}: the configuration has no capture of port `{name}`"
                )));
            }
            chosen.push(PortId(port as u16));
        }
        if chosen.is_empty() {
            chosen = captures.ports();
        }
        if chosen.is_empty() {
            return Err(wrong("port.capture: the configuration has no capture"));
        }
        chosen.into_iter().for_each(|port| captures.switch(port, on));
        drop(captures);
        // A capture belongs to a trial: the one that runs ends, and the flows go on in another.
        if active.renew() {
            return Ok(vec![
                "flows paused for a moment so that the capture could start or stop".into(),
            ]);
        }
        Ok(vec![])
    }
}

/// Sets links of ports up or down; all where the request names none. Not while traffic is sent: a trial whose port
/// goes down breaks off.
fn set_links(
    active: &Arc<ActiveConfiguration>,
    link: &StatePortLink,
) -> Result<Vec<String>, Refused> {
    let mut chosen = vec![];
    for (at, name) in link.port_names.iter().enumerate() {
        let port = active.ports.iter().position(|port| port.name == *name);
        chosen.push(port.ok_or_else(|| {
            let path = format!("port.link.port_names[{at}]");
            Refused::request(vec![format!("{path}: there is no port `{name}`")])
        })?);
    }
    if chosen.is_empty() {
        chosen = (0..active.ports.len()).collect();
    }
    if lock(&active.board).running {
        return Err(Refused::conflict("port.link: traffic is being sent; stop it first"));
    }
    let up = link.state == StatePortLinkState::Up;
    for port in chosen {
        active.set_link(port, up).map_err(Refused::failed)?;
    }
    Ok(vec![])
}

/// The flows that a request names; all where it names none.
fn chosen(board: &Board, names: &[String]) -> Result<Vec<usize>, Refused> {
    if names.is_empty() {
        return match board.plans.len() {
            0 => Err(Refused::conflict("the configuration has no flow")),
            flows => Ok((0..flows).collect()),
        };
    }
    let named = names.iter().enumerate().map(|(at, name)| {
        board.plans.iter().position(|plan| plan.name == *name).ok_or_else(|| {
            let path = format!("traffic.flow_transmit.flow_names[{at}]");
            Refused::request(vec![format!("{path}: there is no flow `{name}`")])
        })
    });
    named.collect()
}

/// Gives the frames of these flows the hardware addresses of their gateways.
fn resolve(active: &Arc<ActiveConfiguration>, flows: &[usize]) -> Result<(), Refused> {
    let needed: BTreeSet<(PortId, std::net::IpAddr)> = {
        let board = lock(&active.board);
        let legs = flows.iter().flat_map(|flow| &board.plans[*flow].legs);
        legs.filter_map(|leg| Some((leg.from, leg.gateway?))).collect()
    };
    let give_up = clock::now() + GATEWAYS_WITHIN;
    let silent = loop {
        let silent =
            needed.iter().find(|(port, gateway)| active.gateway_mac(*port, *gateway).is_none());
        match silent {
            Some(silent) if clock::now() >= give_up => break Some(silent),
            Some(_) => clock::sleep(Duration::from_ms(10)),
            None => break None,
        }
    };
    if let Some((port, gateway)) = silent {
        let port = &active.ports[usize::from(port.0)].name;
        return Err(Refused::failed(format!(
            "port {port}: nobody answers for the gateway {gateway}; check the device and its addresses, or give \
             gateway_mac"
        )));
    }
    let mut board = lock(&active.board);
    for flow in flows {
        for leg in &mut board.plans[*flow].legs {
            let mac = leg.gateway.and_then(|gateway| active.gateway_mac(leg.from, gateway));
            mac.into_iter().for_each(|mac| leg.sent_to(mac));
        }
    }
    Ok(())
}

pub(crate) fn port_ids(config: &Config) -> BTreeMap<String, PortId> {
    config.ports.iter().zip(0..).map(|(port, id)| (port.name.clone(), PortId(id))).collect()
}

fn locations(config: &Config) -> Result<Vec<Location>, Vec<Refusal>> {
    let (mut found, mut errors): (Vec<Location>, Vec<Refusal>) = (vec![], vec![]);
    for (at, port) in config.ports.iter().enumerate() {
        let path = format!("ports[{at}].location");
        match location::parse(port.location.as_deref().unwrap_or_default()) {
            Ok(location) if found.iter().any(|other| other.interface == location.interface) => {
                let what = format!("{} is the location of another port too", location.interface);
                errors.push(Refusal::new(&path, what));
            }
            Ok(location) => found.push(location),
            Err(why) => errors.push(Refusal::new(&path, why)),
        }
    }
    if errors.is_empty() { Ok(found) } else { Err(errors) }
}

/// Names are unique over all objects of a configuration.
fn names(config: &Config) -> Result<(), Vec<Refusal>> {
    let mut all: Vec<(String, &str)> = vec![];
    for (at, port) in config.ports.iter().enumerate() {
        all.push((format!("ports[{at}].name"), &port.name));
    }
    for (at, flow) in config.flows.iter().enumerate() {
        all.push((format!("flows[{at}].name"), &flow.name));
    }
    for (at, layer1) in config.layer1.iter().enumerate() {
        all.push((format!("layer1[{at}].name"), &layer1.name));
    }
    for (at, capture) in config.captures.iter().enumerate() {
        all.push((format!("captures[{at}].name"), &capture.name));
    }
    for (at, device) in config.devices.iter().enumerate() {
        let path = format!("devices[{at}]");
        all.push((format!("{path}.name"), &device.name));
        for (at, ethernet) in device.ethernets.iter().enumerate() {
            let path = format!("{path}.ethernets[{at}]");
            all.push((format!("{path}.name"), &ethernet.name));
            let of = |list: &str, at: usize| format!("{path}.{list}[{at}].name");
            let ipv4 = ethernet.ipv4_addresses.iter().enumerate();
            all.extend(ipv4.map(|(at, ip)| (of("ipv4_addresses", at), ip.name.as_str())));
            let ipv6 = ethernet.ipv6_addresses.iter().enumerate();
            all.extend(ipv6.map(|(at, ip)| (of("ipv6_addresses", at), ip.name.as_str())));
        }
    }
    let mut seen = BTreeSet::new();
    let errors = all.into_iter().filter_map(|(path, name)| match name {
        "" => Some(Refusal::new(&path, "give it a name".into())),
        name if !seen.insert(name) => {
            Some(Refusal::new(&path, format!("there is another object called {name:?}")))
        }
        _ => None,
    });
    let errors: Vec<Refusal> = errors.collect();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Refuses what a physical line does not take, or cannot tell.
fn fits_lines(plans: &[FlowPlan], ports: &[Port]) -> Result<(), Vec<Refusal>> {
    let mut errors = vec![];
    for (at, plan) in plans.iter().enumerate() {
        for leg in &plan.legs {
            let of = |port: &PortId| &ports[usize::from(port.0)];
            let from = of(&leg.from);
            let sizes = leg.frames.sizes();
            let bytes: u64 = sizes
                .iter()
                .map(|size| u64::from(FrameSize::from_bytes(*size).bytes_on_medium()))
                .sum();
            let bps = leg.pace.rate.fps() * bytes as f64 * 8.0 / sizes.len() as f64;
            if from.is_physical && bps > from.line.bps() as f64 * 1.000_001 {
                let what =
                    format!("{bps:.0} bit/s on the medium; port {} has {}", from.name, from.line);
                errors.push(Refusal::new(&format!("flows[{at}].rate"), what));
            }
            let is_timed = from.is_physical || leg.to.iter().any(|port| of(port).is_physical);
            let is_mixed = sizes.iter().any(|size| *size != sizes[0]);
            if plan.tells.latency.is_some() && is_timed && is_mixed {
                let what = "frames of several sizes differ in their time on a physical line; choose one size";
                errors.push(Refusal::new(&format!("flows[{at}].metrics.latency"), what.into()));
            }
        }
    }
    errors.dedup();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Says of which rate percentages are, where no driver tells one.
fn nominal_rates(config: &Config, tester: &LiveTester) -> Vec<String> {
    let is_share =
        |flow: &crate::model::Flow| flow.rate.choice == crate::model::FlowRateChoice::Percentage;
    if !config.flows.iter().any(is_share) {
        return vec![];
    }
    let ports = config.ports.iter().zip(&tester.describe().ports);
    let nominal = ports.filter(|(_, port)| !port.line_rate_is_physical);
    nominal
        .map(|(port, open)| {
            format!(
                "port {}: its driver tells no rate; percentages are of {}",
                port.name, open.line_rate
            )
        })
        .collect()
}
