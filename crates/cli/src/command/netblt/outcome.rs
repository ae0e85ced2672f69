//! What a transfer came to, for people and for programs.

use netblt::Counters;
use netblt_client::follow::Followed;
use netblt_io::{Ended, LatenessSummary};
use serde::Serialize;
use std::net::SocketAddr;
use units::Duration;

/// A transfer that is over, as JSON has it. What only the other end counts is null here.
#[derive(Clone, Debug, Serialize)]
pub struct TransferReport {
    peer: String,
    complete: bool,
    /// This end was stopped by a signal before the transfer was complete.
    interrupted: bool,
    outcome: String,
    /// Of the file or of memory, that arrived or are known to have; no padding, no digest.
    bytes: u64,
    /// Of these, what is kept of a transfer that is not complete: the same command goes on behind them; 0 if it
    /// begins anew. None of a complete one, and at a server.
    kept_bytes: Option<u64>,
    /// NETBLT's packets whole, those sent again included; not the headers of UDP and IP.
    wire_bytes_sent: u64,
    /// Likewise.
    wire_bytes_received: u64,
    elapsed_s: f64,
    /// RFC 1030 section 3; none if nothing was transferred.
    real_mbps: Option<f64>,
    /// RFC 1030 section 3; none if there was one buffer only.
    steady_state_mbps: Option<f64>,
    #[serde(flatten)]
    sent: Sent,
    #[serde(flatten)]
    received: Received,
    /// How late bursts left that were waited for, by the sender's own clock.
    burst_lateness: Option<LatenessSummary>,
    blake3: Option<String>,
    /// Packets that would have ended this connection or another and were not heeded.
    stray_closings: u64,
    /// Data packets that a network marked in place of dropping them, as far as this end knows.
    marked_data_packets: u64,
    /// The plain layout was used: nobody verified what arrived.
    unverified: bool,
}

/// What the sender of data counts.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Sent {
    data_packets_sent: Option<u64>,
    data_packets_resent: Option<u64>,
}

/// What the receiver of data counts.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Received {
    data_packets_received: Option<u64>,
    duplicate_data_packets: Option<u64>,
    damaged_data_packets: Option<u64>,
    misfit_data_packets: Option<u64>,
    packets_asked_again: Option<u64>,
    data_timeouts: Option<u64>,
    control_timeouts: Option<u64>,
    control_packets_sent: Option<u64>,
    round_trip_s: Option<f64>,
}

impl Sent {
    fn new(counters: &Counters) -> Sent {
        Sent {
            data_packets_sent: Some(counters.data_packets_sent),
            data_packets_resent: Some(counters.data_packets_resent),
        }
    }
}

impl Received {
    fn new(counters: &Counters) -> Received {
        let round_trip = counters.round_trip;
        Received {
            data_packets_received: Some(counters.data_packets_received),
            duplicate_data_packets: Some(counters.duplicate_data_packets),
            damaged_data_packets: Some(counters.damaged_data_packets),
            misfit_data_packets: Some(counters.misfit_data_packets),
            packets_asked_again: Some(counters.packets_asked_again),
            data_timeouts: Some(counters.data_timeouts),
            control_timeouts: Some(counters.control_timeouts),
            control_packets_sent: Some(counters.control_packets_sent),
            round_trip_s: (round_trip > Duration::ZERO).then(|| round_trip.as_secs_f64()),
        }
    }
}

/// An IPv4 address that an IPv6 socket talks to is shown as what it is.
pub fn shown(peer: SocketAddr) -> String {
    SocketAddr::new(peer.ip().to_canonical(), peer.port()).to_string()
}

impl TransferReport {
    pub fn new(ended: &Ended) -> TransferReport {
        let counters = &ended.counters;
        let (sent, received) = match ended.sends {
            true => (Sent::new(counters), Received::default()),
            false => (Sent::default(), Received::new(counters)),
        };
        TransferReport {
            peer: shown(ended.peer),
            complete: ended.outcome.is_complete(),
            interrupted: false,
            outcome: ended.outcome.to_string(),
            bytes: ended.payload_bytes,
            kept_bytes: None,
            wire_bytes_sent: counters.bytes_sent,
            wire_bytes_received: counters.bytes_received,
            elapsed_s: ended.elapsed.as_secs_f64(),
            real_mbps: ended.real_mbps(),
            steady_state_mbps: ended.steady_state_mbps(),
            sent,
            received,
            burst_lateness: None,
            blake3: ended.digest.clone(),
            stray_closings: counters.stray_closings,
            marked_data_packets: counters.marked_data_packets,
            unverified: ended.plain,
        }
    }

    /// Of a transfer that this end opened, with what only that end knows.
    pub fn opened_here(followed: &Followed) -> TransferReport {
        let report = TransferReport::new(&followed.ended);
        let sends = report.sent.data_packets_sent.is_some();
        TransferReport {
            interrupted: followed.stopped,
            kept_bytes: followed.kept_bytes(),
            burst_lateness: followed.lateness.filter(|_| sends),
            ..report
        }
    }

    /// Some lines for people.
    pub fn text(&self) -> String {
        let mbps =
            |rate: Option<f64>| rate.map_or("-".to_owned(), |mbps| format!("{mbps:.3} Mb/s"));
        let count = |count: Option<u64>| count.map_or("-".to_owned(), |count| count.to_string());
        let kept = match self.kept_bytes {
            Some(0) => {
                "not complete; nothing of it is kept: the same command begins anew".to_owned()
            }
            Some(kept) => {
                format!("not complete; {kept} bytes of it are kept: the same command goes on there")
            }
            None => String::new(),
        };
        let mut lines = vec![
            format!(
                "{} bytes in {:.3} s with {}: {}",
                self.bytes, self.elapsed_s, self.peer, self.outcome
            ),
            kept,
            format!("real {}, steady state {}", mbps(self.real_mbps), mbps(self.steady_state_mbps)),
            format!(
                "NETBLT packets: {} bytes sent, {} bytes received",
                self.wire_bytes_sent, self.wire_bytes_received
            ),
        ];
        let (Sent { data_packets_sent, data_packets_resent }, received) =
            (self.sent, self.received);
        lines.push(match data_packets_sent {
            Some(sent) => {
                format!("data packets: {sent} sent, {} of them again", count(data_packets_resent))
            }
            None => format!(
                "data packets: {} received, {} duplicate, {} damaged, {} misfit, {} asked for again; \
                 {} data timeouts, {} control timeouts",
                count(received.data_packets_received),
                count(received.duplicate_data_packets),
                count(received.damaged_data_packets),
                count(received.misfit_data_packets),
                count(received.packets_asked_again),
                count(received.data_timeouts),
                count(received.control_timeouts),
            ),
        });
        lines.extend(self.burst_lateness.map(|late| {
            format!(
                "bursts waited for: {}, half of them at most {} us late, 99 % at most {} us",
                late.bursts, late.median_us, late.p99_us
            )
        }));
        if self.marked_data_packets > 0 {
            lines
                .push(format!("congestion marks (ECN): {} data packets", self.marked_data_packets));
        }
        if self.stray_closings > 0 {
            lines.push(format!(
                "{} packets (ABORT, QUIT) from the peer's address would have ended this connection or one \
                 that is not there: somebody may be guessing ports",
                self.stray_closings
            ));
        }
        if self.unverified {
            lines.push("unverified: plain bytes, without a digest".to_owned());
        }
        lines.extend(self.blake3.as_ref().map(|digest| format!("blake3 {digest}, verified")));
        lines.retain(|line| !line.is_empty());
        lines.join("\n") + "\n"
    }
}
