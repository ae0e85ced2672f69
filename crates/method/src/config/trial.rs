//! How long trials last, what is waited for around them, and when one counts.

use serde::{Deserialize, Serialize};
use trial::{ValidityLimits, Waits};
use units::Duration;

/// How a trial is run (RFC 2544 sections 23 and 24).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrialConfig {
    /// Length of a trial that decides a result, in seconds.
    pub duration_s: f64,
    /// Wait after learning frames, in seconds.
    pub learning_wait_s: f64,
    /// Wait after routing updates, in seconds; the learning frames and their wait come after it.
    pub routing_wait_s: f64,
    /// Wait for residual frames after the last one was sent, in seconds: at least so long where
    /// frames are missing, and on until nothing has arrived for as long as the slowest frame took.
    pub drain_s: f64,
    /// At most so long.
    pub drain_max_s: f64,
    /// Wait for the device to settle before the next trial, in seconds.
    pub settle_s: f64,
    /// How often a trial is repeated, at most, in which the tester did not keep up; only once
    /// where it fell short by a tenth, and not at all where by half.
    pub invalid_retries: u32,
    /// Whether the IP and transport checksums of received test frames are verified; a frame with a bad
    /// one is corrupted, and lost. Without it only the signature at a frame's end is: on the machine of
    /// a device under test the work would be taken from the device.
    pub verify_checksums: bool,
    /// Whether hosts make themselves known again during trials longer than their keep-alive's
    /// period, out of the ports that only receive.
    pub keep_alives: bool,
    /// When the tester counts as not having kept up.
    pub limits: ValidityLimits,
}

impl Default for TrialConfig {
    fn default() -> Self {
        TrialConfig {
            duration_s: 60.0,
            learning_wait_s: 2.0,
            routing_wait_s: 5.0,
            drain_s: 2.0,
            drain_max_s: 60.0,
            settle_s: 5.0,
            invalid_retries: 3,
            verify_checksums: true,
            keep_alives: false,
            limits: ValidityLimits::default(),
        }
    }
}

impl TrialConfig {
    /// The same with no more shortfall than the RFCs' tests tolerate: for tests that ask whether a
    /// rate is reached at all.
    pub(crate) fn strict(mut self) -> Self {
        let usual = ValidityLimits::default().shortfall;
        self.limits.shortfall = self.limits.shortfall.min(usual);
        self
    }

    /// Waits after a trial.
    pub(crate) fn waits(&self) -> Waits {
        Waits::until_silence(
            Duration::from_secs_f64(self.drain_s),
            Duration::from_secs_f64(self.drain_max_s),
            Duration::from_secs_f64(self.settle_s),
        )
    }
}
