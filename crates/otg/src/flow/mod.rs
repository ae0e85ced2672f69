//! Flows of a configuration as what ports send: ready frames, rates, and how many.

mod frames;
mod header;
mod pace;
mod payload;
mod size;
mod tagged;
mod values;

use crate::device::Interface;
pub use crate::error::Refusal;
use crate::model::{
    Config, Flow, FlowLatencyMetricsMode, FlowRouter, FlowRouterMode, FlowTxRxChoice,
};
pub use frames::Frames;
use header::{Header, Kind};
pub use pace::Pace;
use payload::Payload;
use std::collections::BTreeMap;
use std::net::IpAddr;
use trial::{LatencyForm, PortId};
use units::LineRate;
use values::{Values, mac_number};
use wire::ethernet::MacAddr;
use wire::vlan::Tag;

/// A flow, ready to be sent.
#[derive(Clone, PartialEq, Debug)]
pub struct FlowPlan {
    /// Its name.
    pub name: String,
    /// Whether it is counted.
    pub is_counted: bool,
    /// What of it is told besides frames.
    pub tells: Tells,
    /// One for each sending port and pair of ends.
    pub legs: Vec<Leg>,
}

/// What a flow's metrics hold besides frames and bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tells {
    /// Share of frames lost.
    pub loss: bool,
    /// First and last arrival.
    pub timestamps: bool,
    /// Least, mean and greatest latency, between these bits of a frame.
    pub latency: Option<LatencyForm>,
}

/// Part of a flow: from one port, with frames of one kind.
#[derive(Clone, PartialEq, Debug)]
pub struct Leg {
    /// Where it enters the device.
    pub from: PortId,
    /// Where it is counted.
    pub to: Vec<PortId>,
    /// Its frames.
    pub frames: Frames,
    /// When they leave.
    pub pace: Pace,
    /// The gateway whose hardware address the frames need, on which port.
    pub gateway: Option<IpAddr>,
    /// VLAN tags of its sender.
    pub tags: Vec<Tag>,
}

/// What flows are sent through.
pub struct Ground<'a> {
    /// Ports by name.
    pub ports: &'a BTreeMap<String, PortId>,
    /// Their rates, by number.
    pub line_rates: &'a [LineRate],
    /// Addresses of devices.
    pub interfaces: &'a [Interface],
}

/// Every flow of a configuration.
///
/// # Errors
/// What cannot be sent as it is asked for, each with its place.
pub fn plans(config: &Config, ground: &Ground<'_>) -> Result<Vec<FlowPlan>, Vec<Refusal>> {
    let (mut plans, mut errors) = (vec![], vec![]);
    for (at, flow) in config.flows.iter().enumerate() {
        match plan(flow, ground, &format!("flows[{at}]")) {
            Ok(plan) => plans.push(plan),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(plans) } else { Err(errors) }
}

/// What a client should know of flows that are sent.
pub fn warnings(config: &Config) -> Vec<String> {
    let is_uncounted = |flow: &Flow| {
        let port = flow.tx_rx.port.as_ref();
        let goes_nowhere =
            |port: &crate::model::FlowPort| port.rx_names.is_empty() && port.rx_name.is_none();
        flow.metrics.enable && port.is_some_and(goes_nowhere)
    };
    let flows = config.flows.iter().enumerate().filter(|(_, flow)| is_uncounted(flow));
    flows
        .map(|(at, _)| {
            format!("flows[{at}].tx_rx.port.rx_names: none is named, so frames_rx stays 0")
        })
        .collect()
}

/// From where to where.
struct Ends<'a> {
    from: PortId,
    to: Vec<PortId>,
    /// Of a device flow.
    devices: Option<(&'a Interface, &'a Interface)>,
}

fn plan(flow: &Flow, ground: &Ground<'_>, path: &str) -> Result<FlowPlan, Refusal> {
    let ends = ends(flow, ground, path)?;
    let sizes = size::sizes(&flow.size, &format!("{path}.size"))?;
    let headers = flow.packet.iter().enumerate();
    let headers = headers.map(|(at, header)| Header::of(header, &format!("{path}.packet[{at}]")));
    let headers = headers.collect::<Result<Vec<_>, _>>()?;
    check_order(&headers, path)?;
    let payload = Payload::of(&flow.payload, &format!("{path}.payload"))?;
    let mut legs = vec![];
    for end in &ends {
        let mut own = headers.clone();
        if let Some((tx, _)) = end.devices {
            tagged::carry(&mut own, &tx.tags, path)?;
        }
        let gateway = end.devices.and_then(|(tx, rx)| address(&mut own, (tx, rx)));
        let own = (own, payload.clone());
        let frames = Frames::new(own, sizes.clone(), (path, flow.metrics.enable))?;
        // A flow's rate and number of frames are those of a port: its pairs share them.
        let sharing = ends.iter().filter(|other| other.from == end.from).count() as u64;
        let place = legs.iter().filter(|leg: &&Leg| leg.from == end.from).count() as u64;
        let line = ground.line_rates[usize::from(end.from.0)];
        let pace = Pace::of(flow, (&sizes, line), path)?.shared(sharing, place);
        let tags = end.devices.map_or(vec![], |(tx, _)| tx.tags.clone());
        legs.push(Leg { from: end.from, to: end.to.clone(), frames, pace, gateway, tags });
    }
    let no_latency = legs.iter().any(|leg| !pace::measures_latency(leg.frames.form()));
    let metrics = &flow.metrics;
    if metrics.enable && metrics.latency.enable && no_latency {
        let what =
            "its frames have no room for a transmit time; make them longer by 12 bytes".into();
        return Err(Refusal::new(&format!("{path}.metrics.latency.enable"), what));
    }
    let tells = Tells {
        loss: metrics.loss,
        timestamps: metrics.timestamps,
        latency: metrics.latency.enable.then_some(match metrics.latency.mode {
            FlowLatencyMetricsMode::StoreForward => LatencyForm::Lifo,
            FlowLatencyMetricsMode::CutThrough => LatencyForm::Fifo,
        }),
    };
    Ok(FlowPlan { name: flow.name.clone(), is_counted: metrics.enable, tells, legs })
}

/// A frame begins with Ethernet, and a PAUSE frame is whole.
fn check_order(headers: &[Header], path: &str) -> Result<(), Refusal> {
    let begins = [Kind::Ethernet, Kind::Pause, Kind::Custom];
    match headers.first() {
        None => {
            Err(Refusal::new(&format!("{path}.packet"), "give its headers, ethernet first".into()))
        }
        Some(first) if !begins.contains(&first.kind) || first.len_bytes() < 14 => {
            let what = "a frame begins with ethernet, ethernetpause, or custom of 14 bytes or more";
            Err(Refusal::new(&format!("{path}.packet[0]"), what.into()))
        }
        Some(_) => Ok(()),
    }
}

fn ends<'a>(flow: &Flow, ground: &Ground<'a>, path: &str) -> Result<Vec<Ends<'a>>, Refusal> {
    let path = format!("{path}.tx_rx");
    match flow.tx_rx.choice {
        FlowTxRxChoice::Port => {
            let path = format!("{path}.port");
            let missing = || Refusal::new(&path, "give tx_name and rx_names".into());
            let port = flow.tx_rx.port.as_ref().ok_or_else(missing)?;
            let of = |name: &str, property: &str| {
                let path = format!("{path}.{property}");
                let found = ground.ports.get(name).copied();
                found.ok_or_else(|| Refusal::new(&path, format!("there is no port `{name}`")))
            };
            let from = of(&port.tx_name, "tx_name")?;
            let named = port.rx_names.iter().map(|name| of(name, "rx_names"));
            let mut to = named.collect::<Result<Vec<_>, _>>()?;
            if let Some(name) = &port.rx_name {
                to.push(of(name, "rx_name")?);
            }
            let metrics = &flow.metrics;
            let tells_arrivals = metrics.loss || metrics.timestamps || metrics.latency.enable;
            if metrics.enable && tells_arrivals && to.is_empty() {
                let what = "give the ports where the flow is counted, or leave loss, timestamps and latency out of \
                            its metrics";
                return Err(Refusal::new(&format!("{path}.rx_names"), what.into()));
            }
            to.sort();
            to.dedup();
            Ok(vec![Ends { from, to, devices: None }])
        }
        FlowTxRxChoice::Device => {
            let path = format!("{path}.device");
            let missing = || Refusal::new(&path, "give tx_names and rx_names".into());
            let pairs =
                device_pairs(flow.tx_rx.device.as_ref().ok_or_else(missing)?, ground, &path)?;
            let end = |(tx, rx): (&'a Interface, &'a Interface)| Ends {
                from: tx.port,
                to: vec![rx.port],
                devices: Some((tx, rx)),
            };
            Ok(pairs.into_iter().map(end).collect())
        }
    }
}

fn device_pairs<'a>(
    device: &FlowRouter,
    ground: &Ground<'a>,
    path: &str,
) -> Result<Vec<(&'a Interface, &'a Interface)>, Refusal> {
    let named = |names: &[String], property: &str| {
        let mut found = vec![];
        for (at, name) in names.iter().enumerate() {
            let is_named = |i: &&Interface| [&i.name, &i.ethernet, &i.device].contains(&name);
            let before = found.len();
            found.extend(ground.interfaces.iter().filter(is_named));
            if found.len() == before {
                let path = format!("{path}.{property}[{at}]");
                return Err(Refusal::new(&path, format!("there is no device or address `{name}`")));
            }
        }
        Ok(found)
    };
    let (tx, rx) = (named(&device.tx_names, "tx_names")?, named(&device.rx_names, "rx_names")?);
    let is_pair =
        |tx: &Interface, rx: &Interface| tx.ip.is_ipv4() == rx.ip.is_ipv4() && tx.name != rx.name;
    let mut pairs: Vec<(&Interface, &Interface)> = match device.mode {
        FlowRouterMode::OneToOne if tx.len() != rx.len() => {
            let what = format!("one_to_one with {} senders and {} receivers", tx.len(), rx.len());
            return Err(Refusal::new(&format!("{path}.mode"), what));
        }
        FlowRouterMode::OneToOne => tx.into_iter().zip(rx).collect(),
        FlowRouterMode::Mesh => {
            tx.iter().flat_map(|from| rx.iter().map(|to| (*from, *to))).collect()
        }
    };
    pairs.retain(|(tx, rx)| is_pair(tx, rx));
    if device.bidirectional {
        let back: Vec<_> = pairs.iter().map(|(tx, rx)| (*rx, *tx)).collect();
        pairs.extend(back);
    }
    match pairs.len() {
        0 => Err(Refusal::new(path, "no pair of two addresses of one IP version".into())),
        1..=1_000 => Ok(pairs),
        many => Err(Refusal::new(path, format!("{many} pairs; at most 1000 are possible"))),
    }
}

/// Gives the headers the addresses of the devices, where the request leaves them out; says whose hardware
/// address is still needed.
fn address(headers: &mut [Header], (tx, rx): (&Interface, &Interface)) -> Option<IpAddr> {
    let mut gateway = None;
    let (mut ethernets, mut packets) = (0, 0);
    for header in headers {
        let kind = header.kind;
        let set_all = |header: &mut Header, name: &str, values: &[u128]| {
            let field = header.field_mut(name);
            if let Some(field) = field.filter(|field| field.values == Values::Auto) {
                field.values = Values::Listed(values.to_vec());
            }
        };
        let set = |header: &mut Header, name: &str, value| set_all(header, name, &[value]);
        match kind {
            Kind::Ethernet if ethernets == 0 => {
                ethernets += 1;
                set(header, "src", mac_number(tx.mac));
                match tx.gateway_mac {
                    Some(mac) => set(header, "dst", mac_number(mac)),
                    None => {
                        let needs = |field: &header::Field| field.values == Values::Auto;
                        let is_needed = header.field("dst").is_some_and(needs);
                        gateway = is_needed.then_some(tx.gateway);
                    }
                }
            }
            Kind::Ipv4 | Kind::Ipv6 if packets == 0 => {
                packets += 1;
                if (kind == Kind::Ipv4) == tx.ip.is_ipv4() {
                    set_all(header, "src", &tx.ends);
                    set_all(header, "dst", &rx.ends);
                }
            }
            _ => {}
        }
    }
    gateway
}

impl Leg {
    /// With the hardware address that the frames waited for.
    pub fn sent_to(&mut self, mac: MacAddr) {
        self.frames.set_destination(mac_number(mac));
    }
}
