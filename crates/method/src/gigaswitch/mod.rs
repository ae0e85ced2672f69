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
    /// How tables and pictures call the document.
    pub(crate) const DOCUMENT: &str = "IP packet throughput tests of the DIGITAL GIGAswitch/FDDI System, observed by Scott Bradner";
    /// The heading of the test bed of a run, and how the document's differs.
    pub(crate) const TEST_BED: [&str; 2] = [
        "Test bed: \"How the Switches Were Connected\" of the DIGITAL GIGAswitch/FDDI System tests, as this run had it",
        "In the document each full-duplex link FDn of the switch under test ends at one of three more GIGAswitches, which \
         split it into the links of a transmitter Tn and of a receiver Rn: its analyzers had no full-duplex FDDI. Here one \
         port of the tester is all of that.",
    ];
    /// "64 octet data packets".
    pub const FRAME_SIZE_BYTES: u32 = 64;
    /// Numbers of ports that the document measured.
    pub const MEASURED_PORTS: [usize; 2] = [4, 8];

    /// What the document measured of each of so many ports with frames of this size.
    pub fn per_port_fps(ports: usize, frame_size_bytes: u32) -> Option<f64> {
        let is_measured = frame_size_bytes == FRAME_SIZE_BYTES && MEASURED_PORTS.contains(&ports);
        is_measured.then_some(PER_PORT_FPS)
    }
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
