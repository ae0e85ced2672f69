//! Ports that exist already: network cards, or anything else the operator names. Nothing is built;
//! features that rewrite frames are off while they are ours and back on afterwards.

use crate::error::{Result, TestbedError};
use crate::registry::Registration;
use kernel::{Ethtool, InterfaceFacts, KernelError, Privilege, REWRITING_FEATURES, Rtnetlink};
use std::collections::BTreeMap;

/// Interfaces of this machine taken as tester ports. Dropping it gives them back as they were; after
/// a kill -9 [`crate::clean`] does.
#[derive(Debug)]
pub struct HardwarePorts {
    ports: Vec<InterfaceFacts>,
    switched_off: SwitchedOff,
    _registration: Option<Registration>,
}

/// Features that were on, by interface.
pub(crate) type SwitchedOff = BTreeMap<String, Vec<String>>;

impl HardwarePorts {
    /// Takes interfaces of the calling thread's namespace, in the order of the tester's ports. An
    /// interface that is not fit to be loaded is refused (RFC 6815: not where others' traffic is).
    pub fn take(names: &[String]) -> Result<Self> {
        let facts = names.iter().map(|name| with_carrier(name));
        let ports = facts.collect::<kernel::Result<Vec<_>>>()?;
        for (i, port) in ports.iter().enumerate() {
            fit_for_tests(port)?;
            if ports[..i].iter().any(|other| other.index == port.index) {
                let message = format!("interface {} is named twice", port.name);
                return Err(TestbedError::Interface(message));
            }
        }
        let switched_off: SwitchedOff = ports
            .iter()
            .map(|port| (port.name.clone(), switchable_on(port)))
            .filter(|(_, features)| !features.is_empty())
            .collect();
        // On record before anything is changed.
        let registration = match Privilege::current() {
            Privilege::Root => Some(Registration::new(&switched_off)?),
            _ => None,
        };
        let mut taken = HardwarePorts { ports, switched_off, _registration: registration };
        switch(&taken.switched_off, false)?;
        for port in &mut taken.ports {
            *port = InterfaceFacts::read(&port.name)?;
        }
        Ok(taken)
    }

    /// The interfaces as they are now, in the order given.
    pub fn ports(&self) -> &[InterfaceFacts] {
        &self.ports
    }

    /// Features that rewrite frames and could not be switched off, by interface: to be said beside
    /// every result.
    pub fn shortfalls(&self) -> Vec<String> {
        let still_on = |port: &InterfaceFacts| {
            let on = port.features_on(&REWRITING_FEATURES);
            (!on.is_empty())
                .then(|| format!("{}: {} cannot be switched off", port.name, on.join(", ")))
        };
        self.ports.iter().filter_map(still_on).collect()
    }

    /// Gives the interfaces back as they were, and says what could not be.
    pub fn give_back(mut self) -> Result<()> {
        switch(&std::mem::take(&mut self.switched_off), true)
    }
}

impl Drop for HardwarePorts {
    fn drop(&mut self) {
        let _ = switch(&self.switched_off, true);
    }
}

/// Switches features of interfaces; one that has vanished meanwhile needs nothing.
pub(crate) fn switch(features: &SwitchedOff, on: bool) -> Result<()> {
    let mut outcome = Ok(());
    for (interface, names) in features {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        match Ethtool::open(interface)?.set_features(&names, on) {
            Err(KernelError::System { source, .. })
                if source.raw_os_error() == Some(libc::ENODEV) => {}
            Err(error) if outcome.is_ok() => outcome = Err(error),
            _ => {}
        }
    }
    Ok(outcome?)
}

fn switchable_on(port: &InterfaceFacts) -> Vec<String> {
    let on = port.features_on(&REWRITING_FEATURES).into_iter();
    on.filter(|name| port.features[*name].switchable).map(str::to_owned).collect()
}

/// An interface as it is once it has a carrier, or as it is when there is none for long: cards reset themselves as their
/// last user takes an XDP program off or switches an offload, and 1000BASE-T negotiates for up to some 4 s.
fn with_carrier(name: &str) -> kernel::Result<InterfaceFacts> {
    let facts = InterfaceFacts::read(name)?;
    if facts.carrier || !facts.up {
        return Ok(facts);
    }
    match Rtnetlink::here()?.wait_for_carrier(name) {
        Ok(()) | Err(KernelError::NoCarrier { .. }) => InterfaceFacts::read(name),
        Err(error) => Err(error),
    }
}

fn fit_for_tests(port: &InterfaceFacts) -> Result<()> {
    let name = &port.name;
    let refusal = if !port.ethernet {
        format!("interface {name} is not Ethernet")
    } else if port.has_default_route {
        format!(
            "interface {name} carries this machine's default route: loading it would cut the machine off and \
             reach networks that are not yours (RFC 6815). Use an interface of its own for tests"
        )
    } else if port.controller.is_some() {
        format!(
            "interface {name} is a port of a bridge or bond of this machine. Take it out: \
             `ip link set {name} nomaster`"
        )
    } else if !port.up {
        format!("interface {name} is down. Set it up: `ip link set {name} up`")
    } else if !port.carrier {
        format!("interface {name} has no carrier: look at the cable and at the device's port")
    } else {
        return Ok(());
    };
    Err(TestbedError::Interface(refusal))
}
