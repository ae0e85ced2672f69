//! More than one new seed, for who looks for a device in a thousand.

/// One new seed, or as many in a row as `NETANVIL_SEEDS` says.
pub fn new_seeds() -> std::ops::Range<u64> {
    let number = std::env::var("NETANVIL_SEEDS").ok();
    let number = number.map_or(1, |number| number.parse().expect("NETANVIL_SEEDS: a number"));
    let first = crate::new_seed::new_seed();
    first..first + number
}
