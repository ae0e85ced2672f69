//! A comparison on one screen.

use super::{VersusReport, words};
use method::versus::{Judged, Ratio, VersusResult, VersusStarted};

/// One line for those who wait.
pub fn progress(blocks: usize, ratios: &[Ratio]) -> String {
    let known = ratios.iter().filter(|ratio| ratio.range().is_some());
    let known: Vec<String> =
        known.map(|ratio| format!("{} {}", ratio.metric, words::span(ratio))).collect();
    format!("after {blocks} blocks: B/A {}", known.join(", "))
}

/// Everything but the single trials.
pub fn render(report: &VersusReport) -> String {
    let mut lines = vec![];
    let started = report.started.as_ref();
    if let Some(started) = started {
        lines.push(format!("A: {}", started.names[0]));
        lines.push(format!("B: {}", started.names[1]));
    }
    match (&report.result, started) {
        (Some(result), Some(started)) => lines.extend(conditions(result, started)),
        _ => {
            let why = report.stopped_by.as_deref().unwrap_or("killed, or still running");
            lines.push(format!("CUT OFF after {} trials: {why}", report.trials.len()));
        }
    }
    lines.extend(report.notices.iter().map(ToString::to_string));
    lines.push(String::new());
    let confidence = started.map_or(0.0, |started| started.config.confidence * 100.0);
    let share = format!("{confidence:.0} % interval");
    lines.push(format!("{:<16} {:>13} {:>13} {:>8} {share:>18}", "", "A", "B", "B/A"));
    lines.extend(report.ratios().iter().map(row));
    let criteria = report.result.iter().flat_map(|result| &result.criteria);
    lines.extend(
        criteria.map(|Judged { criterion, met }| format!("\n{criterion}? {}", words::met(*met))),
    );
    lines.join("\n") + "\n"
}

fn conditions(result: &VersusResult, started: &VersusStarted) -> Vec<String> {
    let size = &started.frame_size;
    let size = if size.parse::<u32>().is_ok() { format!("{size}-byte") } else { size.clone() };
    let mut lines = vec![format!(
        "{size} frames, {} blocks, {} trials of {}, {} of them repeated as invalid; {:.0} s",
        result.blocks,
        result.trials,
        started.config.trial,
        result.invalid_trials,
        result.elapsed.as_secs_f64(),
    )];
    let invalid = result.invalid_reasons.iter();
    lines.extend(invalid.map(|(reason, count)| format!("  invalid: {count} x {reason}")));
    let loads = [("rate at an offered load of", result.flood), ("the others at", result.moderate)];
    let loads =
        loads.iter().filter_map(|(what, load)| load.map(|load| format!("{what} {load:.0}")));
    lines.push(format!("  {}", loads.collect::<Vec<_>>().join("; ")));
    lines
}

fn row(ratio: &Ratio) -> String {
    let [a, b] = words::sides(ratio);
    let (name, value, span) = (words::name(ratio.metric), words::ratio(ratio), words::span(ratio));
    format!("{name:<16} {a:>13} {b:>13} {value:>8} {span:>18}  {}", words::finding(ratio))
}
