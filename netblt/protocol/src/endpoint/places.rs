//! Who gets a place at an endpoint, and who gives way to whom. Strangers can hold half-open connections,
//! connections in which nothing moves, and connections in which as little moves as is needed to hold them: each
//! has a bound, and none of it touches a transfer that moves, or whose path is proved, while there is room.

use super::{Address, ConnectionId, Endpoint, EndpointLimits, HalfOpen, Key, Path, Request};
use crate::connection::Connection;
use std::collections::BTreeMap;
use units::{Duration, Instant};

/// Why there is no place.
pub(super) const FULL: &str = "no more connections";
const CROWDED: &str = "no more connections of one source";
/// Reasons of ABORTs that make room.
const SILENT: &str = "silent for too long while others waited";
const SLOW: &str = "too slow while others waited";
const STALLED: &str = "nothing moved for too long";
/// How often to look for connections in which nothing moves.
const WATCHED_EVERY: Duration = Duration::from_ms(500);
/// Whoever writes the addresses of others into his packets pays for a place with what he sends to hold it. A packet
/// every 3 s holds 32 places with 11 packets a second; with so many for each it takes 512. Nobody else is near it: 64 kb/s,
/// the slowest line on which anybody waits for a file, are 16 packets of 500 bytes a second. And it bounds only who
/// has proved no path.
const SLOWEST_PACKETS_PER_S: u64 = 16;
/// One source leaves so much of all places to others: a fourth.
const LEFT_TO_OTHERS: usize = 4;

/// A connection that may have to give its place, or its memory, to another.
#[derive(Clone, Copy, Debug)]
struct Idle {
    id: ConnectionId,
    source: u128,
    since: Instant,
    /// Packets in 1,000 s, where something moves, and slowly.
    pace: Option<u64>,
}

impl Idle {
    fn reason(&self) -> &'static str {
        if self.pace.is_some() { SLOW } else { SILENT }
    }
}

impl<A: Address> Endpoint<A> {
    /// Who may never have heard our RESPONSE takes nobody's place.
    pub(super) fn is_full(&self) -> bool {
        self.proven() >= self.limits.max_connections
    }
    fn proven(&self) -> usize {
        self.connections.len() - self.gone.len() - self.half_open.len()
    }
    /// Connections that this source opened, without those that are half open or over.
    fn held_by(&self, source: u128) -> usize {
        let counts = |(id, (key, connection)): &(&ConnectionId, &(Key<A>, Connection))| {
            key.peer.source() == source
                && !connection.is_active()
                && self.is_settled(**id, connection)
        };
        self.connections.iter().filter(counts).count()
    }
    /// Neither half open nor over.
    fn is_settled(&self, id: ConnectionId, connection: &Connection) -> bool {
        !self.half_open.contains_key(&id) && !self.gone.contains(&id) && !connection.has_ended()
    }
    /// Places for one source, where everybody is a stranger.
    fn most_of_a_source(&self) -> usize {
        let most = self.limits.max_connections;
        self.limits.secret.map_or(usize::MAX, |_| most - most / LEFT_TO_OTHERS)
    }

    /// Whether there is a place for one more of this source, or one that gives its own: if not, why.
    pub(super) fn place(
        &self,
        now: Instant,
        source: u128,
        proven: bool,
    ) -> Result<(), &'static str> {
        let crowded = self.held_by(source) >= self.most_of_a_source();
        if !crowded && !self.is_full() {
            return Ok(());
        }
        let one = self.one_to_go(now, proven, crowded.then_some(source));
        one.map(drop).ok_or(if crowded { CROWDED } else { FULL })
    }
    /// A connection has proved to be one. More may do so than there is room for: then one gives its
    /// place in which nothing moves, or little.
    pub(super) fn settle(&mut self, now: Instant, id: ConnectionId) {
        let Some((key, connection)) = self.connections.get(&id) else { return };
        let (source, proven) = (key.peer.source(), connection.has_proven_path());
        let crowded = self.held_by(source) > self.most_of_a_source();
        if !crowded && self.proven() <= self.limits.max_connections {
            return;
        }
        let one = self.one_to_go(now, proven, crowded.then_some(source));
        match one.filter(|one| one.id != id) {
            Some(one) => self.end(one.id, one.reason()),
            None => self.end(id, if crowded { CROWDED } else { FULL }),
        }
    }

    /// Somebody's connection ends so that there is more of what connections hold for who asks now: `held` says how
    /// much each has of it. One goes of which nothing was heard but OPENs, the oldest first; then, of those in which
    /// nothing moves or little, the one that holds most. As with places, nobody whose path is proved gives way
    /// to one whose is not before he was silent. False if nobody goes.
    pub fn make_way(
        &mut self,
        now: Instant,
        request: &Request<A>,
        held: impl Fn(ConnectionId) -> u64,
    ) -> bool {
        let proven = request.path > Path::Unproven;
        if let Some(id) = self.half_open_to_go(|id, half| held(id) > 0 && (proven || !half.proven))
        {
            return self.evict(id);
        }
        let idle = self.idle(now, proven).into_iter();
        let holding = idle.map(|one| (held(one.id), one)).filter(|(held, _)| *held > 0);
        let Some((_, most)) = holding.max_by_key(|(held, _)| *held) else { return false };
        self.end(most.id, most.reason());
        true
    }

    /// Whether there is room for one more that is half open, now that another such may have given
    /// way: of its own source, or else the oldest, but none whose path is proved to one whose is not.
    /// Not while clients have yet to hear of so many.
    pub(super) fn make_room(&mut self, source: u128, proven: bool) -> bool {
        let EndpointLimits { max_half_open, max_half_open_per_source, .. } = self.limits;
        let own = self.half_open.values().filter(|half| half.source == source).count();
        let pressed = own >= max_half_open_per_source;
        if !pressed && self.half_open.len() < max_half_open {
            return true;
        }
        if self.gone.len() >= max_half_open {
            return false;
        }
        let victim = self.half_open_to_go(|_, half| {
            (!pressed || half.source == source) && (proven || !half.proven)
        });
        victim.is_some_and(|id| self.evict(id))
    }
    /// Unproven ones first, and the oldest of those.
    fn half_open_to_go(
        &self,
        may: impl Fn(ConnectionId, &HalfOpen) -> bool,
    ) -> Option<ConnectionId> {
        let candidates = self.half_open.iter().filter(|(id, half)| may(**id, half));
        candidates.min_by_key(|(id, half)| (half.proven, **id)).map(|(id, _)| *id)
    }

    pub(super) fn evict(&mut self, id: ConnectionId) -> bool {
        self.half_open.remove(&id);
        let Some((key, connection)) = self.connections.get_mut(&id) else { return false };
        connection.give_way();
        self.keys.remove(key);
        self.gone.insert(id);
        self.look_after(id);
        true
    }
    fn end(&mut self, id: ConnectionId, reason: &str) {
        if let Some((_, connection)) = self.connections.get_mut(&id) {
            connection.abort(reason);
            self.look_after(id);
        }
    }

    /// Connections that others opened and are no longer half open, with their source, in which nothing
    /// moves since then.
    fn silent(&self) -> impl Iterator<Item = (ConnectionId, u128, Instant)> {
        let of = move |(id, (key, connection)): (&ConnectionId, &(Key<A>, Connection))| {
            let since = connection.waits_since().filter(|_| !connection.is_active())?;
            self.is_settled(*id, connection).then_some((*id, key.peer.source(), since))
        };
        self.connections.iter().filter_map(of)
    }
    /// Those that may go for who asks now. Where nothing ever moved and nothing is proved of the path, at once to
    /// one of which it is, and so where little moves.
    fn idle(&self, now: Instant, newcomer_proven: bool) -> Vec<Idle> {
        if self.limits.secret.is_none() {
            return Vec::new();
        }
        let patience = Duration::from_ps(self.limits.silent.as_ps() / 5);
        let idle = |(id, source, since): (ConnectionId, u128, Instant)| {
            let connection = self.connection(id)?;
            let unproven = newcomer_proven && !connection.has_proven_path();
            let silent = since + patience <= now || (unproven && !connection.has_begun());
            let pace = (!silent).then(|| connection.pace(now));
            let slow = unproven && pace.is_some_and(|pace| pace < 1000 * SLOWEST_PACKETS_PER_S);
            (silent || slow).then_some(Idle { id, source, since, pace })
        };
        self.silent().filter_map(idle).collect()
    }
    /// The one that gives its place to another: a silent one before a slow one, of the source that holds most such,
    /// the one that is silent for longest, or slowest. Of this source only, if one is given.
    fn one_to_go(&self, now: Instant, newcomer_proven: bool, of: Option<u128>) -> Option<Idle> {
        let mut idle = self.idle(now, newcomer_proven);
        idle.retain(|one| of.is_none_or(|source| source == one.source));
        let mut held = BTreeMap::<u128, usize>::new();
        idle.iter().for_each(|one| *held.entry(one.source).or_default() += 1);
        let key =
            |one: &Idle| (one.pace.is_some(), usize::MAX - held[&one.source], one.pace, one.since);
        idle.iter().copied().min_by_key(key)
    }

    /// Ends connections in which nothing moves: any after `progress`, and of each source all but a few
    /// of those after `silent`.
    pub(super) fn watch(&mut self, now: Instant) {
        if self.limits.secret.is_none() || self.watch > now {
            return;
        }
        self.watch = now + WATCHED_EVERY;
        let EndpointLimits { silent, progress, max_silent_per_source, .. } = self.limits;
        let mut all: Vec<_> =
            self.silent().filter(|(_, _, since)| *since + silent <= now).collect();
        all.sort_by_key(|(_, _, since)| std::cmp::Reverse(*since));
        let mut held = BTreeMap::<u128, usize>::new();
        for (id, source, since) in all {
            let held = held.entry(source).or_default();
            *held += 1;
            if since + progress <= now {
                self.end(id, STALLED);
            } else if *held > max_silent_per_source {
                self.end(id, SILENT);
            }
        }
    }

    pub(super) fn evict_outlived(&mut self, now: Instant) {
        let life = self.limits.half_open;
        while let Some((id, half)) = self.half_open.first_key_value().map(|(id, half)| (*id, *half))
            && half.began + life <= now
        {
            self.evict(id);
        }
    }
}
