//! NETBLT, the bulk data transfer protocol (RFC 998).
//!
//! Every packet begins with the same 12 bytes and is a multiple of four bytes long. Where the
//! document leaves a byte open, our reading is said beside it and marked *our choice*.

mod control;
mod data;
mod open;
mod text;

pub use control::{Kind, Message, Messages, Missing};
pub use data::{Data, NullAck};
pub use open::{Mode, Open};
pub use text::Text;

use crate::DecodeError;
use crate::bytes::{put_u16, require, u16_at};
use crate::checksum::{self, Sum, checksum};
use crate::ipv4::Protocol;
use std::fmt;

const CHECKSUM: usize = 0;
const VERSION: usize = 2;
const TYPE: usize = 3;
const LENGTH: usize = 4;
const LOCAL_PORT: usize = 6;
const FOREIGN_PORT: usize = 8;
/// Bytes of the header that every packet begins with.
pub const HEADER_LEN: usize = 12;
/// Bytes before the data of a DATA or LDATA packet.
pub const DATA_HEADER_LEN: usize = 24;
/// The number under which NETBLT runs on IP (RFC 998 section 6).
pub const PROTOCOL: Protocol = Protocol(30);
/// The version that we send. RFC 998 has the field but no value for it; this one is our choice,
/// and any is accepted.
pub const OUR_VERSION: u8 = 4;

/// What every packet says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Protocol version; see [`OUR_VERSION`].
    pub version: u8,
    /// Port of the end that sends the packet.
    pub local_port: u16,
    /// Port of the end that it is for.
    pub foreign_port: u16,
}

impl Header {
    /// A header of our version.
    pub const fn new(local_port: u16, foreign_port: u16) -> Self {
        Header { version: OUR_VERSION, local_port, foreign_port }
    }
}

/// A packet by its type (RFC 998 section 8).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Packet<'a> {
    /// The active end proposes a connection.
    Open(Open<'a>),
    /// The passive end agrees, with values at most more restrictive.
    Response(Open<'a>),
    /// This end lives but has nothing to send.
    KeepAlive,
    /// A client wants to end the transfer; the reason.
    Quit(Text<'a>),
    /// A QUIT has arrived.
    QuitAck,
    /// A NETBLT is malfunctioning, or thinks that the other is; the reason.
    Abort(Text<'a>),
    /// Data; more of the same buffer follows.
    Data(Data<'a>),
    /// The last packet of a buffer.
    LastData(Data<'a>),
    /// Acknowledges control messages when there is no data to do it.
    NullAck(NullAck),
    /// Control messages.
    Control(Messages<'a>),
    /// The passive end will not connect; the reason.
    Refused(Text<'a>),
    /// The receiver has everything and has closed.
    Done,
}

impl Packet<'_> {
    const fn type_byte(&self) -> u8 {
        match self {
            Packet::Open(_) => 0,
            Packet::Response(_) => 1,
            Packet::KeepAlive => 2,
            Packet::Quit(_) => 3,
            Packet::QuitAck => 4,
            Packet::Abort(_) => 5,
            Packet::Data(_) => 6,
            Packet::LastData(_) => 7,
            Packet::NullAck(_) => 8,
            Packet::Control(_) => 9,
            Packet::Refused(_) => 10,
            Packet::Done => 11,
        }
    }
    /// The name that RFC 998 gives the type.
    pub const fn name(&self) -> &'static str {
        match self {
            Packet::Open(_) => "OPEN",
            Packet::Response(_) => "RESPONSE",
            Packet::KeepAlive => "KEEPALIVE",
            Packet::Quit(_) => "QUIT",
            Packet::QuitAck => "QUITACK",
            Packet::Abort(_) => "ABORT",
            Packet::Data(_) => "DATA",
            Packet::LastData(_) => "LDATA",
            Packet::NullAck(_) => "NULL-ACK",
            Packet::Control(_) => "CONTROL",
            Packet::Refused(_) => "REFUSED",
            Packet::Done => "DONE",
        }
    }
}

/// A whole packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Repr<'a> {
    /// What every packet says.
    pub header: Header,
    /// What this one says.
    pub packet: Packet<'a>,
}

const WHAT: &str = "NETBLT packet";

impl<'a> Repr<'a> {
    /// Reads one packet: what IP, or UDP, carried. Checks the checksum, which covers the header
    /// alone in DATA and LDATA and everything in all others (RFC 998 section 5.1); the data's own
    /// is the connection's affair, see [`Data::is_intact`]. Bytes after the packet are ignored.
    pub fn parse(bytes: &'a [u8]) -> Result<Repr<'a>, DecodeError> {
        require(WHAT, bytes, HEADER_LEN)?;
        let length = usize::from(u16_at(bytes, LENGTH));
        if length < HEADER_LEN {
            return Err(DecodeError::malformed(WHAT, "length below that of its header"));
        }
        require(WHAT, bytes, length)?;
        let bytes = &bytes[..length];
        if is_data(bytes) {
            require(WHAT, bytes, DATA_HEADER_LEN)?;
        } else if !length.is_multiple_of(4) {
            return Err(DecodeError::malformed(WHAT, "length is no multiple of four"));
        }
        checksum::verify(WHAT, Sum::ZERO, covered(bytes), u16_at(bytes, CHECKSUM))?;
        Ok(Repr { header: Header::parse(bytes), packet: Packet::parse(bytes)? })
    }

    /// Appends the packet, padded to four bytes, with its checksum. The bytes begin a packet of
    /// their own: `out` may hold others before it.
    ///
    /// Text is cut where the length field ends. Panics if data or control messages exceed it,
    /// which a connection rules out when it negotiates.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + HEADER_LEN, 0);
        match &self.packet {
            Packet::Open(open) | Packet::Response(open) => open.emit(out),
            Packet::Quit(text) | Packet::Abort(text) | Packet::Refused(text) => {
                text.emit(HEADER_LEN, out);
            }
            Packet::Data(data) | Packet::LastData(data) => data.emit(out),
            Packet::NullAck(ack) => ack.emit(out),
            Packet::Control(messages) => messages.emit(out),
            Packet::KeepAlive | Packet::QuitAck | Packet::Done => {}
        }
        let packet = &mut out[start..];
        let length = u16::try_from(packet.len()).expect("a packet that its length field can hold");
        self.header.emit(packet);
        packet[TYPE] = self.packet.type_byte();
        put_u16(packet, LENGTH, length);
        let sum = checksum(covered(packet));
        put_u16(packet, CHECKSUM, sum);
        let padded = packet.len().next_multiple_of(4);
        out.resize(start + padded, 0);
    }

    /// The packet alone.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.emit(&mut out);
        out
    }
}

/// Whether a whole header is one of DATA or LDATA.
pub fn is_data(packet: &[u8]) -> bool {
    matches!(packet.get(TYPE), Some(6 | 7))
}

/// What the checksum field of a packet without its padding is about.
fn covered(packet: &[u8]) -> &[u8] {
    if is_data(packet) { &packet[..DATA_HEADER_LEN] } else { packet }
}

impl Header {
    fn parse(bytes: &[u8]) -> Header {
        Header {
            version: bytes[VERSION],
            local_port: u16_at(bytes, LOCAL_PORT),
            foreign_port: u16_at(bytes, FOREIGN_PORT),
        }
    }
    fn emit(&self, packet: &mut [u8]) {
        packet[VERSION] = self.version;
        put_u16(packet, LOCAL_PORT, self.local_port);
        put_u16(packet, FOREIGN_PORT, self.foreign_port);
    }
}

impl<'a> Packet<'a> {
    /// Reads the body; `bytes` are the whole packet.
    fn parse(bytes: &'a [u8]) -> Result<Packet<'a>, DecodeError> {
        Ok(match bytes[TYPE] {
            0 => Packet::Open(Open::parse(bytes)?),
            1 => Packet::Response(Open::parse(bytes)?),
            2 => Packet::KeepAlive,
            3 => Packet::Quit(Text::parse(&bytes[HEADER_LEN..])?),
            4 => Packet::QuitAck,
            5 => Packet::Abort(Text::parse(&bytes[HEADER_LEN..])?),
            6 => Packet::Data(Data::parse(bytes)),
            7 => Packet::LastData(Data::parse(bytes)),
            8 => Packet::NullAck(NullAck::parse(bytes)?),
            9 => Packet::Control(Messages::parse(&bytes[HEADER_LEN..])?),
            10 => Packet::Refused(Text::parse(&bytes[HEADER_LEN..])?),
            11 => Packet::Done,
            _ => return Err(DecodeError::malformed(WHAT, "unknown packet type")),
        })
    }
}

impl fmt::Display for Repr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = (self.header.local_port, self.header.foreign_port);
        write!(f, "NETBLT {from} > {to} {}", self.packet.name())?;
        match &self.packet {
            Packet::Open(open) | Packet::Response(open) => write!(f, " {open}"),
            Packet::Quit(text) | Packet::Abort(text) | Packet::Refused(text) => {
                write!(f, " \"{text}\"")
            }
            Packet::Data(data) | Packet::LastData(data) => write!(f, " {data}"),
            Packet::NullAck(ack) => write!(f, " {ack}"),
            Packet::Control(messages) => write!(f, "{messages}"),
            Packet::KeepAlive | Packet::QuitAck | Packet::Done => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
