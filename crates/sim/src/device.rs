//! What a simulated device is, and the simplest one: a patch cable.

use crate::{Counter, Frame, Lines};
use std::collections::VecDeque;
use trial::{DeviceAction, DeviceSetup, PortId};
use units::{Duration, Instant};

/// A device in virtual time. It never looks at a clock: it is told what time it is.
///
/// The driver hands it frames with [`handle_frame`](Self::handle_frame), takes what comes out
/// with [`poll_output`](Self::poll_output) until there is no more, and comes back at
/// [`poll_timeout`](Self::poll_timeout) or with the next frame, whichever is first. Devices of several
/// testers may run on several processors.
pub trait DeviceUnderTest: Send {
    /// The last bit of a frame has come in at `port`, or as much of it as the device asks for by
    /// [`hears_after_bytes`](Self::hears_after_bytes).
    fn handle_frame(&mut self, now: Instant, port: PortId, frame: Frame);

    /// The next frame that is ready to leave at `now`, if any. A device with queues at its outputs
    /// keeps a frame until `lines` has room for it.
    fn poll_output(&mut self, now: Instant, lines: &Lines<'_>) -> Option<Departing>;

    /// When something will happen by itself; `None` for never.
    fn poll_timeout(&self) -> Option<Instant>;

    /// How much of a frame the device wants to see before it acts on it: `None` for all of it
    /// (store and forward), or so many bytes (cut through). Asked once. On a half-duplex link
    /// frames are always whole.
    fn hears_after_bytes(&self) -> Option<u32> {
        None
    }

    /// Frames that it keeps at the moment, as far as it knows.
    fn keeps_frames(&self) -> u64 {
        0
    }

    /// Frames dropped since the beginning, by the name of the place or the cause. What is dropped
    /// elsewhere nobody names.
    fn drops(&self) -> Vec<(String, u64)> {
        vec![]
    }

    /// For how long each of its processors has worked since the beginning, by name; empty where it has
    /// none.
    fn work(&self) -> Vec<(String, Duration)> {
        vec![]
    }

    /// One of the counters that the device shows; `None` for one that it does not have.
    fn counter(&self, _port: PortId, _counter: Counter) -> Option<u64> {
        None
    }

    /// What the device calls a counter.
    fn counter_name(&self, counter: Counter) -> String {
        counter.to_string()
    }

    /// Does something to the device; returns when it is over, or `None` where the device cannot.
    fn act(&mut self, _now: Instant, _action: &DeviceAction) -> Option<Instant> {
        None
    }

    /// Configures the device; `None` where it has nothing to configure, and the reason where it
    /// refuses.
    fn configure(&mut self, _setup: &DeviceSetup) -> Option<Result<(), String>> {
        None
    }
}

/// A frame on its way out of the device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Departing {
    /// Where it leaves.
    pub port: PortId,
    /// What leaves.
    pub frame: Frame,
}

impl DeviceUnderTest for Box<dyn DeviceUnderTest> {
    fn handle_frame(&mut self, now: Instant, port: PortId, frame: Frame) {
        (**self).handle_frame(now, port, frame);
    }
    fn poll_output(&mut self, now: Instant, lines: &Lines<'_>) -> Option<Departing> {
        (**self).poll_output(now, lines)
    }
    fn hears_after_bytes(&self) -> Option<u32> {
        (**self).hears_after_bytes()
    }
    fn poll_timeout(&self) -> Option<Instant> {
        (**self).poll_timeout()
    }
    fn keeps_frames(&self) -> u64 {
        (**self).keeps_frames()
    }
    fn drops(&self) -> Vec<(String, u64)> {
        (**self).drops()
    }
    fn work(&self) -> Vec<(String, Duration)> {
        (**self).work()
    }
    fn counter(&self, port: PortId, counter: Counter) -> Option<u64> {
        (**self).counter(port, counter)
    }
    fn counter_name(&self, counter: Counter) -> String {
        (**self).counter_name(counter)
    }
    fn act(&mut self, now: Instant, action: &DeviceAction) -> Option<Instant> {
        (**self).act(now, action)
    }
    fn configure(&mut self, setup: &DeviceSetup) -> Option<Result<(), String>> {
        (**self).configure(setup)
    }
}

/// The port a frame leaves by when ports are wired in pairs: 0 and 1, 2 and 3, ...
pub(crate) fn partner(port: PortId) -> PortId {
    PortId(port.0 ^ 1)
}

/// Ports joined in pairs by cables: what goes in at 0 comes out at 1 at once.
#[derive(Clone, Debug, Default)]
pub struct Patch {
    passing: VecDeque<Departing>,
}

impl DeviceUnderTest for Patch {
    fn handle_frame(&mut self, _now: Instant, port: PortId, frame: Frame) {
        self.passing.push_back(Departing { port: partner(port), frame });
    }
    fn poll_output(&mut self, _now: Instant, _lines: &Lines<'_>) -> Option<Departing> {
        self.passing.pop_front()
    }
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}
