//! How testpmd is started: pure.
//!
//! The options are those of DPDK 22.11: "EAL parameters" (Linux) for what stands before `--`, "Testpmd Application User
//! Guide", section 4, for what stands behind, and "Memif Poll Mode Driver" for the arguments of the devices.

use crate::addressing::{device_mac, tester_mac};
use crate::config::{ForwardMode, TestbedConfig};
use crate::polling::{PORTS, Place, mac_text, memif_far_end};
use std::path::Path;

/// Without huge pages DPDK takes all of its memory at the start.
pub(super) const MEMORY_MB: u32 = 256;
/// Buffers for frames: more than a burst of each port, what the caches keep, and what waits to be handed over. memif
/// copies frames out of its ring before it passes them on.
const BUFFERS: u32 = 8_192;
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
        let device = memif_far_end(port as u32, port, device_mac(port), folder);
        line += &format!(" --vdev {device}");
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
}
