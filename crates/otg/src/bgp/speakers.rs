//! The BIRDs of a configuration, running.

use super::plan::{EthernetPlan, PeerPlan, SpeakerPlan};
use super::pump::Pump;
use super::{PeerTold, prefixes, text};
use crate::error::Refused;
use crate::model::{
    BgpPrefixesState, StateProtocolBgpPeers, StateProtocolBgpPeersState, StateProtocolRoute,
    StateProtocolRouteState,
};
use kernel::{KernelError, Namespace, Network, Tap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use testbed::{Speaker, TestbedError};

/// A port as a speaker needs it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Joint {
    /// Its name.
    pub name: String,
    /// Number of its interface.
    pub index: u32,
    /// Whether frames that are no test frames can be had beside it.
    pub passes_foreign: bool,
}

impl Joint {
    /// Why nobody beside the port hears what arrives, where that is so.
    pub fn deafness(&self) -> Option<String> {
        (!self.passes_foreign).then(|| {
            let name = &self.name;
            format!("port {name} keeps what arrives for itself; write xdp: or af_packet: before its location")
        })
    }
}

/// All devices that speak BGP; they end with this value.
#[derive(Default)]
pub struct Speakers(Mutex<Vec<Running>>);

/// One.
struct Running {
    // Fields are dropped in this order: the pumps before the namespace that their TAPs are in.
    _pumps: Vec<Pump>,
    speaker: Speaker,
    plan: SpeakerPlan,
}

impl Speakers {
    /// Starts a daemon for each plan; sessions begin when they are [switched on](Self::switch_all).
    ///
    /// # Errors
    /// Where a port has no way for BGP, or there is no BIRD.
    pub fn start(plans: Vec<SpeakerPlan>, joints: &[Joint]) -> Result<Speakers, Refused> {
        let start = |plan: SpeakerPlan| {
            for ethernet in &plan.ethernets {
                let joint = &joints[usize::from(ethernet.port.0)];
                if let Some(why) = joint.deafness() {
                    return Err(Refused::request(vec![format!("{}: {why}", plan.path)]));
                }
            }
            let failed = |error: TestbedError| Refused::failed(format!("{}: {error}", plan.path));
            let mut speaker = Speaker::prepare().map_err(failed)?;
            let mut pumps = vec![];
            for (number, ethernet) in plan.ethernets.iter().enumerate() {
                let joint = &joints[usize::from(ethernet.port.0)];
                pumps.push(join(speaker.namespace(), (number, ethernet), joint).map_err(failed)?);
            }
            speaker.start(&text::of(&plan)).map_err(failed)?;
            Ok(Running { _pumps: pumps, speaker, plan })
        };
        let running = plans.into_iter().map(start).collect::<Result<_, _>>()?;
        Ok(Speakers(Mutex::new(running)))
    }

    fn all(&self) -> MutexGuard<'_, Vec<Running>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All of them as they run, if they are those of these plans; nothing is left here then.
    pub fn take_if(&self, plans: &[SpeakerPlan]) -> Option<Speakers> {
        let mut all = self.all();
        let is_same = all.iter().map(|running| &running.plan).eq(plans);
        is_same.then(|| Speakers(Mutex::new(std::mem::take(&mut *all))))
    }

    /// Ends all of them.
    pub fn end(&self) {
        self.all().clear();
    }

    /// Begins or ends every session.
    ///
    /// # Errors
    /// Where a daemon does not do it.
    pub fn switch_all(&self, on: bool) -> Result<(), Refused> {
        let word = if on { "enable" } else { "disable" };
        for running in self.all().iter_mut() {
            running.check()?;
            running.ask(&format!("{word} \"p*\""))?;
        }
        Ok(())
    }

    /// Begins or ends sessions; all where the request names none.
    ///
    /// # Errors
    /// Where there is no such peer.
    pub fn peers(&self, request: &StateProtocolBgpPeers) -> Result<(), Refused> {
        let word = match request.state {
            StateProtocolBgpPeersState::Up => "enable",
            StateProtocolBgpPeersState::Down => "disable",
        };
        let names = |running: &Running| -> Vec<(String, String)> {
            let peers = running.plan.peers.iter().enumerate();
            peers.map(|(at, peer)| (peer.name.clone(), text::peer_name(at))).collect()
        };
        let path = "protocol.bgp.peers.peer_names";
        self.switch(word, names, (&request.peer_names, path, "BGP peer"))
    }

    /// Announces or withdraws ranges of routes; all where the request names none.
    ///
    /// # Errors
    /// Where there is no such range.
    pub fn routes(&self, request: &StateProtocolRoute) -> Result<(), Refused> {
        let word = match request.state {
            StateProtocolRouteState::Advertise => "enable",
            StateProtocolRouteState::Withdraw => "disable",
        };
        let names = |running: &Running| -> Vec<(String, String)> {
            let peers = running.plan.peers.iter().enumerate();
            let ranges = peers.flat_map(|(at, peer)| {
                let ranges = peer.routes.iter().enumerate();
                ranges.map(move |(n, range)| (range.name.clone(), text::range_name(at, n)))
            });
            ranges.collect()
        };
        let path = "protocol.route.names";
        self.switch(word, names, (&request.names, path, "range of routes"))
    }

    /// Has daemons do something to some of their protocols, whose names they know by the model's.
    fn switch(
        &self,
        word: &str,
        names: impl Fn(&Running) -> Vec<(String, String)>,
        (wanted, path, what): (&[String], &str, &str),
    ) -> Result<(), Refused> {
        let mut all = self.all();
        let known: Vec<Vec<(String, String)>> = all.iter().map(names).collect();
        for (at, name) in wanted.iter().enumerate() {
            if !known.iter().flatten().any(|(known, _)| known == name) {
                return Err(Refused::request(vec![format!(
                    "{path}[{at}]: there is no {what} `{name}`"
                )]));
            }
        }
        if known.iter().all(Vec::is_empty) {
            return Err(Refused::conflict(format!("{path}: the configuration has no {what}")));
        }
        for (running, known) in all.iter_mut().zip(known) {
            running.check()?;
            let chosen = |name: &String| wanted.is_empty() || wanted.contains(name);
            for (_, protocol) in known.iter().filter(|(name, _)| chosen(name)) {
                running.ask(&format!("{word} {protocol}"))?;
            }
        }
        Ok(())
    }

    /// What is told of sessions over one version of IP; of all where none is named.
    ///
    /// # Errors
    /// Where there is no such peer.
    pub fn told(
        &self,
        ipv4: bool,
        (names, path): (&[String], &str),
    ) -> Result<Vec<(String, PeerTold)>, Refused> {
        let mut all = self.all();
        check_names(&all, |peer| peer.local.is_ipv4() == ipv4, (names, path))?;
        let mut told = vec![];
        for running in all.iter_mut() {
            running.check()?;
            for (at, peer) in running.plan.peers.iter().enumerate() {
                let is_named = names.is_empty() || names.contains(&peer.name);
                if peer.local.is_ipv4() == ipv4 && is_named {
                    let lines =
                        running.ask(&format!("show protocols all {}", text::peer_name(at)))?;
                    let of = PeerTold::of(&lines).map_err(Refused::failed)?;
                    told.push((peer.name.clone(), of));
                }
            }
        }
        Ok(told)
    }

    /// Routes that peers have learned, of IPv4, of IPv6, or of both; of all peers where none is named. A peer tells
    /// those that its filter of learned information has.
    ///
    /// # Errors
    /// Where there is no such peer.
    pub fn learned(
        &self,
        (ipv4, ipv6): (bool, bool),
        (names, path): (&[String], &str),
    ) -> Result<Vec<BgpPrefixesState>, Refused> {
        let mut all = self.all();
        check_names(&all, |_| true, (names, path))?;
        let mut states = vec![];
        for running in all.iter_mut() {
            running.check()?;
            for (at, peer) in running.plan.peers.iter().enumerate() {
                if !names.is_empty() && !names.contains(&peer.name) {
                    continue;
                }
                let bgp_peer_name = Some(peer.name.clone());
                let mut state = BgpPrefixesState { bgp_peer_name, ..BgpPrefixesState::default() };
                let told = [
                    (true, ipv4 && peer.ipv4 && peer.tells.0),
                    (false, ipv6 && peer.ipv6 && peer.tells.1),
                ];
                for (of_ipv4, _) in told.into_iter().filter(|(_, on)| *on) {
                    let table = text::table_name(at, of_ipv4);
                    let name = text::peer_name(at);
                    let lines =
                        running.ask(&format!("show route table {table} protocol {name} all"))?;
                    prefixes(&lines, peer.speaks.internal, &mut state);
                }
                states.push(state);
            }
        }
        Ok(states)
    }
}

impl Running {
    fn check(&mut self) -> Result<(), Refused> {
        self.speaker.check().map_err(|error| self.failed(&error))
    }

    fn ask(&self, command: &str) -> Result<Vec<String>, Refused> {
        self.speaker.ask(command).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &TestbedError) -> Refused {
        Refused::failed(format!("{}: {error}", self.plan.path))
    }
}

fn check_names(
    all: &[Running],
    is_known: impl Fn(&PeerPlan) -> bool,
    (names, path): (&[String], &str),
) -> Result<(), Refused> {
    let known = |name: &&String| {
        let mut peers = all.iter().flat_map(|running| &running.plan.peers);
        peers.any(|peer| is_known(peer) && peer.name == **name)
    };
    match names.iter().enumerate().find(|(_, name)| !known(name)) {
        None => Ok(()),
        Some((at, name)) => {
            Err(Refused::request(vec![format!("{path}[{at}]: there is no such BGP peer `{name}`")]))
        }
    }
}

/// Gives a namespace an interface with the addresses of an Ethernet, and joins it with the Ethernet's port.
fn join(
    namespace: &Namespace,
    (number, ethernet): (usize, &EthernetPlan),
    joint: &Joint,
) -> Result<Pump, TestbedError> {
    let name = format!("e{number}");
    let system = |what: &str, error| KernelError::system(format!("{what} {name}"), error);
    let tap = namespace.run(|| Tap::create(&name, ethernet.mac.0))?;
    let tap = tap.map_err(|error| system("create the TAP", error))?;
    let mut netlink = namespace.netlink()?;
    let index = netlink.link_index(&name)?;
    netlink.set_link_up(&name, true)?;
    for (address, length) in &ethernet.addresses {
        netlink.set_address(index, *address, *length)?;
    }
    for (peer, gateway) in &ethernet.onward {
        let prefix_length = if peer.is_ipv4() { 32 } else { 128 };
        netlink.set_route(index, Network { address: *peer, prefix_length }, *gateway)?;
    }
    let pump = Pump::start(joint.index, tap, ethernet.clone());
    Ok(pump.map_err(|error| system(&format!("join port {} with", joint.name), error))?)
}
