//! How testpmd is started: pure.
//!
//! The options are those of DPDK 22.11: "EAL parameters" (Linux) for what stands before `--`, "Testpmd Application User
//! Guide", section 4, for what stands behind, and "Memif Poll Mode Driver" for the arguments of the devices.

use crate::addressing::{device_mac, tester_mac};
use crate::config::{ForwardMode, TestbedConfig};
use std::path::Path;

/// Ports of the device, which it forwards between.
pub(super) const PORTS: usize = 2;
/// Without huge pages DPDK takes all of its memory at the start.
const MEMORY_MB: u32 = 256;
/// Buffers for frames: more than a burst of each port, what the caches keep, and what waits to be handed over. memif
/// copies frames out of its ring before it passes them on.
const BUFFERS: u32 = 8_192;
/// What a ring of memif may hold, as a power of two (`rsize`).
pub(super) const RING_BITS: std::ops::RangeInclusive<u32> = 1..=14;

/// Which processors, and which memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// Of the thread that takes commands and of those that wait for events.
    pub main_cpu: usize,
    /// Of the thread that forwards.
    pub forwarding_cpu: usize,
    /// Whether there are huge pages for it.
    pub has_huge_pages: bool,
}

/// The arguments of dpdk-testpmd, with its sockets in a folder.
pub(super) fn arguments(config: &TestbedConfig, place: Place, folder: &Path) -> Vec<String> {
    let Place { main_cpu, forwarding_cpu, has_huge_pages } = place;
    let mode = config.forward_mode.unwrap_or_default();
    // DPDK refuses --in-memory together with --no-huge ("not compatible").
    let memory = match has_huge_pages {
        true => "--in-memory".to_owned(),
        false => format!("--no-huge --no-shconf -m {MEMORY_MB}"),
    };
    let mut line = format!(
        "-v --lcores 0@{main_cpu},1@{forwarding_cpu} {memory} --no-pci --no-telemetry --file-prefix device"
    );
    for port in 0..PORTS {
        let (socket, mac) = (socket(folder, port), mac_text(device_mac(port)));
        line += &format!(
            " --vdev net_memif{port},role=server,socket={socket},socket-abstract=no,mac={mac}"
        );
    }
    line += &format!(
        " -- --interactive --auto-start --no-mlockall --nb-cores=1 --total-num-mbufs={BUFFERS} \
         --forward-mode={mode}"
    );
    if mode == ForwardMode::Mac {
        for port in 0..PORTS {
            line += &format!(" --eth-peer={port},{}", mac_text(tester_mac(port)));
        }
    }
    line.split(' ').map(String::from).collect()
}

/// The device of DPDK with which the tester joins a port. The client makes the rings of both directions.
pub(super) fn near_end(name: u32, port: usize, ring_frames: u32, folder: &Path) -> String {
    let (socket, mac) = (socket(folder, port), mac_text(tester_mac(port)));
    let bits = ring_frames.ilog2();
    format!("net_memif{name},role=client,socket={socket},socket-abstract=no,mac={mac},rsize={bits}")
}

/// The other end of a port of the tester's, where both are its own.
pub(super) fn own_far_end(name: u32, port: usize, folder: &Path) -> String {
    let (socket, mac) = (socket(folder, port), mac_text(tester_mac(port + 1)));
    format!("net_memif{name},role=server,socket={socket},socket-abstract=no,mac={mac}")
}

fn socket(folder: &Path, port: usize) -> String {
    folder.join(format!("{port}.sock")).display().to_string()
}

fn mac_text(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DeviceKind;

    const PLACE: Place = Place { main_cpu: 0, forwarding_cpu: 3, has_huge_pages: false };

    fn line(mode: Option<ForwardMode>, place: Place) -> String {
        let config = TestbedConfig { forward_mode: mode, ..TestbedConfig::of(DeviceKind::Testpmd) };
        arguments(&config, place, Path::new("/run/netanvil/7.0.testpmd")).join(" ")
    }

    /// The command of docs/dpdk.md, which has been started by hand, with addresses.
    #[test]
    fn the_whole_command_without_huge_pages() {
        let sockets = ["0", "1"].map(|port| {
            format!(
                "--vdev net_memif{port},role=server,socket=/run/netanvil/7.0.testpmd/{port}.sock,\
                 socket-abstract=no,mac=02:4e:41:00:0{port}:01"
            )
        });
        let expected = format!(
            "-v --lcores 0@0,1@3 --no-huge --no-shconf -m 256 --no-pci --no-telemetry --file-prefix device {} {} \
             -- --interactive --auto-start --no-mlockall --nb-cores=1 --total-num-mbufs=8192 --forward-mode=io",
            sockets[0], sockets[1]
        );
        assert_eq!(line(None, PLACE), expected);
    }

    #[test]
    fn huge_pages_and_modes_change_what_they_name() {
        let huge = line(None, Place { has_huge_pages: true, ..PLACE });
        assert!(huge.contains(" --in-memory ") && !huge.contains("no-huge"), "{huge}");
        let modes = [ForwardMode::Io, ForwardMode::Macswap, ForwardMode::FiveTupleSwap];
        for (mode, name) in modes.into_iter().zip(["io", "macswap", "5tswap"]) {
            assert!(line(Some(mode), PLACE).ends_with(&format!("--forward-mode={name}")));
        }
        // Frames leave port 1 for the tester's port 1.
        let mac = line(Some(ForwardMode::Mac), PLACE);
        assert!(
            mac.ends_with(
                "--forward-mode=mac --eth-peer=0,02:4e:41:00:00:02 --eth-peer=1,02:4e:41:00:01:02"
            ),
            "{mac}"
        );
    }

    #[test]
    fn the_tester_joins_with_rings_of_the_length_asked_for() {
        let folder = Path::new("/tmp/x");
        assert_eq!(
            near_end(5, 1, 16_384, folder),
            "net_memif5,role=client,socket=/tmp/x/1.sock,socket-abstract=no,mac=02:4e:41:00:01:02,rsize=14"
        );
        assert!(near_end(0, 0, 1_024, folder).ends_with("rsize=10"));
        assert!(
            own_far_end(1, 0, folder).starts_with("net_memif1,role=server,socket=/tmp/x/0.sock,")
        );
    }
}
