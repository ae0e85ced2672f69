//! A table of routes: the longest prefix that matches wins.

use std::collections::BTreeMap;
use trial::PortId;
use units::Instant;

/// Where packets to a network go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Route<A> {
    pub port: PortId,
    /// The next hop; `None` where the network is attached.
    pub via: Option<A>,
    /// Not valid from then on.
    pub gone_at: Instant,
}

/// Routes by the length of their prefix, the longest first. Addresses are numbers of `bits` bits.
#[derive(Clone, Debug)]
pub(crate) struct RouteTable<A> {
    bits: u8,
    by_length: Vec<(u8, BTreeMap<u128, Route<A>>)>,
    /// Learned routes at most.
    room: u64,
    learned: u64,
}

impl<A: Copy> RouteTable<A> {
    pub(crate) fn new(bits: u8, room: u64) -> Self {
        RouteTable { bits, by_length: vec![], room, learned: 0 }
    }

    /// Adds or replaces a route that is configured.
    pub(crate) fn configure(&mut self, network: u128, length: u8, route: Route<A>) {
        let network = self.prefix(network, length);
        self.of_length(length).insert(network, route);
    }

    /// Adds or renews a route that was learned; false where there is no room, or a configured
    /// route is in the way.
    pub(crate) fn learn(
        &mut self,
        now: Instant,
        network: u128,
        length: u8,
        route: Route<A>,
    ) -> bool {
        let network = self.prefix(network, length);
        match self.of_length(length).get_mut(&network) {
            Some(known) if known.gone_at == Instant::FAR_FUTURE => return false,
            Some(known) => *known = route,
            None => {
                if self.learned >= self.room {
                    self.forget_aged(now);
                }
                if self.learned >= self.room {
                    return false;
                }
                self.learned += 1;
                self.of_length(length).insert(network, route);
            }
        }
        true
    }

    /// The route to an address.
    #[inline]
    pub(crate) fn find(&self, now: Instant, address: u128) -> Option<&Route<A>> {
        self.by_length.iter().find_map(|(length, routes)| {
            let route = routes.get(&self.prefix(address, *length))?;
            (route.gone_at > now).then_some(route)
        })
    }

    fn forget_aged(&mut self, now: Instant) {
        let mut gone = 0;
        for (_, routes) in &mut self.by_length {
            let before = routes.len();
            routes.retain(|_, route| route.gone_at > now);
            gone += (before - routes.len()) as u64;
        }
        self.learned -= gone;
    }

    fn of_length(&mut self, length: u8) -> &mut BTreeMap<u128, Route<A>> {
        let at = self.by_length.partition_point(|(longer, _)| *longer > length);
        if self.by_length.get(at).is_none_or(|(there, _)| *there != length) {
            self.by_length.insert(at, (length, BTreeMap::new()));
        }
        &mut self.by_length[at].1
    }

    #[inline]
    fn prefix(&self, address: u128, length: u8) -> u128 {
        let host_bits = self.bits.saturating_sub(length);
        address.checked_shr(host_bits.into()).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Duration;

    fn route(port: u16, gone_at: Instant) -> Route<u8> {
        Route { port: PortId(port), via: None, gone_at }
    }

    fn port_of(table: &RouteTable<u8>, now: Instant, address: u32) -> Option<u16> {
        table.find(now, address.into()).map(|route| route.port.0)
    }

    #[test]
    fn the_longest_prefix_wins() {
        let mut table = RouteTable::new(32, 0);
        let ever = Instant::FAR_FUTURE;
        table.configure(0, 0, route(9, ever));
        table.configure(0x0a00_0000, 8, route(1, ever));
        table.configure(0x0a01_0000, 16, route(2, ever));
        let now = Instant::ZERO;
        assert_eq!(port_of(&table, now, 0x0a01_0203), Some(2));
        assert_eq!(port_of(&table, now, 0x0a02_0203), Some(1));
        assert_eq!(port_of(&table, now, 0x0b00_0001), Some(9));
    }

    #[test]
    fn learned_routes_age_and_have_limited_room() {
        let mut table = RouteTable::new(32, 2);
        let (now, later) = (Instant::ZERO, Instant::ZERO + Duration::from_secs(180));
        for network in 1..=3 {
            let taken = table.learn(now, network << 8, 24, route(network as u16, later));
            assert_eq!(taken, network <= 2, "network {network}");
        }
        assert_eq!((port_of(&table, now, 0x205), port_of(&table, now, 0x305)), (Some(2), None));
        assert_eq!(port_of(&table, later, 0x205), None, "aged");
        assert!(table.learn(later, 3 << 8, 24, route(3, Instant::FAR_FUTURE)));
    }
}
