//! `netanvil harvard reproduce-1989`: what the text of 1989 says of its products, taken again on models
//! of them: idle load, delay, flood, back to back, counters, errors.

use super::findings_1989::{Finding, Products, findings};
use super::{Reproduce1989, graphs_1989};
use crate::failure::{Exit, Failure, Outcome};
use crate::{output, parallel, simulated, topology};
use method::harvard::y1989::{Harvard1989Result, Misbehaviour, Suite1989, Test1989};
use method::{Event, Forwarding, Method, Suite, SuiteConfig, TestKind};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

const PUBLISHED: &str = include_str!("../../../data/harvard-1989.csv");

/// From the start of a burst of the original's source to the start of the next. It is not told; but
/// the "theoretical" figures, 140 frames of 64 bytes, 59 of 256 and 17 of 1024 at gaps of 55 us, are
/// those of 15.77 to 15.85 ms, and of no other time.
const BURST_PERIOD_MS: f64 = 15.8;
/// So many that what is left over of each burst fills the longest queue.
const BURSTS: u64 = 1_000;
/// Long enough for the slowest of the idle routers to speak ten times.
const IDLE_S: f64 = 300.0;

/// What stands in the models as it was told, and what follows from them.
const ABOUT_MODELS: &str = "Idle intervals, which counters there are, and what the unnamed routers do \
wrong stand in the models as they were told: that they come out again says that the tests find them. Only the \
frames of back to back that a device forwarded tell something of it that is not in its model. They follow from six \
numbers: a time per frame for three products, a time per byte for two, and one queue; and from the 15.8 ms \
between the bursts of the source, which its theoretical figures tell.";

/// What the document shows as graphs whose values its text does not have.
const NOT_COMPARED: &str = "Not compared, for the text of the document has the titles of these graphs \
and not their values: delay by packet length; throughput by packet length (max, +25 %, flood, 1 and \
10 filters) of each product; packet length distributions. Of Vitalink's product no results are told.";

/// A statement of the document.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Line {
    pub section: String,
    pub product: String,
    model: String,
    path: String,
    pub of: String,
    pub published: String,
}

impl Line {
    /// Whether it tells of a device what does not stand in its model: how many frames of a burst it forwarded, where
    /// it did not forward all.
    fn is_informative(&self) -> bool {
        self.section == "back to back" && self.published.parse::<u64>().is_ok()
    }
}

pub fn run(arguments: &Reproduce1989) -> Outcome {
    let lines = lines()?;
    let ours = all(&lines, &configuration())?;
    let (products, rates) = (products(&lines), all(&lines, &graphs_1989::configuration())?);
    let findings = findings(&products, &ours, &rates);
    let answers: Vec<Answer<'_>> = lines
        .iter()
        .map(|line| {
            let ours = answer(line, &ours[&(line.model.clone(), line.path.clone())]);
            Answer { line, ours }
        })
        .collect();
    let score = score(&answers);
    let found: Vec<String> = findings.iter().map(Finding::in_words).collect();
    let text = format!(
        "{}\n{ABOUT_MODELS}\n\n{NOT_COMPARED}\n\nWhat the text found of all:\n  {}\n\n{score}\n",
        in_words(&answers),
        found.join("\n  ")
    );
    output::print(text.trim_start())?;
    if let Some(path) = &arguments.html {
        let page = graphs_1989::page(&answers, &findings, &score, &products, &rates);
        std::fs::write(path, page)
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))?;
    }
    let is_met =
        answers.iter().all(Answer::is_same) && findings.iter().all(|finding| finding.is_met);
    Ok(if is_met { Exit::Done } else { Exit::NotAccepted })
}

/// A statement and what we found.
pub(super) struct Answer<'a> {
    pub line: &'a Line,
    pub ours: String,
}

impl Answer<'_> {
    pub fn is_same(&self) -> bool {
        self.ours == self.line.published
    }
}

/// What is said of each product, section by section.
fn in_words(answers: &[Answer<'_>]) -> String {
    let mut text = String::new();
    let (mut section, mut product) = ("", "");
    for Answer { line, ours } in answers {
        if section != line.section {
            let _ = writeln!(text, "\nResults: {}", line.section);
            (section, product) = (&line.section, "");
        }
        if product != line.product {
            let _ = writeln!(text, "\n{}:", line.product);
            product = &line.product;
        }
        let _ = writeln!(
            text,
            "  {:<26} published: {:<28} ours: {:<28} {}",
            line.of,
            line.published,
            ours,
            difference(&line.published, ours)
        );
    }
    text
}

fn score(answers: &[Answer<'_>]) -> String {
    let informative = || answers.iter().filter(|answer| answer.line.is_informative());
    format!(
        "{} of {} informative figures reproduced exactly, by six numbers; {} of all {} statements",
        informative().filter(|answer| answer.is_same()).count(),
        informative().count(),
        answers.iter().filter(|answer| answer.is_same()).count(),
        answers.len()
    )
}

/// Named products by model and path.
fn products(lines: &[Line]) -> Products {
    let delays = lines.iter().filter(|line| line.section == "delay");
    delays.map(|line| ((line.model.clone(), line.path.clone()), line.product.clone())).collect()
}

fn lines() -> Outcome<Vec<Line>> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .comment(Some(b'#'))
        .from_reader(PUBLISHED.as_bytes());
    let lines = reader.deserialize().collect::<Result<Vec<Line>, _>>();
    lines.map_err(|error| Failure::new(format!("data/harvard-1989.csv: {error}")))
}

/// What was found of each model on each path, by both.
pub(super) type Found = BTreeMap<(String, String), Vec<Harvard1989Result>>;

/// Every model on each path that lines tell of, shared out to the processors: each has a device of its
/// own.
fn all(lines: &[Line], config: &SuiteConfig) -> Outcome<Found> {
    let keys = lines.iter().map(|line| (line.model.clone(), line.path.clone()));
    let keys: Vec<_> = keys.collect::<BTreeSet<_>>().into_iter().collect();
    let results = parallel::map(&keys, |(model, path)| take_again(model, path, config));
    keys.into_iter().zip(results).map(|(key, results)| Ok((key, results?))).collect()
}

/// Everything that the document tells of a product, taken again on its model.
pub(super) fn take_again(
    model: &str,
    path: &str,
    config: &SuiteConfig,
) -> Outcome<Vec<Harvard1989Result>> {
    let device = simulated::read(model)?;
    // From the first port to its neighbour on the card, or to the first of the next card.
    let ports_a_card = device.card.as_ref().map_or(1, |card| card.ports);
    let to = if path == "within" { 1 } else { ports_a_card };
    let mut tester = simulated::build(&device, model, None, vec![])?.tester;
    let all = topology::of_simulation(device.ports, Forwarding::Routed);
    let topology = topology::between(&all, [0, to]);
    let suite = Suite {
        program: "netanvil".into(),
        device: model.into(),
        environment: BTreeMap::new(),
        config: config.clone(),
        topology,
        self_test: None,
        more: &[],
    };
    let mut events: Vec<Event> = vec![];
    suite.run(&mut tester, None, &mut events).map_err(Failure::new)?;
    let mut outcomes = vec![];
    for event in &events {
        match event {
            Event::TestFinished(outcome) => outcomes.push((**outcome).clone()),
            Event::ConsistencyChecked(found) => found.revise(&mut outcomes),
            _ => {}
        }
    }
    outcomes.retain(|outcome| matches!(outcome.test, TestKind::Harvard1989(_)));
    outcomes.iter().map(|outcome| outcome.record().map_err(Failure::new)).collect()
}

pub(super) fn configuration() -> SuiteConfig {
    let mut config = SuiteConfig {
        method: Method::Harvard1989,
        frame_sizes: Suite1989::frame_sizes(),
        ..SuiteConfig::default()
    };
    config.trial.keep_alives = true;
    config.trial.settle_s = 1.0;
    let harvard = &mut config.harvard_1989;
    harvard.tests = vec![
        Test1989::IdleState,
        Test1989::Delay,
        Test1989::BackToBack,
        Test1989::Counters,
        Test1989::FloodedSizes,
        Test1989::CrcErrors,
        Test1989::Giants,
        Test1989::Runts,
    ];
    harvard.idle_s = IDLE_S;
    harvard.rate_stream_s = 5.0;
    harvard.burst_period_ms = BURST_PERIOD_MS;
    harvard.bursts = BURSTS;
    config
}

/// What our results say to a statement, in the document's words.
fn answer(line: &Line, results: &[Harvard1989Result]) -> String {
    let size = line.of.trim_end_matches(" byte");
    let of = |test, size: Option<&str>| {
        results.iter().find(|result| {
            result.test == test && size.is_none_or(|size| result.conditions.frame_size == size)
        })
    };
    let said = match (line.section.as_str(), line.of.as_str()) {
        ("idle load", _) => of(Test1989::IdleState, None)
            .and_then(|result| result.figure("one frame every"))
            .map(|every| format!("{every:.0}")),
        ("delay", _) => of(Test1989::Delay, Some(size)).map(delay),
        ("flood", _) => of(Test1989::FloodedSizes, None).and_then(|result| {
            result.misbehaviours.iter().find_map(|wrong| match wrong {
                Misbehaviour::DropsLongWhenFlooded { over_bytes } => Some(over_bytes.to_string()),
                _ => None,
            })
        }),
        ("back to back", _) => {
            of(Test1989::BackToBack, Some(size)).map(|result| burst(line, result))
        }
        ("counters", _) => of(Test1989::Counters, None).map(accuracy),
        ("errors", "bad crc") => of(Test1989::CrcErrors, None).map(error),
        ("errors", "giant") => of(Test1989::Giants, None).map(error),
        ("errors", "runt") => of(Test1989::Runts, None).map(error),
        ("errors", _) => of(Test1989::Runts, None).map(|result| {
            let disables =
                |wrong: &Misbehaviour| matches!(wrong, Misbehaviour::DisablesPort { .. });
            match result.misbehaviours.iter().any(disables) {
                true => "disables the interface".into(),
                false => "works on".into(),
            }
        }),
        _ => None,
    };
    said.unwrap_or_else(|| "no result".into())
}

/// "The tested routers showed small transit delays that were mostly stable for a particular packet
/// size."
fn delay(result: &Harvard1989Result) -> String {
    match result.figure("spread") {
        Some(0.0) => "constant".into(),
        Some(spread) => format!("varies by {spread:.1} us"),
        None => "no frame came back".into(),
    }
}

fn burst(line: &Line, result: &Harvard1989Result) -> String {
    let frames = |name| result.figure(name).map_or_else(|| "-".into(), |n: f64| format!("{n:.0}"));
    if line.published.ends_with("theoretical") {
        return format!("{} theoretical", frames("theoretical"));
    }
    let all = result.figures.iter().any(|figure| figure.at_least);
    // Where every figure of a product was the theoretical one, the original says "too fast".
    match all && line.published == "too fast" {
        true => "too fast".into(),
        false => frames("back to back"),
    }
}

fn accuracy(result: &Harvard1989Result) -> String {
    let wrong = result.counters.iter().filter(|check| !check.agrees()).count();
    match (result.counters.len(), wrong) {
        (0, _) => "no counters".into(),
        (_, 0) => "accurate".into(),
        (all, wrong) => format!("{wrong} of {all} wrong"),
    }
}

/// Which counter moved; and whether every frame was discarded, as all tested routers did.
fn error(result: &Harvard1989Result) -> String {
    let Some(errors) = &result.errors else { return "no result".into() };
    if errors.forwarded > 0 {
        return format!("{} forwarded", errors.forwarded);
    }
    let miscounted = |wrong: &Misbehaviour| matches!(wrong, Misbehaviour::MiscountsErrors { .. });
    let not_its_own = result.misbehaviours.iter().any(miscounted);
    let own = if not_its_own { "CRC error counter not incremented. " } else { "" };
    match errors.counted.first() {
        Some((name, _, _)) => {
            let name = name.trim_start_matches("device ");
            format!("{own}{name} counter incremented.")
        }
        None => "No counter.".into(),
    }
}

fn difference(published: &str, ours: &str) -> String {
    let number = |text: &str| text.trim_end_matches(" theoretical").parse::<f64>().ok();
    match (number(published), number(ours)) {
        (Some(published), Some(ours)) => format!("difference: {:+}", ours - published),
        _ if published == ours => "same".into(),
        _ => "DIFFERENT".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_48_statements_nine_inform() {
        let lines = lines().unwrap();
        let informative = lines.iter().filter(|line| line.is_informative());
        let published: Vec<&str> = informative.map(|line| &*line.published).collect();
        assert_eq!((lines.len(), published.len()), (48, 9), "{published:?}");
        assert!(published.starts_with(&["90", "45", "15"]), "{published:?}");
    }
}
