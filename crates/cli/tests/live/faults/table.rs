//! What came of each fault, in rows.

use super::bout::{self, Told};
use super::chance::Chance;
use super::fault::Fault;
use super::injure::{Injury, Times};
use super::verdicts::{assert_sharp, disagreements, reasons, span_ns};
use crate::common::undecided;
use method::TrialRecord;
use std::collections::BTreeMap;

/// What came of one fault.
pub struct Row {
    fault: &'static Fault,
    /// Kind of the tester's ports.
    ports: String,
    trials: usize,
    valid: usize,
    /// Valid trials during which something was injected.
    valid_in_fault: usize,
    /// Invalid trials that name the fault.
    named: usize,
    /// Invalid trials during the fault, and those among them that name it.
    in_fault: usize,
    named_in_fault: usize,
    /// Frames of the valid trials, and those of them that were lost.
    frames: u64,
    lost: u64,
    disagreements: Vec<String>,
    reasons: BTreeMap<String, usize>,
}

impl Row {
    pub fn of(fault: &'static Fault, trials: usize, chance: &mut Chance) -> Row {
        let plan = fault.plan(trials, chance);
        let mut row = Row {
            fault,
            ports: plan.port_type().to_owned(),
            trials: 0,
            valid: 0,
            valid_in_fault: 0,
            named: 0,
            in_fault: 0,
            named_in_fault: 0,
            frames: 0,
            lost: 0,
            disagreements: vec![],
            reasons: BTreeMap::new(),
        };
        let outcome = bout::run(&plan, chance);
        for told in &outcome.told {
            row.take(told, &outcome.times);
        }
        row
    }

    fn take(&mut self, told: &Told, times: &Times) {
        self.disagreements.extend(told.miscounted.iter().cloned());
        let (stayed, dropped) = told.stayed;
        // Whoever sends copies of frames that were dropped makes up for them.
        let explained = if self.fault.truth.copied { stayed <= dropped } else { stayed == dropped };
        if self.fault.truth.loses && self.fault.injury != Injury::Chatter(None) && !explained {
            self.disagreements.push(format!("{stayed} stayed in the device, it dropped {dropped}"));
        }
        let mut is_sharp = false;
        for record in &told.records {
            self.trials += 1;
            if record.result.is_valid() {
                self.take_valid(told, record, times, &mut is_sharp);
            } else {
                self.take_invalid(record, times);
            }
        }
    }

    fn take_valid(
        &mut self,
        told: &Told,
        record: &TrialRecord,
        times: &Times,
        is_sharp: &mut bool,
    ) {
        let seen = told.witness.seen(record);
        let found = disagreements(record, &seen, self.fault.truth);
        self.valid += 1;
        self.valid_in_fault += usize::from(is_during(record, times));
        self.frames += seen.entered;
        self.lost += record.result.lost_frames();
        if found.is_empty() && !*is_sharp && seen.left > 0 {
            assert_sharp(record, &seen, self.fault.truth);
            *is_sharp = true;
        }
        let number = record.number;
        self.disagreements.extend(found.iter().map(|what| format!("trial {number}: {what}")));
    }

    fn take_invalid(&mut self, record: &TrialRecord, times: &Times) {
        let reasons = reasons(record);
        let names = reasons.iter().any(|reason| self.fault.named.contains(&reason.as_str()));
        let during = times.is_empty() || is_during(record, times);
        self.named += usize::from(names);
        self.in_fault += usize::from(during);
        self.named_in_fault += usize::from(during && names);
        reasons.into_iter().for_each(|reason| *self.reasons.entry(reason).or_default() += 1);
    }

    /// Wrong numbers.
    fn wrong(&self) -> Vec<String> {
        let name = self.fault.name;
        self.disagreements.iter().map(|what| format!("{name}: {what}")).collect()
    }

    /// Shares that are too low: trials that decide, and those that name what was done to them.
    fn low_shares(&self) -> Vec<String> {
        let Row { fault, trials, valid, in_fault, named_in_fault, .. } = self;
        let mut found: Vec<String> = vec![];
        if valid * 100 < trials * fault.valid_percent {
            found.push(format!("{valid} of {trials} trials valid, not {} %", fault.valid_percent));
        }
        if named_in_fault * 100 < in_fault * fault.named_percent {
            found.push(format!(
                "{named_in_fault} of {in_fault} invalid trials name the fault, not {} %",
                fault.named_percent
            ));
        }
        found.into_iter().map(|what| format!("{}: {what}", fault.name)).collect()
    }
}

fn is_during(record: &TrialRecord, times: &Times) -> bool {
    let (from, to) = span_ns(record);
    times.iter().any(|(begun, ended)| *begun <= to && from <= *ended)
}

/// All of them.
pub struct Table(Vec<Row>);

impl Table {
    pub fn begin() -> Self {
        println!(
            "{:<14} {:<9} {:>6} {:>6} {:>8} {:>8} {:>6} {:>7} {:>6} {:>8}  reasons of invalid trials",
            "fault",
            "ports",
            "trials",
            "valid",
            "in fault",
            "invalid",
            "named",
            "frames",
            "lost",
            "disagree"
        );
        Table(vec![])
    }

    pub fn add(&mut self, row: Row) {
        let reasons = row.reasons.iter().map(|(reason, trials)| format!("{reason} {trials}"));
        println!(
            "{:<14} {:<9} {:>6} {:>6} {:>8} {:>8} {:>6} {:>7} {:>6} {:>8}  {}",
            row.fault.name,
            row.ports,
            row.trials,
            row.valid,
            row.valid_in_fault,
            row.trials - row.valid,
            row.named,
            row.frames,
            row.lost,
            row.disagreements.len(),
            reasons.collect::<Vec<_>>().join(", ")
        );
        row.disagreements.iter().for_each(|what| println!("    {what}"));
        self.0.push(row);
    }

    /// Any wrong number is a failure. Shares of a few trials are a matter of luck: those of a short run that
    /// are too low are told and counted, those of a whole run are failures.
    pub fn judge(&self, least: usize, is_short: bool) {
        let sum = |count: fn(&Row) -> usize| self.0.iter().map(count).sum::<usize>();
        let (trials, valid) = (sum(|row| row.trials), sum(|row| row.valid));
        println!("{:<24} {trials:>6} {valid:>6}", "all");
        let wrong: Vec<String> = self.0.iter().flat_map(Row::wrong).collect();
        assert!(wrong.is_empty(), "valid trials disagree with the kernel:\n{}", wrong.join("\n"));
        assert!(valid > 0, "no trial of {trials} is valid: nothing was compared");
        let mut low: Vec<String> = self.0.iter().flat_map(Row::low_shares).collect();
        if trials < least {
            low.push(format!("{trials} trials in all, not {least}"));
        }
        if is_short && !low.is_empty() {
            return undecided::tell(&low.join("; "));
        }
        assert!(low.is_empty(), "\n{}", low.join("\n"));
    }
}
