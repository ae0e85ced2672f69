//! Offloads by their names in `ethtool -k`: what is on, and all of them off for a while.

use crate::ethtool::Ethtool;

/// What would merge frames, split them, hide their tags or leave their checksums open, by its name in
/// `ethtool -k`: the features that it is made of. Each is before what it depends on.
const OFFLOADS: [(&str, &[&str]); 9] = [
    ("generic-receive-offload", &["rx-gro"]),
    (
        "tcp-segmentation-offload",
        &[
            "tx-tcp-segmentation",
            "tx-tcp-ecn-segmentation",
            "tx-tcp-mangleid-segmentation",
            "tx-tcp6-segmentation",
        ],
    ),
    ("generic-segmentation-offload", &["tx-generic-segmentation"]),
    ("scatter-gather", &["tx-scatter-gather", "tx-scatter-gather-fraglist"]),
    (
        "tx-checksumming",
        &[
            "tx-checksum-ipv4",
            "tx-checksum-ip-generic",
            "tx-checksum-ipv6",
            "tx-checksum-fcoe-crc",
            "tx-checksum-sctp",
        ],
    ),
    ("rx-checksumming", &["rx-checksum"]),
    ("large-receive-offload", &["rx-lro"]),
    ("rx-vlan-offload", &["rx-vlan-hw-parse"]),
    ("tx-vlan-offload", &["tx-vlan-hw-insert"]),
];

impl Ethtool {
    /// Names of the offloads that are on.
    pub fn offloads_on(&self) -> Vec<String> {
        let on = OFFLOADS.iter().filter(|(_, parts)| !self.on_among(parts).is_empty());
        on.map(|(name, _)| (*name).into()).collect()
    }

    /// The features among these that are on.
    fn on_among(&self, names: &[&'static str]) -> Vec<&'static str> {
        let features = self.features().unwrap_or_default();
        let is_on = |name: &&&str| features.get(**name).is_some_and(|feature| feature.on);
        names.iter().filter(is_on).copied().collect()
    }
}

/// Everything that would merge frames, split them, hide their tags or leave their checksums open,
/// switched off; switched on again when this is dropped.
#[derive(Debug)]
pub struct OffloadsOff {
    ethtool: Ethtool,
    /// Features, in the order in which they were switched off.
    switched: Vec<Vec<&'static str>>,
    left_on: Vec<String>,
}

impl OffloadsOff {
    /// Switches them off.
    pub fn new(ethtool: Ethtool) -> Self {
        let (mut switched, mut left_on) = (vec![], vec![]);
        for (name, parts) in OFFLOADS {
            let mut on = ethtool.on_among(parts);
            if on.is_empty() {
                continue;
            }
            // Whether it worked is seen by asking again: a driver may agree and do nothing.
            let _ = ethtool.set_features(&on, false);
            let left = ethtool.on_among(parts);
            if !left.is_empty() {
                left_on.push(name.into());
            }
            on.retain(|part| !left.contains(part));
            switched.push(on);
        }
        OffloadsOff { ethtool, switched, left_on }
    }

    /// Names of what could not be switched off.
    pub fn left_on(&self) -> &[String] {
        &self.left_on
    }
}

impl Drop for OffloadsOff {
    fn drop(&mut self) {
        // What depends on another comes after it. An interface that is gone needs nothing.
        for features in self.switched.iter().rev() {
            let _ = self.ethtool.set_features(features, true);
        }
    }
}
