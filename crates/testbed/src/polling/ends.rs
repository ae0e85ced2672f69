//! The sockets between a forwarder and the tester, as arguments of DPDK's virtual devices: pure but for [`OwnMemif`].
//!
//! The arguments are those of DPDK 22.11, "Network Interface Controller Drivers": "Memif Poll Mode Driver" and
//! "Virtio_user for Container Networking".

use super::PORTS;
use super::folder::Folder;
use crate::addressing::tester_mac;
use crate::config::TestbedConfig;
use crate::error::Result;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// What a ring may hold, as a power of two (`rsize` of memif; virtio's would go on to 15).
pub(crate) const RING_BITS: std::ops::RangeInclusive<u32> = 1..=14;
/// Of the folder in which the tester's ports have their sockets.
const FOLDER: &str = "memif";

/// The device of DPDK with which the tester joins a port by memif. The client makes the rings of both directions.
pub(crate) fn memif_near_end(name: u32, port: usize, ring_frames: u32, folder: &Path) -> String {
    let (socket, mac) = (socket(folder, port), mac_text(tester_mac(port)));
    let bits = ring_frames.ilog2();
    format!("net_memif{name},role=client,socket={socket},socket-abstract=no,mac={mac},rsize={bits}")
}

/// The device of the forwarder at the other end of it.
pub(crate) fn memif_far_end(name: u32, port: usize, mac: [u8; 6], folder: &Path) -> String {
    let (socket, mac) = (socket(folder, port), mac_text(mac));
    format!("net_memif{name},role=server,socket={socket},socket-abstract=no,mac={mac}")
}

/// The device of DPDK with which the tester joins a port by vhost-user. The tester opens the socket.
pub(crate) fn vhost_user_near_end(
    name: u32,
    port: usize,
    ring_frames: u32,
    socket: &Path,
) -> String {
    let (socket, mac) = (socket.display(), mac_text(tester_mac(port)));
    format!("net_virtio_user{name},path={socket},server=1,queue_size={ring_frames},mac={mac}")
}

fn socket(folder: &Path, port: usize) -> String {
    folder.join(format!("{port}.sock")).display().to_string()
}

pub(crate) fn mac_text(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

/// Devices of DPDK have names that no other one of this process has.
pub(crate) fn next_device() -> u32 {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    COUNT.fetch_add(1, Ordering::Relaxed)
}

/// Both ends of a memif of the tester's own, without a device: its self-test.
#[derive(Debug)]
pub struct OwnMemif {
    folder: Option<Folder>,
    ends: [String; PORTS],
}

impl OwnMemif {
    /// Makes the folder of its socket.
    ///
    /// # Errors
    /// If that cannot be made.
    pub fn new(config: &TestbedConfig) -> Result<Self> {
        let folder = Folder::create(FOLDER)?;
        // The server first: the client joins it.
        let near = memif_near_end(next_device(), 0, config.input_queue_frames, folder.path());
        let far = memif_far_end(next_device(), 0, tester_mac(1), folder.path());
        Ok(OwnMemif { folder: Some(folder), ends: [far, near] })
    }

    /// The devices of DPDK, to be opened in this order.
    pub fn ends(&self) -> &[String] {
        &self.ends
    }

    /// Both are open: nobody needs the socket's file any more.
    pub fn joined(&mut self) {
        self.folder = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tester_joins_with_rings_of_the_length_asked_for() {
        let folder = Path::new("/tmp/x");
        assert_eq!(
            memif_near_end(5, 1, 16_384, folder),
            "net_memif5,role=client,socket=/tmp/x/1.sock,socket-abstract=no,mac=02:4e:41:00:01:02,rsize=14"
        );
        assert!(memif_near_end(0, 0, 1_024, folder).ends_with("rsize=10"));
        assert_eq!(
            memif_far_end(1, 0, [2, 0x4e, 0x41, 0, 0, 1], folder),
            "net_memif1,role=server,socket=/tmp/x/0.sock,socket-abstract=no,mac=02:4e:41:00:00:01"
        );
        assert_eq!(
            vhost_user_near_end(3, 0, 1_024, Path::new("/tmp/x/port0")),
            "net_virtio_user3,path=/tmp/x/port0,server=1,queue_size=1024,mac=02:4e:41:00:00:02"
        );
    }
}
