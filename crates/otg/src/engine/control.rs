//! What clients have done: traffic, captures, links, devices and their protocols.

use super::active::{ActiveConfiguration, lock};
use super::board::{Board, Transmit};
use super::{Engine, typed};
use crate::error::Refused;
use crate::model::{
    ControlState, ControlStateChoice, StatePort, StatePortCaptureState, StatePortChoice,
    StatePortLink, StatePortLinkState, StateProtocol, StateProtocolAllState, StateProtocolChoice,
    StateTraffic, StateTrafficFlowTransmitState, Warning,
};
use ports::clock;
use serde_json::Value;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use trial::{Patience, PortId};
use units::Duration;
use wire::vlan::Tag;

/// A gateway has so long to tell its hardware address when flows that need it are started.
const GATEWAYS_WITHIN: Duration = Duration::from_secs(4);

impl Engine {
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
                let protocol = state.protocol.ok_or_else(|| wrong("protocol: give its state"))?;
                protocols(&active, &protocol)?;
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

/// Starts or stops devices and their protocols, or parts of these.
fn protocols(active: &ActiveConfiguration, protocol: &StateProtocol) -> Result<(), Refused> {
    let missing = |part: &str| Refused::request(vec![format!("protocol.{part}: give its state")]);
    match protocol.choice {
        StateProtocolChoice::All => {
            let all = protocol.all.as_ref().ok_or_else(|| missing("all"))?;
            let starts = all.state == StateProtocolAllState::Start;
            active.play(starts);
            if starts {
                active.ask();
            }
            active.speakers.switch_all(starts)
        }
        StateProtocolChoice::Route => {
            active.speakers.routes(protocol.route.as_ref().ok_or_else(|| missing("route"))?)
        }
        StateProtocolChoice::Bgp => {
            let bgp = protocol.bgp.as_ref().ok_or_else(|| missing("bgp"))?;
            active.speakers.peers(bgp.peers.as_ref().ok_or_else(|| missing("bgp.peers"))?)
        }
        _ => Err(Refused::request(vec!["protocol.choice: choose `all`, `route` or `bgp`".into()])),
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
    let needed: BTreeSet<(PortId, Vec<Tag>, IpAddr)> = {
        let board = lock(&active.board);
        let legs = flows.iter().flat_map(|flow| &board.plans[*flow].legs);
        legs.filter_map(|leg| Some((leg.from, leg.tags.clone(), leg.gateway?))).collect()
    };
    let mut patience = Patience::begin(clock::now());
    let silent = loop {
        let is_silent = |(port, tags, gateway): &&(PortId, Vec<Tag>, IpAddr)| {
            active.gateway_mac(*port, tags, *gateway).is_none()
        };
        let Some(silent) = needed.iter().find(is_silent) else { break None };
        patience.look(clock::now(), false);
        if patience.waited() >= GATEWAYS_WITHIN || patience.is_exhausted() {
            break Some(silent);
        }
        clock::sleep(Duration::from_ms(10));
    };
    if let Some((port, _, gateway)) = silent {
        let port = &active.ports[usize::from(port.0)].name;
        if patience.is_exhausted() {
            return Err(Refused::failed(format!(
                "port {port}: the machine was late by {} while the gateway {gateway} was asked; leave it a processor",
                patience.late()
            )));
        }
        return Err(Refused::failed(format!(
            "port {port}: nobody answers for the gateway {gateway}; check the device and its addresses, or give \
             gateway_mac"
        )));
    }
    let mut board = lock(&active.board);
    for flow in flows {
        for leg in &mut board.plans[*flow].legs {
            let mac =
                leg.gateway.and_then(|gateway| active.gateway_mac(leg.from, &leg.tags, gateway));
            mac.into_iter().for_each(|mac| leg.sent_to(mac));
        }
    }
    Ok(())
}
