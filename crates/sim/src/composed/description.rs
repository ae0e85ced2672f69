//! A device described by its mechanisms, as a TOML file has it; `docs/devices.md` explains every
//! key with an example.

use super::counters::Counter;
use super::filter::FilterRule;
use crate::{Duplex, Medium};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thiserror::Error;
use units::text::{BitRate, Share, Span};
use units::{Duration, FrameSize};

/// Ports at most.
pub const PORTS_MAX: usize = 64;

/// What a device has a path for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// With ARP and RIP.
    Ipv4,
    /// With neighbour discovery.
    Ipv6,
    /// DECnet Phase IV.
    Decnet,
    /// AppleTalk Phase 2.
    Appletalk,
    /// Novell IPX.
    Ipx,
    /// Everything that is not routed.
    Bridged,
}

/// A device. Every key may be left out; then a mechanism is not there, costs nothing, or has no
/// limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Description {
    /// How many; 2.
    pub ports: usize,
    /// Of every link; 1G.
    pub line_rate: BitRate,
    /// Of every link; Ethernet.
    pub medium: Medium,
    /// Of every link; full. On FDDI half duplex is a ring with a token.
    pub duplex: Duplex,
    /// One way, between tester and device.
    pub propagation: Span,
    /// Tokens of FDDI.
    pub ring: RingTimes,
    /// A feed switch before each port: a logical bridge domain that joins a ring to the tester's
    /// transmitter and one to its receiver to the device's full-duplex link.
    pub feed_switches: bool,
    /// Protocols that it routes; frames of others are bridged, or not forwarded.
    pub route: Vec<Protocol>,
    /// Whether it bridges. A device that neither routes nor bridges joins its ports in pairs
    /// (0 and 1, 2 and 3, ...), whatever is in the frames.
    pub bridge: bool,
    /// Forwards a frame when so many of its bytes are in, instead of storing it whole.
    pub cut_through_bytes: Option<u32>,
    /// Longer frames are giants, and dropped; 1518 where it routes or bridges.
    pub max_frame_bytes: Option<u32>,
    /// Constant delay after all service.
    pub delay: Span,
    /// And a random one on top of it, up to so much; frames stay in order.
    pub delay_varies_by: Span,
    /// Of each port, before the first processor.
    pub input: Queue,
    /// Of each port, before its link.
    pub output: Queue,
    /// That all outputs share, on top of each one's own limit.
    pub memory: Queue,
    /// Queues at the inputs instead of the outputs.
    pub fabric: Option<Fabric>,
    /// PAUSE frames to senders; none where left out.
    pub flow_control: Option<FlowControl>,
    /// Interface cards with a processor each.
    pub card: Option<Card>,
    /// What joins the cards.
    pub bus: Option<Processor>,
    /// The central processor.
    pub cpu: Option<Cpu>,
    /// Filters on IPv4.
    pub filter: Filter,
    /// The bridge's table.
    pub learning: Learning,
    /// Answers ARP requests for others; none where left out.
    pub arp_server: Option<ArpServer>,
    /// Copies frames of multicast groups to those who asked for them; where left out a bridge floods
    /// them and a router drops them.
    pub multicast: Option<Multicast>,
    /// ARP, neighbour discovery and AARP caches and DECnet adjacencies, each.
    pub neighbours: Table,
    /// Routes learned from routing updates.
    pub routes: Routes,
    /// The counters that it shows; all where left out.
    pub counters: Option<Vec<Counter>>,
    /// What it calls some of them.
    pub counter_names: BTreeMap<Counter, String>,
    /// From one frame of its own to the next (a loopback to itself, out of every port); none where
    /// left out.
    pub hello: Option<Span>,
    /// What it does wrong.
    pub misbehaviour: Misbehaviour,
    /// Faults injected before it, each exactly every Nth frame.
    pub impair: Impair,
    /// How long resets take; without it there are none.
    pub reset: Option<Reset>,
    /// Limits of the tester's own, to see what a weak tester reports.
    pub tester: TesterLimits,
    /// Of everything random in the device.
    pub seed: u64,
}

impl Default for Description {
    fn default() -> Self {
        Description {
            ports: 2,
            line_rate: BitRate(1_000_000_000),
            medium: Medium::Ethernet,
            duplex: Duplex::Full,
            propagation: Span::default(),
            ring: RingTimes::default(),
            feed_switches: false,
            route: vec![],
            bridge: false,
            cut_through_bytes: None,
            max_frame_bytes: None,
            delay: Span::default(),
            delay_varies_by: Span::default(),
            input: Queue::default(),
            output: Queue::default(),
            memory: Queue::default(),
            fabric: None,
            flow_control: None,
            card: None,
            bus: None,
            cpu: None,
            filter: Filter::default(),
            learning: Learning::default(),
            arp_server: None,
            multicast: None,
            neighbours: Table::default(),
            routes: Routes::default(),
            counters: None,
            counter_names: BTreeMap::new(),
            hello: None,
            misbehaviour: Misbehaviour::default(),
            impair: Impair::default(),
            reset: None,
            tester: TesterLimits::default(),
            seed: 0,
        }
    }
}

/// Room for frames that wait, the one in service or on the link not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Queue {
    /// At most so many frames.
    pub frames: Option<u64>,
    /// At most so many bytes, FCS included.
    pub bytes: Option<u64>,
}

/// A fabric with a queue at each input, first in, first out. A frame leaves its queue straight for
/// its link: there is none at the outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Fabric {
    /// In each queue at most so many frames.
    pub frames: Option<u64>,
    /// At most so many bytes, FCS included.
    pub bytes: Option<u64>,
    /// Which of several first frames an output takes.
    pub arbitration: Arbitration,
}

/// Which of several first frames an output takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arbitration {
    /// That which came first.
    #[default]
    OldestFirst,
    /// That of the next input in turn.
    RoundRobin,
}

/// Flow control: PAUSE frames of IEEE 802.3 annex 31B. A sender that has been asked may have a frame
/// on its way and one begun: queues need room for these above `pause-at-frames`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FlowControl {
    /// A port's sender is asked for silence when so many of its frames wait in the device.
    pub pause_at_frames: u64,
    /// And may go on when no more than so many are left.
    pub resume_at_frames: u64,
}

/// The time that a frame takes a processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Cost {
    /// Whatever its size.
    pub per_frame: Span,
    /// And for each byte, FCS included.
    pub per_byte: Span,
    /// Only so many of its first bytes count for `per-byte`: what is copied of a longer frame. All
    /// where left out.
    pub first_bytes: Option<u32>,
    /// And for each buffer after the first, where a frame is kept in buffers of `buffer-bytes`.
    pub per_buffer: Span,
    /// See `per-buffer`.
    pub buffer_bytes: Option<u32>,
    /// At once when it comes, before all other work, and even if it is then dropped for want of
    /// room.
    pub receive: Span,
    /// The same for each byte.
    pub receive_per_byte: Span,
}

impl Cost {
    /// What a frame of this size takes once it is its turn.
    pub(crate) fn service(&self, size_bytes: u64) -> Duration {
        let counted = self.first_bytes.map_or(size_bytes, |first| size_bytes.min(first.into()));
        let buffers = self.buffer_bytes.map_or(1, |bytes| size_bytes.div_ceil(bytes.into()));
        self.per_frame.0 + self.per_byte.0 * counted + self.per_buffer.0 * (buffers.max(1) - 1)
    }

    /// What it takes as it comes.
    pub(crate) fn reception(&self, size_bytes: u64) -> Duration {
        self.receive.0 + self.receive_per_byte.0 * size_bytes
    }
}

/// A processor's pauses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Pauses {
    /// From the start of one to the start of the next.
    pub every: Span,
    /// How long it lasts.
    pub lasts: Span,
}

/// A time in which others take a processor from the device, as on a busy host.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Busy {
    /// Since the beginning of virtual time.
    pub from: Span,
    /// For how long; for ever where left out.
    #[serde(default)]
    pub lasts: Option<Span>,
    /// So many times as long a frame takes that is begun meanwhile.
    pub times_slower: u32,
}

/// A processor that all frames pass.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Processor {
    /// Of a frame.
    pub cost: Cost,
    /// Of frames of a protocol, where it is another.
    pub protocols: BTreeMap<Protocol, Cost>,
    /// For each port that frames come from, where this is not the first processor (that has the
    /// device's `input`).
    pub queue: Queue,
    /// Housekeeping, routing updates.
    pub stall: Option<Pauses>,
}

/// The central processor, or several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Cpu {
    /// What frames cost.
    pub cost: Cost,
    /// Of frames of a protocol, where it is another.
    pub protocols: BTreeMap<Protocol, Cost>,
    /// As for every processor.
    pub queue: Queue,
    /// As for every processor.
    pub stall: Option<Pauses>,
    /// One for all, or one for each port that frames come from.
    pub servers: Servers,
    /// When others take it from the device.
    pub busy: Vec<Busy>,
}

/// How many processors there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Servers {
    /// One for all ports (of a card, where it is a card's).
    #[default]
    Shared,
    /// One for each port: that frames come from, or on a card also where they leave.
    PerPort,
}

/// Interface cards.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Card {
    /// Neighbouring ports on a card; 1.
    pub ports: usize,
    /// Whether frames between ports of one card pass neither bus nor central processor.
    pub local: bool,
    /// One processor a card, or one for each of its ports.
    pub servers: Servers,
    /// What a frame costs that comes in.
    pub input: Cost,
    /// Of a protocol, where it is another.
    pub protocols: BTreeMap<Protocol, Cost>,
    /// What a frame costs that goes out.
    pub output: Cost,
    /// Of frames that wait to go out, for each port.
    pub queue: Queue,
    /// As for every processor.
    pub stall: Option<Pauses>,
}

impl Default for Card {
    fn default() -> Self {
        Card {
            ports: 1,
            local: false,
            servers: Servers::Shared,
            input: Cost::default(),
            protocols: BTreeMap::new(),
            output: Cost::default(),
            queue: Queue::default(),
            stall: None,
        }
    }
}

/// Who looks at filters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FilterBy {
    /// The central processor, or the card that decides without it.
    #[default]
    Processor,
    /// The card where the frame leaves.
    OutputCard,
}

/// Filters on IPv4.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Filter {
    /// The list: the first rule that matches decides; what none matches is dropped. Without rules
    /// everything passes.
    pub rules: Vec<FilterRule>,
    /// Who looks at them.
    pub by: FilterBy,
    /// Rules that the device has room for.
    pub room: Option<u64>,
    /// What having any rules costs for each frame.
    pub per_frame: Span,
    /// And each rule that is looked at.
    pub per_rule: Span,
    /// What having any rules costs beside that, at once when a frame comes to who looks at them,
    /// and even if it is then dropped for want of room.
    pub receive: Span,
    /// What having any rules costs the card where a frame leaves, beside that.
    pub output: Span,
}

/// A bridge's table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Learning {
    /// Addresses at most.
    pub entries: Option<u64>,
    /// After which time without a frame an address is forgotten; never where left out.
    pub ageing: Option<Span>,
    /// Hash buckets; where left out every address finds its place.
    pub buckets: Option<u64>,
    /// Places in a bucket; 1.
    pub places: Option<u64>,
    /// Time that it takes to learn one new address; none where left out. Before it is over the
    /// address is not known.
    pub per_address: Span,
    /// New addresses that wait for it at most; one that finds no room is not learned. 0.
    pub backlog: u64,
}

/// An ARP server. What it has learned from requests it tells others, instead of flooding theirs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ArpServer {
    /// Addresses at most.
    pub entries: Option<u64>,
    /// Time that a response takes.
    pub per_request: Span,
    /// Requests that may wait; more are dropped.
    pub requests: Option<u64>,
}

/// Multicast: of whom the device hears that they want a group, and how long it takes with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Multicast {
    /// Groups at most, over all ports; a report of one more is not taken.
    pub groups: Option<u64>,
    /// From the last bit of a report until frames are forwarded to its port.
    pub join: Span,
    /// And on top of it, where nobody had asked for the group before.
    pub new_group: Span,
    /// From the last bit of a leave until frames are forwarded no longer.
    pub leave: Span,
    /// How long a report is good for unless it is repeated; for ever where left out.
    pub membership: Option<Span>,
    /// From one general query to the next, by which the device asks every port for members of groups; where
    /// somebody leaves a group it asks for others. It asks nobody where left out.
    pub query_interval: Option<Span>,
    /// Time in which hosts are to answer a general query.
    pub query_response: Span,
    /// Time that the device takes for each report of a group, one after the other.
    pub per_report: Span,
    /// Reports that may wait for it; one that finds no room is lost. No limit where left out.
    pub backlog: Option<u64>,
    /// Time that a frame for a group takes the central processor, or the first one that there is, on
    /// top of its cost of any frame.
    pub per_frame: Span,
    /// And each copy of it after the first.
    pub per_copy: Span,
    /// The same for each copy that leaves in a tunnel.
    pub per_encapsulation: Span,
    /// And for a frame that came in one.
    pub per_decapsulation: Span,
    /// Versions of IGMP that it understands.
    pub igmp: Vec<u8>,
    /// Versions of MLD.
    pub mld: Vec<u8>,
    /// It knows groups by their hardware addresses, which 32 of IPv4 share.
    pub by_mac: bool,
    /// A bridge floods groups that nobody has asked for.
    pub floods_unknown: bool,
    /// A bridge that had no room for a group floods all groups from then on, as Linux's does.
    pub floods_when_full: bool,
    /// Hosts may be reached through tunnels to the address of their port, by GRE and by VXLAN.
    pub tunnels: bool,
}

impl Default for Multicast {
    fn default() -> Self {
        Multicast {
            groups: None,
            join: Span::default(),
            new_group: Span::default(),
            leave: Span::default(),
            membership: None,
            query_interval: None,
            query_response: Span(Duration::from_secs(1)),
            per_report: Span::default(),
            backlog: None,
            per_frame: Span::default(),
            per_copy: Span::default(),
            per_encapsulation: Span::default(),
            per_decapsulation: Span::default(),
            igmp: vec![1, 2, 3],
            mld: vec![1, 2],
            by_mac: false,
            floods_unknown: false,
            floods_when_full: false,
            tunnels: false,
        }
    }
}

/// A table of neighbours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Table {
    /// At most.
    pub entries: Option<u64>,
    /// After which time an entry is forgotten unless it is refreshed; never where left out.
    pub ageing: Option<Span>,
}

/// The table of learned routes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Routes {
    /// At most.
    pub entries: Option<u64>,
}

/// What a device does wrong.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Misbehaviour {
    /// A runt on its link makes it switch off the port.
    pub disables_port_on_runt: bool,
    /// When flooded it drops longer frames than this.
    pub flooded_drops_over_bytes: Option<u32>,
    /// It counts as flooded while so many frames of a port wait; 1.
    pub flooded_at_frames: Option<u64>,
    /// And for so long after each frame that comes in meanwhile; no longer where left out.
    pub flooded_for: Option<Span>,
    /// It crashes when more frames than this come in within a second, all ports together.
    pub crashes_above_fps: Option<u64>,
    /// How long it is down then; for ever where left out.
    pub reboots_in: Option<Span>,
    /// It counts a bad FCS as an alignment error.
    pub crc_as_alignment: bool,
    /// It does not answer for itself (ARP, echo) while so many frames of a port wait.
    pub unreachable_at_frames: Option<u64>,
    /// It sends with gaps of so few bytes instead of the 12 that are the legal minimum (forward
    /// pressure, RFC 2285 section 3.7.2).
    pub gap_bytes: Option<u32>,
    /// It forwards frames whose FCS is bad.
    pub forwards_bad_fcs: bool,
    /// It forwards frames below 64 bytes.
    pub forwards_runts: bool,
}

/// Faults injected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Impair {
    /// Exactly every Nth frame is dropped.
    pub drop_every: Option<u64>,
    /// Exactly every Nth frame comes twice.
    pub duplicate_every: Option<u64>,
    /// Exactly every Nth frame is held back by `reorder-by`.
    pub reorder_every: Option<u64>,
    /// See `reorder-every`; 1 ms.
    pub reorder_by: Option<Span>,
    /// Exactly every Nth frame has a bit turned over, with an FCS that fits.
    pub corrupt_every: Option<u64>,
    /// In which byte, counted from the end of the frame without its FCS; 1, the last, which is the signature's.
    pub corrupt_bytes_from_end: Option<usize>,
    /// Each frame is lost with this probability.
    pub loss: Option<Share>,
    /// A policer lets so many frames a second pass, of all ports together, and drops the others.
    pub police_frames_per_second: Option<u64>,
    /// So many frames pass at any rate; 1.
    pub police_burst_frames: Option<u64>,
}

/// How long resets take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Reset {
    /// Of the software.
    pub restart: Span,
    /// From link up until frames pass.
    pub link_recovery: Span,
}

/// Limits of the tester's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct TesterLimits {
    /// Frames a second and port.
    pub frames_per_second: Option<u64>,
    /// The shortest gap that it can send with.
    pub min_gap: Span,
    /// The same of its second source, where a test has two streams; that of the first where left
    /// out.
    pub second_min_gap: Option<Span>,
    /// It can send with gaps of so few bytes, below the legal minimum of 12.
    pub gap_bytes: Option<u32>,
    /// It goes on sending when the device asks it for a pause.
    pub ignores_pause: bool,
    /// On a ring of FDDI it keeps its own time: a whole interval behind, it begins a frame without the
    /// token, which is lost by that, and the ring claims.
    pub ignores_token: bool,
    /// Its clock runs fast by so many parts in a million.
    pub clock_error_ppm: i32,
    /// Its clock tells times apart no finer.
    pub timestamp_resolution: Span,
    /// It stands still now and then, and catches up.
    pub stall: Option<Pauses>,
    /// It loses every Nth frame that it receives, and counts it.
    pub loses_every: Option<u64>,
}

/// Tokens of FDDI.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct RingTimes {
    /// What stations bid for the target token rotation time; 8 ms.
    pub ttrt: Option<Span>,
    /// Frames that the tester sends by one token at most; as many as the token may be held where left
    /// out.
    pub frames_per_token: Option<u32>,
}

/// What is wrong with a description.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{what}; {remedy}")]
pub struct DescriptionError {
    /// The key, and why its value cannot be.
    pub what: String,
    /// What to write instead.
    pub remedy: String,
}

impl Description {
    /// Reads and checks the text of a file.
    pub fn from_toml(text: &str) -> Result<Self, DescriptionError> {
        let description: Description = toml::from_str(text).map_err(|error| DescriptionError {
            what: error.to_string().trim_end().to_string(),
            remedy: "docs/devices.md explains every key".into(),
        })?;
        description.check()?;
        Ok(description)
    }

    /// Finds values that no device can have.
    pub fn check(&self) -> Result<(), DescriptionError> {
        check::check(self)
    }

    /// Every cost of every processor.
    fn costs(&self) -> Vec<Cost> {
        let mut costs = vec![];
        if let Some(card) = &self.card {
            costs.extend([card.input, card.output]);
            costs.extend(card.protocols.values());
        }
        if let Some(bus) = &self.bus {
            costs.extend(bus.protocols.values().chain([&bus.cost]));
        }
        if let Some(cpu) = &self.cpu {
            costs.extend(cpu.protocols.values().chain([&cpu.cost]));
        }
        costs
    }

    /// Whether frames are looked at, or ports just joined in pairs.
    pub(crate) fn joins_pairs(&self) -> bool {
        self.route.is_empty() && !self.bridge
    }
}

mod check {
    use super::*;

    type Checked = Result<(), DescriptionError>;

    /// What a station must be able to bid at least and at most (T_Min and T_Max, ANSI X3.139).
    const TTRT_LEAST: Duration = Duration::from_ms(4);
    const TTRT_MOST: Duration = Duration::from_ms(165);

    fn wrong<T: std::fmt::Display>(key: &str, value: T, remedy: &str) -> Checked {
        let what = format!("`{key} = {value}` is impossible");
        Err(DescriptionError { what, remedy: remedy.into() })
    }

    /// A count that must be 1 or more where it is given.
    fn at_least_one(key: &str, value: Option<u64>) -> Checked {
        match value {
            Some(0) => wrong(key, 0, "write 1 or more, or leave it out"),
            _ => Ok(()),
        }
    }

    pub(super) fn check(device: &Description) -> Checked {
        if !(2..=PORTS_MAX).contains(&device.ports) {
            return wrong("ports", device.ports, "write 2 to 64");
        }
        if !(10_000..=800_000_000_000).contains(&device.line_rate.0) {
            return wrong("line-rate", device.line_rate, "write 10k to 800G bits a second");
        }
        if device.joins_pairs() && device.ports % 2 == 1 {
            return wrong("ports", device.ports, "ports are joined in pairs: write an even number");
        }
        if device.route.contains(&Protocol::Bridged) {
            return wrong("route", "[\"bridged\"]", "write `bridge = true` instead");
        }
        if let Some(bytes) = device.cut_through_bytes.filter(|bytes| *bytes < 14) {
            let remedy = "write 14 or more: the header must be in before it can be read";
            return wrong("cut-through-bytes", bytes, remedy);
        }
        if device.cut_through_bytes.is_some() && device.duplex == Duplex::Half {
            let remedy = "leave it out: on a half-duplex link a frame may yet collide";
            return wrong("cut-through-bytes", device.cut_through_bytes.unwrap_or(0), remedy);
        }
        if let Some(bytes) = device.max_frame_bytes.filter(|bytes| *bytes < 64) {
            return wrong("max-frame-bytes", bytes, "write 64 or more");
        }
        check_link(device)?;
        check_times(device)?;
        check_processors(device)?;
        check_queues(device)?;
        check_tables(device)?;
        device.multicast.iter().try_for_each(|plan| check_multicast(device, plan))?;
        check_misbehaviour(device)?;
        check_tester(&device.tester)
    }

    /// What goes over a link in no other way than its rate and length allow.
    fn check_link(device: &Description) -> Checked {
        let line = device.line_rate.line_rate();
        check_fddi(device)?;
        let shortest = FrameSize::MIN_ETHERNET.time_at_line_rate(line);
        if let Some(hello) = device.hello.filter(|every| every.0 < shortest) {
            let least = Span(shortest);
            let remedy = format!("write {least} or more, which a frame takes on the link");
            return wrong("hello", hello, &remedy);
        }
        let gaps = [
            ("misbehaviour.gap-bytes", device.misbehaviour.gap_bytes),
            ("tester.gap-bytes", device.tester.gap_bytes),
        ];
        for (key, bytes) in gaps {
            if let Some(bytes) = bytes.filter(|bytes| !(1..=FrameSize::GAP_BYTES).contains(bytes)) {
                return wrong(key, bytes, "write 1 to 12; 12 is the legal minimum");
            }
        }
        Ok(())
    }

    /// FDDI has one rate; tokens are on its rings, and feed switches before full-duplex ports.
    fn check_fddi(device: &Description) -> Checked {
        let has_rings = device.feed_switches || device.duplex == Duplex::Half;
        let RingTimes { ttrt, frames_per_token } = device.ring;
        if device.medium == Medium::Ethernet {
            let remedy = "write `medium = \"fddi\"`, or leave it out";
            if device.feed_switches {
                return wrong("feed-switches", true, remedy);
            }
            if device.ring != RingTimes::default() {
                return wrong("ring", "...", remedy);
            }
        } else if device.line_rate.0 != 100_000_000 {
            return wrong("line-rate", device.line_rate, "write 100M: FDDI has no other rate");
        }
        if device.tester.ignores_token && !(device.medium == Medium::Fddi && has_rings) {
            let remedy = "leave it out: only rings of FDDI have tokens";
            return wrong("tester.ignores-token", true, remedy);
        }
        if device.feed_switches && device.duplex == Duplex::Half {
            let remedy = "leave it out: feed switches have full-duplex links to the device";
            return wrong("duplex", "half", remedy);
        }
        if let Some(ttrt) = ttrt.filter(|t| !(TTRT_LEAST..=TTRT_MOST).contains(&t.0)) {
            return wrong("ring.ttrt", ttrt, "write 4ms to 165ms");
        }
        at_least_one("ring.frames-per-token", frames_per_token.map(u64::from))
    }

    /// No more than a quarter of an hour: so that sums of times stay far from what can be held.
    fn check_times(device: &Description) -> Checked {
        let costs = |name: &str, cost: &Cost| {
            let of = |key: &str| format!("{name}.{key}");
            [
                (of("per-frame"), cost.per_frame, 1_000),
                (of("per-byte"), cost.per_byte, 1),
                (of("per-buffer"), cost.per_buffer, 1),
                (of("receive"), cost.receive, 1_000),
                (of("receive-per-byte"), cost.receive_per_byte, 1),
            ]
        };
        let mut times = vec![
            ("propagation".into(), device.propagation, 1_000),
            ("delay".into(), device.delay, 1_000),
            ("delay-varies-by".into(), device.delay_varies_by, 1_000),
            ("filter.per-frame".into(), device.filter.per_frame, 1_000),
            ("filter.per-rule".into(), device.filter.per_rule, 1),
            ("filter.receive".into(), device.filter.receive, 1_000),
            ("filter.output".into(), device.filter.output, 1_000),
            ("tester.min-gap".into(), device.tester.min_gap, 1_000),
            (
                "tester.second-min-gap".into(),
                device.tester.second_min_gap.unwrap_or_default(),
                1_000,
            ),
        ];
        if let Some(card) = &device.card {
            times.extend(costs("card.input", &card.input));
            times.extend(costs("card.output", &card.output));
            times.extend(card.protocols.values().flat_map(|cost| costs("card.protocols", cost)));
        }
        if let Some(bus) = &device.bus {
            times.extend(costs("bus.cost", &bus.cost));
            times.extend(bus.protocols.values().flat_map(|cost| costs("bus.protocols", cost)));
        }
        if let Some(cpu) = &device.cpu {
            times.extend(costs("cpu.cost", &cpu.cost));
            times.extend(cpu.protocols.values().flat_map(|cost| costs("cpu.protocols", cost)));
        }
        let all = device.costs();
        at_least_one(
            "buffer-bytes",
            all.iter().filter_map(|c| c.buffer_bytes).min().map(u64::from),
        )?;
        match times.into_iter().find(|(_, time, most)| time.0 > Duration::from_secs(*most)) {
            Some((key, time, most)) => wrong(&key, time, &format!("write {most}s or less")),
            None => Ok(()),
        }
    }

    fn check_processors(device: &Description) -> Checked {
        if let Some(card) = &device.card {
            if card.ports == 0 || card.ports > device.ports {
                return wrong("card.ports", card.ports, "write 1 up to the number of ports");
            }
            check_stall("card.stall", card.stall)?;
        }
        if let Some(bus) = &device.bus {
            check_stall("bus.stall", bus.stall)?;
        }
        if let Some(cpu) = &device.cpu {
            check_stall("cpu.stall", cpu.stall)?;
            cpu.busy.iter().try_for_each(check_busy)?;
        }
        Ok(())
    }

    fn check_busy(busy: &Busy) -> Checked {
        match busy.times_slower {
            2..=1_000 => Ok(()),
            times => wrong("cpu.busy.times-slower", times, "write 2 to 1000"),
        }
    }

    fn check_queues(device: &Description) -> Checked {
        at_least_one("output.frames", device.output.frames)?;
        let longest = device.max_frame_bytes.unwrap_or(1_518).into();
        let fabric = device.fabric.unwrap_or_default();
        at_least_one("fabric.frames", fabric.frames)?;
        at_least_one("memory.frames", device.memory.frames)?;
        if let Some(flow) = device.flow_control {
            let FlowControl { pause_at_frames, resume_at_frames } = flow;
            at_least_one("flow-control.pause-at-frames", Some(pause_at_frames))?;
            if resume_at_frames >= pause_at_frames {
                let remedy = format!("write fewer than `pause-at-frames` ({pause_at_frames})");
                return wrong("flow-control.resume-at-frames", resume_at_frames, &remedy);
            }
            if device.duplex == Duplex::Half {
                let remedy = "leave it out: PAUSE frames are for full-duplex links";
                return wrong("flow-control.pause-at-frames", pause_at_frames, remedy);
            }
        }
        if device.fabric.is_some() && device.output != Queue::default() {
            let remedy = "leave out [output]: with a [fabric] there are no queues at the outputs";
            return wrong("output", "...", remedy);
        }
        if device.fabric.is_some() && device.delay_varies_by != Span::default() {
            let remedy = "leave it out: a [fabric] has no delay that varies";
            return wrong("delay-varies-by", device.delay_varies_by, remedy);
        }
        let fabric = Queue { frames: fabric.frames, bytes: fabric.bytes };
        let (card, bus, cpu) = (device.card.as_ref(), device.bus.as_ref(), device.cpu.as_ref());
        let (bus_queue, cpu_queue) = (bus.map(|bus| bus.queue), cpu.map(|cpu| cpu.queue));
        let first = match (card, bus) {
            (Some(_), _) => None,
            (None, Some(_)) => bus_queue.map(|queue| ("bus.queue", queue)),
            (None, None) => cpu_queue.map(|queue| ("cpu.queue", queue)),
        };
        if let Some((key, _)) = first.filter(|(_, queue)| *queue != Queue::default()) {
            let remedy = "write [input]: before the first processor is the device's input queue";
            return wrong(key, "...", remedy);
        }
        let queues = [
            ("input", device.input),
            ("output", device.output),
            ("memory", device.memory),
            ("fabric", fabric),
            ("card.queue", card.map_or_else(Queue::default, |card| card.queue)),
            ("bus.queue", bus_queue.unwrap_or_default()),
            ("cpu.queue", cpu_queue.unwrap_or_default()),
        ];
        for (name, queue) in queues {
            if let Some(bytes) = queue.bytes.filter(|bytes| *bytes > 0 && *bytes < longest) {
                let remedy = format!("no frame of {longest} bytes fits: write at least as many");
                return wrong(&format!("{name}.bytes"), bytes, &remedy);
            }
        }
        Ok(())
    }

    fn check_stall(key: &str, stall: Option<Pauses>) -> Checked {
        let Some(Pauses { every, lasts }) = stall else { return Ok(()) };
        if every.0 == Duration::ZERO {
            return wrong(&format!("{key}.every"), every, "write a time above zero");
        }
        if lasts.0 >= every.0 {
            let remedy = format!("it must be shorter than `every` ({every}), or nothing is done");
            return wrong(&format!("{key}.lasts"), lasts, &remedy);
        }
        Ok(())
    }

    fn check_tables(device: &Description) -> Checked {
        at_least_one("learning.entries", device.learning.entries)?;
        at_least_one("learning.buckets", device.learning.buckets)?;
        at_least_one("learning.places", device.learning.places)?;
        if let Some(buckets) = device.learning.buckets.filter(|buckets| *buckets > 1 << 20) {
            return wrong("learning.buckets", buckets, "write 1048576 or fewer");
        }
        if device.learning.per_address.0 > Duration::from_secs(10) {
            let remedy = "write 10s or less";
            return wrong("learning.per-address", device.learning.per_address, remedy);
        }
        at_least_one("neighbours.entries", device.neighbours.entries)?;
        let per_request = device.arp_server.unwrap_or_default().per_request;
        if per_request.0 > Duration::from_secs(10) {
            return wrong("arp-server.per-request", per_request, "write 10s or less");
        }
        let rules = device.filter.rules.len() as u64;
        if rules > 0 && !device.route.contains(&Protocol::Ipv4) {
            let remedy = "filters are those of a router: write `route = [\"ipv4\"]`";
            return wrong("filter.rules", "...", remedy);
        }
        if let Some(room) = device.filter.room.filter(|room| *room < rules) {
            let remedy = format!("there are {rules} rules: make room for them or take some out");
            return wrong("filter.room", room, &remedy);
        }
        Ok(())
    }

    fn check_multicast(device: &Description, plan: &Multicast) -> Checked {
        if device.joins_pairs() {
            let remedy = "write `bridge = true` or `route = [\"ipv4\", \"ipv6\"]`";
            return wrong("multicast", "...", remedy);
        }
        at_least_one("multicast.groups", plan.groups)?;
        let processor = device.card.is_some() || device.bus.is_some() || device.cpu.is_some();
        let times = [
            ("multicast.per-frame", plan.per_frame, 1),
            ("multicast.per-copy", plan.per_copy, 1),
            ("multicast.per-encapsulation", plan.per_encapsulation, 1),
            ("multicast.per-decapsulation", plan.per_decapsulation, 1),
            ("multicast.join", plan.join, 1_000),
            ("multicast.new-group", plan.new_group, 1_000),
            ("multicast.leave", plan.leave, 1_000),
            ("multicast.per-report", plan.per_report, 1),
        ];
        for (key, time, most) in times {
            if time.0 > Duration::from_secs(most) {
                return wrong(key, time, &format!("write {most}s or less"));
            }
        }
        let (every, response) = (plan.query_interval, plan.query_response);
        if let Some(every) = every.filter(|every| every.0 < Duration::from_ms(1)) {
            return wrong("multicast.query-interval", every, "write 1ms or more");
        }
        let allowed = Duration::from_ms(100)..=Duration::from_secs(12);
        if !allowed.contains(&response.0) {
            return wrong("multicast.query-response", response, "write 100ms to 12s");
        }
        for (key, time, _) in &times[..4] {
            if time.0 > Duration::ZERO && !processor {
                return wrong(key, time, "it takes a processor: write a [cpu], too");
            }
        }
        if plan.tunnels && device.fabric.is_some() {
            return wrong("multicast.tunnels", true, "leave out [fabric], which copies as it is");
        }
        if plan.tunnels && !device.route.contains(&Protocol::Ipv4) {
            let remedy = "tunnels end at a router: write `route = [\"ipv4\"]`";
            return wrong("multicast.tunnels", true, remedy);
        }
        match plan.igmp.iter().find(|version| !(1..=3).contains(*version)) {
            Some(version) => wrong("multicast.igmp", version, "versions are 1, 2 and 3"),
            None => match plan.mld.iter().find(|version| !(1..=2).contains(*version)) {
                Some(version) => wrong("multicast.mld", version, "versions are 1 and 2"),
                None => Ok(()),
            },
        }
    }

    fn check_misbehaviour(device: &Description) -> Checked {
        let impair = &device.impair;
        at_least_one("impair.drop-every", impair.drop_every)?;
        at_least_one("impair.duplicate-every", impair.duplicate_every)?;
        at_least_one("impair.reorder-every", impair.reorder_every)?;
        at_least_one("impair.corrupt-every", impair.corrupt_every)?;
        if impair.corrupt_bytes_from_end == Some(0) {
            return wrong("impair.corrupt-bytes-from-end", 0, "write 1 for the last byte");
        }
        if impair.corrupt_bytes_from_end.is_some() && impair.corrupt_every.is_none() {
            let remedy = "add corrupt-every, which frames are damaged";
            return wrong("impair.corrupt-bytes-from-end", "...", remedy);
        }
        at_least_one("impair.police-burst-frames", impair.police_burst_frames)?;
        at_least_one("impair.police-frames-per-second", impair.police_frames_per_second)?;
        if impair.police_burst_frames.is_some() && impair.police_frames_per_second.is_none() {
            let remedy = "add police-frames-per-second, the rate that it goes beyond";
            return wrong("impair.police-burst-frames", "...", remedy);
        }
        at_least_one("misbehaviour.crashes-above-fps", device.misbehaviour.crashes_above_fps)
    }

    fn check_tester(tester: &TesterLimits) -> Checked {
        at_least_one("tester.frames-per-second", tester.frames_per_second)?;
        at_least_one("tester.loses-every", tester.loses_every)?;
        check_stall("tester.stall", tester.stall)?;
        if !(-100_000..=100_000).contains(&tester.clock_error_ppm) {
            let remedy = "write -100000 to 100000: a tenth is no clock error any more";
            return wrong("tester.clock-error-ppm", tester.clock_error_ppm, remedy);
        }
        if tester.timestamp_resolution.0 > Duration::from_secs(1) {
            let remedy = "write a second or less";
            return wrong("tester.timestamp-resolution", tester.timestamp_resolution, remedy);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        Description::from_toml(text).expect_err(text).to_string()
    }

    #[test]
    fn every_key_survives_being_written() {
        let text = "ports = 4\nline-rate = \"10M\"\nduplex = \"half\"\nroute = [\"ipv4\", \"decnet\"]\n\
                    bridge = true\ncounters = [\"in-frames\", \"crc-errors\"]\n\
                    [input]\nframes = 20\n[card]\nports = 2\ninput = { per-frame = \"64us\" }\n\
                    [cpu]\nservers = \"per-port\"\ncost = { per-frame = \"100us\", receive = \"9us\" }\n\
                    [cpu.protocols.decnet]\nper-frame = \"1ms\"\n\
                    [cpu.stall]\nevery = \"1s\"\nlasts = \"5ms\"\n\
                    [[filter.rules]]\nfrom = \"192.32.100.1\"\nto = \"192.32.200.1\"\n";
        let description = Description::from_toml(text).unwrap();
        let again = toml::to_string(&description).unwrap();
        assert_eq!(Description::from_toml(&again), Ok(description), "{again}");
    }

    #[test]
    fn impossible_values_are_named_with_their_remedy() {
        for (text, key, remedy) in [
            ("ports = 1", "`ports = 1`", "2 to 64"),
            ("ports = 3", "`ports = 3`", "even number"),
            ("line-rate = \"1k\"", "line-rate", "10k to 800G"),
            ("[output]\nframes = 0", "`output.frames = 0`", "1 or more"),
            ("[input]\nbytes = 100", "`input.bytes = 100`", "1518"),
            ("[cpu.stall]\nevery = \"0s\"\nlasts = \"0s\"", "cpu.stall.every", "above zero"),
            ("[cpu.stall]\nevery = \"1s\"\nlasts = \"2s\"", "cpu.stall.lasts", "shorter"),
            ("[card]\nports = 0", "card.ports", "number of ports"),
            ("cut-through-bytes = 6", "cut-through-bytes", "14 or more"),
            ("[cpu]\ncost = { per-byte = \"2s\" }", "cpu.cost.per-byte", "1s or less"),
            ("[fabric]\nframes = 0", "`fabric.frames = 0`", "1 or more"),
            (
                "[flow-control]\npause-at-frames = 3\nresume-at-frames = 3",
                "flow-control.resume-at-frames",
                "fewer",
            ),
            ("[learning]\nentries = 0", "learning.entries", "1 or more"),
            ("[impair]\ndrop-every = 0", "impair.drop-every", "1 or more"),
            ("[impair]\npolice-frames-per-second = 0", "police-frames-per-second", "1 or more"),
            (
                "[impair]\npolice-burst-frames = 5",
                "police-burst-frames",
                "police-frames-per-second",
            ),
            ("[tester]\nclock-error-ppm = 1000000", "clock-error-ppm", "-100000"),
            (
                "route = [\"ipv4\"]\n[filter]\nroom = 0\n[[filter.rules]]\n",
                "filter.room",
                "make room",
            ),
            ("bridge = true\n[[filter.rules]]\n", "filter.rules", "of a router"),
            ("hello = \"1ps\"", "hello", "672ns or more"),
            ("[tester]\ngap-bytes = 4000000000", "tester.gap-bytes", "1 to 12"),
            ("[misbehaviour]\ngap-bytes = 0", "misbehaviour.gap-bytes", "1 to 12"),
            ("[cpu]\nqueue = { frames = 20 }", "cpu.queue", "[input]"),
            ("[bus]\nqueue = { frames = 20 }\n[cpu]\n", "bus.queue", "[input]"),
            ("[card]\nqueue = { bytes = 100 }", "`card.queue.bytes = 100`", "1518"),
            ("[fabric]\n[output]\nframes = 9", "output", "[fabric]"),
            ("delay-varies-by = \"1ms\"\n[fabric]\n", "delay-varies-by", "leave it out"),
            ("[arp-server]\nper-request = \"1h\"", "arp-server.per-request", "10s or less"),
            ("[multicast]\n", "multicast", "bridge = true"),
            ("bridge = true\n[multicast]\nper-copy = \"1us\"", "multicast.per-copy", "[cpu]"),
            ("bridge = true\n[multicast]\nquery-interval = \"1us\"", "query-interval", "1ms"),
            ("bridge = true\n[multicast]\nquery-response = \"1ms\"", "query-response", "100ms"),
            ("bridge = true\n[multicast]\nigmp = [4]", "multicast.igmp", "1, 2 and 3"),
            ("bridge = true\n[multicast]\ntunnels = true", "multicast.tunnels", "route"),
            // What the reader of the file refuses: it shows the line.
            ("[input]\nframes = -5", "frames = -5", "docs/devices.md"),
            ("line-rate = 0", "line-rate = 0", "docs/devices.md"),
            ("delay = \"-1us\"", "delay = \"-1us\"", "docs/devices.md"),
            ("delay = nan", "delay = nan", "docs/devices.md"),
            ("line-rate = inf", "line-rate = inf", "docs/devices.md"),
            ("[impair]\nloss = nan", "loss = nan", "docs/devices.md"),
            ("ports = 99999999999999999999", "ports", "docs/devices.md"),
            ("[input]\nframes = 1e3", "frames = 1e3", "docs/devices.md"),
            ("quene = 3", "unknown field `quene`", "docs/devices.md"),
        ] {
            let refusal = refusal(text);
            assert!(refusal.contains(key) && refusal.contains(remedy), "{text}: {refusal}");
        }
    }
}
