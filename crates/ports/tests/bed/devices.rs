//! Ports on devices of DPDK, in a folder of their own for their sockets.

use super::turn;
use ports::{LiveOptions, LiveTester, OpenPort, PortRequest, PortType, open_ports};
use std::fs::File;
use std::net::IpAddr;
use std::path::{Path as FilePath, PathBuf};
use tempfile::TempDir;
use trial::conformance::Path;
use trial::{PortId, TesterError};
use units::{FrameSize, LineRate};
use wire::ethernet::MacAddr;

/// A folder for sockets, and the turn of a live test.
pub struct Folder {
    folder: TempDir,
    _turn: File,
}

/// Waits for its turn.
pub fn folder() -> Folder {
    let turn = turn::wait();
    Folder { folder: tempfile::tempdir().expect("a folder"), _turn: turn }
}

impl Folder {
    /// A file of this name in it.
    pub fn path(&self, name: &str) -> PathBuf {
        FilePath::new(self.folder.path()).join(name)
    }

    /// One end of a memif link.
    pub fn memif(&self, device: usize, role: &str, socket: &str) -> String {
        let path = self.path(socket);
        format!("net_memif{device},role={role},socket={},socket-abstract=no", path.display())
    }

    /// Both ends of a vhost-user link.
    pub fn vhost_user(&self) -> [String; 2] {
        let path = self.path("v");
        [
            format!("net_vhost0,iface={}", path.display()),
            format!("net_virtio_user0,path={},queue_size=1024", path.display()),
        ]
    }
}

/// A request for a port on a device of DPDK.
pub fn request(id: usize, device: &str, largest: FrameSize) -> PortRequest {
    PortRequest {
        id: PortId(id as u16),
        interface: device.into(),
        nominal_rate: LineRate::from_gbps(10),
        largest_frame: largest,
        port_type: PortType::DPDK,
        queues: 1,
    }
}

/// Opens a port on each device.
pub fn open(devices: &[String], largest: FrameSize) -> Result<Vec<OpenPort>, TesterError> {
    let requests = devices.iter().enumerate().map(|(id, device)| request(id, device, largest));
    open_ports(&requests.collect::<Vec<_>>())
}

/// Opens ports with so many queues each way.
pub fn open_with_queues(devices: &[String], queues: u16) -> Result<Vec<OpenPort>, TesterError> {
    let of = |(id, device): (usize, &String)| PortRequest {
        queues,
        ..request(id, device, FrameSize::MAX_ETHERNET)
    };
    open_ports(&devices.iter().enumerate().map(of).collect::<Vec<_>>())
}

/// A tester on these devices.
pub fn tester(devices: &[String], largest: FrameSize) -> LiveTester {
    let ports = open(devices, largest).expect("open the ports");
    LiveTester::new(ports, LiveOptions::default()).expect("a tester")
}

/// UDP from one port's host to another's, as a bridge forwards it.
pub fn path(tester: &LiveTester, from: usize, to: usize) -> Path {
    let host = |port: usize| -> (MacAddr, IpAddr) {
        let mac = tester.ports()[port].describe().mac.parse().expect("an address");
        (mac, IpAddr::from([198, 18, port as u8, 2]))
    };
    Path::udp(PortId(from as u16), PortId(to as u16), host(from), host(to))
}
