//! The IP packet throughput tests of the DIGITAL GIGAswitch/FDDI System, observed by Scott Bradner:
//! a de-multiplexed fan-out over 4 and 8 ports, extrapolated to all 34, and the ARP server.

mod arp_server;
mod extrapolation;
mod fanout;
mod layout;
mod outcome;

pub use arp_server::{ArpServerResult, ArpTrial, arp_server};
pub use extrapolation::{ExtrapolationResult, extrapolation};
pub use fanout::{FanoutResult, fanout};

/// What the document prints, to stand beside what is measured here.
pub mod published {
    /// Highest average lossless throughput of each of 4 and of 8 ports, in frames of 64 octets a
    /// second.
    pub const PER_PORT_FPS: f64 = 118_800.0;
    /// The range of the peaks.
    pub const PEAKS_FPS: [f64; 2] = [118_781.0, 118_846.0];
    /// Extrapolated to 34 ports.
    pub const ALL_PORTS_FPS: f64 = 4_039_200.0;
    /// Ports of a full switch.
    pub const ALL_PORTS: usize = 34;
    /// Sustained ARP responses a second, "approximately".
    pub const ARP_RESPONSES_FPS: f64 = 2_000.0;
}
