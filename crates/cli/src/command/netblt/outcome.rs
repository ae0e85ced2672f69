//! What a transfer came to, for people and for programs.

use netblt::Counters;
use netblt_io::Ended;
use serde::Serialize;
use units::Duration;

/// A transfer that is over, as JSON has it.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    peer: String,
    complete: bool,
    outcome: String,
    bytes: u64,
    elapsed_s: f64,
    /// RFC 1030 section 3.
    real_mbps: f64,
    /// RFC 1030 section 3; none if nothing, or one packet, was sent.
    steady_state_mbps: Option<f64>,
    data_packets_sent: u64,
    data_packets_resent: u64,
    data_packets_received: u64,
    duplicate_data_packets: u64,
    damaged_data_packets: u64,
    packets_asked_again: u64,
    data_timeouts: u64,
    control_timeouts: u64,
    control_packets_sent: u64,
    round_trip_s: Option<f64>,
    blake3: Option<String>,
}

impl Report {
    pub fn new(ended: &Ended) -> Report {
        let Counters { round_trip, .. } = ended.counters;
        let counters = ended.counters;
        Report {
            peer: ended.peer.to_string(),
            complete: ended.outcome.is_complete(),
            outcome: ended.outcome.to_string(),
            bytes: counters.data_bytes,
            elapsed_s: ended.elapsed.as_secs_f64(),
            real_mbps: ended.real_mbps(),
            steady_state_mbps: ended.steady_state_mbps(),
            data_packets_sent: counters.data_packets_sent,
            data_packets_resent: counters.data_packets_resent,
            data_packets_received: counters.data_packets_received,
            duplicate_data_packets: counters.duplicate_data_packets,
            damaged_data_packets: counters.damaged_data_packets,
            packets_asked_again: counters.packets_asked_again,
            data_timeouts: counters.data_timeouts,
            control_timeouts: counters.control_timeouts,
            control_packets_sent: counters.control_packets_sent,
            round_trip_s: (round_trip > Duration::ZERO).then(|| round_trip.as_secs_f64()),
            blake3: ended.digest.clone(),
        }
    }

    /// Some lines for people.
    pub fn text(&self) -> String {
        let mut lines = vec![format!(
            "{} bytes in {:.3} s with {}: {}",
            self.bytes, self.elapsed_s, self.peer, self.outcome
        )];
        let steady = match self.steady_state_mbps {
            Some(mbps) => format!("{mbps:.3} Mb/s"),
            None => "-".to_owned(),
        };
        lines.push(format!("real {:.3} Mb/s, steady state {steady}", self.real_mbps));
        if self.data_packets_sent > 0 {
            let (sent, again) = (self.data_packets_sent, self.data_packets_resent);
            lines.push(format!("data packets: {sent} sent, {again} of them again"));
        } else {
            lines.push(format!(
                "data packets: {} received, {} duplicate, {} damaged, {} asked for again; \
                 {} data timeouts, {} control timeouts",
                self.data_packets_received,
                self.duplicate_data_packets,
                self.damaged_data_packets,
                self.packets_asked_again,
                self.data_timeouts,
                self.control_timeouts,
            ));
        }
        lines.extend(self.blake3.as_ref().map(|digest| format!("blake3 {digest}, verified")));
        lines.join("\n") + "\n"
    }
}
