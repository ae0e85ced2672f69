//! How far a copy is, on one line of at most 80 columns, or as lines of JSON.

use crate::failure::Outcome;
use crate::output;
use netblt_io::copy::tally::{Current, Figures, Settled, State};
use serde::Serialize;
use std::collections::VecDeque;
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns of a terminal that any has.
const COLUMNS: usize = 80;
/// The rate is a mean over so long.
const SPAN: Duration = Duration::from_secs(5);
/// How often it is shown, to people and to programs.
const SHOWN_EVERY: Duration = Duration::from_millis(200);
const TOLD_EVERY: Duration = Duration::from_secs(1);

/// Shows the progress.
pub struct Progress {
    json: bool,
    line: bool,
    shown: Option<Instant>,
    /// Bytes moved, and when.
    samples: VecDeque<(Instant, u64)>,
}

/// A line of JSON.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum Line<'a> {
    Entry(&'a Settled),
    Progress {
        #[serde(flatten)]
        figures: &'a Figures,
        bits_per_s: f64,
        current: &'a Current,
    },
}

impl Progress {
    pub fn new(json: bool, quiet: bool) -> Progress {
        let line = !json && !quiet && std::io::stderr().is_terminal();
        Progress { json, line, shown: None, samples: VecDeque::new() }
    }

    /// An entry is settled. Failures are always told.
    pub fn settled(&mut self, settled: &Settled) -> Outcome<()> {
        if self.json {
            return print(&Line::Entry(settled));
        }
        if settled.state == State::Failed {
            self.clear();
            let reason = settled.reason.as_deref().unwrap_or_default();
            output::say(format_args!("not copied: {}: {reason}", settled.name));
        }
        Ok(())
    }

    /// Bits of files that are moved in a second.
    pub fn rate_bps(&mut self, figures: &Figures) -> f64 {
        let now = Instant::now();
        self.samples.push_back((now, figures.moved_bytes));
        while self.samples.front().is_some_and(|(at, _)| now.duration_since(*at) > SPAN) {
            self.samples.pop_front();
        }
        let Some((at, bytes)) = self.samples.front() else { return 0.0 };
        let span = now.duration_since(*at).as_secs_f64();
        (figures.moved_bytes - bytes) as f64 * 8.0 / span.max(0.1)
    }

    /// Shows how far it is, if it is time.
    pub fn show(&mut self, figures: &Figures, rate_bps: f64, current: &Current) -> Outcome<()> {
        let every = if self.json { TOLD_EVERY } else { SHOWN_EVERY };
        let early = self.shown.is_some_and(|shown| shown.elapsed() < every);
        if early || !(self.json || self.line) {
            return Ok(());
        }
        self.shown = Some(Instant::now());
        if self.json {
            return print(&Line::Progress { figures, bits_per_s: rate_bps, current });
        }
        let text = line(figures, rate_bps, current);
        let columns = COLUMNS.min(columns());
        output::say_over(padded(&fit(&text, columns - 3), columns - 3));
        Ok(())
    }

    /// Removes the line.
    pub fn clear(&self) {
        if self.line {
            output::say_over(padded("", COLUMNS - 3));
            output::say_over("");
        }
    }
}

fn columns() -> usize {
    terminal_size::terminal_size_of(std::io::stderr())
        .map_or(COLUMNS, |(width, _)| usize::from(width.0).max(20))
}

fn print(line: &Line<'_>) -> Outcome<()> {
    let text = serde_json::to_string(line)
        .map_err(|error| crate::failure::Failure::new(format!("cannot write JSON: {error}")))?;
    output::print(&(text + "\n"))
}

/// Bytes as people say them.
pub fn bytes(count: u64) -> String {
    let count = count as f64;
    match ["B", "kB", "MB", "GB", "TB"]
        .iter()
        .enumerate()
        .find(|(at, _)| count < 999.5 * 1e3f64.powi(*at as i32))
    {
        Some((0, unit)) => format!("{count} {unit}"),
        Some((at, unit)) => {
            let value = count / 1e3f64.powi(at as i32);
            format!("{value:.*} {unit}", usize::from(value < 99.95))
        }
        None => format!("{:.0} TB", count / 1e12),
    }
}

fn time(seconds: f64) -> String {
    let seconds = seconds.min(359_999.0) as u64;
    match seconds / 3600 {
        0 => format!("{}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}

/// The whole, then the file that is being moved. The name is last: it is cut to what fits.
fn line(figures: &Figures, rate_bps: f64, current: &Current) -> String {
    let Figures { done_bytes, bytes: all, all_found, .. } = *figures;
    let settled = figures.copied_entries + figures.same_entries + figures.failed_entries;
    let more = if all_found { "" } else { "+" };
    let left = match all_found && rate_bps > 0.0 {
        true => time(all.saturating_sub(done_bytes) as f64 * 8.0 / rate_bps),
        false => "-:--".to_owned(),
    };
    let share = match current.bytes {
        Some(bytes) if bytes > 0 => {
            format!("{:.0} %", current.done_bytes as f64 * 100.0 / bytes as f64)
        }
        _ => bytes(current.done_bytes),
    };
    format!(
        "{}/{}{more} {:.1} Mb/s {left} {settled}/{}{more} | {share} {}",
        bytes(done_bytes),
        bytes(all),
        rate_bps / 1e6,
        figures.entries,
        current.name,
    )
}

/// At most so many columns, cut in the middle of the last word, where names are told apart by their ends.
fn fit(text: &str, columns: usize) -> String {
    let width = text.width();
    if width <= columns {
        return text.to_owned();
    }
    let name = text.rfind(" | ").map_or(0, |at| at + 3);
    let keep = text[name..].find("% ").map_or(name, |at| name + at + 2);
    let (fixed, rest) = text.split_at(keep);
    let room = columns.saturating_sub(fixed.width() + 1);
    let mut tail = Vec::new();
    let mut taken = 0;
    for char in rest.chars().rev() {
        taken += char.width().unwrap_or(0);
        if taken > room {
            break;
        }
        tail.push(char);
    }
    let cut: String = fixed.chars().chain(['…']).chain(tail.into_iter().rev()).collect();
    let mut kept = String::new();
    for char in cut.chars() {
        if kept.width() + char.width().unwrap_or(0) > columns {
            break;
        }
        kept.push(char);
    }
    kept
}

fn padded(text: &str, columns: usize) -> String {
    text.to_owned() + &" ".repeat(columns.saturating_sub(text.width()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Figures {
        Figures {
            entries: 20_000,
            bytes: 123_456_789_012,
            all_found: true,
            copied_entries: 11_000,
            same_entries: 1,
            done_bytes: 23_456_789_012,
            ..Figures::default()
        }
    }

    #[test]
    fn a_line_fits_80_columns_whatever_the_name() {
        for name in ["a".repeat(300), "日本語/".repeat(60), "é".to_owned(), String::new()] {
            let current = Current { name, done_bytes: 5, bytes: Some(10) };
            let text = fit(&line(&figures(), 987_654_321_987.0, &current), 77);
            assert!(text.width() <= 77, "{text}");
            assert!(text.starts_with("23.5 GB/123 GB "), "{text}");
        }
        let current = Current { name: "x/".repeat(90) + "end", done_bytes: 5, bytes: Some(10) };
        let text = fit(&line(&figures(), 1e8, &current), 77);
        assert!(text.contains("| 50 % …") && text.ends_with("/end"), "{text}");
        // 100 GB left at 100 Mb/s are 8,000 s.
        assert!(text.contains("100.0 Mb/s 2:13:20 11001/20000"), "{text}");
        assert!(fit("a | b", 3).width() <= 3);
    }

    #[test]
    fn bytes_have_their_units() {
        for (count, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 kB"),
            (99_949, "99.9 kB"),
            (123_456, "123 kB"),
            (999_499, "999 kB"),
            (999_600, "1.0 MB"),
            (u64::MAX, "18446744 TB"),
        ] {
            assert_eq!(bytes(count), text);
        }
    }
}
