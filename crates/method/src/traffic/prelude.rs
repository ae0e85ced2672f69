//! What goes before a trial: routing updates, learning frames and announcements.

use super::{Forwarding, Traffic};
use crate::protocol::Protocol;
use trial::Prelude;
use units::Duration;
use wire::keepalive;

impl Traffic {
    /// In the VLAN of the test frames.
    pub(super) fn keep_alive(&self, index: usize) -> keepalive::KeepAlive {
        let outside = self.outside(index);
        let mut alive = match &self.topology.encapsulated {
            // The ends of a tunnel have both versions of IP.
            Some(_) if index == 1 => Protocol::UdpIpv4.keep_alive(outside),
            _ => self.config.keep_alive(outside),
        };
        alive.frames = alive.frames.into_iter().map(|frame| self.tagged(frame)).collect();
        alive
    }

    /// The same traffic after these frames, which are sent before each trial.
    pub(crate) fn announcing(mut self, announced: Vec<Prelude>) -> Traffic {
        self.announced = announced;
        self
    }

    /// Routing updates, where they are asked for, and learning frames, sent into the receiving ports (RFC
    /// 2544 section 23 a and b): each in the name of
    /// the end host there, so that the device knows where it is.
    pub(crate) fn prelude(&self) -> Vec<Prelude> {
        if self.topology.forwarding == Forwarding::Looped {
            return vec![];
        }
        let learning = |port: usize| Prelude {
            port: self.topology.ports[port].port,
            frames: self.keep_alive(port).frames,
            wait: Duration::ZERO,
        };
        let mut prelude = self.routing_prelude();
        prelude.extend(self.receiving().into_iter().map(learning));
        if let Some(last) = prelude.last_mut() {
            last.wait = self.learning_wait;
        }
        prelude.extend(self.announced.iter().cloned());
        prelude
    }
}
