//! `netanvil netblt neighbours`: transfers beside TCP, and beside each other, and what each gets.

use super::args::Neighbours;
use super::quantiles::percentile;
use crate::failure::{Exit, Failure, Outcome};
use crate::{output, parallel};
use netblt_studies::paths::neighbourhood::Neighbourhood;
use netblt_studies::paths::study::{Contender, Road};
use netblt_studies::paths::{Algorithm, Loss};
use serde::Serialize;
use std::fmt::Write;
use units::Duration;

/// Of a fair share, in percent: from the 10th percentile over the seeds to the 90th.
const LEAST_SHARE: f64 = 50.0;
const MOST_SHARE: f64 = 150.0;
/// Jain's index of up to [`FEW`] transfers among themselves, and of more: its 10th percentile.
const LEAST_JAIN: f64 = 0.95;
const LEAST_JAIN_OF_MANY: f64 = 0.9;
const FEW: usize = 256;

const RATE_BPS: u64 = 100_000_000;
const ROUND_TRIP_MS: u64 = 20;
/// What the longer way of those with 80 ms adds.
const DETOUR: Duration = Duration::from_ms(60);
const OTHERS: [Algorithm; 3] = [Algorithm::Cubic, Algorithm::Reno, Algorithm::Bbr];
const CROWDS: [usize; 7] = [2, 8, 32, 64, 128, 256, 1000];

/// What is run with each seed.
struct Case {
    name: String,
    neighbourhood: Neighbourhood,
}

impl Case {
    /// Transfers among themselves have nobody beside them.
    fn is_own(&self) -> bool {
        self.neighbourhood.theirs.0 == 0
    }
    fn least_jain(&self) -> f64 {
        if self.neighbourhood.ours.0 <= FEW { LEAST_JAIN } else { LEAST_JAIN_OF_MANY }
    }
    fn is_named(&self, words: &str) -> bool {
        words.split_whitespace().all(|word| self.name.split(' ').any(|part| part == word))
    }

    /// Ours, and a TCP CUBIC in our place, in percent; Jain's index among ourselves and among those.
    fn measure(&self, seed: u64) -> [f64; 2] {
        [Contender::Competitive, Contender::Tcp(Algorithm::Cubic)].map(|who| match self.is_own() {
            true => self.neighbourhood.shares(who, seed).jain(),
            false => 100.0 * self.neighbourhood.share_of_fair(who, seed),
        })
    }
}

/// A line of the table.
#[derive(Serialize)]
struct Row {
    case: String,
    /// `share_percent` or `jain`.
    measures: &'static str,
    p10: f64,
    median: f64,
    p90: f64,
    /// The median of a TCP CUBIC (RFC 9438) in our place.
    cubic_median: f64,
    met: bool,
    /// By seed.
    values: Vec<f64>,
}

#[derive(Serialize)]
struct Everything {
    seeds: Vec<u64>,
    exact_hosts: bool,
    rate_bps: u64,
    target_share_percent: [f64; 2],
    target_jain: f64,
    /// Of more than 256 transfers.
    target_jain_of_many: f64,
    rows: Vec<Row>,
    targets_met: usize,
    targets_missed: usize,
}

pub fn run(arguments: &Neighbours) -> Outcome {
    let mut cases = cases();
    if let Some(words) = &arguments.only {
        cases.retain(|case| case.is_named(words));
        if cases.is_empty() {
            let all = "all cases are printed without --only";
            return Err(Failure::new(format!("no case has all of the words '{words}'; {all}")));
        }
    }
    if arguments.exact_hosts {
        cases.iter_mut().for_each(|case| case.neighbourhood.chance = Duration::ZERO);
    }
    let seeds: Vec<u64> = (0..arguments.seeds).map(|k| arguments.seed.wrapping_add(k)).collect();
    let rows: Vec<Row> = cases
        .iter()
        .map(|case| {
            let row = row(case, &parallel::map(&seeds, |seed| case.measure(*seed)));
            output::say(format_args!("{}", line(&row)));
            row
        })
        .collect();
    let targets_met = rows.iter().filter(|row| row.met).count();
    let everything = Everything {
        seeds,
        exact_hosts: arguments.exact_hosts,
        rate_bps: RATE_BPS,
        target_share_percent: [LEAST_SHARE, MOST_SHARE],
        target_jain: LEAST_JAIN,
        target_jain_of_many: LEAST_JAIN_OF_MANY,
        targets_met,
        targets_missed: rows.len() - targets_met,
        rows,
    };
    match arguments.json {
        true => output::print_json(&everything)?,
        false => output::print(&table(&everything))?,
    }
    Ok(if everything.targets_missed == 0 { Exit::Done } else { Exit::NotAccepted })
}

fn name(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::Reno => "Reno",
        Algorithm::Cubic => "CUBIC",
        Algorithm::Vegas => "Vegas",
        Algorithm::Bbr => "BBR",
    }
}

fn cases() -> Vec<Case> {
    let road = Road::new(RATE_BPS, ROUND_TRIP_MS, Loss::None);
    let mut cases = Vec::new();
    for tcp in OTHERS {
        for (ours, theirs) in [(1, 1), (4, 4), (1, 16)] {
            let neighbourhood = Neighbourhood::new(road.clone(), ours, theirs, tcp);
            cases.push(Case { name: format!("{ours}:{theirs} {}", name(tcp)), neighbourhood });
        }
    }
    for tcp in OTHERS {
        for (round_trips, ours, theirs) in
            [("20:80", Duration::ZERO, DETOUR), ("80:20", DETOUR, Duration::ZERO)]
        {
            let mut neighbourhood = Neighbourhood::new(road.clone(), 1, 1, tcp);
            (neighbourhood.ours.1, neighbourhood.theirs.1) = (ours, theirs);
            cases
                .push(Case { name: format!("1:1 {}, {round_trips} ms", name(tcp)), neighbourhood });
        }
    }
    for count in CROWDS {
        let neighbourhood = Neighbourhood::new(road.clone(), count, 0, Algorithm::Cubic);
        cases.push(Case { name: format!("own {count}"), neighbourhood });
    }
    cases
}

fn row(case: &Case, measured: &[[f64; 2]]) -> Row {
    let of = |which: usize| measured.iter().map(|both| both[which]).collect::<Vec<f64>>();
    let values = of(0);
    let (p10, median, p90) =
        (percentile(&values, 10), percentile(&values, 50), percentile(&values, 90));
    let (measures, met) = match case.is_own() {
        true => ("jain", p10 >= case.least_jain()),
        false => ("share_percent", p10 >= LEAST_SHARE && p90 <= MOST_SHARE),
    };
    let cubic_median = percentile(&of(1), 50);
    Row { case: case.name.clone(), measures, p10, median, p90, cubic_median, met, values }
}

fn line(row: &Row) -> String {
    let figure = |value: f64| match row.measures {
        "jain" => format!("{value:7.3}"),
        _ => format!("{value:5.0} %"),
    };
    format!(
        "{:20} {} {} {}   {}   {}",
        row.case,
        figure(row.p10),
        figure(row.median),
        figure(row.p90),
        figure(row.cubic_median),
        if row.met { "met" } else { "MISSED" }
    )
}

fn table(everything: &Everything) -> String {
    let mut text = format!(
        "NETBLT (competitive) beside TCP over {} Mb/s and {ROUND_TRIP_MS} ms with a queue of {ROUND_TRIP_MS} \
         ms; {} seeds{}.\n\n\
         A:B NAME: A transfers beside B connections; their mean share of a fair share, which is an equal \
         one. With round\ntrips of 20 and 80 ms (ours first) it is what that TCP gets in our place. Target: \
         {LEAST_SHARE:.0} to {MOST_SHARE:.0} % from\nthe 10th to the 90th percentile over the seeds.\n\
         own N: N transfers and nobody else; Jain's index. Target: 10th percentile at least {LEAST_JAIN}, of more \
         than {FEW}\n{LEAST_JAIN_OF_MANY}.\n\
         CUBIC: the median of a TCP CUBIC in our place.\n\n\
         {:20} {:>7} {:>7} {:>7}   {:>7}   target\n",
        everything.rate_bps / 1_000_000,
        everything.seeds.len(),
        if everything.exact_hosts { ", exact hosts" } else { "" },
        "case",
        "p10",
        "median",
        "p90",
        "CUBIC",
    );
    for row in &everything.rows {
        let _ = writeln!(text, "{}", line(row));
    }
    let Everything { targets_met, targets_missed, .. } = everything;
    let _ = writeln!(text, "\n{targets_met} targets met, {targets_missed} missed.");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_met_if_both_ends_are_within_it() {
        let own = Case {
            name: "own 2".into(),
            neighbourhood: Neighbourhood::new(
                Road::new(RATE_BPS, ROUND_TRIP_MS, Loss::None),
                2,
                0,
                Algorithm::Cubic,
            ),
        };
        let mut beside = Case { name: "1:1".into(), neighbourhood: own.neighbourhood.clone() };
        beside.neighbourhood.theirs.0 = 1;
        let met = |case: &Case, values: [f64; 3]| row(case, &values.map(|value| [value, 0.0])).met;
        assert!(met(&beside, [150.0, 50.0, 99.0]) && !met(&beside, [49.9, 99.0, 99.0]));
        assert!(!met(&beside, [99.0, 150.1, 99.0]));
        assert!(met(&own, [0.95, 1.0, 1.0]) && !met(&own, [0.949, 1.0, 1.0]));
        let mut many = own;
        many.neighbourhood.ours.0 = 1000;
        assert!(met(&many, [0.9, 1.0, 1.0]) && !met(&many, [0.899, 1.0, 1.0]));
    }
}
