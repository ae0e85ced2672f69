//! Which port wants which group: what a multicast forwarding database holds.

use crate::composed::description;
use std::collections::BTreeMap;
use trial::PortId;
use units::{Duration, Instant};

/// By what a port is reached: plainly, or through a tunnel to the host there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Medium {
    Plain,
    Gre,
    Vxlan,
}

impl Medium {
    pub(crate) const ALL: [Medium; 3] = [Medium::Plain, Medium::Gre, Medium::Vxlan];
}

/// A way into the device or out of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub port: PortId,
    pub medium: Medium,
}

/// Where copies of a frame leave, for each medium a bit a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Copies(pub [u64; 3]);

impl Copies {
    pub(crate) fn of(self, medium: Medium) -> u64 {
        self.0[medium as usize]
    }
    pub(crate) fn ports(self) -> u64 {
        self.0.into_iter().fold(0, |all, ports| all | ports)
    }
    pub(crate) fn count(self) -> u32 {
        self.0.into_iter().map(u64::count_ones).sum()
    }
    fn add(&mut self, place: Place) {
        self.0[place.medium as usize] |= 1 << place.port.0;
    }
    fn without(mut self, place: Place) -> Copies {
        self.0[place.medium as usize] &= !(1 << place.port.0);
        self
    }
}

/// What a host says of a group. Addresses of both families are numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    /// A report of a version that knows no sources; of the first version, nobody says goodbye.
    Report { is_first_version: bool },
    /// A leave, or done.
    Leave,
    /// Wants these sources, or all but these.
    Filter { exclude: bool, sources: Vec<u128> },
    /// Wants these as well.
    Allow(Vec<u128>),
    /// Wants these no longer.
    Block(Vec<u128>),
}

impl Change {
    /// Whether it ends all interest in the group.
    pub(crate) fn leaves(&self) -> bool {
        match self {
            Change::Leave => true,
            Change::Filter { exclude: false, sources } => sources.is_empty(),
            _ => false,
        }
    }
}

/// The table.
#[derive(Clone, Debug)]
pub(crate) struct GroupTable {
    plan: description::Multicast,
    groups: BTreeMap<u128, Vec<Member>>,
    /// When all that was said is dealt with.
    busy_until: Instant,
    /// A group found no room.
    has_overflowed: bool,
}

/// A place that listens to a group.
#[derive(Clone, Debug)]
struct Member {
    place: Place,
    /// Frames are forwarded there from then on.
    from: Instant,
    /// Not from then on: it has left.
    left_at: Instant,
    /// Nor then: it was not heard of again.
    gone_at: Instant,
    /// Until then a host that cannot say goodbye is there (RFC 2236 section 4).
    first_version_until: Instant,
    exclude: bool,
    sources: Vec<u128>,
}

impl GroupTable {
    pub(crate) fn new(plan: description::Multicast) -> Self {
        GroupTable {
            plan,
            groups: BTreeMap::new(),
            busy_until: Instant::ZERO,
            has_overflowed: false,
        }
    }

    /// Takes in what was said of a group; false where there is no room for it.
    pub(crate) fn hear(&mut self, now: Instant, place: Place, group: u128, change: Change) -> bool {
        let Some(done) = self.dealt_with(now) else { return false };
        if change.leaves() || matches!(change, Change::Block(_)) {
            self.leave(done, place, group, &change);
            return true;
        }
        self.join(done, place, group, change)
    }

    /// Where frames of a group go on that came from `source` at `place`.
    pub(crate) fn copies(&self, now: Instant, group: u128, source: u128, from: Place) -> Copies {
        let mut copies = Copies::default();
        let members = self.groups.get(&group).into_iter().flatten();
        members.filter(|member| member.wants(now, source)).for_each(|m| copies.add(m.place));
        copies.without(from)
    }

    /// Whether anybody has asked for a group.
    pub(crate) fn knows(&self, now: Instant, group: u128) -> bool {
        self.groups.get(&group).is_some_and(|members| members.iter().any(|m| !m.is_gone(now)))
    }

    /// Whether a group ever found no room since the device was started.
    pub(crate) fn has_overflowed(&self) -> bool {
        self.has_overflowed
    }

    pub(crate) fn clear(&mut self) {
        self.groups.clear();
        self.has_overflowed = false;
        self.busy_until = Instant::ZERO;
    }

    /// When the processor of reports is done with one more; `None` where too many wait.
    fn dealt_with(&mut self, now: Instant) -> Option<Instant> {
        let per_report = self.plan.per_report.0;
        let waiting = self.busy_until.since(now).as_ps().div_ceil(per_report.as_ps().max(1));
        (waiting <= self.plan.backlog.unwrap_or(u64::MAX)).then(|| {
            self.busy_until = self.busy_until.max(now) + per_report;
            self.busy_until
        })
    }

    fn join(&mut self, done: Instant, place: Place, group: u128, change: Change) -> bool {
        let is_new = !self.knows(done, group);
        if is_new && !self.has_room(done) {
            self.has_overflowed = true;
            return false;
        }
        let entry = if is_new { self.plan.new_group.0 } else { Duration::ZERO };
        let from = done + self.plan.join.0 + entry;
        let gone_at = self.plan.membership.map_or(Instant::FAR_FUTURE, |span| done + span.0);
        let members = self.groups.entry(group).or_default();
        members.retain(|member| !member.is_gone(done));
        let at = members.iter().position(|member| member.place == place).unwrap_or_else(|| {
            members.push(Member::new(place, from, matches!(change, Change::Allow(_))));
            members.len() - 1
        });
        let member = &mut members[at];
        (member.left_at, member.gone_at) = (Instant::FAR_FUTURE, gone_at);
        member.note(change);
        true
    }

    fn leave(&mut self, done: Instant, place: Place, group: u128, change: &Change) {
        let left_at = done + self.plan.leave.0;
        let members = self.groups.get_mut(&group).into_iter().flatten();
        for member in members.filter(|member| member.place == place) {
            if let Change::Block(sources) = change {
                member.block(sources);
                let listens = member.exclude || !member.sources.is_empty();
                if listens {
                    continue;
                }
            }
            if done >= member.first_version_until {
                member.left_at = member.left_at.min(left_at);
            }
        }
    }

    fn has_room(&mut self, now: Instant) -> bool {
        let room = self.plan.groups.unwrap_or(u64::MAX);
        if self.groups.len() as u64 >= room {
            self.groups.retain(|_, members| {
                members.retain(|member| !member.is_gone(now));
                !members.is_empty()
            });
        }
        (self.groups.len() as u64) < room
    }
}

impl Member {
    fn new(place: Place, from: Instant, lists_sources: bool) -> Self {
        Member {
            place,
            from,
            left_at: Instant::FAR_FUTURE,
            gone_at: Instant::FAR_FUTURE,
            first_version_until: Instant::ZERO,
            exclude: !lists_sources,
            sources: vec![],
        }
    }

    fn is_gone(&self, now: Instant) -> bool {
        now >= self.left_at || now >= self.gone_at
    }

    fn wants(&self, now: Instant, source: u128) -> bool {
        now >= self.from && !self.is_gone(now) && self.sources.contains(&source) != self.exclude
    }

    fn note(&mut self, change: Change) {
        match change {
            Change::Report { is_first_version } => {
                (self.exclude, self.sources) = (true, vec![]);
                if is_first_version {
                    self.first_version_until = self.gone_at;
                }
            }
            Change::Filter { exclude, sources } => {
                (self.exclude, self.sources) = (exclude, sources)
            }
            Change::Allow(sources) if self.exclude => {
                self.sources.retain(|source| !sources.contains(source));
            }
            Change::Allow(sources) => self.sources.extend(sources),
            Change::Leave | Change::Block(_) => {}
        }
    }

    fn block(&mut self, sources: &[u128]) {
        match self.exclude {
            true => self.sources.extend(sources),
            false => self.sources.retain(|source| !sources.contains(source)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::text::Span;

    const JOIN: Change = Change::Filter { exclude: true, sources: vec![] };
    const SOURCE: u128 = 7;
    const IN: Place = Place { port: PortId(0), medium: Medium::Plain };

    fn us(us: u64) -> Instant {
        Instant::ZERO + Duration::from_us(us)
    }

    fn at(port: u16) -> Place {
        Place { port: PortId(port), medium: Medium::Plain }
    }

    fn table() -> GroupTable {
        let span = |us| Span(Duration::from_us(us));
        GroupTable::new(description::Multicast {
            groups: Some(2),
            join: span(10),
            new_group: span(5),
            leave: span(100),
            membership: Some(span(1_000)),
            ..description::Multicast::default()
        })
    }

    fn ports(table: &GroupTable, now: Instant, group: u128) -> u64 {
        table.copies(now, group, SOURCE, IN).of(Medium::Plain)
    }

    #[test]
    fn joins_and_leaves_take_the_time_that_is_described() {
        let mut table = table();
        assert!(table.hear(us(0), at(1), 1, JOIN));
        assert_eq!((ports(&table, us(14), 1), ports(&table, us(15), 1)), (0, 0b10), "a new group");
        assert!(table.hear(us(20), at(2), 1, JOIN));
        assert_eq!((ports(&table, us(29), 1), ports(&table, us(30), 1)), (0b10, 0b110));
        assert!(table.hear(us(40), at(1), 1, Change::Leave));
        assert_eq!((ports(&table, us(139), 1), ports(&table, us(140), 1)), (0b110, 0b100));
        assert_eq!(
            ports(&table, us(1_020), 1),
            0,
            "not heard of for as long as a membership lasts"
        );
    }

    #[test]
    fn a_full_table_takes_no_further_group_until_one_is_gone() {
        let mut table = table();
        assert!(table.hear(us(0), at(1), 1, JOIN) && table.hear(us(0), at(1), 2, JOIN));
        assert!(!table.hear(us(0), at(1), 3, JOIN));
        assert!(table.hear(us(0), at(2), 2, JOIN), "a further port of a known group");
        assert!(table.hear(us(1), at(1), 1, Change::Leave));
        assert!(!table.hear(us(100), at(1), 3, JOIN));
        assert!(table.hear(us(101), at(1), 3, JOIN));
    }

    /// RFC 2236 section 4: while a host of version 1 is there, leaves are not believed.
    #[test]
    fn hosts_of_the_first_version_never_leave() {
        let mut table = table();
        table.hear(us(0), at(1), 1, Change::Report { is_first_version: true });
        table.hear(us(1), at(1), 1, Change::Report { is_first_version: false });
        table.hear(us(2), at(1), 1, Change::Leave);
        assert_eq!((ports(&table, us(999), 1), ports(&table, us(1_001), 1)), (0b10, 0));
    }

    /// RFC 3376 section 4.2.12.
    #[test]
    fn sources_are_filtered() {
        let mut table = table();
        table.hear(us(0), at(1), 1, Change::Allow(vec![SOURCE]));
        table.hear(us(0), at(2), 1, Change::Allow(vec![SOURCE + 1]));
        table.hear(us(0), at(3), 1, Change::Filter { exclude: true, sources: vec![SOURCE] });
        assert_eq!(ports(&table, us(50), 1), 0b10);
        table.hear(us(50), at(3), 1, Change::Allow(vec![SOURCE]));
        table.hear(us(50), at(1), 1, Change::Block(vec![SOURCE]));
        assert_eq!(ports(&table, us(200), 1), 0b1000);
    }

    #[test]
    fn reports_that_come_too_fast_are_lost() {
        let mut table = GroupTable::new(description::Multicast {
            per_report: Span(Duration::from_us(10)),
            backlog: Some(4),
            ..description::Multicast::default()
        });
        let taken = (0..100).filter(|group| table.hear(us(0), at(1), *group, JOIN)).count();
        assert_eq!(taken, 5, "one in service and four that wait");
    }
}
