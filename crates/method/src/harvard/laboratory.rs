//! Who sets up the device between the tests, and how it is to be set up.

use super::Filters;
use crate::{Protocol, RunError, Topology};
use serde::{Deserialize, Serialize};
use std::fmt;
use trial::{Tester, TesterDescription};

/// What the device forwards in a table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// It routes IP.
    Ip,
    /// It routes AppleTalk Phase 2.
    AppleTalk,
    /// It routes DECnet Phase IV.
    Decnet,
    /// It routes Novell IPX.
    Ipx,
    /// It bridges.
    Bridge,
}

impl Mode {
    /// In the order of the tables.
    pub const ALL: [Mode; 5] = [Mode::Ip, Mode::AppleTalk, Mode::Decnet, Mode::Ipx, Mode::Bridge];

    /// As the tables of 1990 head it.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Ip => "TCP/IP",
            Mode::AppleTalk => "AppleTalk II",
            Mode::Decnet => "DECNET",
            Mode::Ipx => "IPX",
            Mode::Bridge => "Bridge Mode",
        }
    }
    /// The beginning of its columns' names in the tables of 1990.
    pub const fn column(self) -> &'static str {
        match self {
            Mode::Ip => "ip",
            Mode::AppleTalk => "at2",
            Mode::Decnet => "dn",
            Mode::Ipx => "ipx",
            Mode::Bridge => "br",
        }
    }
    /// What its frames are made of. What a bridge forwards has no network layer.
    pub const fn protocol(self) -> Protocol {
        match self {
            Mode::Ip => Protocol::UdpIpv4,
            Mode::AppleTalk => Protocol::Appletalk,
            Mode::Decnet => Protocol::Decnet,
            Mode::Ipx => Protocol::IpxRaw,
            Mode::Bridge => Protocol::Ethernet,
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Whether a stream leaves by the interface card where it came in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Path {
    /// In on one card, out on another; two streams come in on the same card.
    Between,
    /// In and out on the same card; two streams have a card each.
    Within,
}

impl Path {
    /// In the order of the tables.
    pub const ALL: [Path; 2] = [Path::Between, Path::Within];
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Path::Between => "between interface cards",
            Path::Within => "within interface card",
        })
    }
}

/// How the device is to be set up and attached.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SetUp {
    /// What it forwards.
    pub mode: Mode,
    /// Between which ports.
    pub path: Path,
    /// What it permits.
    pub filters: Filters,
    /// Streams at once: 1, or 2 for the dual stream tests.
    pub streams: usize,
}

impl SetUp {
    /// The ports of each stream, source first, on a device with so many ports and so many of them
    /// on an interface card; `None` where it has no cards.
    ///
    /// # Errors
    /// In words, why the device has no such ports.
    pub fn ports(
        &self,
        ports: usize,
        ports_a_card: Option<usize>,
    ) -> Result<Vec<(u16, u16)>, String> {
        let card = ports_a_card.unwrap_or(2);
        let pairs = match (self.path, self.streams) {
            (Path::Between, _) if ports_a_card.is_none() => {
                return Err("it has no interface cards".into());
            }
            (Path::Within, _) if card < 2 => return Err("an interface card has one port".into()),
            (Path::Within, 1) => vec![(0, 1)],
            (Path::Within, _) => vec![(0, 1), (card, card + 1)],
            (Path::Between, 1) => vec![(0, card)],
            // Cards of one port: the second stream has cards of its own.
            (Path::Between, _) if card < 2 => vec![(0, 1), (2, 3)],
            (Path::Between, _) => vec![(0, card), (1, card + 1)],
        };
        let last = pairs.iter().map(|(from, to)| *from.max(to)).max().unwrap_or(0);
        match last < ports {
            true => Ok(pairs.iter().map(|(from, to)| (*from as u16, *to as u16)).collect()),
            false => Err(format!("it takes {} ports, there are {ports}", last + 1)),
        }
    }
}

/// A device set up, with the tester in front of it.
pub struct Ready<'a> {
    /// Runs the trials.
    pub tester: Box<dyn Tester + 'a>,
    /// Who has which address: one for each stream, from the first port to the second.
    pub streams: Vec<Topology>,
    /// The filters in words, for the conditions; empty for none.
    pub filters: String,
}

/// Why a device is not set up.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SetUpError {
    /// The device, or the port in front of it, cannot do this; the run goes on without.
    #[error("not possible on this device: {0}")]
    NotPossible(String),
    /// Setting it up failed; the run ends.
    #[error(transparent)]
    Failed(#[from] RunError),
}

/// Sets up a device again and again.
pub trait Laboratory {
    /// The tester.
    fn describe(&self) -> TesterDescription;
    /// Whether the device has counters of its own that are worth comparing: those of a real one.
    fn shows_counters(&self) -> bool {
        false
    }
    /// Whether it can be set up so, as far as that is known before it is tried: a run foretells no time for what cannot.
    fn is_possible(&self, _: &SetUp) -> bool {
        true
    }
    /// Sets up the device, and brings the tester in front of it.
    ///
    /// # Errors
    /// See [`SetUpError`].
    fn set_up(&mut self, set_up: &SetUp) -> Result<Ready<'_>, SetUpError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_lie_within_a_card_or_on_two() {
        let ports = |path, streams, ports, ports_a_card| {
            let filters = Filters::None;
            SetUp { mode: Mode::Ip, path, filters, streams }.ports(ports, ports_a_card).ok()
        };
        assert_eq!(ports(Path::Within, 1, 4, Some(2)), Some(vec![(0, 1)]));
        assert_eq!(ports(Path::Within, 2, 4, Some(2)), Some(vec![(0, 1), (2, 3)]));
        assert_eq!(ports(Path::Between, 1, 4, Some(2)), Some(vec![(0, 2)]));
        assert_eq!(ports(Path::Between, 2, 4, Some(2)), Some(vec![(0, 2), (1, 3)]));
        assert_eq!(ports(Path::Between, 1, 2, Some(2)), None, "one card only");
        assert_eq!(ports(Path::Within, 1, 4, Some(1)), None);
        assert_eq!(ports(Path::Between, 2, 4, Some(1)), Some(vec![(0, 1), (2, 3)]));
        assert_eq!(ports(Path::Within, 2, 2, None), None);
        assert_eq!(ports(Path::Within, 2, 4, None), Some(vec![(0, 1), (2, 3)]));
        assert_eq!(ports(Path::Between, 1, 4, None), None);
    }
}
