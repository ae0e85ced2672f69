//! Which of many things happens first.

use units::Instant;

/// A tournament tree: the time of each of a fixed number of things, and the first of them all at its
/// root. To change one takes a comparison for each power of two that there are, to ask takes none.
///
/// Of things that happen at the same time the one with the lowest number is first, as if they had been
/// looked through in their order: what a simulation does depends on it.
#[derive(Clone, Debug)]
pub(crate) struct Soonest {
    /// The root is at 1, the two below node `n` at `2n` and `2n + 1`, the leaves at `leaves` and above: of
    /// each the earliest time below it, and whose that is.
    nodes: Vec<(Instant, u32)>,
    leaves: usize,
}

impl Soonest {
    /// So many things, none of which will ever happen.
    pub(crate) fn new(count: usize) -> Self {
        let leaves = count.next_power_of_two();
        let mut nodes = vec![(Instant::FAR_FUTURE, 0); 2 * leaves];
        for (index, leaf) in nodes[leaves..].iter_mut().enumerate() {
            leaf.1 = index as u32;
        }
        for node in (1..leaves).rev() {
            nodes[node] = nodes[2 * node];
        }
        Soonest { nodes, leaves }
    }

    /// The first of all and when it happens; [`Instant::FAR_FUTURE`] where none does.
    #[inline]
    pub(crate) fn first(&self) -> (usize, Instant) {
        let (at, index) = self.nodes[1];
        (index as usize, at)
    }

    /// Says when one happens.
    #[inline]
    pub(crate) fn set(&mut self, index: usize, at: Instant) {
        let mut node = self.leaves + index;
        if self.nodes[node].0 == at {
            return;
        }
        self.nodes[node].0 = at;
        while node > 1 {
            node /= 2;
            let (left, right) = (self.nodes[2 * node], self.nodes[2 * node + 1]);
            self.nodes[node] = if right.0 < left.0 { right } else { left };
        }
    }

    /// None happens any more.
    pub(crate) fn clear(&mut self) {
        *self = Soonest::new(self.leaves);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A look through all in their order, as the simulator once did for every event.
    fn by_looking(times: &[Instant]) -> (usize, Instant) {
        let mut first = 0;
        for index in 1..times.len() {
            if times[index] < times[first] {
                first = index;
            }
        }
        (first, times[first])
    }

    proptest! {
        /// Few different times, so that many are the same; 9 stands for never.
        #[test]
        fn the_first_is_that_of_a_look_through_all(
            count in 1usize..130,
            changes in prop::collection::vec((0usize..130, 0u64..10), 0..400),
        ) {
            let mut times = vec![Instant::FAR_FUTURE; count];
            let mut soonest = Soonest::new(count);
            prop_assert_eq!(soonest.first(), by_looking(&times));
            for (index, ns) in changes {
                let at = if ns == 9 { Instant::FAR_FUTURE } else { Instant::from_ns(ns) };
                let index = index % count;
                times[index] = at;
                soonest.set(index, at);
                prop_assert_eq!(soonest.first(), by_looking(&times));
            }
            soonest.clear();
            prop_assert_eq!(soonest.first(), (0, Instant::FAR_FUTURE));
        }
    }

    #[test]
    fn none_at_all_never_happens() {
        assert_eq!(Soonest::new(0).first(), (0, Instant::FAR_FUTURE));
    }
}
