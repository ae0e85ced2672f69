//! The device under test: a router or a bridge made of the Linux kernel in its own namespace.

use crate::addressing::{PortAddresses, destination_networks, tester_mac};
use crate::config::{DeviceKind, Neighbours, TestbedConfig};
use crate::error::Result;
use crate::ethtool::{Ethtool, Offload};
use crate::namespace::Namespace;
use crate::sysctl;
use std::net::IpAddr;

/// Name of the bridge in a bridge's namespace.
const BRIDGE: &str = "bridge0";
/// Ethernet address of the bridge itself.
const BRIDGE_MAC: [u8; 6] = [0x02, b'N', b'A', 0, 0xff, 1];

/// The device under test. Its methods may be called from any thread.
#[derive(Debug)]
pub struct Device {
    namespace: Namespace,
    config: TestbedConfig,
}

impl Device {
    pub(crate) fn new(namespace: Namespace, config: TestbedConfig) -> Self {
        Device { namespace, config }
    }

    /// The device's namespace.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Name of the device's interface for a port, in the device's namespace.
    pub fn interface(&self, port: usize) -> String {
        format!("dut{port}")
    }

    /// Settings that must stand before the device has ports.
    pub(crate) fn prepare(&self) -> Result<()> {
        match self.config.device {
            DeviceKind::LinuxRouter => self.namespace.run(sysctl::prepare_router)?,
            _ => self.namespace.run(sysctl::prepare_bridge)?,
        }
    }

    /// Configures the device from its ports up; also after a reset.
    pub(crate) fn start(&self) -> Result<()> {
        if self.config.device == DeviceKind::LinuxBridge {
            self.add_bridge()?;
        } else {
            self.namespace.run(|| sysctl::set_forwarding(true))??;
        }
        (0..self.config.ports).try_for_each(|port| self.start_port(port))
    }

    fn add_bridge(&self) -> Result<()> {
        let mut netlink = self.namespace.netlink()?;
        netlink.add_bridge(BRIDGE, BRIDGE_MAC, self.config.mtu_bytes)?;
        netlink.set_link_up(BRIDGE, true)
    }

    fn start_port(&self, port: usize) -> Result<()> {
        let interface = self.interface(port);
        self.namespace.netlink()?.set_link_up(&interface, true)?;
        self.set_offloads(&interface)?;
        match self.config.device {
            DeviceKind::LinuxBridge => {
                self.namespace.netlink()?.set_link_bridge(&interface, BRIDGE)
            }
            _ => self.configure_layer3(port),
        }
    }

    /// GRO on a veth gives it a receive queue of its own (NAPI); without it, or an XDP program, it
    /// takes no frames by XDP. All else is off, so that frames leave as they came.
    fn set_offloads(&self, interface: &str) -> Result<()> {
        self.namespace.run(|| {
            let ethtool = Ethtool::new()?;
            Offload::ALL.iter().try_for_each(|&offload| {
                ethtool.set_offload(interface, offload, offload == Offload::GenericReceive)
            })
        })?
    }

    /// Addresses, neighbours and routes of a router's port, as configured.
    fn configure_layer3(&self, port: usize) -> Result<()> {
        let mut netlink = self.namespace.netlink()?;
        let index = netlink.link_index(&self.interface(port))?;
        let PortAddresses { ipv4, ipv6, .. } = PortAddresses::of_port(port);
        netlink.set_address(index, ipv4.device.into(), ipv4.prefix_length)?;
        let has_ipv6 = sysctl::has_ipv6();
        if has_ipv6 {
            netlink.set_address(index, ipv6.device.into(), ipv6.prefix_length)?;
        }
        if self.config.neighbours == Neighbours::Static {
            let addresses = PortAddresses::of_port(port).tester_addresses();
            for address in addresses.into_iter().filter(|a| a.is_ipv4() || has_ipv6) {
                netlink.set_permanent_neighbour(index, address, tester_mac(port))?;
            }
        }
        if self.config.destination_networks {
            for (family_ipv6, next_hop) in
                [(false, IpAddr::from(ipv4.phantom_router)), (true, ipv6.phantom_router.into())]
            {
                if family_ipv6 && !has_ipv6 {
                    continue;
                }
                for network in destination_networks(port, self.config.ports, family_ipv6) {
                    netlink.set_route(index, network, next_hop)?;
                }
            }
        }
        Ok(())
    }
}
