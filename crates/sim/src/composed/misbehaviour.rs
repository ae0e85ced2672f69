//! What a device does wrong, and what it knows of its own state for it.

use super::description::Misbehaviour;
use super::description::PORTS_MAX;
use trial::PortId;
use units::{Duration, Instant};

/// The window in which arrivals are counted against the rate at which the device crashes.
const WINDOW: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub(crate) struct Health {
    plan: Misbehaviour,
    disabled: u64,
    window_start: Instant,
    in_window: u64,
    down_until: Option<Instant>,
    /// Of each port.
    flooded_until: Vec<Instant>,
}

impl Health {
    pub(crate) fn new(plan: Misbehaviour) -> Self {
        Health {
            plan,
            disabled: 0,
            window_start: Instant::ZERO,
            in_window: 0,
            down_until: None,
            flooded_until: vec![Instant::ZERO; PORTS_MAX],
        }
    }

    /// Whether the device does anything at all.
    #[inline]
    pub(crate) fn is_down(&mut self, now: Instant) -> bool {
        let down = self.down_until.is_some_and(|until| now < until);
        if !down {
            self.down_until = None;
        }
        down
    }

    /// Whether a port was switched off.
    #[inline]
    pub(crate) fn is_disabled(&self, port: PortId) -> bool {
        self.disabled & (1 << port.0) != 0
    }

    /// Whether it forwards frames below 64 bytes.
    #[inline]
    pub(crate) fn forwards_runts(&self) -> bool {
        self.plan.forwards_runts
    }

    /// Whether it forwards frames whose FCS is bad.
    #[inline]
    pub(crate) fn forwards_bad_fcs(&self) -> bool {
        self.plan.forwards_bad_fcs
    }

    /// A runt was seen on a port's link.
    pub(crate) fn runt(&mut self, port: PortId) {
        if self.plan.disables_port_on_runt {
            self.disabled |= 1 << port.0;
        }
    }

    /// Counts an arrival; whether the device crashes of it.
    #[inline]
    pub(crate) fn crashes(&mut self, now: Instant) -> bool {
        let Some(limit) = self.plan.crashes_above_fps else { return false };
        if now.since(self.window_start) >= WINDOW {
            self.window_start = now;
            self.in_window = 0;
        }
        self.in_window += 1;
        if self.in_window <= limit {
            return false;
        }
        let reboots = self.plan.reboots_in.map(|span| now + span.0);
        self.down_until = Some(reboots.unwrap_or(Instant::FAR_FUTURE));
        self.in_window = 0;
        true
    }

    /// Whether a frame of this size is dropped with so many frames waiting. Flooded once, a port
    /// stays so for `flooded-for` after each frame that comes in.
    #[inline]
    pub(crate) fn drops(&mut self, now: Instant, port: PortId, size: u64, waiting: u64) -> bool {
        let Some(limit) = self.plan.flooded_drops_over_bytes else { return false };
        let until = &mut self.flooded_until[usize::from(port.0)];
        let is_flooded = waiting >= self.plan.flooded_at_frames.unwrap_or(1) || now < *until;
        if let Some(span) = self.plan.flooded_for.filter(|_| is_flooded) {
            *until = now + span.0;
        }
        is_flooded && size > u64::from(limit)
    }

    /// Whether it does not answer for itself with so many frames waiting.
    #[inline]
    pub(crate) fn is_unreachable(&self, waiting: u64) -> bool {
        self.plan.unreachable_at_frames.is_some_and(|limit| waiting >= limit)
    }

    pub(crate) fn counts_crc_as_alignment(&self) -> bool {
        self.plan.crc_as_alignment
    }
}
