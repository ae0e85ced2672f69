//! One kernel interface: what it is, its state and its own counters, by rtnetlink.

use crate::sys;
use kernel::{Ethtool, InterfaceState, KernelError, Rtnetlink};
use netlink_packet_route::link::LinkLayerType;
use std::sync::Mutex;
use trial::TesterError;

/// A kernel interface, held by its number: a new one of the same name is another one.
pub struct Interface {
    name: String,
    index: u32,
    netlink: Mutex<Rtnetlink>,
    ethtool: Ethtool,
}

impl Interface {
    /// Finds an interface by name in the network namespace of the calling thread.
    pub fn open(name: &str) -> Result<Self, TesterError> {
        let failed = |error: KernelError| match error {
            KernelError::NoSuchInterface { .. } => TesterError::System {
                what: format!("open port {name}"),
                detail: "there is no such interface in this network namespace; see `ip link`"
                    .into(),
            },
            _ => sys::port_error(name, "look up the interface", &error.into()),
        };
        let mut netlink = Rtnetlink::here().map_err(failed)?;
        let ethtool = open_ethtool(name)?;
        let found = netlink.link(name).map_err(failed)?;
        if found.header.link_layer_type != LinkLayerType::Ether {
            return Err(TesterError::Unsupported {
                port: name.into(),
                what: format!("an interface of type {:?}", found.header.link_layer_type),
                remedy: "use an Ethernet interface".into(),
            });
        }
        let netlink = Mutex::new(netlink);
        Ok(Interface { name: name.into(), index: found.header.index, netlink, ethtool })
    }

    /// Its name when it was opened.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Its number.
    pub fn index(&self) -> u32 {
        self.index
    }
    /// Its driver and offloads.
    pub fn ethtool(&self) -> &Ethtool {
        &self.ethtool
    }

    /// Its state now.
    pub fn state(&self) -> Result<InterfaceState, TesterError> {
        let mut netlink = self.netlink.lock().expect("no panic while held");
        let link = netlink
            .link_at(self.index)
            .map_err(|error| sys::port_error(&self.name, "read its state", &error.into()))?;
        Ok(InterfaceState::of(&link))
    }

    /// Sets it administratively up or down.
    pub fn set_up(&self, up: bool) -> Result<(), TesterError> {
        let mut netlink = self.netlink.lock().expect("no panic while held");
        let set = netlink.set_link_up_at(self.index, &self.name, up);
        set.map_err(|error| sys::port_error(&self.name, "set its link", &error.into()))
    }

    /// Its state, or an error if it is gone or down.
    pub fn state_if_up(&self) -> Result<InterfaceState, TesterError> {
        let state = self.state()?;
        if !state.up {
            return Err(TesterError::PortGone {
                port: self.name.clone(),
                detail: format!("the interface is down; ip link set {} up", self.name),
            });
        }
        Ok(state)
    }
}

/// Opens a way to ask its driver.
pub(crate) fn open_ethtool(interface: &str) -> Result<Ethtool, TesterError> {
    Ethtool::open(interface)
        .map_err(|error| sys::port_error(interface, "ask ethtool", &error.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_that_does_not_exist_is_an_error_that_says_so() {
        let Err(error) = Interface::open("no-such-if") else { panic!("opened") };
        assert!(error.to_string().contains("no such interface"), "{error}");
    }

    #[test]
    fn the_loopback_interface_is_no_ethernet() {
        let Err(error) = Interface::open("lo") else { panic!("opened") };
        assert!(error.to_string().contains("use an Ethernet interface"), "{error}");
    }
}
