//! Impairments: a rule decides what becomes of each frame before the device gets it.

use crate::{Counter, Departing, DeviceUnderTest, Frame, Lines, device::partner};
use std::collections::BTreeMap;
use trial::{DeviceAction, DeviceSetup, PortId};
use units::{Duration, Instant};

/// What becomes of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It goes on.
    Pass,
    /// It is gone.
    Drop,
    /// It goes on twice.
    Duplicate,
    /// It goes on so much later, overtaken by what comes in meanwhile.
    Delay(Duration),
    /// One bit of it is turned over, counted from the frame's end.
    FlipBit {
        /// Bytes before the end of the frame; 1 for its last byte.
        bytes_from_end: usize,
    },
}

/// Decides over frames; clock-free and seeded.
pub trait Rule: Send {
    /// What becomes of a frame that comes in now.
    fn decide(&mut self, now: Instant, port: PortId, frame: &[u8]) -> Fate;

    /// Whether the rule also governs what the device sends out at this port (a device that is
    /// off sends nothing).
    fn silences_output(&self, _now: Instant, _port: PortId) -> bool {
        false
    }
    /// Something is done to the device; `Some` where the rule knows when it is over.
    fn act(&mut self, _now: Instant, _action: &DeviceAction) -> Option<Instant> {
        None
    }
}

/// A device behind a rule. Wrap again for more.
#[derive(Clone, Debug)]
pub struct Impaired<D, R> {
    device: D,
    rule: R,
    /// Delayed frames by (time, order).
    held: BTreeMap<(Instant, u64), (PortId, Frame)>,
    order: u64,
    dropped: u64,
}

impl<D: DeviceUnderTest, R: Rule> Impaired<D, R> {
    /// Puts `rule` in front of `device`.
    pub fn new(device: D, rule: R) -> Self {
        Impaired { device, rule, held: BTreeMap::new(), order: 0, dropped: 0 }
    }

    fn release(&mut self, now: Instant) {
        while let Some(entry) = self.held.first_entry() {
            let at = entry.key().0;
            if at > now {
                break;
            }
            let (port, frame) = entry.remove();
            self.device.handle_frame(at, port, frame);
        }
    }
}

impl<D: DeviceUnderTest, R: Rule> DeviceUnderTest for Impaired<D, R> {
    fn handle_frame(&mut self, now: Instant, port: PortId, mut frame: Frame) {
        self.release(now);
        match self.rule.decide(now, port, &frame) {
            Fate::Drop => {
                self.dropped += 1;
                return;
            }
            Fate::Pass => {}
            Fate::Duplicate => self.device.handle_frame(now, port, frame.clone()),
            Fate::Delay(span) => {
                self.order += 1;
                self.held.insert((now + span, self.order), (port, frame));
                return;
            }
            Fate::FlipBit { bytes_from_end } => {
                let at = frame.len().saturating_sub(bytes_from_end);
                if let Some(byte) = frame.bytes.get_mut(at) {
                    *byte ^= 1;
                }
            }
        }
        self.device.handle_frame(now, port, frame);
    }

    fn poll_output(&mut self, now: Instant, lines: &Lines<'_>) -> Option<Departing> {
        self.release(now);
        loop {
            let departing = self.device.poll_output(now, lines)?;
            if !self.rule.silences_output(now, departing.port) {
                return Some(departing);
            }
            self.dropped += 1;
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let held = self.held.first_key_value().map(|((at, _), _)| *at);
        held.into_iter().chain(self.device.poll_timeout()).min()
    }

    fn hears_after_bytes(&self) -> Option<u32> {
        self.device.hears_after_bytes()
    }

    fn keeps_frames(&self) -> u64 {
        self.held.len() as u64 + self.device.keeps_frames()
    }

    fn drops(&self) -> Vec<(String, u64)> {
        let by_rule = [("impairment".to_owned(), self.dropped)];
        self.device.drops().into_iter().chain(by_rule).collect()
    }

    fn work(&self) -> Vec<(String, Duration)> {
        self.device.work()
    }

    fn counter(&self, port: PortId, counter: Counter) -> Option<u64> {
        self.device.counter(port, counter)
    }

    fn counter_name(&self, counter: Counter) -> String {
        self.device.counter_name(counter)
    }

    fn act(&mut self, now: Instant, action: &DeviceAction) -> Option<Instant> {
        self.rule.act(now, action).max(self.device.act(now, action))
    }

    fn configure(&mut self, setup: &DeviceSetup) -> Option<Result<(), String>> {
        self.device.configure(setup)
    }
}

/// Whether a frame between this port and its partner passes `other`.
pub(crate) fn passes(port: PortId, other: PortId) -> bool {
    port == other || partner(port) == other
}
