//! The live fault rig: the real program measures real devices while something goes wrong, and every trial
//! that it calls valid is compared, to the frame, with what the kernel saw at the device's interfaces.
//!
//! `make faults` injects every fault; an ordinary test run some of them. `NETANVIL_FAULTS` names faults,
//! separated by commas, or is `all`; `NETANVIL_FAULTS_SEED` gives the seed, which is a new one each time. Root
//! only.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "starts programs and disturbs them in real time"
)]

mod bout;
mod chance;
mod fault;
mod forge;
mod injure;
mod table;
mod verdicts;
mod witness;

use crate::common::is_root;
use chance::Chance;
use fault::{FAULTS, Fault};
use table::{Row, Table};

/// Trials of a whole rig, at least.
const TRIALS_IN_ALL: usize = 200;

#[test]
fn every_valid_trial_agrees_with_the_kernel_whatever_goes_wrong() {
    if !is_root() {
        return;
    }
    let wanted = std::env::var("NETANVIL_FAULTS").unwrap_or_default();
    let seed = std::env::var("NETANVIL_FAULTS_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(Chance::seed);
    println!("seed {seed} (NETANVIL_FAULTS_SEED)\n");
    let mut chance = Chance::new(seed);
    let mut table = Table::begin();
    for fault in FAULTS.iter().filter(|fault| is_wanted(fault, &wanted)) {
        let trials = if wanted.is_empty() { fault.trials_of_a_short_run } else { fault.trials };
        table.add(Row::of(fault, trials, &mut chance));
    }
    let least = if wanted == "all" { TRIALS_IN_ALL } else { 0 };
    table.judge(least, wanted.is_empty());
}

fn is_wanted(fault: &Fault, wanted: &str) -> bool {
    match wanted {
        "" => fault.trials_of_a_short_run > 0 && !fault.lacks(),
        "all" => true,
        names => names.split(',').any(|name| name == fault.name),
    }
}
