//! A seed that is new in each run: random tests look at it besides those that are always the same.

/// A new number, or the one that `NETANVIL_SEED` gives; printed, so that a failure can be had again.
#[allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "chance, stated")]
pub fn new_seed() -> u64 {
    let given = std::env::var("NETANVIL_SEED").ok();
    let seed =
        given.map(|given| given.parse().expect("NETANVIL_SEED: a number")).unwrap_or_else(|| {
            let now = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("a time after 1970");
            // Small enough for every type that seeds have.
            now.as_micros() as u64 % (1 << 31)
        });
    println!("a new seed; NETANVIL_SEED={seed} has it again");
    seed
}
