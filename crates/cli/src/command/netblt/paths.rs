//! `netanvil netblt paths`: the control of the rate over a matrix of today's paths, beside a fixed
//! rate and models of TCP, against its targets.

use super::args::Paths;
use crate::failure::{Exit, Failure, Outcome};
use crate::{output, parallel};
use netblt_studies::paths::study::{self, Alone, Change, Contender, Road, Sharing};
use netblt_studies::paths::{Algorithm, Loss};
use report::html::figures::{self, Figure, Line, page};
use serde::Serialize;
use std::fmt::Write;
use units::Duration;

/// Of what is usable.
const UTILISATION: f64 = 0.95;
/// Round trips to that.
const START_UP_ROUND_TRIPS: f64 = 10.0;
/// Beside a burst at the bottleneck.
const QUEUE: Duration = Duration::from_ms(10);
const JAIN: f64 = 0.95;
/// Of an equal share, what TCP is left.
const LEFT_TO_TCP: f64 = 0.3;
/// Round trips after a change of the rate.
const RECOVERY_ROUND_TRIPS: f64 = 5.0;

const MBPS: u64 = 1_000_000;
const GBPS: u64 = 1000 * MBPS;
const RENO: Contender = Contender::Tcp(Algorithm::Reno);
const CUBIC: Contender = Contender::Tcp(Algorithm::Cubic);

/// A line of a table.
#[derive(Clone, Debug, Serialize)]
struct Row {
    table: &'static str,
    path: String,
    who: String,
    /// What was measured, in words.
    measured: String,
    /// Which targets were missed; none if all were met, null where there is none to meet.
    missed: Option<Vec<String>>,
}

#[derive(Clone, Debug, Serialize)]
struct Everything {
    seed: u64,
    rows: Vec<Row>,
    targets_met: usize,
    targets_missed: usize,
}

/// What one processor does at a time.
struct Job {
    /// The path and who uses it, as in the row.
    name: String,
    work: Box<dyn Fn(u64) -> Row + Send + Sync>,
}

impl Job {
    fn new(
        road: &Road,
        who: String,
        work: impl Fn(u64, &Road, String) -> Row + Send + Sync + 'static,
    ) -> Job {
        let name = format!("{}  {who}", name(road));
        let road = road.clone();
        Job { name, work: Box::new(move |seed| work(seed, &road, who.clone())) }
    }
    /// Whether each of the words is in its name.
    fn is_named(&self, words: &str) -> bool {
        words.split_whitespace().all(|word| self.name.split([' ', ',']).any(|part| part == word))
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
    let rows = in_parallel(&jobs, arguments.seed);
    let judged = |row: &&Row| row.missed.is_some();
    let met = |row: &&Row| row.missed.as_ref().is_some_and(Vec::is_empty);
    let targets_met = rows.iter().filter(met).count();
    let targets_missed = rows.iter().filter(judged).count() - targets_met;
    let everything = Everything { seed: arguments.seed, rows, targets_met, targets_missed };
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
            jobs.push(Job::new(&road, contender.name().to_owned(), move |seed, road, who| {
                alone_row(road, contender, who, study::alone(road, contender, seed))
            }));
        }
    }
    for road in changing_roads() {
        for contender in [Contender::Adaptive, Contender::Competitive, CUBIC] {
            let who = format!("{}, rate changes", contender.name());
            jobs.push(Job::new(&road, who, move |seed, road, who| {
                change_row(road, contender, who, study::change(road, contender, seed))
            }));
        }
    }
    for (road, count) in shared_roads() {
        for contender in [Contender::Adaptive, Contender::Competitive, CUBIC] {
            let length = if count > 64 { SHARING_OF_HUNDREDS } else { SHARING };
            let who = format!("{count} x {}", contender.name());
            jobs.push(Job::new(&road, who, move |seed, road, who| {
                let sharing = study::share(road, &vec![contender; count], length, seed);
                sharing_row(road, contender, who, &sharing)
            }));
        }
    }
    let road = Road::new(100 * MBPS, 20, Loss::None);
    for (tcp, count) in [(RENO, 1), (CUBIC, 1), (RENO, 4), (CUBIC, 4)] {
        for ours in [Contender::Adaptive, Contender::Competitive, CUBIC] {
            let who = format!("{count} x {} beside {count} x {}", ours.name(), tcp.name());
            jobs.push(Job::new(&road, who, move |seed, road, who| {
                let all = [vec![ours; count], vec![tcp; count]].concat();
                beside_row(road, ours, who, &study::share(road, &all, SHARING, seed))
            }));
        }
    }
    jobs
}

/// Runs of many flows take so long, in virtual time.
const SHARING: Duration = Duration::from_secs(24);
const SHARING_OF_HUNDREDS: Duration = Duration::from_secs(4);

fn is_heavy(road: &Road) -> bool {
    road.packets_per_s(road.rate_bps) * road.round_trip.as_secs_f64() > 50_000.0
}

fn roads() -> Vec<Road> {
    let random = Loss::Random;
    vec![
        Road::new(MBPS, 20, Loss::None),
        Road::new(MBPS, 100, random(0.01)),
        Road::new(MBPS, 600, random(0.05)),
        Road::new(10 * MBPS, 1, Loss::None),
        Road::new(10 * MBPS, 20, random(0.01)),
        Road::new(10 * MBPS, 100, random(0.05)),
        Road::new(10 * MBPS, 2000, Loss::None),
        Road::new(100 * MBPS, 1, Loss::None),
        Road::new(100 * MBPS, 20, Loss::None),
        Road::new(100 * MBPS, 50, Road::bursty()),
        Road::new(100 * MBPS, 100, random(0.01)),
        Road::new(100 * MBPS, 600, random(0.05)),
        Road::new(100 * MBPS, 2000, random(0.01)),
        Road::new(GBPS, 1, Loss::None),
        Road::new(GBPS, 20, random(0.01)),
        Road::new(GBPS, 100, random(0.05)),
        Road::new(GBPS, 600, random(0.01)),
        Road::new(GBPS, 2000, random(0.05)),
        Road::new(10 * GBPS, 10, Loss::None),
        Road::new(10 * GBPS, 100, random(0.01)),
        Road::new(100 * GBPS, 1, Loss::None),
        Road::new(100 * GBPS, 10, Loss::None),
    ]
}

fn changing_roads() -> Vec<Road> {
    let paths =
        [(10 * MBPS, 100), (100 * MBPS, 20), (100 * MBPS, 100), (GBPS, 20), (100 * MBPS, 600)];
    paths.map(|(rate, round_trip)| Road::new(rate, round_trip, Loss::None)).to_vec()
}

/// The last one is for the simulation's sake: no target says anything of hundreds.
fn shared_roads() -> Vec<(Road, usize)> {
    let road = |rate| Road::new(rate, 20, Loss::None);
    let mut all: Vec<(Road, usize)> =
        [2, 4, 8, 16, 32, 64].map(|count| (road(100 * MBPS), count)).to_vec();
    all.push((road(GBPS), 200));
    all
}

/// As many at a time as there are processors.
fn in_parallel(jobs: &[Job], seed: u64) -> Vec<Row> {
    parallel::map(jobs, |job| {
        let row = (job.work)(seed);
        output::say(format_args!("{}", line(&row, &row.path)));
        row
    })
}

fn name(road: &Road) -> String {
    let rate = road.rate_bps as f64;
    let rate = if rate >= 1e9 {
        format!("{:.0} Gb/s", rate / 1e9)
    } else {
        format!("{:.0} Mb/s", rate / 1e6)
    };
    let loss = match road.loss {
        Loss::None => "no loss".to_owned(),
        Loss::Random(share) => format!("{:.0} % loss", 100.0 * share),
        Loss::Bursts(bursts) => format!("{:.0} % bursty", 100.0 * bursts.mean()),
    };
    format!("{rate:>8}, {:>4} ms, {loss:>10}", road.round_trip.as_us() / 1000)
}

fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}
fn round_trips(span: Option<Duration>, road: &Road) -> Option<f64> {
    span.map(|span| span.as_secs_f64() / road.whole_round_trip().as_secs_f64())
}
fn or_never(value: Option<f64>) -> String {
    value.map_or("never".to_owned(), |value| format!("{value:.1}"))
}

/// The targets are the adaptive transfer's.
fn judge(contender: Contender, targets: &[(bool, &str)]) -> Option<Vec<String>> {
    let missed = targets.iter().filter(|(met, _)| !met).map(|(_, what)| (*what).to_owned());
    (contender == Contender::Adaptive).then(|| missed.collect())
}

fn alone_row(road: &Road, contender: Contender, who: String, alone: Alone) -> Row {
    let Alone { utilisation, start_up, standing_queue, dropped } = alone;
    let start_up = round_trips(start_up, road);
    Row {
        table: "alone",
        path: name(road),
        who,
        measured: format!(
            "{:5.1} %  {:>6}  {:7.1} ms  {:5.2} %",
            100.0 * utilisation,
            or_never(start_up),
            ms(standing_queue),
            100.0 * dropped,
        ),
        missed: judge(
            contender,
            &[
                (utilisation >= UTILISATION, "utilisation"),
                (start_up.is_some_and(|count| count <= START_UP_ROUND_TRIPS), "start-up"),
                (standing_queue <= road.burst() + QUEUE, "queue"),
            ],
        ),
    }
}

fn change_row(road: &Road, contender: Contender, who: String, change: Change) -> Row {
    let [down, up] = [change.down, change.up].map(|span| round_trips(span, road));
    let in_time = |count: Option<f64>| count.is_some_and(|count| count <= RECOVERY_ROUND_TRIPS);
    Row {
        table: "change",
        path: name(road),
        who,
        measured: format!("{:>6}  {:>6}", or_never(down), or_never(up)),
        missed: judge(contender, &[(in_time(down), "fall"), (in_time(up), "rise")]),
    }
}

fn sharing_row(road: &Road, contender: Contender, who: String, sharing: &Sharing) -> Row {
    let count = sharing.shares.len();
    let jain = sharing.jain();
    let judged = judge(
        contender,
        &[
            (jain >= JAIN, "fairness"),
            (sharing.standing_queue <= road.burst() + QUEUE, "queue"),
            (sharing.utilisation >= UTILISATION, "utilisation"),
        ],
    );
    Row {
        table: "sharing",
        path: name(road),
        who,
        measured: format!(
            "{jain:5.3}  {:5.1} %  {:6.1} ms",
            100.0 * sharing.utilisation,
            ms(sharing.standing_queue)
        ),
        missed: judged.filter(|_| count <= 64),
    }
}

fn beside_row(road: &Road, ours: Contender, who: String, sharing: &Sharing) -> Row {
    let half = sharing.shares.len() / 2;
    let (ours_share, tcp_share) = (sharing.mean_share(0..half), sharing.mean_share(half..2 * half));
    Row {
        table: "beside",
        path: name(road),
        who,
        measured: format!(
            "{:5.1} %  {:5.1} %  {:6.1} ms",
            100.0 * ours_share,
            100.0 * tcp_share,
            ms(sharing.standing_queue)
        ),
        missed: judge(ours, &[(tcp_share >= LEFT_TO_TCP, "left to TCP")]),
    }
}

const HEADS: [(&str, &str); 4] = [
    (
        "alone",
        "One flow alone: new data against what is usable; round trips from the first packet, OPEN \
         included, to 95 % of it; standing queue; packets dropped",
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
    let Everything { targets_met, targets_missed, .. } = everything;
    format!(
        "Of the rows with targets, {targets_met} met all of theirs and {targets_missed} missed one or \
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
