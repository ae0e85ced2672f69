//! The passes of a suite: each has its own modifier and destinations.

use super::SuiteConfig;
use crate::Modifier;
use crate::traffic::{Destinations, TrafficConfig};

/// What one pass of a suite has of its own: what is mixed in, one destination or random ones, and the length
/// of the prefixes of their IPv6 networks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Round {
    pub modifier: Modifier,
    pub destinations: Destinations,
    pub ipv6_prefix: Option<u8>,
}

impl SuiteConfig {
    /// The suite is run once with each of these.
    pub(crate) fn rounds(&self) -> Vec<Round> {
        let destinations = self.recipients();
        let with = |modifier: &Modifier| {
            let round = |(destinations, ipv6_prefix): &(_, _)| Round {
                modifier: *modifier,
                destinations: *destinations,
                ipv6_prefix: *ipv6_prefix,
            };
            destinations.iter().map(round).collect::<Vec<_>>()
        };
        self.modifiers.iter().flat_map(with).collect()
    }

    /// To whom its rounds send: one destination, or random ones in networks of each prefix length.
    fn recipients(&self) -> Vec<(Destinations, Option<u8>)> {
        let prefixes = &self.traffic.ipv6_prefixes;
        let of = |to: &Destinations| match *to {
            Destinations::Random if !prefixes.is_empty() => {
                prefixes.iter().map(|length| (*to, Some(*length))).collect()
            }
            _ => vec![(*to, None)],
        };
        self.traffic.destinations.runs().iter().flat_map(of).collect()
    }

    /// What the tester measures itself with: no modifier, and random destinations where a round has them,
    /// which ask more of it than one does.
    pub(crate) fn of_self_test(&self) -> Round {
        let recipients = self.recipients();
        let is_random = |(to, _): &&(Destinations, Option<u8>)| *to == Destinations::Random;
        let (destinations, ipv6_prefix) =
            *recipients.iter().find(is_random).unwrap_or(&recipients[0]);
        Round { modifier: Modifier::None, destinations, ipv6_prefix }
    }

    /// The same suite with the destinations of a round alone.
    pub(crate) fn in_round(&self, round: Round) -> SuiteConfig {
        let traffic = TrafficConfig {
            destinations: round.destinations,
            ipv6_prefixes: round.ipv6_prefix.into_iter().collect(),
            ..self.traffic.clone()
        };
        SuiteConfig { traffic, ..self.clone() }
    }
}
