//! Field modifiers: what differs from frame to frame of one stream.
//!
//! Every value is a pure function of the frame's index, so that the same stream with the same
//! seed has the same bytes on every port type and in the simulator, and so that a finite period
//! of frames can be built once and sent for ever.

use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, Ipv6Addr};

/// The field that is modified. Where a template has several headers of a kind (a tunnel), the
/// outermost is meant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// Ethernet source, 48 bits.
    EthSrc,
    /// Ethernet destination, 48 bits.
    EthDst,
    /// VLAN identifier, 12 bits.
    VlanId {
        /// Which tag, counted from 0 at the outermost.
        tag: u8,
    },
    /// IPv4 source, 32 bits.
    Ipv4Src,
    /// IPv4 destination, 32 bits.
    Ipv4Dst,
    /// Part of the IPv6 source.
    Ipv6Src(Ipv6Bits),
    /// Part of the IPv6 destination.
    Ipv6Dst(Ipv6Bits),
    /// UDP source port.
    UdpSrc,
    /// UDP destination port.
    UdpDst,
    /// TCP source port.
    TcpSrc,
    /// TCP destination port.
    TcpDst,
    /// Differentiated services code point of the IPv4 or IPv6 header, 6 bits.
    Dscp,
    /// Any bytes of the frame that are neither a checksum nor the signature.
    Raw {
        /// Bytes before it, counted from the start of the frame.
        offset: u16,
        /// Its bytes, 1 to 8.
        width: u8,
    },
}

/// Up to 64 neighbouring bits of an IPv6 address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ipv6Bits {
    /// The lowest bit, counted from 0 at the right end of the address.
    pub lowest: u8,
    /// How many bits, 1 to 64.
    pub count: u8,
}

impl Ipv6Bits {
    /// The interface identifier.
    pub const LOW_64: Ipv6Bits = Ipv6Bits { lowest: 0, count: 64 };
    /// The 16 bits before the interface identifier: the /64 networks within a /48.
    pub const SUBNET: Ipv6Bits = Ipv6Bits { lowest: 64, count: 16 };
}

/// How a field's value follows from the frame's index.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Pattern {
    /// `start`, `start + step`, ... : `count` values, then again.
    Increment {
        /// First value.
        start: u64,
        /// From one value to the next.
        step: u64,
        /// Values before the first comes again.
        count: u64,
    },
    /// `start`, `start - step`, ... : `count` values, then again.
    Decrement {
        /// First value.
        start: u64,
        /// From one value to the next, downwards.
        step: u64,
        /// Values before the first comes again.
        count: u64,
    },
    /// These values in turn.
    List(Vec<u64>),
    /// `min`, `min + step`, ... up to `max`, each as likely as the other.
    ///
    /// Value `i` is output number `i % count` of SplitMix64 seeded with `seed` (Steele, Lea and
    /// Flood, OOPSLA 2014), scaled to the number of values by the high half of a 128-bit product:
    /// no value is favoured by more than (number of values) / 2^64. Two modifiers with one seed
    /// draw alike: give each its own, for instance by [`sub_seed`].
    Random {
        /// Seed.
        seed: u64,
        /// Smallest value.
        min: u64,
        /// No value is larger.
        max: u64,
        /// From one possible value to the next.
        #[serde(default = "one")]
        step: u64,
        /// Draws before the first comes again.
        count: u64,
    },
    /// MAC addresses after RFC 4814 section 4.2, `(RR & 0xFC):PP:PP:RR:RR:RR`: the R random
    /// (drawn as in [`Pattern::Random`], the low 30 bits of the draw's high half), P the port.
    RandomMac {
        /// Seed.
        seed: u64,
        /// Number of the tester's interface, counted from 1.
        port: u16,
        /// Draws before the first comes again.
        count: u64,
    },
}

const fn one() -> u64 {
    1
}

impl Pattern {
    /// The value for frame `index`; arithmetic wraps, the field takes as many low bits as it has.
    pub fn value_at(&self, index: u64) -> u64 {
        match self {
            Pattern::Increment { start, step, count } => {
                start.wrapping_add(step.wrapping_mul(index % (*count).max(1)))
            }
            Pattern::Decrement { start, step, count } => {
                start.wrapping_sub(step.wrapping_mul(index % (*count).max(1)))
            }
            Pattern::List(values) if values.is_empty() => 0,
            Pattern::List(values) => values[(index % values.len() as u64) as usize],
            Pattern::Random { seed, min, max, step, count } => {
                let step = (*step).max(1);
                let values = u128::from(max.saturating_sub(*min) / step) + 1;
                let draw = u128::from(sub_seed(*seed, index % (*count).max(1)));
                min + step * ((draw * values) >> 64) as u64
            }
            Pattern::RandomMac { seed, port, count } => {
                let draw = sub_seed(*seed, index % (*count).max(1)) >> 32;
                (draw & 0x3f00_0000) << 18 | u64::from(*port) << 24 | (draw & 0xff_ffff)
            }
        }
    }
    /// Frames after which the values repeat.
    pub fn period(&self) -> u64 {
        match self {
            Pattern::Increment { count, .. }
            | Pattern::Decrement { count, .. }
            | Pattern::Random { count, .. }
            | Pattern::RandomMac { count, .. } => (*count).max(1),
            Pattern::List(values) => (values.len() as u64).max(1),
        }
    }
    /// Why this pattern has no values; `None` where it has.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        match self {
            Pattern::List(values) if values.is_empty() => Some("its list is empty"),
            Pattern::Random { min, max, .. } if min > max => Some("its min is above its max"),
            Pattern::Random { step: 0, .. } => Some("its step is 0"),
            Pattern::RandomMac { port: 0, .. } => {
                Some("its port is 0; RFC 4814 counts ports from 1")
            }
            Pattern::Increment { count: 0, .. }
            | Pattern::Decrement { count: 0, .. }
            | Pattern::Random { count: 0, .. }
            | Pattern::RandomMac { count: 0, .. } => Some("its count is 0"),
            _ => None,
        }
    }
    /// The largest value, for the check that the field can hold it.
    pub(crate) fn largest(&self) -> u64 {
        match self {
            Pattern::Increment { start, step, count } => {
                start.saturating_add(step.saturating_mul(count.saturating_sub(1)))
            }
            Pattern::Decrement { start, step, count } => {
                let below = step.checked_mul(count.saturating_sub(1));
                match below.is_some_and(|below| below <= *start) {
                    true => *start,
                    false => u64::MAX,
                }
            }
            Pattern::List(values) => values.iter().copied().max().unwrap_or(0),
            Pattern::Random { max, .. } => *max,
            Pattern::RandomMac { .. } => 0xffff_ffff_ffff,
        }
    }
}

/// Output number `index` (from 0) of SplitMix64 seeded with `seed`: a value by itself, or a seed
/// for something that must not draw alike.
pub const fn sub_seed(seed: u64, index: u64) -> u64 {
    const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(GOLDEN_GAMMA));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A field and how its value follows from the frame's index.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Modifier {
    /// What is modified.
    pub field: Field,
    /// Its values.
    pub pattern: Pattern,
}

impl Modifier {
    /// This field, with these values.
    pub const fn new(field: Field, pattern: Pattern) -> Modifier {
        Modifier { field, pattern }
    }
    /// UDP ports after RFC 4814 section 4.5: destinations uniform in 1..=49151, sources in
    /// 1024..=65535; the pairs repeat after `count` frames.
    pub fn random_udp_ports(seed: u64, count: u64) -> [Modifier; 2] {
        Self::random_ports(Field::UdpSrc, Field::UdpDst, seed, count)
    }
    /// TCP ports after RFC 4814 section 4.5, as [`random_udp_ports`](Self::random_udp_ports).
    pub fn random_tcp_ports(seed: u64, count: u64) -> [Modifier; 2] {
        Self::random_ports(Field::TcpSrc, Field::TcpDst, seed, count)
    }
    fn random_ports(src: Field, dst: Field, seed: u64, count: u64) -> [Modifier; 2] {
        let uniform = |seed, min, max| Pattern::Random { seed, min, max, step: 1, count };
        [
            Modifier::new(src, uniform(sub_seed(seed, 0), 1024, 65_535)),
            Modifier::new(dst, uniform(sub_seed(seed, 1), 1, 49_151)),
        ]
    }
    /// MAC addresses after RFC 4814 section 4.2, of the tester's interface `port` (from 1).
    pub const fn random_macs(field: Field, seed: u64, port: u16, count: u64) -> Modifier {
        Modifier::new(field, Pattern::RandomMac { seed, port, count })
    }
    /// IPv4 destinations random and uniform over `networks` neighbouring networks of this prefix
    /// length, in each the host that `first_host` is in the first (RFC 2544 section 12, which
    /// asks for 256 networks; its own plan of /24s in 198.18.0.0/15 has 190 a side, so they must
    /// be smaller). Repeats after `count` frames. Panics where a network has no address.
    pub fn random_ipv4_networks(
        first_host: Ipv4Addr,
        prefix_len: u8,
        networks: u16,
        seed: u64,
        count: u64,
    ) -> Modifier {
        assert!((1..=32).contains(&prefix_len) && networks > 0, "networks of /{prefix_len}");
        let step = 1 << (32 - prefix_len);
        let min = u64::from(first_host.to_bits());
        let max = min + step * u64::from(networks - 1);
        Modifier::new(Field::Ipv4Dst, Pattern::Random { seed, min, max, step, count })
    }
    /// IPv6 destinations random and uniform over `networks` neighbouring /64s, the first that of
    /// `first_host`: only the 16 bits of the network change, so those up to `ffff` of its /48.
    pub fn random_ipv6_networks(
        first_host: Ipv6Addr,
        networks: u16,
        seed: u64,
        count: u64,
    ) -> Modifier {
        assert!(networks > 0, "no network to send to");
        let min = u64::from(first_host.segments()[3]);
        let max = min + u64::from(networks - 1);
        let field = Field::Ipv6Dst(Ipv6Bits::SUBNET);
        Modifier::new(field, Pattern::Random { seed, min, max, step: 1, count })
    }
}

/// Frames after which all of `modifiers` together repeat: the least common multiple of their
/// periods; `u64::MAX` where it is beyond that.
pub fn joint_period(modifiers: &[Modifier]) -> u64 {
    modifiers.iter().map(|modifier| modifier.pattern.period()).fold(1, lcm)
}

/// Least common multiple, `u64::MAX` where it is beyond that.
pub(crate) const fn lcm(a: u64, b: u64) -> u64 {
    (a / gcd(a, b)).saturating_mul(b)
}
const fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand_core::Rng;
    use rand_core::SeedableRng;
    use rand_xoshiro::SplitMix64;

    fn first<const N: usize>(pattern: &Pattern) -> [u64; N] {
        std::array::from_fn(|index| pattern.value_at(index as u64))
    }

    #[test]
    fn values_by_index() {
        assert_eq!(first(&Pattern::Increment { start: 5, step: 2, count: 3 }), [5, 7, 9, 5]);
        assert_eq!(first(&Pattern::Decrement { start: 5, step: 2, count: 2 }), [5, 3, 5]);
        assert_eq!(first(&Pattern::List(vec![9, 1])), [9, 1, 9]);
    }

    /// An independent implementation of the generator: the `rand_xoshiro` crate's.
    #[test]
    fn draws_are_the_outputs_of_splitmix64() {
        let mut generator = SplitMix64::seed_from_u64(1_477_776_061_723_855_037);
        for index in 0..1_000 {
            assert_eq!(sub_seed(1_477_776_061_723_855_037, index), generator.next_u64());
        }
    }

    /// RFC 4814 section 4.5.
    #[test]
    fn random_ports_fill_their_ranges() {
        let [src, dst] = Modifier::random_udp_ports(7, 100_000);
        for (modifier, range) in [(src, 1024..=65_535), (dst, 1..=49_151)] {
            let values: Vec<u64> = (0..100_000).map(|i| modifier.pattern.value_at(i)).collect();
            assert!(values.iter().all(|value| range.contains(value)));
            let span = (range.end() - range.start() + 1) as f64;
            let mean = values.iter().sum::<u64>() as f64 / 1e5;
            // The mean of 10^5 uniform draws strays by span / sqrt(12 x 10^5); five times that.
            let expected = (range.start() + range.end()) as f64 / 2.0;
            assert!((mean - expected).abs() < 5.0 * span / (12.0 * 1e5f64).sqrt(), "{mean}");
        }
    }

    /// RFC 4814 section 4.2: unicast, global, the port in octets two and three.
    #[test]
    fn random_macs_have_the_form_of_rfc4814() {
        let modifier = Modifier::random_macs(Field::EthSrc, 3, 0x0102, 4_096);
        let mut ones = 0u64;
        for index in 0..4_096 {
            let mac = modifier.pattern.value_at(index);
            assert_eq!(mac >> 48, 0);
            assert_eq!(mac >> 40 & 3, 0);
            assert_eq!(mac >> 24 & 0xffff, 0x0102);
            ones |= mac;
        }
        assert_eq!(ones, 0xfc01_02ff_ffff, "every random bit is set somewhere");
    }

    /// 25,600 draws over 256 networks: each is met, and a chi-squared statistic with 255 degrees
    /// of freedom stays below 330.5, its 99.9th percentile.
    #[test]
    fn random_networks_are_drawn_evenly() {
        let draws = 25_600;
        let first = Ipv4Addr::new(198, 19, 128, 2);
        let v4 = Modifier::random_ipv4_networks(first, 25, 256, 1, draws);
        let first_v6 = "2001:2:0:c000::2".parse().unwrap();
        let v6 = Modifier::random_ipv6_networks(first_v6, 256, 2, draws);
        let (mut seen_v4, mut seen_v6) = ([0u32; 256], [0u32; 256]);
        for index in 0..draws {
            let address = Ipv4Addr::from_bits(v4.pattern.value_at(index) as u32);
            assert_eq!(address.octets()[3] % 128, 2);
            seen_v4[((address.to_bits() - first.to_bits()) / 128) as usize] += 1;
            seen_v6[(v6.pattern.value_at(index) - 0xc000) as usize] += 1;
        }
        for seen in [seen_v4, seen_v6] {
            assert!(seen.iter().all(|count| *count > 0));
            let chi_squared: f64 =
                seen.iter().map(|count| (f64::from(*count) - 100.0).powi(2) / 100.0).sum();
            assert!(chi_squared < 330.5, "{chi_squared}");
        }
    }

    #[test]
    fn periods_multiply_where_they_must() {
        let with_count =
            |count| Modifier::new(Field::UdpSrc, Pattern::Increment { start: 0, step: 1, count });
        assert_eq!(joint_period(&[]), 1);
        assert_eq!(joint_period(&[with_count(4), with_count(6)]), 12);
        assert_eq!(joint_period(&[with_count(u64::MAX), with_count(2)]), u64::MAX);
    }

    proptest! {
        #[test]
        fn random_values_stay_in_range_and_on_the_step(seed: u64, min: u32, span: u32,
                                                       step in 1u64..1000, index: u64) {
            let (min, max) = (u64::from(min), u64::from(min) + u64::from(span));
            let pattern = Pattern::Random { seed, min, max, step, count: 1000 };
            let value = pattern.value_at(index);
            prop_assert!(min <= value && value <= max);
            prop_assert_eq!((value - min) % step, 0);
            prop_assert_eq!(value, pattern.value_at(index % 1000));
        }

        #[test]
        fn no_pattern_panics(seed: u64, a: u64, b: u64, step: u64, count: u64, index: u64) {
            let _ = Pattern::Increment { start: a, step, count }.value_at(index);
            let _ = Pattern::Decrement { start: a, step, count }.value_at(index);
            let (min, max) = (a.min(b), a.max(b));
            let value = Pattern::Random { seed, min, max, step, count }.value_at(index);
            prop_assert!(min <= value && value <= max);
        }
    }
}
