//! `make stability`: how far ten measurements of one device's throughput lie apart, by netanvil and by
//! what is used without it: testpmd or trafgen, behind a token bucket that sets their rate, and the
//! kernel's counters.
//!
//! The device is the one of `make demo`, Linux router (threaded NAPI), 64-byte frames.
//! All take turns, round after round, so that whatever changes on the machine changes for all.

mod by_counters;
mod by_netanvil;
mod spread;

use crate::competitor::Arena;
use crate::error::{BenchError, Result};
use crate::say;
use by_counters::Generator;
use spread::Measurement;
use std::path::PathBuf;

/// Frame size, FCS included.
const SIZE_BYTES: u32 = 64;
/// The first part of the target: ten measurements of netanvil spread by no more than this.
const SPREAD: f64 = 0.05;

/// What is asked for.
#[derive(clap::Args, Debug)]
pub struct Stability {
    /// How often each measures
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: u32,
    /// The program that is measured
    #[arg(long, default_value = "target/release/netanvil")]
    netanvil: PathBuf,
}

/// Who measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Method {
    Netanvil,
    Counters(Generator),
}

const METHODS: [Method; 3] =
    [Method::Netanvil, Method::Counters(Generator::Testpmd), Method::Counters(Generator::Trafgen)];

impl Method {
    fn name(self) -> &'static str {
        match self {
            Method::Netanvil => "netanvil run",
            Method::Counters(Generator::Testpmd) => "testpmd + kernel counters",
            Method::Counters(Generator::Trafgen) => "trafgen + kernel counters",
        }
    }
}

/// Measures in turns, and prints the table. Whether netanvil's target is met.
pub fn run(stability: &Stability, arena: &Arena<'_>) -> Result<bool> {
    let mut all: Vec<(Method, Vec<Measurement>)> =
        METHODS.iter().map(|method| (*method, vec![])).collect();
    for repetition in 1..=stability.repetitions {
        for (method, measured) in &mut all {
            let one = match method {
                Method::Netanvil => by_netanvil::measure(&stability.netanvil, arena),
                Method::Counters(generator) => by_counters::measure(*generator, arena),
            };
            if arena.stop.load(std::sync::atomic::Ordering::Relaxed) {
                return Err(BenchError::Interrupted);
            }
            let one = one?;
            say(&format!("{repetition} of {}: {}: {one}", stability.repetitions, method.name()));
            measured.push(one);
        }
    }
    let rows: Vec<(&str, &[Measurement])> =
        all.iter().map(|(method, measured)| (method.name(), &measured[..])).collect();
    print!("{}", spread::table(&rows));
    let [(_, of_netanvil), ..] = &all[..] else { return Ok(false) };
    let spread = spread::relative_spread(of_netanvil);
    let is_met = spread.is_some_and(|spread| spread <= SPREAD);
    println!(
        "netanvil: interquartile range at most {:.0} % of the median: {}",
        SPREAD * 100.0,
        if is_met { "PASS" } else { "FAIL" }
    );
    Ok(is_met)
}
