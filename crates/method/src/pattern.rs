//! Which port sends to which, in what order: "not following this algorithm exactly will give
//! inconsistent results" (RFC 2889 section 5.1.3).

use crate::Direction;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Who sends to whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// The first port to the second, and nobody else (RFC 2544 section 15).
    #[default]
    Pair,
    /// Port 0 to port 1, port 2 to port 3, and so on, all at once.
    Pairs,
    /// Half of the ports (0, 2, 4, ...) to each port of the other half (1, 3, 5, ...) in turn, all in
    /// the same order, so that frames for an output arrive at the same time. With both directions every
    /// port to all others (RFC 2544 section 16).
    MultiPort,
    /// Every port to all others (RFC 2889 section 5.1).
    FullMesh,
    /// The first half of the ports to the second (section 5.4).
    Unidirectional,
    /// The first port to all others in turn (section 5.2).
    OneToMany,
    /// All others to the first port.
    ManyToOne,
    /// Both at once.
    OneAndMany,
    /// Each half of the ports to the other one, and nowhere else (section 5.3, local traffic off).
    Backbone,
    /// The first port to the broadcast address: every frame to all others (section 5.10).
    Broadcast,
    /// Each port to so many that follow it, never to itself (GIGAswitch/FDDI: 4 or 2).
    Fanout {
        /// Receivers of each sender.
        receivers: usize,
    },
}

/// One port's turn of destinations, over and over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Turn {
    /// The sender, counted from 0.
    pub from: usize,
    /// Each destination: one port, or of a broadcast all of them.
    pub to: Vec<Vec<usize>>,
}

impl Pattern {
    /// Whether it is the one pair of ports of most tests.
    pub fn is_pair(&self) -> bool {
        *self == Pattern::Pair
    }

    /// The turns of `ports` ports. With the RFC's counting from 1, port i sends its frame k to
    ///
    /// * fully meshed: ((i - 1) + 1 + (k mod (n - 1))) mod n + 1 (section 5.1.3);
    /// * from one half to the other, m each: m + 1 + ((i - 1 + k) mod m) (section 5.4.3).
    ///
    /// RFC 2544 section 16 has no such shift: every input begins with the same output.
    pub fn turns(self, ports: usize) -> Vec<Turn> {
        let others = |from: usize| (1..ports).map(|k| vec![(from + k) % ports]).collect();
        let turn = |from: usize, to: Vec<Vec<usize>>| Turn { from, to };
        let half = ports / 2;
        let across = |from: usize, first: usize| {
            (0..half).map(|k| vec![first + (from + k) % half]).collect::<Vec<_>>()
        };
        let one = || turn(0, others(0));
        let many = || (1..ports).map(|from| turn(from, vec![vec![0]]));
        match self {
            Pattern::Pair => vec![turn(0, vec![vec![1]])],
            Pattern::Pairs => {
                (0..half).map(|pair| turn(2 * pair, vec![vec![2 * pair + 1]])).collect()
            }
            Pattern::MultiPort => {
                let outputs = || (0..half).map(|output| vec![2 * output + 1]).collect();
                (0..half).map(|input| turn(2 * input, outputs())).collect()
            }
            Pattern::FullMesh => (0..ports).map(|from| turn(from, others(from))).collect(),
            Pattern::Unidirectional => {
                (0..half).map(|from| turn(from, across(from, half))).collect()
            }
            Pattern::OneToMany => vec![one()],
            Pattern::ManyToOne => many().collect(),
            Pattern::OneAndMany => std::iter::once(one()).chain(many()).collect(),
            Pattern::Backbone => {
                let there = (0..half).map(|from| turn(from, across(from, half)));
                let back = (0..half).map(|from| turn(half + from, across(from, 0)));
                there.chain(back).collect()
            }
            Pattern::Broadcast => vec![turn(0, vec![(1..ports).collect()])],
            Pattern::Fanout { receivers } => {
                let to = |from| (1..=receivers).map(|k| vec![(from + k) % ports]).collect();
                (0..ports).map(|from| turn(from, to(from))).collect()
            }
        }
    }

    /// The same for a direction. A pattern of RFC 2889 has its own directions.
    pub fn turns_of(self, direction: Direction, ports: usize) -> Vec<Turn> {
        let turns = self.turns(ports);
        match (self, direction) {
            (Pattern::Pair | Pattern::Pairs, Direction::Bidirectional) => {
                let back = |turn: &Turn| Turn { from: turn.to[0][0], to: vec![vec![turn.from]] };
                turns.into_iter().flat_map(|turn| [turn.clone(), back(&turn)]).collect()
            }
            (Pattern::MultiPort, Direction::Bidirectional) => {
                let others = |from| (0..ports).filter(move |to| *to != from).map(|to| vec![to]);
                (0..ports).map(|from| Turn { from, to: others(from).collect() }).collect()
            }
            _ => turns,
        }
    }

    /// In words, for a direction.
    pub fn in_words(self, direction: Direction) -> String {
        match (self, direction) {
            (Pattern::MultiPort, Direction::Bidirectional) => {
                "each to all others in turn, in the order of their numbers".into()
            }
            (pattern, _) => pattern.to_string(),
        }
    }

    /// The same with ports joined back to back: each can send only to the one at its other end.
    pub fn looped(self) -> Pattern {
        if self == Pattern::Pair { Pattern::Pair } else { Pattern::Pairs }
    }

    /// The fewest ports it takes.
    pub fn fewest_ports(self) -> usize {
        match self {
            Pattern::Backbone | Pattern::Pairs | Pattern::MultiPort => 4,
            Pattern::Broadcast => 3,
            Pattern::Fanout { receivers } => receivers + 1,
            _ => 2,
        }
    }

    /// How many ports of so many take part: halves need an even number.
    pub fn ports_of(self, ports: usize) -> usize {
        match self {
            Pattern::Pair => ports.min(2),
            Pattern::Pairs | Pattern::MultiPort | Pattern::Unidirectional | Pattern::Backbone => {
                ports - ports % 2
            }
            _ => ports,
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::Pair => f.pad("one pair of ports"),
            Pattern::Pairs => f.pad("pairs of ports"),
            Pattern::MultiPort => f.pad("each input port to all output ports in turn"),
            Pattern::FullMesh => f.pad("each port to all others in turn"),
            Pattern::Unidirectional => f.pad("the first half of the ports to the second in turn"),
            Pattern::OneToMany => f.pad("port 0 to all others in turn"),
            Pattern::ManyToOne => f.pad("all other ports to port 0"),
            Pattern::OneAndMany => f.pad("port 0 to all others in turn, and all others to port 0"),
            Pattern::Backbone => f.pad("each half of the ports to the other in turn"),
            Pattern::Broadcast => f.pad("port 0 to the broadcast address"),
            Pattern::Fanout { receivers } => {
                write!(f, "each port to the {receivers} that follow it, in turn")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the RFC counts them, from 1.
    fn printed(pattern: Pattern, ports: usize) -> Vec<Vec<usize>> {
        let turns = pattern.turns(ports).into_iter();
        turns.map(|turn| turn.to.into_iter().map(|to| to[0] + 1).collect()).collect()
    }

    fn both_ways(pattern: Pattern, ports: usize) -> Vec<(usize, Vec<usize>)> {
        let turns = pattern.turns_of(Direction::Bidirectional, ports).into_iter();
        turns.map(|turn| (turn.from, turn.to.iter().map(|to| to[0]).collect())).collect()
    }

    /// RFC 2544 section 16: inputs A, B, C each send X, Y, Z, X, Y, Z, ... in the same order.
    #[test]
    fn inputs_address_outputs_as_rfc2544_section_16_has_it() {
        let turns = Pattern::MultiPort.turns(6);
        assert_eq!(turns.iter().map(|turn| turn.from).collect::<Vec<_>>(), [0, 2, 4]);
        let outputs = vec![vec![1], vec![3], vec![5]];
        assert!(turns.iter().all(|turn| turn.to == outputs));
    }

    /// "Each data stream MUST consist of frames addressed to all of the other ports."
    #[test]
    fn with_both_directions_every_port_addresses_all_others() {
        let all = both_ways(Pattern::MultiPort, 4);
        assert_eq!(all[0], (0, vec![1, 2, 3]));
        assert_eq!(all[2], (2, vec![0, 1, 3]));
        assert_eq!(all.len(), 4);
        let pairs = both_ways(Pattern::Pairs, 4);
        assert_eq!(pairs, [(0, vec![1]), (1, vec![0]), (2, vec![3]), (3, vec![2])]);
        assert_eq!(both_ways(Pattern::Pair, 4), [(0, vec![1]), (1, vec![0])]);
    }

    /// The tables of sections 5.1.3 and 5.4.3.
    #[test]
    fn turns_as_rfc2889_prints_them() {
        let mesh = printed(Pattern::FullMesh, 6);
        assert_eq!(mesh[0], [2, 3, 4, 5, 6]);
        assert_eq!(mesh[3], [5, 6, 1, 2, 3]);
        assert_eq!(mesh[5], [1, 2, 3, 4, 5]);
        let across = printed(Pattern::Unidirectional, 8);
        assert_eq!(across, [[5, 6, 7, 8], [6, 7, 8, 5], [7, 8, 5, 6], [8, 5, 6, 7]]);
    }

    /// "At each transmit slot every destination is addressed exactly once."
    #[test]
    fn every_slot_addresses_every_port_once() {
        for ports in 2..=64 {
            let turns = Pattern::FullMesh.turns(ports);
            for slot in 0..ports - 1 {
                let mut to: Vec<_> = turns.iter().map(|turn| turn.to[slot][0]).collect();
                to.sort();
                assert_eq!(to, (0..ports).collect::<Vec<_>>());
            }
            assert!(turns.iter().all(|turn| turn.to.iter().all(|to| to[0] != turn.from)));
        }
    }

    #[test]
    fn halves_send_to_each_other_and_fan_outs_never_to_themselves() {
        let turns = Pattern::Backbone.turns(8);
        assert!(turns.iter().all(|t| t.to.iter().all(|to| (to[0] < 4) != (t.from < 4))));
        assert_eq!(turns[5].to, [vec![1], vec![2], vec![3], vec![0]]);
        let turns = Pattern::Fanout { receivers: 4 }.turns(8);
        assert_eq!(turns[6].to, [vec![7], vec![0], vec![1], vec![2]]);
    }
}
