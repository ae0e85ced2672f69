//! Where the frames of each trial went, as a water line: it flows down from what was sent to what was
//! taken in, and what leaves it on the way leaves it with its name.
//!
//! Stations with nothing between them share a bar, so that a trial without loss is a single one. All
//! words are text of the page, which keeps its size on any screen; only the bars stretch.

use super::courses;
use super::ink::Ink;
use crate::model::Report;
use crate::number::{grouped, percent};
use crate::trial_row::verdict_word;
use maud::{Markup, PreEscaped, html};
use method::{TestKind, TrialRecord, Verdict};
use std::collections::BTreeMap;
use std::fmt::Write;
use trial::{Balance, Fate, Leg, Station, TakenIn};

/// Trials that are drawn at once; all others open on request.
const DRAWN_MAX: usize = 12;
/// Width of a drawing, of which the widest bar takes `FULL`.
const WIDTH: f64 = 1000.0;
const FULL: f64 = 960.0;
/// What leaves the line ends so far to the right.
const ASIDE: f64 = 32.0;
/// Few frames of many are seen all the same.
const LEAST: f64 = 4.0;
const BAR: f64 = 12.0;
const FALL: f64 = 26.0;

/// Every trial: those that decided something drawn, the others on request.
pub(super) fn every(report: &Report) -> Markup {
    let decided = deciding(&report.trials);
    let seen = report.trials.iter().any(|record| !record.result.balance.is_empty());
    html! {
        @if !report.trials.is_empty() {
            section.test {
                h2 { "Where did the frames go?" }
                p.about {
                    "Each trial from what the tester sent to what it took in, by every counter that \
                     could be read. Drawn: for each test and frame size the highest load that passed \
                     and the lowest that failed; all other trials below."
                    @if !seen {
                        " The device's own counters were not read: where it lost frames is not known."
                    }
                }
                @for record in report.trials.iter().filter(|r| decided.contains(&r.number)) {
                    (of_trial(record))
                    @let charts = courses::of_trial(record);
                    @if !charts.0.is_empty() {
                        details.water { summary { "Latency and loss of this trial" } (charts) }
                    }
                }
                h3 { "All other trials" }
                @for record in report.trials.iter().filter(|r| !decided.contains(&r.number)) {
                    @let balance = Balance::of(&record.result);
                    details.water {
                        summary { (title(record)) " - " (in_short(&balance)) }
                        (drawing(&balance))
                        (courses::of_trial(record))
                    }
                }
                @let table = crate::tables::balances(report);
                h3 { (table.heading) }
                @for about in &table.about { p.about { (about) } }
                (super::sections::grid(&table))
            }
        }
    }
}

/// The trials that decided something, drawn.
pub(super) fn drawn(report: &Report) -> Markup {
    let decided = deciding(&report.trials);
    html! {
        @if !decided.is_empty() {
            h2 { "Where did the frames go?" }
            p.about {
                "For each test and frame size the highest load that passed and the lowest that failed."
            }
            @for record in report.trials.iter().filter(|r| decided.contains(&r.number)) {
                (of_trial(record))
                (courses::of_trial(record))
            }
        }
    }
}

/// One trial, drawn.
pub(super) fn of_trial(record: &TrialRecord) -> Markup {
    html! {
        figure.water {
            figcaption { (title(record)) }
            (drawing(&Balance::of(&record.result)))
        }
    }
}

/// Numbers of the trials that decided: of each test and size the highest load that passed and the lowest
/// that failed; of a test that only measures, the trial that lost most.
fn deciding(trials: &[TrialRecord]) -> Vec<u64> {
    let mut groups: BTreeMap<(TestKind, &str), Vec<&TrialRecord>> = BTreeMap::new();
    for record in trials.iter().filter(|record| record.verdict != Verdict::Invalid) {
        groups.entry((record.test, &record.frame_size)).or_default().push(record);
    }
    let mut decided = vec![];
    for records in groups.values() {
        let of = |verdict| records.iter().filter(move |record| record.verdict == verdict);
        let load = |record: &&&TrialRecord| record.result.intended_rate();
        let passed = of(Verdict::Passed).max_by_key(load);
        let failed = of(Verdict::Failed).min_by_key(load);
        let lossy = of(Verdict::Measured).max_by_key(|record| record.result.lost_frames());
        let lossy = lossy.filter(|_| passed.is_none() && failed.is_none());
        let all = passed.into_iter().chain(failed).chain(lossy);
        decided.extend(all.map(|record| record.number));
    }
    decided.truncate(DRAWN_MAX);
    decided
}

fn title(record: &TrialRecord) -> String {
    let TrialRecord { number, test, frame_size, verdict, .. } = record;
    let size = crate::tables::in_words(frame_size);
    let rate = crate::tables::fps(record.result.intended_rate());
    format!("Trial {number}: {test}, {size}, {rate} frames/s, {}", verdict_word(*verdict))
}

/// One line: what is worth opening it for.
fn in_short(balance: &Balance) -> String {
    let named = [Fate::Dropped, Fate::NotYetOut, Fate::TesterDropped];
    let named = named.map(|fate| (balance.frames(fate), fate.to_string()));
    let late = (balance.taken_in.late, "late".to_string());
    let unknown = (balance.unknown(), "not named by any counter".to_string());
    let some = named.into_iter().chain([late, unknown]).filter(|(frames, _)| *frames > 0);
    let some: Vec<String> = some.map(|(n, what)| format!("{} {what}", grouped(n))).collect();
    match some.is_empty() {
        true => format!("all {} accounted for, none missing", grouped(balance.sent())),
        false => format!("of {}: {}", grouped(balance.sent()), some.join(", ")),
    }
}

/// Stations that counted the same, and the leg after them on which something happens.
fn rows(balance: &Balance) -> Vec<(Vec<Station>, u64, Option<&Leg>)> {
    let mut rows = vec![];
    let mut stations = vec![];
    for leg in &balance.legs {
        stations.push(leg.from);
        if !leg.parts.is_empty() || leg.unknown > 0 || leg.surplus > 0 {
            rows.push((std::mem::take(&mut stations), leg.entered, Some(leg)));
        }
    }
    if let Some(last) = balance.legs.last() {
        stations.push(last.to);
        rows.push((stations, last.left, None));
    }
    rows
}

/// The picture of one trial.
fn drawing(balance: &Balance) -> Markup {
    let widest = balance.legs.iter().flat_map(|leg| [leg.entered, leg.left]).max();
    let scale = FULL / widest.unwrap_or(0).max(1) as f64;
    html! {
        @for (stations, frames, leg) in rows(balance) {
            (bar(&stations, frames, scale))
            @if let Some(leg) = leg { (fall(leg, scale, balance.sent())) }
        }
        (arrived(&balance.taken_in, scale, balance.sent()))
        @if !balance.sees_device {
            p.about { "The device's interfaces were not read: the tester's side alone." }
        }
        @for sentence in balance.disagreements() {
            p.warning { "Counters disagree: " (sentence) "." }
        }
    }
}

/// Their bar.
fn bar(stations: &[Station], frames: u64, scale: f64) -> Markup {
    let words: Vec<String> = stations.iter().map(Station::to_string).collect();
    html! {
        p.station { b { (grouped(frames)) } " " (words.join(", ")) }
        (svg(BAR, &rect(0.0, frames as f64 * scale, Ink::Device)))
    }
}

/// What becomes of the frames of a leg.
fn fall(leg: &Leg, scale: f64, sent: u64) -> Markup {
    let mut parts: Vec<(Ink, u64, String)> = vec![];
    for part in &leg.parts {
        let words = match part.fate {
            Fate::Answered => part.name.clone(),
            fate => format!("{fate}: {}", part.name),
        };
        parts.push((ink(part.fate), part.frames, words));
    }
    parts.push((Ink::Invalid, leg.unknown, missing(leg).into()));
    parts.retain(|(_, frames, _)| *frames > 0);
    let passes = (leg.entered.min(leg.left)) as f64 * scale;
    let mut shapes = column(0.0, passes);
    let mut at = passes;
    for (ink, frames, _) in &parts {
        let wide = (*frames as f64 * scale).max(LEAST);
        shapes += &branch(at, at + wide, *ink);
        at += wide;
    }
    if leg.surplus > 0 {
        let wide = (leg.surplus as f64 * scale).max(LEAST);
        shapes += &inflow(passes, passes + wide);
        parts.push((Ink::Series(4), leg.surplus, besides(leg).into()));
    }
    html! {
        (svg(FALL, &shapes))
        (listed(&parts, sent))
    }
}

/// The end of the line: what the frames were that the tester took in.
fn arrived(taken_in: &TakenIn, scale: f64, sent: u64) -> Markup {
    let TakenIn { in_time, late, duplicates, corrupted, misdirected, .. } = *taken_in;
    let TakenIn { beside, foreign, forged, leftovers, .. } = *taken_in;
    let mut parts: Vec<(Ink, u64, String)> = vec![];
    for (ink, frames, words) in [
        (Ink::NoLoss, in_time, "in time, where they should be"),
        (Ink::Loss, late, "late: after the wait for them was over"),
        (Ink::Series(2), duplicates, "second arrivals"),
        (Ink::Invalid, corrupted, "corrupted"),
        (Ink::Series(3), misdirected, "on ports where they do not belong"),
        (Ink::Series(1), beside, "of streams that may arrive anywhere"),
        (Ink::Axis, foreign, "foreign"),
        (Ink::Series(5), forged, "forged"),
        (Ink::Series(7), leftovers, "of earlier trials"),
    ] {
        parts.push((ink, frames, words.into()));
    }
    parts.retain(|(_, frames, _)| *frames > 0);
    let mut at = 0.0;
    let mut shapes = String::new();
    for (ink, frames, _) in &parts {
        let wide = (*frames as f64 * scale).max(LEAST);
        shapes += &rect(at, at + wide, *ink);
        at += wide;
    }
    html! {
        (svg(BAR, &shapes))
        (listed(&parts, sent))
    }
}

fn listed(parts: &[(Ink, u64, String)], sent: u64) -> Markup {
    html! {
        ul.where {
            @for (ink, frames, words) in parts {
                li {
                    svg.plot viewBox="0 0 1 1" aria-hidden="true" {
                        (PreEscaped(format!("<rect width=\"1\" height=\"1\" fill=\"{}\"/>", ink.light())))
                    }
                    span {
                        b { (grouped(*frames)) } " " (words)
                        @if sent > 0 { " (" (percent(*frames as f64 / sent as f64)) " %)" }
                    }
                }
            }
        }
    }
}

fn ink(fate: Fate) -> Ink {
    match fate {
        Fate::Dropped => Ink::Loss,
        Fate::NotYetOut => Ink::Series(0),
        Fate::TesterDropped => Ink::Tester,
        Fate::Answered => Ink::Axis,
    }
}

/// What it means that nobody names frames on this leg.
fn missing(leg: &Leg) -> &'static str {
    match (leg.from, leg.to) {
        (Station::DeviceIn, Station::DeviceOut) => {
            "lost within the device, at no place that a counter names"
        }
        (Station::DeviceOut, _) => "had left the device and did not arrive: not its loss",
        (Station::TesterIn, _) => "received by an interface, and not seen while the tester counted",
        (Station::Sent, _) => "not sent by the tester's interfaces",
        (Station::TesterOut, Station::DeviceIn) => "missing between tester and device",
        _ => "missing between the tester's interfaces: links and device, which nobody read",
    }
}

/// What more frames may be than had entered.
fn besides(leg: &Leg) -> &'static str {
    match (leg.from, leg.to) {
        (Station::Sent, _) => "besides: answers and learning frames of the tester",
        (Station::DeviceIn, Station::DeviceOut) => "besides: copies, or frames of the device's own",
        _ => "besides: of others, or counted at another time",
    }
}

fn svg(height: f64, shapes: &str) -> Markup {
    html! {
        svg.plot viewBox=(format!("0 0 {WIDTH} {height}")) preserveAspectRatio="none"
            style=(format!("height:{height}px")) aria-hidden="true" { (PreEscaped(shapes)) }
    }
}

fn rect(from: f64, to: f64, ink: Ink) -> String {
    let width = to - from;
    format!(
        "<rect x=\"{from:.1}\" width=\"{width:.1}\" height=\"{BAR}\" fill=\"{}\"/>",
        ink.light()
    )
}

/// The line itself, on its way down.
fn column(from: f64, to: f64) -> String {
    let (width, fill) = (to - from, Ink::Device.light());
    format!(
        "<rect x=\"{from:.1}\" width=\"{width:.1}\" height=\"{FALL}\" fill=\"{fill}\" opacity=\".35\"/>"
    )
}

/// What leaves it to the right.
fn branch(from: f64, to: f64, ink: Ink) -> String {
    ribbon([from, to], [from + ASIDE, to + ASIDE], ink)
}

/// What joins it from the right.
fn inflow(from: f64, to: f64) -> String {
    ribbon([from + ASIDE, to + ASIDE], [from, to], Ink::Series(4))
}

fn ribbon([a, b]: [f64; 2], [c, d]: [f64; 2], ink: Ink) -> String {
    let half = FALL / 2.0;
    let mut path = String::new();
    let _ = write!(path, "M{a:.1} 0C{a:.1} {half} {c:.1} {half} {c:.1} {FALL}");
    let _ = write!(path, "L{d:.1} {FALL}C{d:.1} {half} {b:.1} {half} {b:.1} 0Z");
    format!("<path d=\"{path}\" fill=\"{}\"/>", ink.light())
}

#[cfg(test)]
mod tests {
    use super::*;
    use trial::Part;

    fn leg(from: Station, to: Station, entered: u64, left: u64, parts: Vec<Part>) -> Leg {
        let named: u64 = parts.iter().map(|part| part.frames).sum();
        let (unknown, surplus) =
            (entered.saturating_sub(left + named), (left + named).saturating_sub(entered));
        Leg { from, to, entered, left, parts, unknown, surplus }
    }

    fn balance() -> Balance {
        let queue = Part { name: "<tbf> of dut1".into(), fate: Fate::Dropped, frames: 60 };
        let waits = Part { name: "<tbf> of dut1".into(), fate: Fate::NotYetOut, frames: 30 };
        let legs = vec![
            leg(Station::Sent, Station::TesterOut, 1_000, 1_000, vec![]),
            leg(Station::TesterOut, Station::DeviceIn, 1_000, 1_000, vec![]),
            leg(Station::DeviceIn, Station::DeviceOut, 1_000, 910, vec![queue, waits]),
            leg(Station::DeviceOut, Station::TesterIn, 910, 900, vec![]),
            leg(Station::TesterIn, Station::TakenIn, 900, 900, vec![]),
        ];
        let taken_in = TakenIn { in_time: 899, late: 1, ..TakenIn::default() };
        Balance { legs, taken_in, sees_device: true }
    }

    #[test]
    fn every_number_of_a_balance_is_on_the_page_and_nothing_is_markup() {
        let page = drawing(&balance()).into_string();
        for text in [
            "<b>1,000</b> sent by the tester, sent by the tester&#39;s interfaces, received by the device",
            "<b>60</b> dropped: &lt;tbf&gt; of dut1",
            "<b>30</b> not yet out: &lt;tbf&gt; of dut1",
            "<b>910</b> sent by the device",
            "<b>10</b> had left the device and did not arrive: not its loss",
            "<b>899</b> in time",
            "<b>1</b> late",
        ] {
            let alike = page.replace("'", "&#39;");
            assert!(alike.contains(text), "{text} in {alike}");
        }
    }

    /// 1,000 frames are 960 wide: 900 passed are a bar of 864, and 1 of 1,000 is seen all the same.
    #[test]
    fn bars_are_as_wide_as_their_frames_are_many() {
        let page = drawing(&balance()).into_string();
        assert!(page.contains("<rect x=\"0.0\" width=\"960.0\""), "{page}");
        assert!(page.contains("<rect x=\"0.0\" width=\"873.6\""), "910 leave the device: {page}");
        assert!(page.contains("<rect x=\"0.0\" width=\"863.0\""), "899 in time: {page}");
        assert!(page.contains("<rect x=\"863.0\" width=\"4.0\""), "1 late: {page}");
        assert_eq!(page.matches("<path").count(), 3, "two places and a loss without a name");
    }

    #[test]
    fn a_trial_without_loss_is_one_bar_of_all_stations() {
        let same = |(from, to): (Station, Station)| leg(from, to, 700, 700, vec![]);
        let pairs = Station::ALL.into_iter().zip(Station::ALL.into_iter().skip(1));
        let taken_in = TakenIn { in_time: 700, ..TakenIn::default() };
        let balance = Balance { legs: pairs.map(same).collect(), taken_in, sees_device: true };
        let page = drawing(&balance).into_string();
        assert_eq!(page.matches("class=\"station\"").count(), 1, "{page}");
        assert_eq!(in_short(&balance), "all 700 accounted for, none missing");
        assert!(page.len() < 1_200, "{} bytes", page.len());
    }
}
