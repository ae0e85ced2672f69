//! The results as tables, which are Markdown and read well on a terminal too.

use crate::memif::Sender;
use crate::queues::{QueueRate, Round};
use crate::results::{Pacing, Results, TransmitReceive};
use crate::spinning::Interruptions;
use crate::subject::{SIZES_BYTES, Subject};
use crate::targets::Verdict;
use crate::window::Window;
use std::fmt::Write;

/// What `make bench` leaves in the repository.
pub fn markdown(results: &Results) -> String {
    let machine = &results.machine;
    let mut text = String::from(
        "# Data planes, measured side by side\n\nWritten by `make bench`; do not edit.\n\n",
    );
    let _ = writeln!(
        text,
        "{}; Linux {}; {}, {} cores. Rates drift from run to run on a shared machine: read them as \
         ratios.\n",
        machine.date, machine.kernel, machine.cpu, machine.cores
    );
    results.conditions.iter().for_each(|condition| {
        let _ = writeln!(text, "* {condition}");
    });
    text.push('\n');
    section(&mut text, "Targets", &verdicts(&results.verdicts));
    if !results.failures.is_empty() {
        text.push_str("## Not measured because of failures\n\n");
        results.failures.iter().for_each(|failure| {
            let _ = writeln!(text, "* {}", failure.replace('\n', " "));
        });
        text.push('\n');
    }
    section(&mut text, "Transmit to receive", &transmit_receive(results));
    text.push_str(
        "\"Flat out\" is sending as fast as the port can: what left, and what the receiver \
         accounted for. \"No loss\" is the highest rate at which nothing was lost: flat out, where \
         that lost no frame, else found with valid trials of 0.5 s; testpmd has no such search and \
         does not say what it lost. netanvil checks the signature of every frame and keeps \
         sequence, latency and gaps; testpmd counts.\n\n",
    );
    section(&mut text, "Transmit only", &transmit_only(results));
    text.push_str(
        "Counted by the far interface, which drops the frames by whichever way suits the \
         generator better: in the kernel's stack or by an XDP program.\n\n",
    );
    section(&mut text, "Over memif", &memif(results));
    section(&mut text, "Queues that send, transmit to receive", &queues(results));
    section(&mut text, "Gap between arrivals less the intended gap", &gaps(results));
    text.push_str(&spinning(results));
    section(&mut text, "Latency, back to back", &latency(results));
    section(&mut text, "Loops alone, without a port", &loops(results));
    section(&mut text, "Versions", &versions(results));
    text
}

fn section(text: &mut String, title: &str, table: &Table) {
    if !table.rows.is_empty() {
        let _ = write!(text, "## {title}\n\n{}\n", table.render());
    }
}

fn verdicts(verdicts: &[Verdict]) -> Table {
    let mut table = Table::new(["target", "measured", "verdict"]);
    for verdict in verdicts {
        table.row([verdict.target.clone(), verdict.measured.clone(), verdict.outcome.to_string()]);
    }
    table
}

fn transmit_receive(results: &Results) -> Table {
    let mut table = Table::new([
        "generator and receiver",
        "bytes",
        "flat out: sent, M/s",
        "received, M/s",
        "no loss, M/s",
        "x testpmd of the kind",
        "process ns/frame",
        "softirq ns/frame",
    ]);
    for size_bytes in SIZES_BYTES {
        for subject in Subject::GENERATORS {
            let Some(case) = results.exchange(subject, size_bytes) else { continue };
            let ratio = rival(subject).and_then(|rival| {
                let theirs = results.exchange(rival, size_bytes)?;
                Some(case.no_loss_fps()? / theirs.median(|exchange| exchange.received_fps()))
            });
            table.row([
                subject.to_string(),
                size_bytes.to_string(),
                millions(case.median(|exchange| exchange.sent_fps())),
                millions(case.median(|exchange| exchange.received_fps())),
                case.no_loss_fps().map_or("-".into(), millions),
                ratio.map_or("-".into(), |ratio| format!("{ratio:.2}")),
                cost(case, Window::process_ns_per_frame),
                cost(case, Window::softirq_ns_per_frame),
            ]);
        }
    }
    table
}

/// The tool of the same kind.
fn rival(subject: Subject) -> Option<Subject> {
    match subject {
        Subject::AfPacket => Some(Subject::TestpmdAfPacket),
        Subject::AfXdp | Subject::Xdp => Some(Subject::TestpmdAfXdp),
        _ => None,
    }
}

/// Cost of each frame that was received.
fn cost(case: &TransmitReceive, of: impl Fn(&Window, f64) -> f64) -> String {
    format!("{:.0}", case.median(|exchange| of(exchange.window(), exchange.received_fps())))
}

fn transmit_only(results: &Results) -> Table {
    let mut table = Table::new([
        "generator",
        "bytes",
        "M frames/s",
        "x trafgen",
        "far end",
        "process ns/frame",
        "softirq ns/frame",
    ]);
    for size_bytes in SIZES_BYTES {
        let trafgen = results.best_transmit(Subject::Trafgen, size_bytes);
        for subject in Subject::GENERATORS {
            let Some(case) = results.best_transmit(subject, size_bytes) else { continue };
            let ratio = trafgen.map(|trafgen| case.arrived_fps() / trafgen.arrived_fps());
            let median =
                |of: &dyn Fn(&Window) -> f64| crate::results::median(case.rounds.iter().map(of));
            table.row([
                subject.to_string(),
                case.size_bytes.to_string(),
                millions(case.arrived_fps()),
                ratio.map_or("-".into(), |ratio| format!("{ratio:.2}")),
                case.sink.to_string(),
                format!("{:.0}", median(&|w| w.process_ns_per_frame(w.arrived_fps()))),
                format!("{:.0}", median(&|w| w.softirq_ns_per_frame(w.arrived_fps()))),
            ]);
        }
    }
    table
}

fn memif(results: &Results) -> Table {
    let mut table = Table::new(["sender", "frames go", "bytes", "arrived, M/s", "testpmd = 1"]);
    for case in &results.memif {
        let ratio = results.memif_ratio(case.way, case.size_bytes);
        let (name, ratio) = match case.sender {
            Sender::Testpmd => ("testpmd", None),
            Sender::Netanvil => ("netanvil dpdk", ratio),
        };
        table.row([
            name.into(),
            case.way.name().into(),
            case.size_bytes.to_string(),
            millions(case.median_fps()),
            ratio.map_or("-".into(), |ratio| format!("{ratio:.2}")),
        ]);
    }
    table
}

fn gaps(results: &Results) -> Table {
    let mut table = Table::new([
        "port type",
        "frames/s",
        "p1 ns",
        "p10 ns",
        "p50 ns",
        "p90 ns",
        "p99 ns",
        "worst ns",
        "99 % within ns",
        "remarks",
    ]);
    for case in &results.pacing {
        let ns = |of: fn(&crate::pacing::GapErrors) -> f64| {
            format!("{:+.0}", case.median(|pace| of(&pace.gaps)))
        };
        table.row([
            case.subject.to_string(),
            case.rate_fps.to_string(),
            ns(|gaps| gaps.p1_ns),
            ns(|gaps| gaps.p10_ns),
            ns(|gaps| gaps.p50_ns),
            ns(|gaps| gaps.p90_ns),
            ns(|gaps| gaps.p99_ns),
            ns(|gaps| gaps.worst_ns),
            format!("{:.0}", case.median(|pace| pace.gaps.within_p99_ns)),
            remarks(case),
        ]);
    }
    table
}

/// What no sender on this machine can help.
fn spinning(results: &Results) -> String {
    if results.spinning.is_empty() {
        return String::new();
    }
    let median =
        |of: fn(&Interruptions) -> f64| crate::results::median(results.spinning.iter().map(of));
    format!(
        "A bare thread that spins on the sending core, as preferred as the senders, was away for more \
         than 1 us {:.0} times a second, {:.0} us in the median, {:.2} % of the time in all: of frames \
         due at a slow pace that share is late whatever the program, and those after it follow closer.\n\n",
        median(|round| round.per_second),
        median(|round| round.median_ns) / 1e3,
        median(|round| round.away_percent),
    )
}

fn queues(results: &Results) -> Table {
    let mut table = Table::new([
        "port",
        "queues",
        "bytes",
        "sent, M/s",
        "received, M/s",
        "lost",
        "x one queue",
    ]);
    for case in &results.queues {
        let one = results.queue_rate(case.subject, 1, case.size_bytes).map(QueueRate::received_fps);
        let median = |of: fn(&Round) -> f64| crate::results::median(case.rounds.iter().map(of));
        table.row([
            case.subject.to_string(),
            case.queues.to_string(),
            case.size_bytes.to_string(),
            millions(median(|round| round.sent_fps)),
            millions(case.received_fps()),
            format!("{:.0}", median(|round| round.lost_frames as f64)),
            one.map_or("-".into(), |one| format!("{:.2}", case.received_fps() / one)),
        ]);
    }
    table
}

fn remarks(case: &Pacing) -> String {
    let mut remarks = vec![];
    if !case.was_reached() {
        let offered = case.median(|pace| pace.offered_fps);
        remarks.push(format!("out of reach: {offered:.0} frames/s offered"));
    }
    let lost = case.median(|pace| pace.lost_frames as f64);
    if lost > 0.0 {
        remarks.push(format!("{lost:.0} frames lost"));
    }
    remarks.join("; ")
}

fn latency(results: &Results) -> Table {
    let mut table = Table::new(["port type", "frames/s", "min ns", "p50 ns", "p99 ns"]);
    for case in &results.pacing {
        table.row([
            case.subject.to_string(),
            case.rate_fps.to_string(),
            format!("{:.0}", case.median(|pace| pace.latency_min_ns)),
            format!("{:.0}", case.median(|pace| pace.latency_p50_ns)),
            format!("{:.0}", case.median(|pace| pace.latency_p99_ns)),
        ]);
    }
    table
}

fn loops(results: &Results) -> Table {
    let mut table = Table::new(["loop", "bytes", "M frames/s on one core", "95 % interval"]);
    for rate in &results.frame_building {
        let [low, high] = rate.fps_interval;
        table.row([
            rate.name.clone(),
            rate.size_bytes.to_string(),
            format!("{:.1}", rate.fps / 1e6),
            format!("{:.1} to {:.1}", low / 1e6, high / 1e6),
        ]);
    }
    table
}

fn versions(results: &Results) -> Table {
    let mut table = Table::new(["program", "package and version"]);
    for (program, version) in &results.machine.versions {
        table.row([program.clone(), version.clone()]);
    }
    table
}

fn millions(fps: f64) -> String {
    format!("{:.2}", fps / 1e6)
}

/// A table with aligned columns.
struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    fn new<const N: usize>(header: [&str; N]) -> Self {
        Table { header: header.map(String::from).to_vec(), rows: vec![] }
    }
    fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.to_vec());
    }

    /// The first column and texts to the left, numbers to the right.
    fn render(&self) -> String {
        let columns = 0..self.header.len();
        let all = || std::iter::once(&self.header).chain(&self.rows);
        let width = |at: usize| all().map(|row| row[at].chars().count()).max().unwrap_or(0).max(3);
        let widths: Vec<usize> = columns.clone().map(width).collect();
        let numeric = |at: usize| {
            let number = |cell: &String| cell == "-" || cell.parse::<f64>().is_ok();
            at > 0 && self.rows.iter().all(|row| number(&row[at]))
        };
        let numeric: Vec<bool> = columns.clone().map(numeric).collect();
        let line = |row: &Vec<String>| {
            let cells = columns.clone().map(|at| match numeric[at] {
                true => format!("{:>1$}", row[at], widths[at]),
                false => format!("{:<1$}", row[at], widths[at]),
            });
            format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
        };
        let rule = columns.clone().map(|at| match numeric[at] {
            true => format!("{}:", "-".repeat(widths[at] - 1)),
            false => "-".repeat(widths[at]),
        });
        let rule = format!("| {} |\n", rule.collect::<Vec<_>>().join(" | "));
        line(&self.header) + &rule + &self.rows.iter().map(line).collect::<String>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_to_the_right() {
        let mut table = Table::new(["who", "rate"]);
        table.row(["a".into(), "1.5".into()]);
        table.row(["longer".into(), "-".into()]);
        let expected =
            "| who    | rate |\n| ------ | ---: |\n| a      |  1.5 |\n| longer |    - |\n";
        assert_eq!(table.render(), expected);
    }
}
