//! The numbers of the tests; the defaults are those of the document.

use serde::{Deserialize, Serialize};

/// How many ports, hosts, groups and packets.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TollyConfig {
    /// Iterations of each test, averaged.
    pub iterations: u32,
    /// Internet-scale routing: numbers of input ports.
    pub routed_inputs: Vec<usize>,
    /// Its output ports.
    pub routed_outputs: usize,
    /// Hosts behind each of them, up to 65,536; each gets one packet from each input.
    pub hosts_per_output: u64,
    /// Streams of the base unicast test, each from a port to a port of its own.
    pub unicast_streams: usize,
    /// Numbers of output ports of the base multicast test, whose input is one.
    pub multicast_outputs: Vec<usize>,
    /// Packets of each input in the base and mesh multicast tests.
    pub multicast_packets: u64,
    /// Ports of the multicast mesh.
    pub mesh_ports: usize,
    /// Groups of the large-scale multicast test, up to 65,536; each gets one packet.
    pub groups: u64,
    /// Its output ports.
    pub group_outputs: usize,
}

impl Default for TollyConfig {
    fn default() -> Self {
        TollyConfig {
            iterations: 3,
            routed_inputs: vec![1, 2, 4, 8],
            routed_outputs: 16,
            hosts_per_output: 65_536,
            unicast_streams: 16,
            multicast_outputs: vec![7, 15, 23, 31],
            multicast_packets: 100_000,
            mesh_ports: 8,
            groups: 65_536,
            group_outputs: 31,
        }
    }
}

impl TollyConfig {
    /// A first look: an eighth of the hosts, groups and packets, and one iteration.
    pub(crate) fn quick() -> Self {
        TollyConfig {
            iterations: 1,
            hosts_per_output: 8_192,
            groups: 8_192,
            multicast_packets: 12_500,
            ..TollyConfig::default()
        }
    }

    /// What cannot be run, in words.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let most = 1..=65_536;
        let counts = self.routed_inputs.iter().chain(&self.multicast_outputs);
        if self.iterations == 0 || self.multicast_packets == 0 || self.unicast_streams == 0 {
            return Some("tolly: iterations, packets and streams must be at least 1");
        }
        if counts.clone().any(|count| *count == 0) || self.routed_outputs == 0 {
            return Some("tolly: numbers of ports must be at least 1");
        }
        if self.mesh_ports < 2 || self.group_outputs == 0 {
            return Some("tolly: a mesh takes 2 ports or more, a group 1 output or more");
        }
        (!most.contains(&self.hosts_per_output) || !most.contains(&self.groups))
            .then_some("tolly: hosts_per_output and groups lie between 1 and 65536")
    }
}
