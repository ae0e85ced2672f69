//! Frames with errors: what a device must discard, and should count (RFC 2544 does not ask for
//! them; tests of 1989 sent runts, giants and frames with a bad CRC).
//!
//! The kinds are those of RMON's statistics (RFC 2819, etherStatsTable), so that a device's
//! counters can be laid beside them. Which of them a port can send depends on the port: see
//! [`ErrorFrame::check`].

use crate::template::{BuildError, FrameTemplate, Signature};
use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;
use units::FrameSize;
use wire::signature::{self, Form, Stamp};

/// What is wrong with a frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// Shorter than 64 bytes, FCS good: etherStatsUndersizePkts.
    Runt,
    /// Longer than 1518 bytes, FCS good: etherStatsOversizePkts.
    Giant,
    /// A bad FCS: etherStatsCRCAlignErrors.
    Crc,
    /// A bad FCS, and bits left over that make no byte: etherStatsCRCAlignErrors as well.
    Alignment,
    /// Shorter than 64 bytes, FCS bad, as a collision leaves it: etherStatsFragments.
    Fragment,
    /// Longer than 1518 bytes, FCS bad: etherStatsJabbers.
    Jabber,
}

impl ErrorKind {
    const fn has_bad_fcs(self) -> bool {
        !matches!(self, ErrorKind::Runt | ErrorKind::Giant)
    }
    const fn sizes(self) -> (u32, u32) {
        match self {
            // A MAC takes nothing for a frame that does not hold both addresses.
            ErrorKind::Runt | ErrorKind::Fragment => (SHORTEST, 63),
            ErrorKind::Crc | ErrorKind::Alignment => (64, 1518),
            ErrorKind::Giant | ErrorKind::Jabber => (1519, 65_535),
        }
    }
}

/// Addresses, type and FCS.
const SHORTEST: u32 = 18;
/// Bits that are left over in a frame with an alignment error.
const DRIBBLE_BITS: u8 = 4;

/// A frame with an error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ErrorFrame {
    /// What is wrong with it.
    pub kind: ErrorKind,
    /// Its bytes without FCS.
    pub bytes: Vec<u8>,
    /// Its FCS, as it is sent.
    pub fcs: [u8; 4],
    /// Bits behind the FCS, below 8.
    pub dribble_bits: u8,
}

/// Why there is no such frame.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ErrorFrameError {
    /// Frames with this error have other sizes.
    #[error("a frame of {size} bytes is no {kind}: it has {from} to {to}")]
    Size {
        /// The error asked for.
        kind: ErrorKind,
        /// The size asked for.
        size: FrameSize,
        /// The smallest.
        from: u32,
        /// The largest.
        to: u32,
    },
    /// The template makes no frame from which to start.
    #[error(transparent)]
    Build(#[from] BuildError),
}

impl ErrorFrame {
    /// A frame of the template with this error. A frame that is too short is cut from the smallest
    /// of the template, and has a signature only where one fits behind its headers.
    pub fn new(
        kind: ErrorKind,
        template: &FrameTemplate,
        size: FrameSize,
        signature: Option<Signature>,
    ) -> Result<ErrorFrame, ErrorFrameError> {
        let (from, to) = kind.sizes();
        if !(from..=to).contains(&size.bytes()) {
            return Err(ErrorFrameError::Size { kind, size, from, to });
        }
        let mut bytes = if size < FrameSize::MIN_ETHERNET {
            cut(template, size, signature)?
        } else {
            template.build(0, size, signature)?
        };
        bytes.truncate(size.bytes_without_fcs());
        let mut fcs = fcs(&bytes);
        if kind.has_bad_fcs() {
            fcs = fcs.map(|byte| !byte);
        }
        let dribble_bits = if kind == ErrorKind::Alignment { DRIBBLE_BITS } else { 0 };
        Ok(ErrorFrame { kind, bytes, fcs, dribble_bits })
    }
    /// Its size with FCS.
    pub fn size(&self) -> FrameSize {
        FrameSize::from_bytes_without_fcs(self.bytes.len() as u32)
    }
    /// Whether its FCS fits its bytes.
    pub fn fcs_is_good(&self) -> bool {
        self.fcs == fcs(&self.bytes)
    }
    /// The bytes with the FCS, as a port takes them that leaves the FCS to its user.
    pub fn with_fcs(&self) -> Vec<u8> {
        [&self.bytes[..], &self.fcs].concat()
    }
    /// Why a port of these abilities cannot send it, for a report that never skips it in silence.
    pub fn check(&self, port: &ErrorAbilities) -> Result<(), NotPossible> {
        let size = self.size();
        if size < port.shortest {
            return Err(NotPossible::TooShort { size, shortest: port.shortest });
        }
        if size > port.longest {
            return Err(NotPossible::TooLong { size, longest: port.longest });
        }
        if self.dribble_bits > 0 && !port.dribble_bits {
            return Err(NotPossible::Alignment);
        }
        match self.fcs_is_good() || port.own_fcs {
            true => Ok(()),
            false => Err(NotPossible::Fcs),
        }
    }
}

fn cut(
    template: &FrameTemplate,
    size: FrameSize,
    signature: Option<Signature>,
) -> Result<Vec<u8>, BuildError> {
    let smallest = template.min_size().max(FrameSize::MIN_ETHERNET);
    let mut bytes = template.build(0, smallest, None)?;
    bytes.truncate(size.bytes_without_fcs());
    let room = bytes.len().saturating_sub(template.headers_len());
    if let (Some((key, stream)), Some(form)) = (signature, Form::fitting(room)) {
        signature::write(form, key, Stamp { stream, sequence: 0, transmit_ticks: 0 }, &mut bytes);
    }
    Ok(bytes)
}

/// What a port can send besides whole frames. On most ports nothing: the interface makes the FCS,
/// and pads what is short.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ErrorAbilities {
    /// The smallest frame that leaves the port as it is.
    pub shortest: FrameSize,
    /// The largest.
    pub longest: FrameSize,
    /// The FCS can be given with the frame.
    pub own_fcs: bool,
    /// A number of bits can be sent that makes no whole bytes.
    pub dribble_bits: bool,
}

impl ErrorAbilities {
    /// A virtual Ethernet link with this MTU: it carries frames shorter than 64 bytes as they are,
    /// since nothing on it pads, and has no FCS at all.
    pub const fn veth(mtu_bytes: u32) -> ErrorAbilities {
        ErrorAbilities {
            shortest: FrameSize::from_bytes(SHORTEST),
            longest: FrameSize::from_bytes(mtu_bytes + SHORTEST),
            own_fcs: false,
            dribble_bits: false,
        }
    }
    /// A simulated link can send everything.
    pub const SIMULATED: ErrorAbilities = ErrorAbilities {
        shortest: FrameSize::from_bytes(SHORTEST),
        longest: FrameSize::from_bytes(65_535),
        own_fcs: true,
        dribble_bits: true,
    };
}

/// Why a port cannot send a frame with an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum NotPossible {
    /// It has no FCS of ours, or makes it itself.
    #[error("not possible on this port: it sends no bad FCS")]
    Fcs,
    /// It sends whole bytes.
    #[error("not possible on this port: it sends whole bytes only, so no alignment error")]
    Alignment,
    /// It pads.
    #[error("not possible on this port: it sends no frame of {size} bytes, only from {shortest}")]
    TooShort {
        /// What was asked for.
        size: FrameSize,
        /// What it can send.
        shortest: FrameSize,
    },
    /// It refuses.
    #[error("not possible on this port: it sends no frame of {size} bytes, only up to {longest}")]
    TooLong {
        /// What was asked for.
        size: FrameSize,
        /// What it can send.
        longest: FrameSize,
    },
}

/// What each byte leaves of the CRC-32 (polynomial 0x04c11db7, bits reversed): a capture has millions of frames.
const REMAINDERS: [u32; 256] = {
    let mut all = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut crc, mut bit) = (byte as u32, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
            bit += 1;
        }
        all[byte] = crc;
        byte += 1;
    }
    all
};

/// The FCS of a frame, in the order in which its bytes are sent (IEEE 802.3 section 3.2.9): CRC-32,
/// least significant byte first.
pub fn fcs(frame: &[u8]) -> [u8; 4] {
    let crc = frame
        .iter()
        .fold(u32::MAX, |crc, byte| crc >> 8 ^ REMAINDERS[usize::from(crc as u8 ^ byte)]);
    (!crc).to_le_bytes()
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ErrorKind::Runt => "runt",
            ErrorKind::Giant => "giant",
            ErrorKind::Crc => "frame with a CRC error",
            ErrorKind::Alignment => "frame with an alignment error",
            ErrorKind::Fragment => "fragment of a collision",
            ErrorKind::Jabber => "jabber",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_frame;
    use std::net::Ipv4Addr;
    use wire::ethernet::MacAddr;
    use wire::signature::Key;

    const SIGNATURE: Option<Signature> = Some((Key::from_seed(3), 5));

    fn frame(kind: ErrorKind, bytes: u32) -> Result<ErrorFrame, ErrorFrameError> {
        let src = (MacAddr([2, 0, 0, 0, 0, 1]), Ipv4Addr::new(198, 18, 1, 2));
        let dst = (MacAddr([2, 0, 0, 0, 0, 2]), Ipv4Addr::new(198, 19, 1, 2));
        let template = test_frame::template(src, dst);
        ErrorFrame::new(kind, &template, FrameSize::from_bytes(bytes), SIGNATURE)
    }

    /// The check value of CRC-32: that of the digits 1 to 9 is CBF43926.
    #[test]
    fn the_fcs_of_nine_digits() {
        assert_eq!(fcs(b"123456789"), [0x26, 0x39, 0xf4, 0xcb]);
    }

    /// The sizes that tests of 1989 sent: 55 and 1600.
    #[test]
    fn each_error_is_what_its_name_says() {
        let known = [
            (ErrorKind::Runt, 55, true, 0),
            (ErrorKind::Giant, 1600, true, 0),
            (ErrorKind::Crc, 64, false, 0),
            (ErrorKind::Alignment, 64, false, 4),
            (ErrorKind::Fragment, 40, false, 0),
            (ErrorKind::Jabber, 2000, false, 0),
        ];
        for (kind, bytes, good, dribble_bits) in known {
            let frame = frame(kind, bytes).unwrap();
            assert_eq!(frame.size().bytes(), bytes, "{kind}");
            assert_eq!(frame.with_fcs().len(), bytes as usize, "{kind}");
            assert_eq!((frame.fcs_is_good(), frame.dribble_bits), (good, dribble_bits), "{kind}");
        }
    }

    /// 42 bytes of headers leave 9 of a runt of 55: a compact signature, by which a device is found
    /// out that forwards it. One of 40 has no room.
    #[test]
    fn a_runt_is_known_again_where_there_is_room() {
        let runt = frame(ErrorKind::Runt, 55).unwrap();
        assert_eq!(
            signature::read(Form::Compact, Key::from_seed(3), &runt.bytes).unwrap().stream,
            5
        );
        assert_eq!(runt.bytes[12..14], [0x08, 0x00]);
        let short = frame(ErrorKind::Runt, 40).unwrap();
        assert_eq!(short.bytes, runt.bytes[..36]);
    }

    #[test]
    fn sizes_that_are_no_such_error_are_refused() {
        for (kind, bytes) in [
            (ErrorKind::Runt, 64),
            (ErrorKind::Runt, 17),
            (ErrorKind::Giant, 1518),
            (ErrorKind::Crc, 63),
            (ErrorKind::Jabber, 1518),
        ] {
            let error = frame(kind, bytes).unwrap_err().to_string();
            assert!(error.contains(&kind.to_string()), "{error}");
        }
    }

    #[test]
    fn a_port_says_what_it_cannot_send() {
        let veth = ErrorAbilities::veth(1_500);
        let on_veth = |kind, bytes| frame(kind, bytes).unwrap().check(&veth);
        assert_eq!(on_veth(ErrorKind::Runt, 55), Ok(()));
        assert_eq!(on_veth(ErrorKind::Crc, 64), Err(NotPossible::Fcs));
        assert_eq!(on_veth(ErrorKind::Alignment, 64), Err(NotPossible::Alignment));
        let longest = FrameSize::from_bytes(1_518);
        let too_long = NotPossible::TooLong { size: FrameSize::from_bytes(1_600), longest };
        assert_eq!(on_veth(ErrorKind::Giant, 1_600), Err(too_long));
        for (kind, bytes) in [(ErrorKind::Alignment, 100), (ErrorKind::Jabber, 9_000)] {
            assert_eq!(frame(kind, bytes).unwrap().check(&ErrorAbilities::SIMULATED), Ok(()));
        }
    }
}
