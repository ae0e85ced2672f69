//! Chance: a new seed each time, printed, so that a run can be had again as far as the machine allows.

use std::io::Read;

/// SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Clone)]
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Chance(seed)
    }

    /// A seed that nobody has chosen.
    pub fn seed() -> u64 {
        let mut bytes = [0; 4];
        let mut source = std::fs::File::open("/dev/urandom").expect("a source of chance");
        source.read_exact(&mut bytes).expect("four bytes");
        u32::from_ne_bytes(bytes).into()
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From the first up to, not including, the second.
    pub fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.next() % (to - from)
    }

    pub fn once_in(&mut self, times: u64) -> bool {
        self.next().is_multiple_of(times)
    }
}
