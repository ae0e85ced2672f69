//! What two ends agree on: limits of one, a proposal, and the terms that come of both.

use units::Duration;
use wire::netblt::{Mode, Open, Text};

/// Packets in a buffer at most: their number is 16 bits wide (RFC 998 section 8).
const MAX_PACKETS: u64 = 1 << 16;

/// Data in the packets to a reader that has yet to prove that he hears, and buffers under way from
/// which on it may be more.
const PROVABLE_BYTES: u16 = 256;
const MANY_BUFFERS: u16 = 16;

/// The rate of a sender: so many packets, once in so many milliseconds (RFC 998 section 4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Burst {
    /// DATA and LDATA packets in a burst, sent back to back.
    pub size_packets: u16,
    /// From the start of a burst to the start of the next. 0 would be no rate at all: as a limit it counts
    /// as 1.
    pub interval_ms: u16,
}

impl Burst {
    /// From the start of a burst to the start of the next.
    pub const fn interval(self) -> Duration {
        Duration::from_ms(self.interval_ms as u64)
    }
    /// Packets in a millisecond; an interval of 0 counts as 1.
    pub fn packets_per_ms(self) -> f64 {
        f64::from(self.size_packets) / f64::from(self.interval_ms.max(1))
    }
    /// Mean time between two packets.
    pub const fn packet_interval(self) -> Duration {
        Duration::from_ps(self.interval().as_ps() / self.size_packets as u64)
    }
    /// The more restrictive of each value: the smaller size, the longer interval.
    pub fn restricted_by(self, other: Burst) -> Burst {
        Burst {
            size_packets: self.size_packets.min(other.size_packets),
            interval_ms: self.interval_ms.max(other.interval_ms),
        }
    }
}

/// The best that an end can do; the other end can only make it less.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of a buffer.
    pub buffer_size_bytes: u32,
    /// Bytes of data in a packet.
    pub data_packet_size_bytes: u16,
    /// Fastest rate.
    pub burst: Burst,
    /// Buffers under way at once. Times the buffer size this bounds a receiver's memory.
    pub max_outstanding_buffers: u16,
    /// Whether this end wants the data checksummed; then it is.
    pub checksum_data: bool,
    /// Silence after which the other end counts as dead; 0 for never.
    pub death_timer_s: u16,
}

/// Times that an end chooses by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// First wait for an answer to OPEN or QUIT; doubled each time, up to eight times.
    pub open_timeout: Duration,
    /// OPENs sent before giving up.
    pub open_attempts: u32,
    /// Control timer before a round trip was measured.
    pub first_control_timer: Duration,
    /// Shortest control timer.
    pub min_control_timer: Duration,
    /// How data timers are made.
    pub data_timer: DataTimer,
    /// How much of its lateness a burst may make up for by starting the next one early. Zero keeps
    /// the full interval after every start; more keeps the mean rate in spite of a coarse clock.
    pub pacing_slack: Duration,
}

/// How long to wait for data before asking for it again: RFC 998 section 5.2.2 has "the number of
/// bursts times the burst rate, plus a variance", RFC 1030 an adaptive mean in place of the burst
/// rate, and neither says how large the variance is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataTimer {
    /// Of the time that the missing packets should take.
    pub stretch_percent: u32,
    /// Burst intervals added.
    pub spare_bursts: u32,
    /// Added: what hosts and networks vary by.
    pub margin: Duration,
}

impl Default for Limits {
    /// For an Ethernet MTU: buffers of 70 packets, 40 Mb/s.
    fn default() -> Self {
        Limits {
            buffer_size_bytes: 70 * 1432,
            data_packet_size_bytes: 1432,
            burst: Burst { size_packets: 7, interval_ms: 2 },
            max_outstanding_buffers: 16,
            checksum_data: true,
            death_timer_s: 30,
        }
    }
}

impl Default for Timing {
    fn default() -> Self {
        Timing {
            open_timeout: Duration::from_secs(1),
            open_attempts: 6,
            first_control_timer: Duration::from_ms(500),
            min_control_timer: Duration::from_ms(10),
            data_timer: DataTimer {
                stretch_percent: 150,
                spare_bursts: 2,
                margin: Duration::from_ms(30),
            },
            pacing_slack: Duration::from_ms(10),
        }
    }
}

/// What was agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Terms {
    /// Bytes of every buffer but the last.
    pub buffer_size_bytes: u32,
    /// Bytes of data in every packet of a buffer but its last.
    pub data_packet_size_bytes: u16,
    /// Rate at the start of the transfer; each OK can change it.
    pub burst: Burst,
    /// Buffers under way at once.
    pub max_outstanding_buffers: u16,
    /// Whether data is checksummed.
    pub checksum_data: bool,
    /// Silence after which the other end takes this one for dead; 0 for never.
    pub peer_death_timer_s: u16,
}

impl Terms {
    /// Whether packets of so many bytes are shorter, and not too many for a buffer.
    pub(crate) fn can_be_cut_to(&self, bytes: u16) -> bool {
        let countable = u64::from(bytes) * MAX_PACKETS >= self.buffer_size_bytes.into();
        bytes < self.data_packet_size_bytes && countable
    }

    /// Packets of a buffer of `bytes`; an empty one has one, to say that it is.
    pub fn packets(&self, bytes: usize) -> u32 {
        bytes.div_ceil(usize::from(self.data_packet_size_bytes)).max(1) as u32
    }

    /// What `open` says, if it makes sense at all.
    fn said(open: &Open<'_>) -> Result<Terms, &'static str> {
        let terms = Terms {
            buffer_size_bytes: open.buffer_size_bytes,
            data_packet_size_bytes: open.data_packet_size_bytes,
            burst: Burst {
                size_packets: open.burst_size_packets,
                interval_ms: open.burst_interval_ms,
            },
            max_outstanding_buffers: open.max_outstanding_buffers,
            checksum_data: open.checksum_data,
            peer_death_timer_s: open.death_timer_s,
        };
        match terms {
            Terms { buffer_size_bytes: 0, .. } => Err("buffer size 0"),
            Terms { data_packet_size_bytes: 0, .. } => Err("data packet size 0"),
            Terms { burst: Burst { size_packets: 0, .. }, .. } => Err("burst size 0"),
            Terms { max_outstanding_buffers: 0, .. } => Err("no outstanding buffers"),
            _ => Ok(terms),
        }
    }

    /// The passive end's: its own limits, or less where the proposal has less (RFC 998 section 4).
    pub(crate) fn answering(limits: &Limits, open: &Open<'_>) -> Result<Terms, &'static str> {
        let theirs = Terms::said(open)?;
        let packet = theirs.data_packet_size_bytes.min(limits.data_packet_size_bytes);
        let countable = (u64::from(packet) * MAX_PACKETS).min(u64::from(u32::MAX)) as u32;
        let buffer = theirs.buffer_size_bytes.min(limits.buffer_size_bytes).min(countable);
        Ok(Terms {
            buffer_size_bytes: buffer,
            data_packet_size_bytes: packet,
            burst: theirs.burst.restricted_by(limits.burst),
            max_outstanding_buffers: theirs
                .max_outstanding_buffers
                .min(limits.max_outstanding_buffers),
            checksum_data: theirs.checksum_data || limits.checksum_data,
            peer_death_timer_s: theirs.peer_death_timer_s,
        })
    }

    /// The active end's, from the answer to what it proposed. An answer that is not at least as
    /// restrictive is a malfunction (our choice: ABORT).
    pub(crate) fn answered(limits: &Limits, answer: &Open<'_>) -> Result<Terms, &'static str> {
        let terms = Terms::said(answer)?;
        let restricted = terms.buffer_size_bytes <= limits.buffer_size_bytes
            && terms.data_packet_size_bytes <= limits.data_packet_size_bytes
            && terms.burst.restricted_by(limits.burst) == terms.burst
            && terms.max_outstanding_buffers <= limits.max_outstanding_buffers
            && terms.checksum_data >= limits.checksum_data;
        if !restricted {
            return Err("RESPONSE less restrictive than OPEN");
        }
        let packets = terms.buffer_size_bytes.div_ceil(terms.data_packet_size_bytes.into());
        if u64::from(packets) > MAX_PACKETS {
            return Err("more packets in a buffer than can be numbered");
        }
        Ok(terms)
    }
}

impl Limits {
    /// These limits with every value at least 1 and a buffer whose packets can be numbered.
    pub(crate) fn sane(self) -> Limits {
        let packet = self.data_packet_size_bytes.max(1);
        let countable = (u64::from(packet) * MAX_PACKETS).min(u64::from(u32::MAX)) as u32;
        Limits {
            buffer_size_bytes: self.buffer_size_bytes.clamp(1, countable),
            data_packet_size_bytes: packet,
            burst: Burst {
                size_packets: self.burst.size_packets.max(1),
                interval_ms: self.burst.interval_ms.max(1),
            },
            max_outstanding_buffers: self.max_outstanding_buffers.max(1),
            ..self
        }
    }

    /// These limits with data packets of so many bytes, and buffers of as many packets.
    pub(crate) fn with_packets_of(self, bytes: u16) -> Limits {
        let Limits { buffer_size_bytes, data_packet_size_bytes, .. } = self.sane();
        let buffer = u64::from(buffer_size_bytes) * u64::from(bytes);
        let buffer = buffer / u64::from(data_packet_size_bytes);
        let buffer_size_bytes = u32::try_from(buffer).unwrap_or(u32::MAX);
        Limits { buffer_size_bytes, data_packet_size_bytes: bytes, ..self }.sane()
    }

    /// These limits with data packets so small that who reads proves within few RESENDs that he hears:
    /// unless he has many buffers under way, and asks for packets of all of them, one packet has to be
    /// worth little more than a RESEND, and one of many.
    pub(crate) fn provable(self, open: &Open<'_>) -> Limits {
        let outstanding = open.max_outstanding_buffers.min(self.max_outstanding_buffers);
        if outstanding >= MANY_BUFFERS {
            return self;
        }
        let packet = self.data_packet_size_bytes.min(PROVABLE_BYTES);
        Limits { data_packet_size_bytes: packet, ..self }
    }

    /// The body of the OPEN that proposes these limits.
    pub(crate) fn proposal<'a>(
        &self,
        connection_id: u32,
        mode: Mode,
        transfer_size_bytes: u32,
        client_string: Text<'a>,
    ) -> Open<'a> {
        Open {
            connection_id,
            buffer_size_bytes: self.buffer_size_bytes,
            transfer_size_bytes,
            data_packet_size_bytes: self.data_packet_size_bytes,
            burst_size_packets: self.burst.size_packets,
            burst_interval_ms: self.burst.interval_ms,
            death_timer_s: self.death_timer_s,
            mode,
            checksum_data: self.checksum_data,
            max_outstanding_buffers: self.max_outstanding_buffers,
            client_string,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        Limits {
            buffer_size_bytes: 10_000,
            data_packet_size_bytes: 1000,
            burst: Burst { size_packets: 5, interval_ms: 40 },
            max_outstanding_buffers: 4,
            checksum_data: false,
            death_timer_s: 60,
        }
    }

    #[test]
    fn the_answer_is_the_more_restrictive_of_both_in_each_value() {
        let theirs = Limits {
            buffer_size_bytes: 20_000,
            data_packet_size_bytes: 500,
            burst: Burst { size_packets: 8, interval_ms: 30 },
            max_outstanding_buffers: 2,
            checksum_data: true,
            death_timer_s: 7,
        };
        let terms =
            Terms::answering(&limits(), &theirs.proposal(1, Mode::Read, 0, Text::default()));
        let expected = Terms {
            buffer_size_bytes: 10_000,
            data_packet_size_bytes: 500,
            burst: Burst { size_packets: 5, interval_ms: 40 },
            max_outstanding_buffers: 2,
            checksum_data: true,
            peer_death_timer_s: 7,
        };
        assert_eq!(terms, Ok(expected));
    }

    #[test]
    fn an_interval_of_0_is_not_agreed_to() {
        let burst = Burst { size_packets: 5, interval_ms: 0 };
        let none = Limits { burst, ..limits() };
        let terms =
            Terms::answering(&none.sane(), &none.proposal(1, Mode::Read, 0, Text::default()));
        let slowest = Burst { size_packets: 5, interval_ms: 1 };
        assert_eq!(terms.map(|terms| terms.burst), Ok(slowest));
    }

    #[test]
    fn an_answer_that_asks_for_more_is_a_malfunction() {
        let proposal = || limits().proposal(1, Mode::Write, 0, Text::default());
        assert!(Terms::answered(&limits(), &proposal()).is_ok());
        for answer in [
            Open { buffer_size_bytes: 10_001, ..proposal() },
            Open { data_packet_size_bytes: 1001, ..proposal() },
            Open { burst_size_packets: 6, ..proposal() },
            Open { burst_interval_ms: 39, ..proposal() },
            Open { max_outstanding_buffers: 5, ..proposal() },
            Open { burst_size_packets: 0, ..proposal() },
            Open { buffer_size_bytes: 0, ..proposal() },
            Open { data_packet_size_bytes: 0, ..proposal() },
            Open { max_outstanding_buffers: 0, ..proposal() },
        ] {
            assert!(Terms::answered(&limits(), &answer).is_err(), "{answer}");
        }
        let checked = Limits { checksum_data: true, ..limits() };
        assert!(Terms::answered(&checked, &proposal()).is_err(), "checksum turned off");
    }

    #[test]
    fn packets_of_a_buffer_can_be_numbered() {
        let tiny = Open {
            data_packet_size_bytes: 1,
            buffer_size_bytes: 1_000_000,
            ..limits().proposal(1, Mode::Write, 0, Text::default())
        };
        let wide = Limits { buffer_size_bytes: u32::MAX, ..limits() };
        assert_eq!(Terms::answering(&wide, &tiny).map(|t| t.buffer_size_bytes), Ok(65_536));
        assert!(Terms::answered(&wide, &tiny).is_err());
    }
}
