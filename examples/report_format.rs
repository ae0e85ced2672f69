//! A report format in one file: the figures of a run as a Markdown table. It reads outcomes, so that every
//! test is in it, those of later versions too. `cargo run --example report_format`

use method::outcome::{Figure, Relation};
use method::{Forwarding, Profile, Suite, SuiteConfig, TestKind, Topology};
use report::{Exporter, Report};
use sim::{QueueLimit, SimPort, SimTester, StoreAndForward};
use std::fmt::Write;
use traffic::size::SizePattern;
use units::{FrameRate, FrameSize, LineRate};

/// `results.md`.
struct Markdown;

impl Exporter for Markdown {
    fn file_name(&self) -> &str {
        "results.md"
    }

    fn render(&self, report: &Report) -> String {
        let mut text = format!("# {}\n\n", report.device());
        text.push_str("| test | size | figure | value | from | to | unit |\n");
        text.push_str("|---|---:|---|---:|---:|---:|---|\n");
        for outcome in report.outcomes() {
            let (test, size) = (outcome.test, &outcome.conditions.frame_size);
            for figure in &outcome.figures {
                let (name, value, unit) = (&figure.name, value(figure), figure.unit.symbol());
                let [low, high] = [figure.low, figure.high].map(number);
                let _ = writeln!(
                    text,
                    "| {test} | {size} | {name} | {value} | {low} | {high} | {unit} |"
                );
            }
        }
        text
    }
}

/// A bound is printed as one, and an interval has no value; where there is no number, the reason.
fn value(figure: &Figure) -> String {
    match figure.relation {
        Relation::Equal => number(figure.value),
        Relation::AtLeast => format!("at least {}", number(figure.value)),
        Relation::Below => format!("below {}", number(figure.value)),
        Relation::Between => String::new(),
        Relation::Unknown => figure.reason.clone(),
    }
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| format!("{value:.1}"))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let router =
        StoreAndForward::with_capacity(FrameRate::from_fps(50_000), QueueLimit::Frames(64));
    let mut tester = SimTester::new(&[SimPort::physical(LineRate::from_mbps(100)); 2], router);
    let mut config = SuiteConfig::of(Profile::Quick);
    config.tests = vec![TestKind::Throughput];
    config.frame_sizes = vec![SizePattern::Fixed(FrameSize::from_bytes(64))];
    let suite = Suite {
        program: "report_format".into(),
        device: "A router of 50,000 frames/s".into(),
        environment: Default::default(),
        config,
        topology: Topology::plan(Forwarding::Routed),
        self_test: None,
        more: &[],
    };
    let mut events = vec![];
    suite.run(&mut tester, None, &mut events)?;
    let report = Report::from_events(&events, vec![]);
    // A folder is named to have it saved beside the other formats.
    match std::env::args().nth(1) {
        Some(folder) => report::export(folder.as_ref(), &report, &[&Markdown])?,
        None => print!("{}", Markdown.render(&report)),
    }
    Ok(())
}
