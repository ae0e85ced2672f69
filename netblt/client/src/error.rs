//! What goes wrong, and what mends it.

use netblt::Ending;
use netblt_io::{Carrier, Ended, Refusal};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why a transfer, or a server, came to nothing. [`Error::remedy`] says what mends it; as text an error is both.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Options that cannot be meant, or not together.
    Options {
        /// What is wrong.
        what: String,
        /// What mends it.
        remedy: &'static str,
    },
    /// On raw IP packets cannot be sealed.
    SealedRawIp,
    /// The host has no address.
    UnknownHost {
        /// As it was given.
        host: String,
        /// Why.
        why: String,
    },
    /// No socket.
    Socket {
        /// For which address.
        address: SocketAddr,
        /// Of which kind.
        carrier: Carrier,
        /// Why.
        error: io::Error,
    },
    /// A file that is to be sent, or a folder to be served, cannot be read.
    CannotRead {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file cannot be written here. [`io::ErrorKind::AlreadyExists`]: it is there.
    CannotWrite {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A server would be open to other hosts, without a key.
    NotTrusted {
        /// Where it would listen.
        address: SocketAddr,
    },
    /// Nobody answers.
    NoAnswer {
        /// Where.
        peer: SocketAddr,
    },
    /// The other end has another key, or none.
    OtherKey {
        /// Who.
        peer: SocketAddr,
        /// Which of it.
        refusal: Refusal,
    },
    /// The server does not want this transfer.
    Refused {
        /// Who.
        peer: SocketAddr,
        /// In its words.
        reason: String,
    },
    /// The other end fell silent during the transfer.
    Silent {
        /// Who.
        peer: SocketAddr,
        /// Whether what arrived is kept, so that the same transfer goes on there.
        kept: bool,
    },
    /// The other end gave up during the transfer.
    PeerGaveUp {
        /// Who.
        peer: SocketAddr,
        /// In its words.
        reason: String,
        /// Whether what arrived is kept.
        kept: bool,
    },
    /// This end gave up during the transfer: mostly a file that cannot be read or written any more.
    GaveUp {
        /// Why.
        reason: String,
        /// Whether what arrived is kept.
        kept: bool,
    },
    /// Who asked for the transfer wants it no more.
    Cancelled {
        /// Whether what arrived is kept.
        kept: bool,
    },
    /// This host's network or system does not work.
    System(io::Error),
}

impl Error {
    /// What an incomplete transfer is as an error. `keeps` is whether it was of a file.
    pub fn of(ended: &Ended, keeps: bool) -> Error {
        let peer = ended.peer;
        let discarded = match &ended.outcome {
            Ending::Quit { reason, .. } | Ending::Aborted { reason, .. } => {
                // Another version begins anew.
                reason.contains("digest") || reason.contains(netblt_io::CHANGED)
            }
            _ => false,
        };
        // Of a plain transfer nothing is kept at either end.
        let kept = keeps && !ended.plain && ended.payload_bytes > 0 && !discarded;
        match &ended.outcome {
            Ending::Refused(reason) => Error::Refused { peer, reason: reason.clone() },
            Ending::NoAnswer => Error::NoAnswer { peer },
            Ending::Quit { by_peer, reason } | Ending::Aborted { by_peer, reason } => {
                match (by_peer, reason.as_str()) {
                    (true, _) => Error::PeerGaveUp { peer, reason: reason.clone(), kept },
                    (false, crate::follow::CANCELLED) => Error::Cancelled { kept },
                    (false, _) => Error::GaveUp { reason: reason.clone(), kept },
                }
            }
            Ending::PeerDead | Ending::Complete | Ending::CompleteUnconfirmed => {
                Error::Silent { peer, kept }
            }
        }
    }

    /// Whether what arrived of the transfer is kept, so that the same one goes on there.
    pub fn keeps(&self) -> bool {
        match self {
            Error::Silent { kept, .. }
            | Error::PeerGaveUp { kept, .. }
            | Error::GaveUp { kept, .. }
            | Error::Cancelled { kept } => *kept,
            _ => false,
        }
    }

    /// What went wrong, without the remedy.
    pub fn message(&self) -> String {
        match self {
            Error::Options { what, .. } => what.clone(),
            Error::SealedRawIp => "on raw IP packets cannot be sealed".to_owned(),
            Error::UnknownHost { host, why } => format!("cannot find {host}: {why}"),
            Error::Socket { address, error, .. } => {
                format!("cannot open a socket on {address}: {error}")
            }
            Error::CannotRead { path, error } => format!("cannot read {}: {error}", path.display()),
            Error::CannotWrite { path, error } => {
                format!("cannot write {}: {error}", path.display())
            }
            Error::NotTrusted { address } => {
                format!("{address} is not of this host alone, and there is no key")
            }
            Error::NoAnswer { peer } => format!("no answer from {}", shown(*peer)),
            Error::OtherKey { peer, refusal } => {
                format!("no session with {}: {refusal}", shown(*peer))
            }
            Error::Refused { peer, reason } => {
                format!("{} refused: {}", shown(*peer), harmless(reason))
            }
            Error::Silent { peer, .. } => format!("{} fell silent", shown(*peer)),
            Error::PeerGaveUp { peer, reason, .. } => {
                format!("{} gave up: {}", shown(*peer), harmless(reason))
            }
            Error::GaveUp { reason, .. } => format!("this end gave up: {}", harmless(reason)),
            Error::Cancelled { .. } => "cancelled".to_owned(),
            Error::System(error) => format!("this host's network or system broke: {error}"),
        }
    }

    /// What mends it.
    pub fn remedy(&self) -> &'static str {
        const AGAIN: &str = "the same call goes on where it broke, once that is mended";
        const ANEW: &str = "nothing was kept: the same call begins anew, once that is mended";
        let again = |kept: &bool| if *kept { AGAIN } else { ANEW };
        match self {
            Error::Options { remedy, .. } => remedy,
            Error::SealedRawIp => "use UDP, or no key",
            Error::UnknownHost { .. } => {
                "give a host name or address, with :PORT for another UDP port than 20030"
            }
            Error::Socket { carrier, error, .. } => match (error.kind(), carrier) {
                (io::ErrorKind::PermissionDenied, Carrier::RawIp) => {
                    "raw IP takes root, or CAP_NET_RAW; UDP takes neither"
                }
                (io::ErrorKind::AddrInUse, _) => "give another address or port to listen on",
                _ => "give an address of this host",
            },
            Error::CannotRead { .. } => "give a path that is there and may be read",
            Error::CannotWrite { error, .. } => match error.kind() {
                io::ErrorKind::AlreadyExists => "allow to overwrite it, or give another path",
                _ => "give a path in a folder that is there and may be written",
            },
            Error::NotTrusted { .. } => {
                "give a key, or say that whoever can send to this address is trusted"
            }
            Error::NoAnswer { .. } => {
                "start a server there, or let its UDP port through the firewalls on the way"
            }
            Error::OtherKey { refusal: Refusal::Burnt | Refusal::Forgetful, .. } => {
                "start the server again with a new code"
            }
            Error::OtherKey {
                refusal: Refusal::NoCode | Refusal::CodeNeeded | Refusal::OtherCode,
                ..
            } => "give the code that the server has printed, or both ends the same key",
            Error::OtherKey { .. } => "give both ends the same key",
            Error::Refused { reason, .. } => remedy_of_refusal(reason),
            Error::Silent { kept, .. }
            | Error::PeerGaveUp { kept, .. }
            | Error::GaveUp { kept, .. } => again(kept),
            Error::Cancelled { .. } => {
                "call again: it goes on where it was cancelled, if something had come"
            }
            Error::System(_) => "mend that, and call again",
        }
    }
}

/// For the words in which our own servers refuse.
fn remedy_of_refusal(reason: &str) -> &'static str {
    let known = [
        ("sealed packets only", "give the key that the server has"),
        ("no client at this port", "give the NETBLT port of the server"),
        ("exists already", "give another name, or let the server allow to overwrite"),
        ("read only", "let the server allow to write"),
        ("write only", "let the server allow to read"),
        ("No such file", "give a name that is there"),
        ("not a name", "give a relative name without . and .. and of at most 255 bytes"),
        ("try again", "call again in a moment"),
    ];
    known
        .iter()
        .find(|(words, _)| reason.contains(words))
        .map_or("ask whoever runs the server", |(_, remedy)| remedy)
}

/// An IPv4 address that an IPv6 socket talks to is shown as what it is.
pub(crate) fn shown(peer: SocketAddr) -> SocketAddr {
    SocketAddr::new(peer.ip().to_canonical(), peer.port())
}

/// A peer's words without the control characters that a terminal would obey.
fn harmless(reason: &str) -> String {
    let refused = Ending::Refused(reason.to_owned()).to_string();
    refused.strip_prefix("refused: ").unwrap_or_default().to_owned()
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message(), self.remedy())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Socket { error, .. }
            | Error::CannotRead { error, .. }
            | Error::CannotWrite { error, .. }
            | Error::System(error) => Some(error),
            _ => None,
        }
    }
}
