//! Traffic as lines of text, 80 columns wide.

use method::generator::{GeneratorConfig, Mix, Second, StreamTotals, Totals, TrafficCriterion};
use method::versus::Met;
use report::number::{grouped, percent};
use trial::Histogram;
use units::text::{Load, Pps, Span, three_digits};
use units::{Duration, FrameRate, LineRate};

/// Header of the lines.
pub const HEAD: &str =
    "    time        sent    received       lost  reorder      p50      p99      max";

/// Below this share of the load the summary states the share.
const TOLD_SHARE: f64 = 0.999;
/// Width of a terminal.
const COLUMNS: usize = 80;
/// The most reasons to print.
const REASONS_MAX: usize = 3;

/// The traffic to send.
pub fn start(device: &str, mix: &Mix, config: &GeneratorConfig, rate: FrameRate) -> String {
    let ports = mix.senders().len();
    let from = if ports == 1 { "one way" } else { "both ways, each" };
    let time = config.duration.map_or("until q or Ctrl-C".into(), readable);
    let mut lines = vec![device.to_owned()];
    for (number, (name, traffic, weight)) in (1..).zip(mix.streams()) {
        let frames = format!("{} B, {}", traffic.frame_size(), traffic.describe());
        lines.push(match mix.len() {
            1 => frames,
            _ => format!("{number} {name} (weight {weight}): {frames}"),
        });
        lines.extend(traffic.given_up().iter().map(|what| format!("not measured: {what}")));
    }
    let load = bits(rate.fps() * on_medium_bits(mix));
    lines.push(format!("{from} {} ({load}), {time}", Load::Frames(rate)));
    lines.iter().map(|line| wrapped(line)).collect::<Vec<_>>().join("\n")
}

/// A time in its unit: whole as it was written, that of a capture to four digits.
fn readable(time: Duration) -> String {
    match time.as_ps().is_multiple_of(Duration::from_us(1).as_ps()) {
        true => Span(time).to_string(),
        false => time.to_string(),
    }
}

/// Bits of a mean frame on the medium.
fn on_medium_bits(mix: &Mix) -> f64 {
    1e9 / mix.theoretical_max(LineRate::from_gbps(1)).fps()
}

/// A changed load.
pub fn load(rate: FrameRate) -> String {
    format!("now {}", Load::Frames(rate))
}

/// A line.
pub fn second(second: &Second) -> String {
    let latency = |of: fn(&Histogram) -> Option<Duration>| {
        second.latency.as_ref().and_then(of).map_or("-".into(), short)
    };
    let lost = match second.lost {
        lost @ 0.. => grouped(lost.unsigned_abs()),
        back => format!("-{}", grouped(back.unsigned_abs())),
    };
    format!(
        "{:>8}{:>12}{:>12}{lost:>11}{:>9}{:>9}{:>9}{:>9}",
        time(second.until),
        grouped(second.sent),
        grouped(second.received),
        grouped(second.reordered),
        latency(|all| all.percentile(50.0)),
        latency(|all| all.percentile(99.0)),
        latency(Histogram::max),
    )
}

/// Whole seconds, or tenths of them.
fn time(until: Duration) -> String {
    let tenths = (until.as_secs_f64() * 10.0).round() as u64;
    match tenths % 10 {
        0 => format!("{}s", tenths / 10),
        tenth => format!("{}.{tenth}s", tenths / 10),
    }
}

/// Three digits and a unit; nanoseconds are whole.
fn short(span: Duration) -> String {
    let ns = span.as_ns_f64();
    if ns < 999.5 {
        return format!("{ns:.0}ns");
    }
    let (digits, unit) = three_digits(ns, &[(1e9, "s"), (1e6, "ms"), (1e3, "us")]);
    format!("{digits}{unit}")
}

fn bits(bps: f64) -> String {
    let prefixes = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
    let (factor, prefix) =
        prefixes.into_iter().find(|(factor, _)| bps >= *factor).unwrap_or((1.0, ""));
    format!("{:.3} {prefix}bit/s", bps / factor)
}

/// The summary: one screen.
pub fn summary(totals: &Totals, judged: &[(TrafficCriterion, Met)], suspects: &[String]) -> String {
    let mut lines = vec![
        String::new(),
        format!(
            "sent       {:>16} frames  {}  {} s",
            grouped(totals.sent),
            Pps(totals.sent_rate().fps()),
            format_args!("{:.3}", totals.sending.as_secs_f64())
        ),
        format!(
            "received   {:>16} frames  {}",
            grouped(totals.received),
            Pps(totals.received_rate().fps())
        ),
        format!(
            "lost       {:>16} frames  {} %",
            grouped(totals.lost),
            percent(totals.loss_ratio())
        ),
    ];
    let unwanted = [
        ("reordered", totals.reordered),
        ("duplicates", totals.duplicates),
        ("corrupted", totals.corrupted),
        ("late", totals.late),
        ("misdirected", totals.misdirected),
    ];
    let unwanted = unwanted.iter().filter(|(name, count)| *count > 0 || *name == "reordered");
    lines.extend(unwanted.map(|(name, count)| format!("{name:<11}{:>16} frames", grouped(*count))));
    for (place, frames) in &totals.dropped_at {
        lines.push(format!("  {:>16} dropped by the device: {place}", grouped(*frames)));
    }
    lines.push(match &totals.latency {
        Some(latency) => format!("latency    {}", spread(latency)),
        None => "latency    none measured".into(),
    });
    if totals.clock_error > Duration::ZERO {
        lines.push(format!(
            "           between two hosts: every latency is within {} of what is printed, here and by stream",
            totals.clock_error
        ));
        let sources: Vec<&str> = totals.clock_known_by.iter().map(String::as_str).collect();
        lines.push(format!("           clocks are known by {}", sources.join("; ")));
    }
    if !totals.streams.is_empty() {
        lines.push(STREAMS_HEAD.into());
        lines.extend(totals.streams.iter().map(|(name, stream)| stream_line(name, stream)));
    }
    if let Some((flows, with_loss)) = totals.flows {
        lines.push(format!("flows      {}, {} with loss", grouped(flows), grouped(with_loss)));
    }
    if totals.stretches > 1 {
        lines.push(format!(
            "stretches  {}; between them {:.3} s without a frame",
            totals.stretches,
            totals.between.as_secs_f64()
        ));
    }
    lines.push(match totals.invalid.is_empty() {
        true if totals.load_share() < TOLD_SHARE => {
            format!("tester     sent {:.1} % of the load", totals.load_share() * 100.0)
        }
        true => "tester     kept up".into(),
        false => "tester     FELL SHORT: no result for the device".into(),
    });
    if is_silent(totals) {
        lines.push("Nothing came back.".into());
        lines.extend(suspects.iter().map(|suspect| format!("  {suspect}")));
    }
    let reasons = totals.invalid.iter().take(REASONS_MAX);
    lines.extend(reasons.map(|reason| format!("  {reason}")));
    lines.extend(judged.iter().map(|(criterion, met)| {
        let verdict = match met {
            Met::Passed => "no: passed",
            Met::Failed => "yes: FAILED",
            Met::Undecided => "undecided",
        };
        format!("{criterion}? {verdict}")
    }));
    lines.iter().map(|line| wrapped(line)).collect::<Vec<_>>().join("\n") + "\n"
}

/// Whether frames were sent and none arrived.
pub fn is_silent(totals: &Totals) -> bool {
    totals.received == 0 && totals.sent > 0
}

/// Breaks a line that is too long and indents the rest.
fn wrapped(line: &str) -> String {
    if line.chars().count() <= COLUMNS {
        return line.to_owned();
    }
    let (mut text, mut column) = (String::new(), 0);
    for word in line.split(' ') {
        let length = word.chars().count();
        if column + 1 + length > COLUMNS && column > 0 {
            text += "\n    ";
            column = 4;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text += word;
        column += length;
    }
    text
}

/// Header of the streams.
const STREAMS_HEAD: &str =
    "stream                     sent    received      lost  reorder      p50      p99";

fn stream_line(name: &str, stream: &StreamTotals) -> String {
    let of = |percent| {
        let latency = stream.latency.as_ref().and_then(|latency| latency.percentile(percent));
        latency.map_or("-".into(), short)
    };
    format!(
        "{:<17.17}{:>14}{:>12}{:>10}{:>9}{:>9}{:>9}",
        name,
        grouped(stream.sent),
        grouped(stream.received),
        grouped(stream.lost),
        grouped(stream.reordered),
        of(50.0),
        of(99.0)
    )
}

fn spread(latency: &Histogram) -> String {
    let value = |span: Option<Duration>| span.map_or("-".into(), short);
    let of = |percent| value(latency.percentile(percent));
    format!(
        "min {}  p50 {}  p99 {}  p99.9 {}  max {}",
        value(latency.min()),
        of(50.0),
        of(99.0),
        of(99.9),
        value(latency.max())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_three_digits() {
        let cases = [
            (0, "0ns"),
            (999, "999ns"),
            (1_000, "1.00us"),
            (12_345, "12.3us"),
            (999_499, "999us"),
            (999_500, "1.00ms"),
            (250_000_000, "250ms"),
            (2_500_000_000, "2.50s"),
        ];
        for (ns, text) in cases {
            assert_eq!(short(Duration::from_ns(ns)), text);
        }
    }

    #[test]
    fn long_lines_are_broken_between_words() {
        assert_eq!(wrapped("short"), "short");
        let long = "word ".repeat(20);
        let lines: Vec<String> = wrapped(long.trim_end()).lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!((lines[0].len(), lines[1].as_str()), (79, "    word word word word"));
    }

    /// The largest counts of a second that any port here reaches.
    #[test]
    fn a_line_has_80_columns_at_most() {
        let mut latency = Histogram::new(Duration::from_ns(1));
        latency.record(123_456_789);
        let full = Second {
            until: Duration::from_secs(99_999),
            length: Duration::from_secs(1),
            sent: 14_880_952,
            received: 14_880_952,
            lost: -1_234_567,
            reordered: 999_999,
            duplicates: 0,
            latency: Some(latency),
        };
        let line = second(&full);
        assert!(line.len() <= 80 && line.len() == HEAD.len(), "{line}");
        assert!(line.contains(" -1,234,567 "), "{line}");
        let stream = StreamTotals { sent: u64::from(u32::MAX), ..StreamTotals::default() };
        assert_eq!(stream_line("a name that is longer than its column", &stream).len(), 80);
        assert_eq!(STREAMS_HEAD.len(), 80);
        let nothing = Second { latency: None, until: Duration::from_ms(3_400), ..full };
        assert!(second(&nothing).starts_with("    3.4s"), "{}", second(&nothing));
    }
}
