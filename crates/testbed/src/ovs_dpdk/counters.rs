//! What Open vSwitch says that its datapath has counted: pure.
//!
//! `ovs-vsctl get interface` has counters of up to five seconds ago (`stats-update-interval`, ovs-vswitchd.conf.db(5));
//! the datapath has those of the moment (`dpctl/show -s`, ovs-dpctl(8)).

use super::command::port_name;
use crate::polling::{PORTS, PortCounters};

/// The command of its control socket, and its argument.
pub(super) const COMMAND: (&str, &str) = ("dpctl/show", "-s");

/// The counters of both ports since the start in an answer to [`COMMAND`]; none if they are not all there.
pub(super) fn parse(answer: &str) -> Option<[PortCounters; PORTS]> {
    let mut ports = [PortCounters::default(); PORTS];
    for (port, slot) in ports.iter_mut().enumerate() {
        let head = format!(": {} (", port_name(port));
        // "port 3: port0 (dpdk: ...)", up to the next port's.
        let (_, behind) = answer.split_once(&head)?;
        let section = behind.split("\n  port ").next()?;
        let [received, sent] = ["RX packets:", "TX packets:"].map(|name| {
            let (packets, rest) = section.split_once(name)?.1.split_once(' ')?;
            let dropped = rest.split_once("dropped:")?.1.split_whitespace().next()?;
            Some((packets.parse().ok()?, dropped.parse().ok()?))
        });
        let ((rx_packets, rx_dropped), (tx_packets, tx_dropped)) = (received?, sent?);
        *slot = PortCounters { rx_packets, rx_dropped, tx_packets, tx_dropped };
    }
    Some(ports)
}

/// The releases in what the program says with `--version`: `Open vSwitch 3.1.0 (DPDK 22.11.11)`.
pub(super) fn release(said: &str) -> Option<String> {
    let switch = said.split_once("(Open vSwitch) ")?.1.lines().next()?;
    let dpdk = said.lines().find(|line| line.starts_with("DPDK "))?;
    Some(format!("Open vSwitch {switch} ({dpdk})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Open vSwitch 3.1.0 of Debian 12 with frames of 64 bytes from one port to the other. The second port was a memif, of
    /// whose two queues the tester has one: see [`super::super`].
    const SAID: &str = "netdev@ovs-netdev:
  lookups: hit:2976 missed:2 lost:0
  flows: 2
  port 0: ovs-netdev (tap)
    RX packets:0 errors:0 dropped:0 overruns:0 frame:0
    TX packets:0 errors:0 dropped:0 aborted:0 carrier:0
    collisions:0
    RX bytes:0  TX bytes:0
  port 1: br0 (tap)
    RX packets:0 errors:0 dropped:0 overruns:0 frame:0
    TX packets:0 errors:0 dropped:1 aborted:0 carrier:0
    collisions:0
    RX bytes:0  TX bytes:0
  port 2: port0 (dpdk: configured_rx_queues=1, configured_rxq_descriptors=2048, mtu=1500, rx_csum_offload=false)
    RX packets:2977 errors:0 dropped:0 overruns:? frame:?
    TX packets:0 errors:0 dropped:1 aborted:? carrier:?
    collisions:?
    RX bytes:178620 (174.4 KiB)  TX bytes:0
  port 3: port1 (dpdk: configured_rx_queues=1, configured_rxq_descriptors=2048, mtu=1500, rx_csum_offload=false)
    RX packets:1 errors:0 dropped:0 overruns:? frame:?
    TX packets:0 errors:0 dropped:2977 aborted:? carrier:?
    collisions:?
    RX bytes:60  TX bytes:0
";

    #[test]
    fn both_ports_are_read_and_its_own_are_not() {
        let [near, far] = parse(SAID).expect("both ports");
        let port = |rx_packets, tx_dropped| PortCounters {
            rx_packets,
            rx_dropped: 0,
            tx_packets: 0,
            tx_dropped,
        };
        assert_eq!((near, far), (port(2_977, 1), port(1, 2_977)));
    }

    #[test]
    fn an_answer_that_is_cut_short_or_has_no_counters_is_no_answer() {
        let whole =
            SAID.find(" aborted:? carrier:?\n    collisions:?\n    RX bytes:60").expect("there");
        for length in (0..whole).filter(|length| SAID.is_char_boundary(*length)) {
            let cut = &SAID[..length];
            // A number that is cut is one, too: the last one only.
            assert!(parse(cut).is_none() || length + 4 > whole, "{length} bytes");
        }
        // As before somebody joins a port of vhost-user.
        let closed = "  port 2: port0 (dpdkvhostuser: mtu=1500)\n, could not retrieve stats (Protocol error)  \
                      port 3: port1 (dpdkvhostuser: mtu=1500)\n, could not retrieve stats (Protocol error)";
        assert_eq!(parse(closed), None);
    }

    #[test]
    fn the_releases_are_what_the_program_says() {
        let said = "ovs-vswitchd-dpdk (Open vSwitch) 3.1.0\nDPDK 22.11.11\n";
        assert_eq!(release(said).as_deref(), Some("Open vSwitch 3.1.0 (DPDK 22.11.11)"));
        assert_eq!(release("ovs-vswitchd (Open vSwitch) 3.1.0\n"), None);
    }
}
