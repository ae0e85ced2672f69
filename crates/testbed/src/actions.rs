//! What is done to the device during a reset test (RFC 6201, RFC 2544 section 26.6), from any thread.

#![allow(clippy::disallowed_methods, reason = "a reset lasts real time, on a real device")]

use crate::device::Device;
use crate::error::{Result, TestbedError};
use nix::time::{ClockId, clock_gettime};
use serde::Serialize;
use units::{Duration, Instant};

/// When an action took place, on the kernel's CLOCK_MONOTONIC (nanoseconds since boot).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ActionTimes {
    /// Before the first step.
    pub began: Instant,
    /// After the last step: everything is configured again.
    pub ended: Instant,
}

impl Device {
    /// Takes the device's end of a link down, waits, and brings it up with all that hangs on it
    /// (addresses, routes, neighbours, threads). The tester's port keeps its interface and loses
    /// its carrier.
    pub fn link_reset(&self, port: usize, down_for: Duration) -> Result<ActionTimes> {
        let began = now()?;
        self.stop_port(port)?;
        std::thread::sleep(std::time::Duration::from_nanos(down_for.as_ns()));
        self.start_port(port)?;
        self.restore_routes(port)?;
        self.restore_tunnel()?;
        self.scheduling();
        Ok(ActionTimes { began, ended: now()? })
    }

    /// Restarts the device's software: rules, forwarding (or the bridge), links, addresses and routes are
    /// torn down and configured anew, in place. The tester's ports keep their interfaces. This is
    /// the nearest a namespace comes to the operating system reset of RFC 6201 section 4.2.1; the
    /// kernel itself is not restarted.
    pub fn software_reset(&self) -> Result<ActionTimes> {
        let began = now()?;
        self.stop()?;
        self.start()?;
        Ok(ActionTimes { began, ended: now()? })
    }
}

/// The kernel's CLOCK_MONOTONIC.
pub(crate) fn now() -> Result<Instant> {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC)
        .map_err(|errno| TestbedError::system("read CLOCK_MONOTONIC", errno))?;
    Ok(Instant::from_ns(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64))
}
