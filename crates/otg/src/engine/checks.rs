//! What a configuration must be before anything is opened, and what its ports must take.

use super::active::Port;
use super::location::{self, Location};
use crate::error::Refusal;
use crate::flow::FlowPlan;
use crate::model::{Config, DeviceBgpRouter};
use ports::LiveTester;
use std::collections::{BTreeMap, BTreeSet};
use trial::{PortId, Tester};
use units::FrameSize;

/// Ports by name.
pub(crate) fn port_ids(config: &Config) -> BTreeMap<String, PortId> {
    config.ports.iter().zip(0..).map(|(port, id)| (port.name.clone(), PortId(id))).collect()
}

pub(super) fn locations(config: &Config) -> Result<Vec<Location>, Vec<Refusal>> {
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
pub(super) fn names(config: &Config) -> Result<(), Vec<Refusal>> {
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
            let vlans = ethernet.vlans.iter().enumerate();
            all.extend(vlans.map(|(at, vlan)| (of("vlans", at), vlan.name.as_str())));
        }
        if let Some(bgp) = &device.bgp {
            names_of_bgp(bgp, &format!("{path}.bgp"), &mut all);
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

fn names_of_bgp<'a>(bgp: &'a DeviceBgpRouter, path: &str, all: &mut Vec<(String, &'a str)>) {
    macro_rules! interfaces {
        ($property:ident) => {
            for (at, interface) in bgp.$property.iter().enumerate() {
                for (number, peer) in interface.peers.iter().enumerate() {
                    let path = format!("{path}.{}[{at}].peers[{number}]", stringify!($property));
                    all.push((format!("{path}.name"), &peer.name));
                    for (at, range) in peer.v4_routes.iter().enumerate() {
                        all.push((format!("{path}.v4_routes[{at}].name"), &range.name));
                    }
                    for (at, range) in peer.v6_routes.iter().enumerate() {
                        all.push((format!("{path}.v6_routes[{at}].name"), &range.name));
                    }
                }
            }
        };
    }
    interfaces!(ipv4_interfaces);
    interfaces!(ipv6_interfaces);
}

/// Refuses what a physical line does not take, or cannot tell.
pub(super) fn fits_lines(plans: &[FlowPlan], ports: &[Port]) -> Result<(), Vec<Refusal>> {
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
pub(super) fn nominal_rates(config: &Config, tester: &LiveTester) -> Vec<String> {
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
