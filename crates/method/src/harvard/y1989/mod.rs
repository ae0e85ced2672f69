//! The router tests of 1989 ("TCP/IP Router Performance", Scott Bradner, Harvard University): the
//! tests that its campaign ran, and those "much harder" ones that it punted on; one file a test.
//!
//! What it measured with an oscilloscope and two old PCs is measured frame by frame here. What a
//! device does wrong is named ([`Misbehaviour`]), what a port or device cannot do is said
//! ([`Ending::NotPossible`]), never passed over in silence.

mod arp_cache;
mod back_to_back;
mod config;
mod control;
mod counters;
mod delay;
mod errors;
mod filters;
mod foretold;
mod growing;
mod idle;
mod management;
mod mixes;
mod outcome;
mod rates;
mod result;
mod routes;
mod scene;
mod stops;
mod storms;
mod suite;

pub use config::Harvard1989Config;
pub(super) use counters::counter_checks;
pub(crate) use foretold::{foretold, foretold_of_reach, is_made};
pub use result::{
    CounterCheck, Ending, ErrorFrames, Harvard1989Result, Misbehaviour, Number, Unit,
};
pub use suite::Suite1989;
pub(crate) use suite::test;

use serde::{Deserialize, Serialize};
use std::fmt;

/// The tests, in the order in which they run: what may leave a device crippled comes last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test1989 {
    /// What the device says with nobody speaking to it.
    IdleState,
    /// Time through the device, and whether it is constant.
    Delay,
    /// The highest rate without loss.
    MaxRate,
    /// The highest rate at which frames come out, whatever is lost.
    RawRate,
    /// A load a quarter above the max rate.
    Overload25,
    /// As fast as the tester can.
    Flood,
    /// Frames back to back until the first is lost.
    BackToBack,
    /// The max rate of a mix of frame lengths.
    LengthMix,
    /// Frames of several protocols in turn.
    MixedProtocols,
    /// Whether the device's counters count what the tester did.
    Counters,
    /// The max rate with packet filters.
    Filtering,
    /// The max rate with many routes fed by RIP.
    ManyRoutes,
    /// How many routes by RIP the device has room for.
    RoutingTable,
    /// How many hosts the device knows at once.
    ArpCache,
    /// How many packet filters the device has room for.
    FilterList,
    /// Whether the device itself still answers under load.
    Management,
    /// Test frames amid a storm of ARP requests.
    ArpStorm,
    /// Test frames amid a storm of broadcasts.
    BroadcastStorm,
    /// Test frames amid a storm of routing updates.
    RoutingUpdates,
    /// Bursts of fragments as file servers send them.
    NfsBursts,
    /// Which sizes pass when the device is flooded.
    FloodedSizes,
    /// Frames with a bad FCS.
    CrcErrors,
    /// Frames above the largest size.
    Giants,
    /// Frames below the smallest size.
    Runts,
}

impl Test1989 {
    /// All of them, in order.
    pub const ALL: [Test1989; 24] = [
        Test1989::IdleState,
        Test1989::Delay,
        Test1989::MaxRate,
        Test1989::RawRate,
        Test1989::Overload25,
        Test1989::Flood,
        Test1989::BackToBack,
        Test1989::LengthMix,
        Test1989::MixedProtocols,
        Test1989::Counters,
        Test1989::Filtering,
        Test1989::ManyRoutes,
        Test1989::RoutingTable,
        Test1989::ArpCache,
        Test1989::FilterList,
        Test1989::Management,
        Test1989::ArpStorm,
        Test1989::BroadcastStorm,
        Test1989::RoutingUpdates,
        Test1989::NfsBursts,
        Test1989::FloodedSizes,
        Test1989::CrcErrors,
        Test1989::Giants,
        Test1989::Runts,
    ];

    /// Whether it is run for each frame size; the others have their own frames.
    pub const fn is_by_size(self) -> bool {
        use Test1989::*;
        matches!(
            self,
            Delay | MaxRate | RawRate | Overload25 | Flood | BackToBack | Filtering | ManyRoutes
        )
    }
    /// Whether it is about routes, hosts or packets of IPv4, which a bridge knows nothing of.
    const fn needs_routes(self) -> bool {
        use Test1989::*;
        matches!(
            self,
            Filtering
                | ManyRoutes
                | RoutingTable
                | ArpCache
                | FilterList
                | Management
                | ArpStorm
                | RoutingUpdates
                | NfsBursts
        )
    }
    /// Whether it needs the max rate of its frame size.
    const fn needs_max_rate(self) -> bool {
        use Test1989::*;
        matches!(
            self,
            RawRate
                | Overload25
                | Flood
                | Counters
                | Management
                | ArpStorm
                | BroadcastStorm
                | RoutingUpdates
        )
    }
}

impl fmt::Display for Test1989 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Test1989::IdleState => "idle state",
            Test1989::Delay => "delay",
            Test1989::MaxRate => "max rate",
            Test1989::RawRate => "raw rate",
            Test1989::Overload25 => "max rate +25 %",
            Test1989::Flood => "flood",
            Test1989::BackToBack => "back to back",
            Test1989::LengthMix => "mix of lengths",
            Test1989::MixedProtocols => "mixed protocols",
            Test1989::Counters => "accuracy of counters",
            Test1989::Filtering => "filtering",
            Test1989::ManyRoutes => "many routes",
            Test1989::RoutingTable => "routing table size",
            Test1989::ArpCache => "ARP cache size",
            Test1989::FilterList => "filter list space",
            Test1989::Management => "management under load",
            Test1989::ArpStorm => "ARP storm",
            Test1989::BroadcastStorm => "broadcast storm",
            Test1989::RoutingUpdates => "storm of routing updates",
            Test1989::NfsBursts => "NFS bursts",
            Test1989::FloodedSizes => "sizes that pass a flood",
            Test1989::CrcErrors => "CRC errors",
            Test1989::Giants => "giants",
            Test1989::Runts => "runts",
        })
    }
}
