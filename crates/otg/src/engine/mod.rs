//! What stands behind the API: one configuration, its ports, and what they send.

mod active;
mod board;
mod capture;
mod checks;
mod control;
mod filter;
mod flow_trial;
mod layer1;
mod location;
mod more;
mod ping;
mod routing;
mod told;

use crate::bgp::{self, Joint, Speakers};
use crate::device;
use crate::error::{Refusal, Refused};
use crate::flow::{self, Ground};
use crate::model::{
    Config, ConfigAppend, ConfigDelete, ConfigUpdate, ConfigUpdateChoice, FlowsUpdatePropertyNames,
    Warning,
};
use crate::schema::{self, Checked};
use active::{ActiveConfiguration, Port, lock};
use board::Board;
use capture::Captures;
pub(crate) use checks::port_ids;
use checks::{fits_lines, locations, names, nominal_rates};
use layer1::Layer1s;
use location::Location;
use ports::{Interface, LiveOptions, LiveTester, PortRequest, open_ports};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::sync::{Arc, Mutex};
use trial::{PortId, Tester};
use units::{FrameSize, LineRate};
use wire::signature::RunKey;

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

    /// The daemons that run, where they are those of these plans.
    fn kept(&self, plans: &[bgp::SpeakerPlan]) -> Option<Speakers> {
        lock(&self.inner.now).active.as_ref()?.speakers.take_if(plans)
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
        self.set(request, false)
    }

    /// `keeps`: sessions of devices go on where the devices stay as they are.
    fn set(&self, request: Value, keeps: bool) -> Result<Warning, Refused> {
        let (config, checked) = typed::<Config>("Config", request)?;
        let locations = locations(&config).map_err(refused)?;
        names(&config).map_err(refused)?;
        let ports = port_ids(&config);
        let addresses = device::interfaces(&config, &ports).map_err(refused)?;
        // Before the ports are opened, so that nothing is touched where the request is wrong.
        let layer1 = Layer1s::of(&config, &ports).map_err(refused)?;
        let nominal = layer1.nominal_rates(self.inner.options.nominal_rate, ports.len());
        let speakers = bgp::speakers(&config, &addresses).map_err(refused)?;
        // Flows go to devices, and to the routes that they announce.
        let mut ends = addresses.clone();
        ends.extend(bgp::ends(&speakers, &addresses));
        let ground = Ground { ports: &ports, line_rates: &nominal, interfaces: &ends };
        let plans = flow::plans(&config, &ground).map_err(refused)?;
        let captures =
            Captures::new(&config, &ports).map_err(|error| Refused::request(vec![error]))?;
        let kept = if keeps { self.kept(&speakers) } else { None };
        self.release();
        let largest = plans.iter().flat_map(|plan| &plan.legs).flat_map(|leg| leg.frames.sizes());
        let largest = FrameSize::from_bytes(largest.copied().max().unwrap_or(64));
        let (tester, ports_open) = self.open(&config, (&locations, &nominal), largest)?;
        let line_rates: Vec<LineRate> =
            tester.describe().ports.iter().map(|port| port.line_rate).collect();
        let ground = Ground { ports: &ports, line_rates: &line_rates, interfaces: &ends };
        let plans = flow::plans(&config, &ground).map_err(refused)?;
        fits_lines(&plans, &ports_open).map_err(refused)?;
        let mut warnings = checked.warnings;
        warnings.extend(bgp::warnings(&speakers));
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
        let joints: Vec<Joint> = ports_open.iter().map(Port::joint).collect();
        let speakers = match kept {
            Some(kept) => kept,
            None => Speakers::start(speakers, &joints)?,
        };
        let of_devices = (addresses, speakers);
        let active =
            ActiveConfiguration::new(ports_open, of_devices, (tester, board), (captures, key));
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
            queues: 1,
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
                index: interface.index(),
                passes_foreign: open.describe().capabilities.passes_foreign,
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
        self.set(value, true)
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
        self.set(value, true)
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
        self.set(value, true)
    }

    fn idle(&self) -> Result<(), Refused> {
        let active = lock(&self.inner.now).active.clone();
        match active.is_some_and(|active| lock(&active.board).running) {
            true => Err(Refused::conflict("traffic is being sent; stop it first")),
            false => Ok(()),
        }
    }
}
