//! The numbers of the tests; the defaults are those of the document.

use crate::chassis::ChassisTest;
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

    /// The same with so many ports as there are, where a test would take more.
    pub fn fitted(self, ports: usize) -> Self {
        let fits = |counts: &[usize], most: usize| -> Vec<usize> {
            let mut fitting: Vec<usize> = counts.iter().map(|count| *count.min(&most)).collect();
            fitting.dedup();
            fitting
        };
        // One input for each two outputs, as it is with the document's most.
        let routed_inputs = match ports < self.routed_ports() {
            true => fits(&self.routed_inputs, (ports / 3).max(1)),
            false => self.routed_inputs.clone(),
        };
        let inputs = routed_inputs.iter().copied().max().unwrap_or(0);
        let others = ports.saturating_sub(1).max(1);
        TollyConfig {
            routed_outputs: self.routed_outputs.min(ports.saturating_sub(inputs)).max(1),
            routed_inputs,
            unicast_streams: self.unicast_streams.min(ports / 2).max(1),
            multicast_outputs: fits(&self.multicast_outputs, others),
            mesh_ports: self.mesh_ports.min(ports).max(2),
            group_outputs: self.group_outputs.min(others),
            ..self
        }
    }

    fn routed_ports(&self) -> usize {
        self.routed_inputs.iter().copied().max().unwrap_or(0) + self.routed_outputs
    }

    /// Where a test is smaller than that of the document, or otherwise different, in words.
    pub(crate) fn deviations(&self, test: ChassisTest) -> Vec<String> {
        let own = TollyConfig::default();
        let counts = |counts: &[usize]| {
            let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
            counts.join(", ")
        };
        let differs = |what: &str, here: String, there: String| {
            (here != there).then(|| format!("{here} {what} instead of {there}"))
        };
        let number =
            |what, here: u64, there: u64| differs(what, here.to_string(), there.to_string());
        let ports = |what, here: usize, there: usize| number(what, here as u64, there as u64);
        let list =
            |what, here: &[usize], there: &[usize]| differs(what, counts(here), counts(there));
        let of_test = match test {
            ChassisTest::InternetScale => vec![
                list("inputs", &self.routed_inputs, &own.routed_inputs),
                ports("outputs", self.routed_outputs, own.routed_outputs),
                number("hosts behind each output", self.hosts_per_output, own.hosts_per_output),
            ],
            ChassisTest::LargeScaleMulticast => vec![
                ports("outputs", self.group_outputs, own.group_outputs),
                number("groups", self.groups, own.groups),
            ],
            ChassisTest::MulticastMesh => vec![
                ports("ports in the mesh", self.mesh_ports, own.mesh_ports),
                number("packets of each input", self.multicast_packets, own.multicast_packets),
            ],
            ChassisTest::BaseMulticast => vec![
                list("outputs", &self.multicast_outputs, &own.multicast_outputs),
                number("packets of each input", self.multicast_packets, own.multicast_packets),
            ],
            _ => vec![ports("streams", self.unicast_streams, own.unicast_streams)],
        };
        let iterations = number("iterations", self.iterations.into(), own.iterations.into());
        of_test.into_iter().chain([iterations]).flatten().collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_ports_make_smaller_tests() {
        let whole = TollyConfig::default();
        assert_eq!(whole.clone().fitted(32), whole);
        for ports in 2..32 {
            let config = whole.clone().fitted(ports);
            assert_eq!(config.fault(), None, "{ports}");
            assert!(config.routed_ports() <= ports && 2 * config.unicast_streams <= ports);
            let outputs = config.multicast_outputs.iter().chain([&config.group_outputs]);
            assert!(outputs.clone().all(|outputs| *outputs < ports) && config.mesh_ports <= ports);
        }
        let eight = whole.fitted(8);
        assert_eq!((eight.routed_inputs.as_slice(), eight.routed_outputs), (&[1, 2][..], 6));
        assert_eq!((eight.multicast_outputs.as_slice(), eight.group_outputs), (&[7][..], 7));
    }

    #[test]
    fn what_is_smaller_than_in_the_document_is_told() {
        let quick = TollyConfig::quick();
        for test in ChassisTest::TOLLY {
            assert_eq!(TollyConfig::default().deviations(test), [""; 0], "{test}");
            assert!(!quick.deviations(test).is_empty(), "{test}");
        }
        let told = quick.fitted(8).deviations(ChassisTest::LargeScaleMulticast);
        let expected = [
            "7 outputs instead of 31",
            "8192 groups instead of 65536",
            "1 iterations instead of 3",
        ];
        assert_eq!(told, expected);
    }
}
