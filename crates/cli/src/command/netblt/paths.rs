//! `netanvil netblt paths`: the control of the rate over a matrix of today's paths, beside a fixed
//! rate and models of TCP, against its targets.

mod roads;

use super::args::Paths;
use super::quantiles::{
    Measured, Quantiles, STUCK_PERCENT, Target, Unit, missed, quantiles, stuck,
};
use crate::failure::{Exit, Failure, Outcome};
use crate::{output, parallel};
use netblt_studies::paths::study::{self, Alone, Change, Contender, Road, Sharing};
use netblt_studies::paths::today::Today;
use netblt_studies::paths::{Algorithm, Loss};
use report::html::figures::{self, Figure, Line, page};
use roads::{MBPS, changing_roads, is_heavy, roads, shared_roads};
use serde::Serialize;
use std::fmt::Write;
use units::Duration;

/// Of what is usable, in percent.
const UTILISATION: f64 = 95.0;
/// Round trips to that.
const START_UP_ROUND_TRIPS: f64 = 10.0;
/// Beside a burst at the bottleneck.
const QUEUE: Duration = Duration::from_ms(10);
const JAIN: f64 = 0.95;
/// Of an equal share, what TCP is left, in percent.
const LEFT_TO_TCP: f64 = 30.0;
/// Round trips after a change of the rate.
const RECOVERY_ROUND_TRIPS: f64 = 5.0;

const RENO: Contender = Contender::Tcp(Algorithm::Reno);
const CUBIC: Contender = Contender::Tcp(Algorithm::Cubic);

/// A line of a table.
#[derive(Clone, Debug, Serialize)]
struct Row {
    table: &'static str,
    path: String,
    who: String,
    /// What was measured, in words: of several seeds 10th percentile, median and 90th.
    measured: String,
    /// The same as numbers.
    figures: Vec<Quantiles>,
    /// Which targets were missed; none if all were met, null where there is none to meet.
    missed: Option<Vec<String>>,
    /// Runs that were stuck; null where that is not asked.
    stuck: Option<usize>,
}

#[derive(Clone, Debug, Serialize)]
struct Everything {
    seeds: Vec<u64>,
    rows: Vec<Row>,
    targets_met: usize,
    targets_missed: usize,
    /// Of rows of which that is asked: runs, and those of them that were stuck.
    runs: usize,
    stuck: usize,
}

/// Gives what was measured with a seed.
type Work = Box<dyn Fn(u64) -> Vec<Measured> + Send + Sync>;

/// What one processor does at a time.
struct Job {
    table: &'static str,
    /// The path and who uses it, as in the row.
    path: String,
    who: String,
    /// It is held to the targets.
    judged: bool,
    /// Nothing but the sender keeps it from using the path: a run far below that is stuck.
    fills: bool,
    work: Work,
}

impl Job {
    fn new(
        (table, contender): (&'static str, Contender),
        road: &Road,
        who: String,
        work: impl Fn(u64, &Road) -> Vec<Measured> + Send + Sync + 'static,
    ) -> Job {
        let (path, own) = (name(road), road.clone());
        let work = Box::new(move |seed| work(seed, &own));
        let judged = contender == Contender::Adaptive;
        // By the law of CUBIC a loss lowers the rate, by chance or not.
        let fills = judged || contender == Contender::Competitive && road.loss == Loss::None;
        Job { table, path, who, judged, fills, work }
    }
    /// Over a path of today. Who competes by loss is asked for one thing there: not to be stuck.
    fn of_today(today: Today, contender: Contender) -> Job {
        let path = named(&today.road, today.name, TODAY_COLUMNS);
        let ours = [Contender::Adaptive, Contender::Competitive].contains(&contender);
        let work = Box::new(move |seed| {
            let mut figures = of_alone(&today.road, today.alone(contender, seed));
            if contender != Contender::Adaptive {
                figures.iter_mut().for_each(|figure| figure.target = None);
            }
            figures
        });
        let who = contender.name().to_owned();
        Job { table: "today", path, who, judged: ours, fills: ours, work }
    }
    /// Whether each of the words is in its name.
    fn is_named(&self, words: &str) -> bool {
        let name = format!("{}  {}", self.path, self.who);
        words.split_whitespace().all(|word| name.split([' ', ',']).any(|part| part == word))
    }
    fn row(&self, runs: &[Vec<Measured>]) -> Row {
        let figures = quantiles(runs);
        Row {
            table: self.table,
            path: self.path.clone(),
            who: self.who.clone(),
            measured: figures.iter().map(Quantiles::words).collect::<Vec<_>>().join("  "),
            missed: missed(&figures, self.judged, self.fills),
            stuck: self.fills.then(|| stuck(&figures)).flatten(),
            figures,
        }
    }
}

pub fn run(arguments: &Paths) -> Outcome {
    let mut jobs = jobs();
    if let Some(words) = &arguments.only {
        jobs.retain(|job| job.is_named(words));
        if jobs.is_empty() {
            let all = "all rows are printed without --only";
            return Err(Failure::new(format!("no row has all of the words '{words}'; {all}")));
        }
    }
    let seeds: Vec<u64> = (0..arguments.seeds).map(|k| arguments.seed.wrapping_add(k)).collect();
    let rows = in_parallel(&jobs, &seeds);
    let judged = |row: &&Row| row.missed.is_some();
    let met = |row: &&Row| row.missed.as_ref().is_some_and(Vec::is_empty);
    let targets_met = rows.iter().filter(met).count();
    let targets_missed = rows.iter().filter(judged).count() - targets_met;
    let asked: Vec<usize> = rows.iter().filter_map(|row| row.stuck).collect();
    let (runs, stuck) = (asked.len() * seeds.len(), asked.iter().sum());
    let everything = Everything { seeds, rows, targets_met, targets_missed, runs, stuck };
    if let Some(file) = &arguments.html {
        let text = page(
            "NETBLT's rate control over today's paths",
            &tables(&everything),
            &closing(&everything),
            &figures(arguments.seed),
            &[],
        );
        std::fs::write(file, text)
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", file.display())))?;
    }
    match arguments.json {
        true => output::print_json(&everything)?,
        false => output::print(&table(&everything))?,
    }
    Ok(if targets_missed == 0 { Exit::Done } else { Exit::NotAccepted })
}

/// The matrix.
fn jobs() -> Vec<Job> {
    let mut jobs: Vec<Job> = Vec::new();
    for road in roads() {
        for contender in Contender::ALL {
            // Millions of packets are in the air: a minute for each of those that fail anyway.
            let shown = [Contender::Adaptive, Contender::Competitive, CUBIC];
            if is_heavy(&road) && !shown.contains(&contender) {
                continue;
            }
            let kind = ("alone", contender);
            jobs.push(Job::new(kind, &road, contender.name().to_owned(), move |seed, road| {
                of_alone(road, study::alone(road, contender, seed))
            }));
        }
    }
    for today in Today::all() {
        for contender in [Contender::Adaptive, Contender::Competitive, CUBIC] {
            jobs.push(Job::of_today(today.clone(), contender));
        }
    }
    for road in changing_roads() {
        for contender in [Contender::Adaptive, Contender::Competitive, CUBIC] {
            let who = format!("{}, rate changes", contender.name());
            jobs.push(Job::new(("change", contender), &road, who, move |seed, road| {
                of_change(road, study::change(road, contender, seed))
            }));
        }
    }
    for (road, count) in shared_roads() {
        for contender in [Contender::Adaptive, Contender::Competitive, CUBIC] {
            let length = if count > 64 { SHARING_OF_HUNDREDS } else { SHARING };
            let who = format!("{count} x {}", contender.name());
            let mut job = Job::new(("sharing", contender), &road, who, move |seed, road| {
                let sharing = study::share(road, &vec![contender; count], length, seed);
                of_sharing(road, contender, &sharing)
            });
            job.judged = contender != CUBIC && count <= 64;
            job.fills &= count <= 64;
            jobs.push(job);
        }
    }
    let road = Road::new(100 * MBPS, 20, Loss::None);
    for (tcp, count) in [(RENO, 1), (CUBIC, 1), (RENO, 4), (CUBIC, 4)] {
        for ours in [Contender::Adaptive, Contender::Competitive, CUBIC] {
            let who = format!("{count} x {} beside {count} x {}", ours.name(), tcp.name());
            let mut job = Job::new(("beside", ours), &road, who, move |seed, road| {
                let all = [vec![ours; count], vec![tcp; count]].concat();
                of_both(&study::share(road, &all, SHARING, seed))
            });
            // What it leaves to TCP it has not.
            job.fills = false;
            jobs.push(job);
        }
    }
    jobs
}

/// Runs of many flows take so long, in virtual time.
const SHARING: Duration = Duration::from_secs(24);
const SHARING_OF_HUNDREDS: Duration = Duration::from_secs(4);

/// As many runs at a time as there are processors: rows, or the seeds of a row.
fn in_parallel(jobs: &[Job], seeds: &[u64]) -> Vec<Row> {
    let done = |job: &Job, runs: &[Vec<Measured>]| {
        let row = job.row(runs);
        output::say(format_args!("{}", line(&row, &row.path)));
        row
    };
    match seeds {
        [seed] => parallel::map(jobs, |job| done(job, &[(job.work)(*seed)])),
        _ => {
            let row = |job: &Job| done(job, &parallel::map(seeds, |seed| (job.work)(*seed)));
            jobs.iter().map(row).collect()
        }
    }
}

/// Of the names of paths of today.
const TODAY_COLUMNS: usize = 20;

fn name(road: &Road) -> String {
    let loss = match road.loss {
        Loss::None => "no loss".to_owned(),
        Loss::Random(share) => format!("{:.0} % loss", 100.0 * share),
        Loss::Bursts(bursts) => format!("{:.0} % bursty", 100.0 * bursts.mean()),
    };
    named(road, &loss, 10)
}

/// Its rate, its round trip, and what else there is to say of it in so many columns.
fn named(road: &Road, also: &str, columns: usize) -> String {
    let rate = road.rate_bps as f64;
    let rate = if rate >= 1e9 {
        format!("{:.0} Gb/s", rate / 1e9)
    } else {
        format!("{:.0} Mb/s", rate / 1e6)
    };
    format!("{rate:>8}, {:>4} ms, {also:>columns$}", road.round_trip.as_us() / 1000)
}

fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}
fn round_trips(span: Option<Duration>, road: &Road) -> Option<f64> {
    span.map(|span| span.as_secs_f64() / road.whole_round_trip().as_secs_f64())
}

fn of_alone(road: &Road, alone: Alone) -> Vec<Measured> {
    let Alone { utilisation, start_up, standing_queue, dropped } = alone;
    let least = Some(Target::Least(UTILISATION));
    vec![
        Measured::new("utilisation", Unit::Percent, 100.0 * utilisation, least),
        Measured::round_trips("start-up", round_trips(start_up, road), START_UP_ROUND_TRIPS),
        Measured::new("queue", Unit::Ms, ms(standing_queue), Some(longest_queue(road))),
        Measured::new("dropped", Unit::SmallPercent, 100.0 * dropped, None),
    ]
}

fn of_change(road: &Road, change: Change) -> Vec<Measured> {
    let [down, up] = [change.down, change.up].map(|span| round_trips(span, road));
    vec![
        Measured::round_trips("fall", down, RECOVERY_ROUND_TRIPS),
        Measured::round_trips("rise", up, RECOVERY_ROUND_TRIPS),
    ]
}

fn of_sharing(road: &Road, contender: Contender, sharing: &Sharing) -> Vec<Measured> {
    let (used, queue) = (100.0 * sharing.utilisation, ms(sharing.standing_queue));
    // Who competes by loss fills the queue, as TCP does.
    let longest = (contender == Contender::Adaptive).then(|| longest_queue(road));
    vec![
        Measured::new("fairness", Unit::Index, sharing.jain(), Some(Target::Least(JAIN))),
        Measured::new("utilisation", Unit::Percent, used, Some(Target::Least(UTILISATION))),
        Measured::new("queue", Unit::Ms, queue, longest),
    ]
}

fn of_both(sharing: &Sharing) -> Vec<Measured> {
    let half = sharing.shares.len() / 2;
    let share = |of| 100.0 * sharing.mean_share(of);
    let (ours, tcp) = (share(0..half), share(half..2 * half));
    let least = Some(Target::Least(LEFT_TO_TCP));
    vec![
        Measured::new("share", Unit::Percent, ours, None),
        Measured::new("left to TCP", Unit::Percent, tcp, least),
        Measured::new("queue", Unit::Ms, ms(sharing.standing_queue), None),
    ]
}

fn longest_queue(road: &Road) -> Target {
    Target::Most(ms(road.burst() + QUEUE))
}

const HEADS: [(&str, &str); 5] = [
    (
        "alone",
        "One flow alone: new data against what is usable; round trips from the first packet, OPEN \
         included, to 95 % of it; standing queue; packets dropped",
    ),
    (
        "today",
        "One flow alone over paths of today: the same figures. Policers have 15 KB and 625 KB; see \
         docs/netblt-control.md",
    ),
    ("change", "The rate falls to a half and comes back: round trips to a short queue, to 95 %"),
    ("sharing", "Flows of one kind: Jain's index, new data against what is usable, standing queue"),
    ("beside", "Beside TCP: of an equal share, what those named first and what TCP got; queue"),
];

fn table(everything: &Everything) -> String {
    let mut text = String::new();
    for (table, head) in HEADS {
        let mut rows = everything.rows.iter().filter(|row| row.table == table).peekable();
        if rows.peek().is_none() {
            continue;
        }
        let _ = writeln!(text, "{head}\n");
        let mut path = "";
        for row in rows {
            let shown = if row.path == path { "" } else { &row.path };
            path = &row.path;
            let _ = writeln!(text, "{}", line(row, shown));
        }
        text.push('\n');
    }
    text + &closing(everything)
}

fn line(row: &Row, path: &str) -> String {
    let line = format!("{path:31}  {:37}  {}  {}", row.who, row.measured, verdict(row));
    line.trim_end().to_owned()
}

fn verdict(row: &Row) -> String {
    match &row.missed {
        None => String::new(),
        Some(missed) if missed.is_empty() => "PASS".to_owned(),
        Some(missed) => format!("MISSED: {}", missed.join(", ")),
    }
}

/// The same for a page.
fn tables(everything: &Everything) -> Vec<figures::Table> {
    let row = |row: &Row| figures::Row {
        cells: vec![row.path.clone(), row.who.clone(), row.measured.clone()],
        verdict: verdict(row),
        bad: row.missed.as_ref().is_some_and(|missed| !missed.is_empty()),
    };
    let table = |(table, head): (&str, &str)| figures::Table {
        head: head.to_owned(),
        rows: everything.rows.iter().filter(|row| row.table == table).map(row).collect(),
    };
    HEADS.into_iter().map(table).filter(|table| !table.rows.is_empty()).collect()
}

fn closing(everything: &Everything) -> String {
    let Everything { targets_met, targets_missed, runs, stuck, .. } = everything;
    let seeds = match everything.seeds.len() {
        1 => String::new(),
        count => format!(
            "{count} seeds: 10th percentile/median/90th percentile. What has to be high is judged by the \
             10th percentile, what has to be low\nby the 90th, and no run may be under {STUCK_PERCENT:.0} % of what \
             is usable.\n"
        ),
    };
    let stuck = match (runs, stuck) {
        (0, _) => String::new(),
        (_, 0) => {
            format!("Nothing stuck: each of {runs} runs used {STUCK_PERCENT:.0} % or more.\n")
        }
        _ => format!("Stuck: {stuck} of {runs} runs used less than {STUCK_PERCENT:.0} %.\n"),
    };
    format!(
        "{seeds}{stuck}Of the rows with targets, {targets_met} met all of theirs and {targets_missed} missed one or \
         more.\n"
    )
}

/// The course of some flows over time.
fn figures(seed: u64) -> Vec<Figure> {
    let lossy = Road::new(100 * MBPS, 100, Loss::Random(0.01));
    let mut changing = Road::new(100 * MBPS, 100, Loss::None);
    let second = Duration::from_secs(1);
    changing.changes = vec![(second * 4, 50 * MBPS), (second * 8, 100 * MBPS)];
    let mut figures = Vec::new();
    for (title, road) in
        [("One per cent of loss", lossy), ("A rate that falls and rises", changing)]
    {
        let courses: Vec<(Contender, Vec<_>)> = Contender::ALL
            .into_iter()
            .map(|contender| (contender, study::course(&road, contender, second * 12, seed)))
            .collect();
        let lines = |pick: fn(&(units::Instant, f64, Duration)) -> f64| {
            let line =
                |(contender, course): &(Contender, Vec<(units::Instant, f64, Duration)>)| Line {
                    name: contender.name().to_owned(),
                    points: course
                        .iter()
                        .map(|point| {
                            (point.0.since(units::Instant::ZERO).as_secs_f64(), pick(point))
                        })
                        .collect(),
                    is_marks: false,
                };
            courses.iter().map(line).collect()
        };
        let path = name(&road);
        figures.push(Figure {
            title: format!("{title}: new data ({path})"),
            x: "Time (s)".to_owned(),
            y: "New packets (thousands a second)".to_owned(),
            lines: lines(|point| point.1 / 1e3),
        });
        figures.push(Figure {
            title: format!("{title}: longest wait at the queue ({path})"),
            x: "Time (s)".to_owned(),
            y: "Wait (ms)".to_owned(),
            lines: lines(|point| ms(point.2)),
        });
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Policers, radio links, handovers, a bad way back, a busy receiver: each by loss and by delay, held not to be stuck.
    #[test]
    fn each_path_of_today_has_a_row_of_both_modes_that_is_judged() {
        let jobs = jobs();
        for words in ["shallow policer", "deep policer", "Wi-Fi", "LTE", "Starlink waits"] {
            for mode in ["adaptive", "competitive"] {
                let row = |job: &&Job| job.is_named(&format!("{words} {mode}"));
                let [job] = jobs.iter().filter(row).collect::<Vec<_>>()[..] else {
                    panic!("one row of {words} {mode}")
                };
                assert!(job.judged && job.fills && job.table == "today");
            }
        }
        let today = jobs.iter().filter(|job| job.table == "today");
        assert_eq!(today.count(), 3 * Today::all().len());
    }
}
