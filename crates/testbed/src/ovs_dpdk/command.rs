//! What an Open vSwitch with DPDK is told before it starts: pure.
//!
//! The keys are those of ovs-vswitchd.conf.db(5), Open vSwitch 3.1; the arguments in `dpdk-extra` those of DPDK 22.11,
//! "EAL parameters" (Linux).

use crate::config::TestbedConfig;
use crate::ovs;
use crate::polling::{PORTS, Place};
use std::path::{Path, PathBuf};

/// Of both ports: the tester's ports of virtio take no longer frames than fit a buffer.
pub(super) const MTU_BYTES: u32 = 1_500;
/// Without huge pages DPDK takes all of its memory at the start. Each port, which has memory of its own (Open vSwitch, "DPDK
/// Device Memory Models"), makes 16,384 buffers and those of its rings, of 3 KiB each.
pub(super) const MEMORY_MB: u32 = 256;

/// Name of a port.
pub(super) fn port_name(port: usize) -> String {
    format!("port{port}")
}

/// The socket of a port. The tester opens it, and Open vSwitch, which looks for it each second, is its client: with
/// `dpdkvhostuser`, the other way round, Open vSwitch 3.1 has no counters.
pub(super) fn socket(folder: &Path, port: usize) -> PathBuf {
    folder.join(format!("{port}.sock"))
}

/// Words of ovs-vsctl that configure all of it. The switch sets `cur_cfg` to 1 when it has done so.
pub(super) fn words(config: &TestbedConfig, place: Place, folder: &Path) -> Vec<String> {
    let mut words: Vec<String> =
        "--no-wait set open_vswitch . next_cfg=1 other_config:dpdk-init=true \
                                  other_config:per-port-memory=true"
            .split_whitespace()
            .map(String::from)
            .collect();
    words.push(format!("other_config:pmd-cpu-mask={}", mask(place.forwarding_cpu)));
    let extra = extra(place.has_huge_pages);
    words.push(format!("other_config:dpdk-extra=\"{extra}\""));
    words.push("--".into());
    words.extend(ovs::bridge(config).split_whitespace().map(String::from));
    for port in 0..PORTS {
        let name = port_name(port);
        let socket = socket(folder, port);
        let add = format!(
            "-- add-port br0 {name} -- set interface {name} type=dpdkvhostuserclient mtu_request={MTU_BYTES} \
             options:vhost-server-path=\"{}\"",
            socket.display()
        );
        words.extend(add.split_whitespace().map(String::from));
    }
    words
}

/// Arguments for DPDK. Open vSwitch adds --in-memory unless --legacy-mem is there, and DPDK refuses --in-memory
/// together with --no-huge.
fn extra(has_huge_pages: bool) -> String {
    let memory = match has_huge_pages {
        true => String::new(),
        false => format!("--no-huge --legacy-mem --no-shconf -m {MEMORY_MB} "),
    };
    format!("{memory}--no-pci --no-telemetry")
}

/// One processor, as a mask in hexadecimal.
fn mask(cpu: usize) -> String {
    format!("0x{:x}{}", 1 << (cpu % 4), "0".repeat(cpu / 4))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DeviceKind;

    const PLACE: Place = Place { main_cpu: 0, forwarding_cpu: 1, has_huge_pages: false };

    fn line(change: impl FnOnce(&mut TestbedConfig), place: Place) -> String {
        let mut config = TestbedConfig::of(DeviceKind::OvsDpdk);
        change(&mut config);
        words(&config, place, Path::new("/run/netanvil/7.0.ovs-dpdk")).join(" ")
    }

    /// The commands of docs/dpdk.md, which have been given by hand.
    #[test]
    fn all_that_is_configured_without_huge_pages() {
        let ports = ["0", "1"].map(|port| {
            format!(
                " -- add-port br0 port{port} -- set interface port{port} type=dpdkvhostuserclient mtu_request=1500 \
                 options:vhost-server-path=\"/run/netanvil/7.0.ovs-dpdk/{port}.sock\""
            )
        });
        let expected = format!(
            "--no-wait set open_vswitch . next_cfg=1 other_config:dpdk-init=true other_config:per-port-memory=true \
             other_config:pmd-cpu-mask=0x2 \
             other_config:dpdk-extra=\"--no-huge --legacy-mem --no-shconf -m 256 --no-pci --no-telemetry\" \
             -- add-br br0 -- set bridge br0 datapath_type=netdev fail-mode=standalone \
             other-config:disable-in-band=true{}{}",
            ports[0], ports[1]
        );
        assert_eq!(line(|_| {}, PLACE), expected);
    }

    #[test]
    fn options_change_what_they_name() {
        let huge = line(|_| {}, Place { has_huge_pages: true, ..PLACE });
        assert!(huge.contains("dpdk-extra=\"--no-pci --no-telemetry\""), "{huge}");
        let table = line(
            |config| (config.address_ageing_s, config.address_table) = (Some(20), Some(33)),
            PLACE,
        );
        assert!(
            table.contains("other-config:mac-aging-time=20 other-config:mac-table-size=33 -- add")
        );
    }

    #[test]
    fn a_processor_is_one_bit_of_the_mask() {
        let masks = [(0, "0x1"), (3, "0x8"), (4, "0x10"), (70, "0x400000000000000000")];
        for (cpu, text) in masks {
            assert_eq!(mask(cpu), text);
        }
        assert_eq!(u128::from_str_radix(&mask(70)[2..], 16), Ok(1 << 70));
    }
}
