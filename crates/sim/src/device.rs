//! What a simulated device is, and the simplest one: a patch cable.

use std::collections::VecDeque;
use trial::{DeviceAction, PortId};
use units::Instant;

/// A device in virtual time. It never looks at a clock: it is told what time it is.
///
/// The driver hands it frames with [`handle_frame`](Self::handle_frame), takes what comes out
/// with [`poll_output`](Self::poll_output) until there is no more, and comes back at
/// [`poll_timeout`](Self::poll_timeout) or with the next frame, whichever is first.
pub trait DeviceUnderTest {
    /// The last bit of a frame (without FCS) has come in at `port`.
    fn handle_frame(&mut self, now: Instant, port: PortId, frame: Vec<u8>);

    /// The next frame that is ready to leave at `now`, if any.
    fn poll_output(&mut self, now: Instant) -> Option<Departing>;

    /// When something will happen by itself; `None` for never.
    fn poll_timeout(&self) -> Option<Instant>;

    /// Does something to the device; returns when it is over, or `None` where the device cannot.
    fn act(&mut self, _now: Instant, _action: &DeviceAction) -> Option<Instant> {
        None
    }
}

/// A frame on its way out of the device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Departing {
    /// Where it leaves.
    pub port: PortId,
    /// Without FCS.
    pub frame: Vec<u8>,
}

impl DeviceUnderTest for Box<dyn DeviceUnderTest> {
    fn handle_frame(&mut self, now: Instant, port: PortId, frame: Vec<u8>) {
        (**self).handle_frame(now, port, frame);
    }
    fn poll_output(&mut self, now: Instant) -> Option<Departing> {
        (**self).poll_output(now)
    }
    fn poll_timeout(&self) -> Option<Instant> {
        (**self).poll_timeout()
    }
    fn act(&mut self, now: Instant, action: &DeviceAction) -> Option<Instant> {
        (**self).act(now, action)
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
    fn handle_frame(&mut self, _now: Instant, port: PortId, frame: Vec<u8>) {
        self.passing.push_back(Departing { port: partner(port), frame });
    }
    fn poll_output(&mut self, _now: Instant) -> Option<Departing> {
        self.passing.pop_front()
    }
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}
