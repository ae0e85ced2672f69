//! What RFC 5180 adds to test traffic: extension headers, and IPv6 beside IPv4.

use crate::{RunError, TestKind};
use serde::{Deserialize, Serialize};
use wire::ipv6::Extension;

/// An IPv6 extension header of test frames (RFC 5180 section 5.3).
///
/// Authentication and encapsulating security headers are left out: a router passes them over like
/// destination options, and whoever ends them needs keys. A mobility header ends a packet (RFC
/// 6275 section 6.1.1): nothing of a test frame could stand behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtensionHeader {
    /// Hop-by-hop options: one PadN, 8 bytes. Every router has to look at it.
    HopByHop,
    /// Destination options: one PadN, 8 bytes.
    Destination,
    /// A routing header of 24 bytes with no segment left, of a type for experiments (253, RFC 4727):
    /// it is of no concern to any router on the way and refers to no address, whereas type 0 is
    /// forbidden (RFC 5095), type 2 is for mobile hosts, and the segments of type 4 would have to
    /// follow the destinations of a stream.
    Routing,
    /// A fragment header of a whole packet, 8 bytes (an atomic fragment, RFC 6946).
    Fragment,
}

impl ExtensionHeader {
    /// As it stands in a frame.
    pub fn extension(self) -> Extension {
        match self {
            ExtensionHeader::HopByHop => Extension::hop_by_hop_padding(8),
            ExtensionHeader::Destination => Extension::destination_padding(8),
            ExtensionHeader::Routing => Extension::experimental_routing(24),
            ExtensionHeader::Fragment => {
                Extension::Fragment { offset: 0, more: false, identification: 1 }
            }
        }
    }

    /// For people.
    pub const fn name(self) -> &'static str {
        match self {
            ExtensionHeader::HopByHop => "hop-by-hop options",
            ExtensionHeader::Destination => "destination options",
            ExtensionHeader::Routing => "routing",
            ExtensionHeader::Fragment => "fragment",
        }
    }
}

/// Loads at which hop-by-hop options are observed, in percent of the maximum (RFC 5180 section
/// 5.3).
pub(crate) const HOP_BY_HOP_LOADS_PERCENT: [f64; 3] = [50.0, 10.0, 1.0];

/// Whether routers have to look into every frame, so that nothing but an observation is asked for.
pub(crate) fn is_observation(headers: &[ExtensionHeader]) -> bool {
    headers.contains(&ExtensionHeader::HopByHop)
}

/// Refuses headers that cannot stand together (RFC 8200 section 4.1, RFC 5180 section 5.3), and
/// tests for which they are not made.
pub(crate) fn check(headers: &[ExtensionHeader], tests: &[TestKind]) -> Result<(), RunError> {
    use ExtensionHeader::*;
    let refuse = |why: String| Err(RunError::Config(why));
    let times = |header| headers.iter().filter(|known| **known == header).count();
    for (header, most) in [(HopByHop, 1), (Routing, 1), (Fragment, 1), (Destination, 2)] {
        if times(header) > most {
            let name = header.name();
            return refuse(format!(
                "a packet has {name} at most {most} time(s) (RFC 8200 section 4.1)"
            ));
        }
    }
    if !is_observation(headers) {
        return Ok(());
    }
    if headers.len() > 1 {
        return refuse(
            "a chain of extension headers has no hop-by-hop options (RFC 5180 section 5.3): test \
             them alone"
                .into(),
        );
    }
    match tests.iter().find(|test| !matches!(test, TestKind::FrameLoss | TestKind::SelfTest)) {
        Some(test) => refuse(format!(
            "{test} is not for hop-by-hop options, of which every router looks at each (RFC 5180 \
             section 5.3): ask for the frame loss rate alone, which is then observed at 1, 10 and \
             50 % of the maximum"
        )),
        None => Ok(()),
    }
}

/// Which frames of a stream of both versions are IPv6, spread evenly: `percent` of each hundred
/// (RFC 5180 section 7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct VersionMix {
    percent: u64,
}

impl VersionMix {
    /// Of a percentage from 0 to 100.
    pub fn new(percent: u8) -> VersionMix {
        VersionMix { percent: u64::from(percent).min(100) }
    }
    /// Frames after which the order repeats.
    pub fn period(self) -> u64 {
        let (mut a, mut b) = (100, self.percent);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        100 / a
    }
    /// Whether frame `index` is IPv6.
    pub fn is_ipv6(self, index: u64) -> bool {
        (index % 100 + 1) * self.percent / 100 > (index % 100) * self.percent / 100
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_has_its_share_in_every_period_evenly_spread() {
        for (percent, period) in [(10, 10), (50, 2), (90, 10), (33, 100), (0, 1), (100, 1)] {
            let mix = VersionMix::new(percent);
            assert_eq!(mix.period(), period, "{percent}");
            let ipv6 = (0..100).filter(|index| mix.is_ipv6(*index)).count();
            assert_eq!(ipv6, usize::from(percent));
            let again = |index| mix.is_ipv6(index) == mix.is_ipv6(index + mix.period());
            assert!((0..300).all(again), "{percent}");
        }
        let tenths: Vec<u64> = (0..20).filter(|i| VersionMix::new(10).is_ipv6(*i)).collect();
        assert_eq!(tenths, [9, 19]);
    }

    #[test]
    fn headers_that_cannot_stand_together_are_refused() {
        use ExtensionHeader::*;
        let refusal = |headers: &[_], tests: &[_]| check(headers, tests).unwrap_err().to_string();
        assert!(refusal(&[Routing, Routing], &[]).contains("at most 1"));
        assert!(refusal(&[HopByHop, Fragment], &[]).contains("alone"));
        assert!(refusal(&[HopByHop], &[TestKind::Throughput]).contains("1, 10 and 50 %"));
        assert_eq!(check(&[HopByHop], &[TestKind::FrameLoss]), Ok(()));
        assert_eq!(
            check(&[Destination, Routing, Fragment, Destination], &[TestKind::Latency]),
            Ok(())
        );
    }
}
