//! Progress of a run on standard error: a bar on a terminal, plain lines elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use method::consistency::Contradiction;
use method::{Event, SearchBounds, TestStarted, TrialRecord, TrialStarted, Verdict};
use std::io::IsTerminal;
use std::time::Instant;
use trial::TrialResult;
use units::Duration;

/// Shows events as they happen.
pub struct Progress {
    style: Style,
    started: Instant,
    test: String,
    verdict: String,
    /// Of which test, by its words, a search has told between which loads it is.
    told: Option<String>,
    /// Of which kind the time told is, where it is not the clock's.
    of_time: &'static str,
}

enum Style {
    Quiet,
    Lines,
    Bar(ProgressBar),
}

impl Progress {
    /// A bar where standard error is a terminal.
    pub fn new(quiet: bool) -> Self {
        let style = match quiet {
            true => Style::Quiet,
            false if std::io::stderr().is_terminal() => Style::Bar(bar()),
            false => Style::Lines,
        };
        Progress {
            style,
            started: Instant::now(),
            test: String::new(),
            verdict: String::new(),
            told: None,
            of_time: "",
        }
    }

    /// Shows one event.
    pub fn show(&mut self, event: &Event) {
        match event {
            Event::RunStarted(run) => {
                let is_simulated =
                    run.tester.ports.iter().all(|port| port.capabilities.virtual_time);
                self.of_time = if is_simulated { " of virtual time" } else { "" };
                let estimate = in_words(run.estimate);
                self.line(&format!("{}: about {estimate}{}", run.device, self.of_time))
            }
            Event::TestStarted(test) => self.test_started(test),
            Event::TrialStarted(trial) => self.trial_started(trial),
            Event::TrialFinished(trial) => self.trial_finished(trial),
            Event::Warning(text) => self.line(&format!("warning: {text}")),
            Event::Note(text) => self.line(&format!("note: {text}")),
            Event::TestRepeated(again) => self.line(&format!(
                "{} {} bytes is repeated: {}",
                again.test, again.frame_size, again.because
            )),
            Event::ConsistencyChecked(found) => {
                let lines = found.contradictions.iter().map(Contradiction::in_words);
                lines.for_each(|words| self.line(&format!("contradiction: {words}")));
            }
            Event::TestFinished(_) | Event::SelfTestFinished(_) => {}
            Event::RunFinished(_) => self.finish(),
        }
    }

    /// A line that stays, above the bar if there is one.
    pub fn line(&self, text: &str) {
        match &self.style {
            Style::Quiet => {}
            Style::Lines => crate::output::say(text),
            Style::Bar(bar) => bar.println(text),
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Style::Bar(bar) = &self.style {
            bar.finish_and_clear();
        }
    }

    fn test_started(&mut self, test: &TestStarted) {
        self.test = format!("{} {} bytes", test.test, test.frame_size);
        self.verdict.clear();
        if matches!(self.style, Style::Lines) {
            let left = in_words(test.remaining);
            self.line(&format!("{} ({left}{} left)", self.test, self.of_time));
        }
        self.advance(test.remaining);
    }

    fn trial_started(&mut self, trial: &TrialStarted) {
        let attempt =
            if trial.attempt > 1 { format!(", attempt {}", trial.attempt) } else { String::new() };
        if self.told.as_ref() != Some(&self.test)
            && let Some(figure) = trial.bounds.as_ref().and_then(first_figure)
        {
            let elapsed_s = self.started.elapsed().as_secs_f64();
            self.line(&format!("{}: {figure} so far ({elapsed_s:.1} s)", self.test));
            self.told = Some(self.test.clone());
        }
        let bounds = trial.bounds.as_ref().map(describe_bounds).unwrap_or_default();
        if let Style::Bar(bar) = &self.style {
            bar.set_message(format!(
                "{} | trial {}: {} for {}{attempt}{bounds}{}",
                self.test,
                trial.number,
                trial.intended,
                in_words(trial.duration),
                self.verdict
            ));
        }
        self.advance(trial.remaining);
    }

    fn trial_finished(&mut self, trial: &TrialRecord) {
        let outcome = describe_outcome(trial.verdict, &trial.result);
        self.verdict = format!(" | last: {outcome}");
        if matches!(self.style, Style::Lines) {
            self.line(&format!("  trial {}: {}: {outcome}", trial.number, trial.intended));
        }
    }

    /// The bar is the time gone over the time gone and left.
    fn advance(&self, remaining: Duration) {
        if let Style::Bar(bar) = &self.style {
            let gone = self.started.elapsed().as_millis() as u64;
            bar.set_length(gone + remaining.as_us() / 1_000);
            bar.set_position(gone);
            bar.set_prefix(format!("{} left", in_words(remaining)));
        }
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
    let style =
        ProgressStyle::with_template("{spinner} [{bar:24}] {percent:>3} % {prefix} | {wide_msg}")
            .expect("the template is a constant")
            .progress_chars("=> ");
    bar.set_style(style);
    bar.enable_steady_tick(std::time::Duration::from_millis(200));
    bar
}

fn describe_bounds(bounds: &SearchBounds) -> String {
    let value = |bound: Option<f64>| bound.map_or("?".into(), |bound| format!("{bound:.0}"));
    format!(" (between {} and {} {})", value(bounds.lower), value(bounds.upper), bounds.unit)
}

/// The first figure of a search, once its bounds are less than a fifth apart: `1079638 to 1232227 fps`.
fn first_figure(bounds: &SearchBounds) -> Option<String> {
    let (lower, upper) = bounds.lower.zip(bounds.upper)?;
    let is_near = upper > 0.0 && lower >= 0.8 * upper;
    is_near.then(|| format!("{lower:.0} to {upper:.0} {}", bounds.unit))
}

/// `passed, none of 10000 frames lost`, `failed, lost 12 of 10000 frames (0.120 %)`,
/// `INVALID: why`.
fn describe_outcome(verdict: Verdict, result: &TrialResult) -> String {
    let (lost, expected) = (result.lost_frames(), result.expected_frames());
    let loss = match lost {
        0 => format!("none of {expected} frames lost"),
        lost => format!("lost {lost} of {expected} frames ({:.3} %)", result.loss_ratio() * 100.0),
    };
    match (verdict, result.invalid_reasons().first()) {
        (Verdict::Invalid, Some(reason)) => format!("INVALID: {reason}"),
        (Verdict::Invalid, None) => format!("INVALID, {loss}"),
        (Verdict::Passed, _) => format!("passed, {loss}"),
        // A self-test fails by whatever keeps a trial from being whole.
        (Verdict::Failed, Some(reason)) => format!("failed: {reason}"),
        (Verdict::Failed, None) => format!("failed, {loss}"),
        (Verdict::Measured, _) => loss,
    }
}

/// `850 ms`, `12 s`, `3 min 20 s`, `5 h 7 min`.
pub fn in_words(span: Duration) -> String {
    let ms = span.as_us() / 1_000;
    match (ms + 500) / 1_000 {
        _ if ms < 1_000 => format!("{ms} ms"),
        s if s < 120 => format!("{s} s"),
        s if s < 7_200 => format!("{} min {} s", s / 60, s % 60),
        s => format!("{} h {} min", s / 3_600, s % 3_600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_tells_its_first_figure_once_its_bounds_are_near() {
        let bounds = |lower, upper| SearchBounds { lower, upper, unit: "fps".into() };
        assert_eq!(first_figure(&bounds(Some(80.0), None)), None);
        assert_eq!(first_figure(&bounds(Some(79.0), Some(100.0))), None);
        let near = first_figure(&bounds(Some(1_079_638.4), Some(1_232_227.0)));
        assert_eq!(near.as_deref(), Some("1079638 to 1232227 fps"));
    }

    #[test]
    fn times_read_well() {
        assert_eq!(in_words(Duration::from_ms(850)), "850 ms");
        assert_eq!(in_words(Duration::from_ms(11_600)), "12 s");
        assert_eq!(in_words(Duration::from_secs(200)), "3 min 20 s");
        assert_eq!(in_words(Duration::from_secs(7_200)), "2 h 0 min");
    }
}
