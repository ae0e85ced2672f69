//! Output while traffic is sent, and its control by keys and signals.

use super::{TrafficArgs, json, text};
use crate::failure::{Failure, Outcome};
use crate::keys::Keys;
use method::generator::{Control, GeneratorConfig, GeneratorEvent, Mix, Order};
use method::{RunError, SinkError};
use std::cell::Cell;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use units::FrameRate;

/// Lines between two headers, at a terminal.
const HEAD_EVERY: u32 = 20;

/// Output of lines.
pub struct Screen {
    is_json: bool,
    is_quiet: bool,
    interrupted: Arc<AtomicBool>,
    /// The reader has closed standard output.
    is_gone: Cell<bool>,
    lines: Cell<u32>,
    /// The load printed last.
    said: Cell<Option<FrameRate>>,
}

impl Screen {
    pub fn new(arguments: &TrafficArgs, interrupted: Arc<AtomicBool>) -> Self {
        Screen {
            is_json: arguments.json,
            is_quiet: arguments.quiet,
            interrupted,
            is_gone: Cell::new(false),
            lines: Cell::new(0),
            said: Cell::new(None),
        }
    }

    /// Prints the traffic to send.
    pub fn begin(
        &self,
        device: &str,
        mix: &Mix,
        config: &GeneratorConfig,
        rate: FrameRate,
    ) -> Outcome<()> {
        self.said.set(Some(rate));
        let line = match self.is_json {
            true => json::start(device, mix, config, rate).to_string(),
            false if self.is_quiet => return Ok(()),
            false => text::start(device, mix, config, rate),
        };
        self.print(&line).map_err(Failure::new)
    }

    /// Prints an event.
    pub fn show(&self, event: &GeneratorEvent) -> Result<(), RunError> {
        if self.is_quiet {
            return Ok(());
        }
        let shown = match (event, self.is_json) {
            (GeneratorEvent::Began(rate), _) if self.said.replace(Some(*rate)) == Some(*rate) => {
                return Ok(());
            }
            (GeneratorEvent::Began(rate), true) => json::load(*rate).to_string(),
            (GeneratorEvent::Began(rate), false) => text::load(*rate),
            (GeneratorEvent::Paused, true) => json::paused().to_string(),
            (GeneratorEvent::Paused, false) => "paused; p continues, q ends".into(),
            (GeneratorEvent::Second(second), true) => json::second(second).to_string(),
            (GeneratorEvent::Second(second), false) => {
                let line = self.lines.replace(self.lines.get() + 1);
                let is_due = match io::stdout().is_terminal() {
                    true => line.is_multiple_of(HEAD_EVERY),
                    false => line == 0,
                };
                let head = if is_due { format!("{}\n", text::HEAD) } else { String::new() };
                head + &text::second(second)
            }
        };
        self.print(&shown)
            .map_err(|error| SinkError(format!("cannot write to standard output: {error}")).into())
    }

    /// Says in JSON that there will be no summary; others read the error where all errors are.
    pub fn fail(&self, error: &str) {
        if self.is_json {
            // The exit code tells it to whoever reads no more.
            drop(self.print(&json::failed(error).to_string()));
        }
    }

    /// Prints a line; if the reader has closed standard output, the traffic ends.
    fn print(&self, line: &str) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        match writeln!(stdout, "{line}").and_then(|()| stdout.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.is_gone.set(true);
                Ok(())
            }
            done => done,
        }
    }
}

/// Keys and signals.
pub struct Hands<'a> {
    screen: &'a Screen,
    keys: Option<Keys>,
    streams: usize,
}

impl<'a> Hands<'a> {
    pub fn new(screen: &'a Screen, received: Option<Keys>, streams: usize) -> Self {
        let keys = if screen.is_json { received } else { received.or_else(Keys::listen) };
        Hands { screen, keys, streams }
    }
}

impl Control for Hands<'_> {
    fn poll(&mut self) -> Option<Order> {
        if self.screen.interrupted.load(Ordering::Relaxed) || self.screen.is_gone.get() {
            return Some(Order::End);
        }
        order(self.keys.as_ref()?.next()?, self.streams)
    }
}

/// The order that a key gives.
fn order(key: u8, streams: usize) -> Option<Order> {
    match key {
        b'+' => Some(Order::Scale(1.1)),
        b'-' => Some(Order::Scale(1.0 / 1.1)),
        b'*' => Some(Order::Scale(2.0)),
        b'/' => Some(Order::Scale(0.5)),
        b'p' | b' ' => Some(Order::Pause),
        b'q' => Some(Order::End),
        b'1'..=b'9' if streams > 1 => {
            Some(usize::from(key - b'1')).filter(|stream| *stream < streams).map(Order::Switch)
        }
        _ => None,
    }
}
