//! Two hosts in namespaces of their own, joined by a cable, or by a third namespace in which a
//! program forwards what they send.

use crate::error::{Result, TestbedError};
use crate::registry::Registration;
use crate::sysctl;
use crate::testbed::Namespaces;
use kernel::{Ethtool, Namespace, PacketSocket, REWRITING_FEATURES, VethEnd};
use std::net::{IpAddr, Ipv4Addr};

/// The hosts' only interface beside the loopback.
const INTERFACE: &str = "net0";
/// In the namespace between them: towards each host.
const MIDDLE_INTERFACES: [&str; 2] = ["left", "right"];
const MTU_BYTES: u32 = 1500;
const TX_QUEUE_FRAMES: u32 = 10_000;
/// The network set aside for benchmarks (RFC 2544 appendix C) has room for both.
const PREFIX_LENGTH: u8 = 24;

/// Two hosts, the left one and the right one. Dropping them removes them.
#[derive(Debug)]
pub struct TwoHosts {
    hosts: [Namespace; 2],
    middle: Option<Namespace>,
    /// Last, so that the record goes after what it records.
    _registration: Option<Registration>,
}

impl TwoHosts {
    /// Joined by a veth pair as the kernel makes it, offloads and all.
    pub fn joined() -> Result<Self> {
        TwoHosts::build(false)
    }

    /// Joined to a third namespace, in which nobody forwards yet. All offloads of the hosts are off,
    /// so that each packet is a frame, with its checksums.
    pub fn apart() -> Result<Self> {
        TwoHosts::build(true)
    }

    /// A host, 0 or 1.
    pub fn host(&self, host: usize) -> &Namespace {
        &self.hosts[host]
    }
    /// The interface by which each host reaches the other.
    pub fn interface(&self) -> &'static str {
        INTERFACE
    }
    /// A host's address.
    pub fn address(host: usize) -> IpAddr {
        Ipv4Addr::new(198, 18, 0, host as u8 + 1).into()
    }
    /// Sockets on what comes from each host, where a third namespace is between them.
    pub fn open_middle(&self) -> Result<Option<[PacketSocket; 2]>> {
        let Some(middle) = &self.middle else { return Ok(None) };
        let open = |interface| {
            middle.run(|| PacketSocket::open(interface))?.map_err(|error| {
                TestbedError::system(format!("open a packet socket on {interface}"), error)
            })
        };
        Ok(Some([open(MIDDLE_INTERFACES[0])?, open(MIDDLE_INTERFACES[1])?]))
    }

    fn build(apart: bool) -> Result<Self> {
        let namespaces = Namespaces::for_this_process()?;
        let left = namespaces.create("left")?;
        let right = namespaces.create("right");
        let mut bed = match right {
            Ok(right) => TwoHosts { hosts: [left, right], middle: None, _registration: None },
            Err(error) => {
                let _ = left.remove();
                return Err(error.into());
            }
        };
        if apart {
            bed.middle = Some(namespaces.create("middle")?);
        }
        bed._registration = namespaces.into_registration();
        bed.join()?;
        Ok(bed)
    }

    fn join(&self) -> Result<()> {
        for host in &self.hosts {
            // Without IPv6 the kernel says nothing by itself: every frame is the programs' own.
            host.run(sysctl::silence_tester)??;
        }
        match &self.middle {
            None => {
                let right = self.hosts[1].open()?;
                let ends = [end(INTERFACE, mac(0)), end(INTERFACE, mac(1))];
                self.hosts[0].netlink()?.add_veth(&ends[0], &ends[1], Some(&right))?;
            }
            Some(middle) => self.join_to(middle)?,
        }
        (0..2).try_for_each(|host| self.start(host))?;
        for host in &self.hosts {
            host.netlink()?.wait_for_carrier(INTERFACE)?;
        }
        let Some(middle) = &self.middle else { return Ok(()) };
        let mut netlink = middle.netlink()?;
        let mut ends = MIDDLE_INTERFACES.iter();
        Ok(ends.try_for_each(|interface| netlink.wait_for_carrier(interface))?)
    }

    fn join_to(&self, middle: &Namespace) -> Result<()> {
        middle.run(sysctl::silence_tester)??;
        for (host, interface) in MIDDLE_INTERFACES.into_iter().enumerate() {
            let far = self.hosts[host].open()?;
            let mut netlink = middle.netlink()?;
            let ends = [end(interface, mac(host + 2)), end(INTERFACE, mac(host))];
            netlink.add_veth(&ends[0], &ends[1], Some(&far))?;
            netlink.set_link_up(interface, true)?;
            unchanged_frames(middle, interface)?;
            unchanged_frames(&self.hosts[host], INTERFACE)?;
        }
        Ok(())
    }

    /// Neighbours are fixed: neither delay nor loss between the hosts is to hold up ARP.
    fn start(&self, host: usize) -> Result<()> {
        let mut netlink = self.hosts[host].netlink()?;
        netlink.set_link_up("lo", true)?;
        netlink.set_link_up(INTERFACE, true)?;
        let index = netlink.link_index(INTERFACE)?;
        netlink.set_address(index, TwoHosts::address(host), PREFIX_LENGTH)?;
        netlink.set_permanent_neighbour(index, TwoHosts::address(1 - host), mac(1 - host))?;
        Ok(())
    }
}

impl Drop for TwoHosts {
    /// Links first: a namespace whose name is gone may live on for a while, with all that is in it.
    fn drop(&mut self) {
        for host in &self.hosts {
            let _ = host.netlink().and_then(|mut netlink| netlink.delete_link(INTERFACE));
        }
        for namespace in self.hosts.iter().chain(&self.middle) {
            let _ = namespace.remove();
        }
    }
}

fn unchanged_frames(namespace: &Namespace, interface: &str) -> kernel::Result<()> {
    namespace.run(|| Ethtool::open(interface)?.set_features(&REWRITING_FEATURES, false))?
}

fn end(name: &str, mac: [u8; 6]) -> VethEnd<'_> {
    VethEnd { name, mac, mtu_bytes: MTU_BYTES, tx_queue_frames: TX_QUEUE_FRAMES, queues: 1 }
}

/// Of the hosts, then of the interfaces between them.
fn mac(number: usize) -> [u8; 6] {
    [0x02, b'N', b'A', 0xfe, 0, number as u8 + 1]
}
