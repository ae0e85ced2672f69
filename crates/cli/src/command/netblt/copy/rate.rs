//! The bound on the rate, and what changes it while a copy runs: keys, and a file.

use super::super::args::Copy;
use super::super::parameters::parse_rate;
use crate::failure::{Failure, Outcome};
use crate::keys::Keys;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How often the file is looked at.
const PAUSE: Duration = Duration::from_millis(500);
/// What a key changes it by.
const STEP: f64 = 1.25;
/// No slower: a packet of 1,400 bytes each second or so.
const SLOWEST_BPS: f64 = 10_000.0;

/// The bound in force, in bits a second; none for whatever the path carries.
pub struct Rate {
    bound: Option<f64>,
    file: Option<PathBuf>,
    said: String,
    looked: Option<Instant>,
    keys: Option<Keys>,
}

impl Rate {
    /// As the command line has it.
    pub fn read(arguments: &Copy) -> Outcome<Rate> {
        let bound = arguments.rate.as_deref().map(parse_rate).transpose()?;
        let file = arguments.rate_file.clone();
        let mut rate = Rate { bound, file, said: String::new(), looked: None, keys: None };
        if let Some(file) = rate.file.clone() {
            rate.said = std::fs::read_to_string(&file).map_err(|error| {
                Failure::new(format!("cannot read {}: {error}", file.display()))
            })?;
            rate.bound = parse(&rate.said)?;
        }
        Ok(rate)
    }
    /// In bits a second.
    pub fn bound(&self) -> Option<f64> {
        self.bound
    }
    /// From now on keys change it, where there is a terminal.
    pub fn listen(&mut self) {
        self.keys = Keys::listen();
    }

    /// Whether it changed since the last call; `now_bps` is what is moved now. An error says what is wrong
    /// in the file, once; the bound stays.
    pub fn changed(&mut self, now_bps: f64) -> Result<bool, String> {
        let before = self.bound;
        while let Some(key) = self.keys.as_ref().and_then(Keys::next) {
            self.bound = stepped(self.bound, now_bps, key);
        }
        if let Some(file) = &self.file
            && self.looked.is_none_or(|looked| looked.elapsed() >= PAUSE)
        {
            self.looked = Some(Instant::now());
            // Who writes it may have it empty for a moment.
            let said = std::fs::read_to_string(file).unwrap_or_default();
            if !said.trim().is_empty() && said != self.said {
                self.said = said;
                self.bound = parse(&self.said)
                    .map_err(|_| format!("{}: no rate: {:?}", file.display(), self.said.trim()))?;
            }
        }
        Ok(self.bound != before)
    }
}

fn parse(text: &str) -> Outcome<Option<f64>> {
    match text.trim() {
        "none" => Ok(None),
        text => parse_rate(text).map(Some),
    }
}

/// The bound after a key. Without one it begins at what is moved now.
fn stepped(bound: Option<f64>, now_bps: f64, key: u8) -> Option<f64> {
    let from = bound.unwrap_or(now_bps);
    match key {
        b'+' => bound.map(|bound| bound * STEP),
        b'-' => Some((from / STEP).max(SLOWEST_BPS)),
        _ => bound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_change_the_bound_by_a_quarter() {
        assert_eq!(stepped(Some(100e6), 0.0, b'+'), Some(125e6));
        assert_eq!(stepped(Some(125e6), 0.0, b'-'), Some(100e6));
        assert_eq!(stepped(None, 125e6, b'-'), Some(100e6));
        assert_eq!(stepped(None, 125e6, b'+'), None, "nothing bounds it");
        assert_eq!(stepped(Some(1.0), 1.0, b'-'), Some(SLOWEST_BPS));
        assert_eq!(stepped(Some(7.0), 1.0, b'x'), Some(7.0));
    }

    #[test]
    fn a_file_says_a_rate_or_none() {
        assert_eq!(parse("none\n").ok(), Some(None));
        assert_eq!(parse(" 100Mbit/s\n").ok(), Some(Some(100e6)));
        assert!(parse("fast").is_err());
    }
}
