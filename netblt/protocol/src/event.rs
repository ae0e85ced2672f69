//! What a connection tells its client.

use std::fmt;

/// Something that the client should know. Poll until there is none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// Both ends have agreed; see [`Connection::terms`](crate::Connection::terms).
    Opened,
    /// A buffer has arrived whole. Buffers may finish out of their order.
    Received {
        /// Place in the transfer, from 0.
        index: u32,
        /// The data.
        data: Vec<u8>,
        /// Whether it is the last of the transfer.
        last: bool,
    },
    /// A buffer is safe at the other end and belongs to the client again.
    Sent {
        /// Place in the transfer, from 0.
        index: u32,
        /// The buffer.
        data: Vec<u8>,
    },
    /// The connection is over; the last event.
    Closed(Ending),
}

/// How a connection ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    /// Everything arrived, and this end knows it.
    Complete,
    /// Everything arrived, but the other end fell silent before it confirmed that it knows.
    CompleteUnconfirmed,
    /// The other end would not connect; its reason.
    Refused(String),
    /// No answer to OPEN, or to RESPONSE.
    NoAnswer,
    /// The other end was silent for longer than the death timer.
    PeerDead,
    /// A client wanted to stop.
    Quit {
        /// Whether it was the other one.
        by_peer: bool,
        /// Its reason.
        reason: String,
    },
    /// A NETBLT found a malfunction, or a client broke off at once.
    Aborted {
        /// Whether it was the other one.
        by_peer: bool,
        /// Its reason.
        reason: String,
    },
}

impl Ending {
    /// Whether all data of the transfer arrived.
    pub fn is_complete(&self) -> bool {
        matches!(self, Ending::Complete | Ending::CompleteUnconfirmed)
    }
}

/// A peer's words without the control characters that a terminal would obey.
struct Harmless<'a>(&'a str);

impl fmt::Display for Harmless<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|char| match char {
            '"' | '\'' => write!(f, "{char}"),
            _ => write!(f, "{}", char.escape_debug()),
        })
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = |by_peer: &bool| if *by_peer { "the other end" } else { "this end" };
        match self {
            Ending::Complete => write!(f, "complete"),
            Ending::CompleteUnconfirmed => {
                write!(f, "complete, but the other end fell silent before it confirmed")
            }
            Ending::Refused(reason) => write!(f, "refused: {}", Harmless(reason)),
            Ending::NoAnswer => write!(f, "no answer"),
            Ending::PeerDead => write!(f, "the other end fell silent"),
            Ending::Quit { by_peer, reason } => {
                write!(f, "{} quit: {}", end(by_peer), Harmless(reason))
            }
            Ending::Aborted { by_peer, reason } => {
                write!(f, "{} aborted: {}", end(by_peer), Harmless(reason))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_cannot_command_the_terminal() {
        let reason = "\u{1b}[2J\u{9b}31m\u{202e}\r\n\u{7} \"é\"".to_owned();
        for outcome in [
            Ending::Refused(reason.clone()),
            Ending::Quit { by_peer: true, reason: reason.clone() },
            Ending::Aborted { by_peer: false, reason: reason.clone() },
        ] {
            let shown = outcome.to_string();
            assert!(!shown.contains(|c: char| c.is_control() || c == '\u{202e}'), "{shown:?}");
            assert!(shown.ends_with("\"é\""), "{shown}");
        }
    }
}
