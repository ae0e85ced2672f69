//! What a program of DPDK says of itself.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Mutex, PoisonError};

/// Lines that are kept.
const KEPT: usize = 40;
/// What DPDK says of a virtual device for which it has no driver.
const NO_DRIVER: &str = "failed to parse device \"net_memif";
const DRIVER_PACKAGE: &str = "librte-net-memif23";

/// The last lines of a program's standard error.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words(Arc<Mutex<VecDeque<String>>>);

impl Words {
    /// Reads on until it ends: a pipe that is full would stop the program.
    pub fn of(from: impl Read + Send + 'static) -> Self {
        let words = Words::default();
        let kept = words.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(from).lines().map_while(|line| line.ok()) {
                kept.keep(line);
            }
        });
        words
    }

    fn keep(&self, line: String) {
        let mut words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if words.len() == KEPT {
            words.pop_front();
        }
        words.push_back(line);
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Whether a line has that.
    pub fn have(&self, text: &str) -> bool {
        self.all().iter().any(|line| line.contains(text))
    }

    /// The end of a message about it: what it said last, or what is missing.
    pub fn last(&self) -> String {
        if self.have(NO_DRIVER) {
            return format!(": its driver of memif is missing: `apt install {DRIVER_PACKAGE}`");
        }
        let words = self.all();
        match words.last_chunk::<3>().map_or(&words[..], |last| &last[..]) {
            [] => String::new(),
            last => format!(": {}", last.join("; ")),
        }
    }

    /// The release that the environment of DPDK says with `-v`: `EAL: RTE Version: 'DPDK 22.11.11'`.
    pub fn release(&self) -> Option<String> {
        let words = self.all();
        let quoted = words.iter().find_map(|line| line.split_once("RTE Version: '"))?.1;
        Some(quoted.split('\'').next()?.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(lines: &[&str]) -> Words {
        let words = Words::default();
        lines.iter().for_each(|line| words.keep((*line).to_owned()));
        words
    }

    /// The first lines of standard error with `-v`.
    #[test]
    fn the_release_is_what_the_program_says() {
        let said = [
            "EAL: Detected CPU lcores: 2",
            "EAL: Detected NUMA nodes: 1",
            "EAL: RTE Version: 'DPDK 22.11.11'",
        ];
        assert_eq!(words(&said).release().as_deref(), Some("DPDK 22.11.11"));
        assert_eq!(words(&said[..2]).release(), None);
    }

    #[test]
    fn the_last_lines_are_told_and_a_missing_driver_before_them() {
        assert_eq!(words(&[]).last(), "");
        assert_eq!(words(&["a", "b", "c", "d"]).last(), ": b; c; d");
        let said = ["EAL: failed to parse device \"net_memif0\"", "b", "c", "d"];
        assert!(words(&said).last().contains("apt install librte-net-memif23"));
        let many: Vec<String> = (0..100).map(|n| n.to_string()).collect();
        let many = words(&many.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(!many.have("59") && many.have("60") && many.have("99"));
    }
}
