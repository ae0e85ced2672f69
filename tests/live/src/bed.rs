//! A test bed with the tester's ports on it.

use kernel::Privilege;
use method::{Attachment, Forwarding, LegacyAddresses, Topology};
use ports::{LiveOptions, LiveTester, OpenPort, PortRequest, PortType, open_ports};
use std::fs::File;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Deref;
use testbed::{DeviceKind, Testbed, TestbedConfig, destination_networks};
use trial::conformance::Path;
use trial::{PortId, TesterError};
use units::{FrameSize, LineRate};
use wire::ethernet::MacAddr;

/// A frame of 9000 bytes of payload.
pub const JUMBO: FrameSize = FrameSize::from_bytes(9018);

/// Whether live tests can run. Where they cannot, says so past the test harness's capture.
///
/// # Panics
/// In continuous integration (`CI` is set), where they must run.
pub fn can_run(test: &str) -> bool {
    if Privilege::current() == Privilege::Root {
        return true;
    }
    let _ = writeln!(
        io::stderr().lock(),
        "SKIPPED {test}: NOT ROOT. This test builds network namespaces; run it with `sudo -E cargo test`."
    );
    assert!(std::env::var_os("CI").is_none(), "{test} must run as root in CI, and does not");
    false
}

/// Of the frames that are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IpVersion {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// A test bed for one test at a time on this machine: live tests at once would take each other's
/// cores.
pub struct Bed {
    testbed: Testbed,
    _turn: File,
}

impl Deref for Bed {
    type Target = Testbed;
    fn deref(&self) -> &Testbed {
        &self.testbed
    }
}

impl Bed {
    /// Builds a test bed when it is this test's turn.
    pub fn build(config: &TestbedConfig) -> Bed {
        let turn = await_turn();
        let testbed = Testbed::build(config).expect("a test bed");
        Bed { testbed, _turn: turn }
    }

    /// The default test bed around a device of this kind, for frames up to `largest`.
    pub fn of(device: DeviceKind, largest: FrameSize) -> Bed {
        let mtu_bytes = largest.bytes() - 18;
        Bed::build(&TestbedConfig { mtu_bytes, ..TestbedConfig::of(device) })
    }

    /// Opens every port; `line` is what the virtual links are taken for.
    pub fn open(
        &self,
        port_type: PortType,
        largest: FrameSize,
        line: LineRate,
    ) -> Result<Vec<OpenPort>, TesterError> {
        let requests = self.ports().iter().map(|port| PortRequest {
            id: PortId(port.port as u16),
            interface: port.interface.clone(),
            nominal_rate: line,
            queues: 1,
            largest_frame: largest,
            port_type,
        });
        let requests: Vec<_> = requests.collect();
        self.tester().run(|| open_ports(&requests)).expect("enter the namespace")
    }

    /// A tester on every port.
    pub fn live(&self, port_type: PortType, largest: FrameSize, line: LineRate) -> LiveTester {
        let ports = self.open(port_type, largest, line).expect("open the ports");
        LiveTester::new(ports, LiveOptions::default()).expect("a tester")
    }

    /// From port 0 to port 1 and back.
    pub fn paths(&self, version: IpVersion) -> Vec<Path> {
        [(0, 1), (1, 0)].map(|(from, to)| self.path(version, from, to)).to_vec()
    }

    fn path(&self, version: IpVersion, from: usize, to: usize) -> Path {
        let host = |port: usize| -> IpAddr {
            let addresses = &self.ports()[port].addresses;
            match version {
                IpVersion::V4 => addresses.ipv4.host.into(),
                IpVersion::V6 => addresses.ipv6.host.into(),
            }
        };
        Path::udp(
            PortId(from as u16),
            PortId(to as u16),
            (MacAddr(self.ports()[from].mac), host(from)),
            (MacAddr(self.next_hop_mac(from, to)), host(to)),
        )
    }

    /// What the methods have to know of the test bed: all of its ports.
    pub fn topology(&self) -> Topology {
        let forwarding = match self.config().device {
            DeviceKind::LinuxRouter | DeviceKind::LinuxMcast | DeviceKind::L3fwd => {
                Forwarding::Routed
            }
            DeviceKind::LinuxBridge
            | DeviceKind::OvsUserspace
            | DeviceKind::OvsDpdk
            | DeviceKind::Testpmd => Forwarding::Bridged,
            DeviceKind::Loopback => Forwarding::Looped,
        };
        Topology::of(
            forwarding,
            (0..self.ports().len()).map(|port| self.attachment(port)).collect(),
        )
    }

    /// Who has which address at a port.
    pub fn attachment(&self, index: usize) -> Attachment {
        let port = &self.ports()[index];
        Attachment {
            port: PortId(index as u16),
            mac: MacAddr(port.mac),
            host_ipv4: port.addresses.ipv4.host,
            host_ipv6: port.addresses.ipv6.host,
            device_mac: MacAddr(port.device_mac.unwrap_or_default()),
            device_ipv4: port.addresses.ipv4.device,
            device_ipv6: port.addresses.ipv6.device,
            network_hosts_ipv4: self.hosts_behind(index, false).filter_map(ipv4).collect(),
            network_hosts_ipv6: self.hosts_behind(index, true).filter_map(ipv6).collect(),
            network_prefix_ipv4: 24,
            prefix_hosts_ipv6: Default::default(),
            legacy: LegacyAddresses::plan(PortId(index as u16)),
        }
    }

    fn hosts_behind(&self, port: usize, is_ipv6: bool) -> impl Iterator<Item = IpAddr> {
        let networks = match self.config().destination_networks {
            true => destination_networks(port, self.config().ports, is_ipv6),
            false => vec![],
        };
        networks.into_iter().map(|network| network.first_host())
    }
}

fn ipv4(address: IpAddr) -> Option<Ipv4Addr> {
    if let IpAddr::V4(address) = address { Some(address) } else { None }
}

fn ipv6(address: IpAddr) -> Option<Ipv6Addr> {
    if let IpAddr::V6(address) = address { Some(address) } else { None }
}

/// Waits for the lock that all live tests share, in whatever process.
fn await_turn() -> File {
    let path = std::env::temp_dir().join("netanvil-live-tests.lock");
    let file = File::options().create(true).append(true).open(path).expect("a lock file");
    file.lock().expect("the lock of all live tests");
    file
}
