//! One synchronous netlink conversation: a request with its acknowledgement, or a dump.
//!
//! A netlink socket belongs to the namespace of the thread that opened it and keeps that namespace
//! alive, therefore one is opened for a short series of requests and closed again
//! ([`crate::Namespace::netlink`]): deleting a namespace by name must really delete it.

use crate::error::{KernelError, Result};
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkDeserializable,
    NetlinkHeader, NetlinkMessage, NetlinkPayload, NetlinkSerializable, NlasIterator,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use std::marker::PhantomData;

/// A socket that speaks rtnetlink: of links, addresses, routes, neighbours and qdiscs.
pub type Rtnetlink = Netlink<RouteNetlinkMessage>;

impl Rtnetlink {
    /// Opens a socket in the namespace of the calling thread.
    pub fn here() -> Result<Self> {
        Netlink::open(NETLINK_ROUTE)
    }
}

/// A socket speaking messages of type `M`.
pub struct Netlink<M> {
    socket: Socket,
    sequence: u32,
    messages: PhantomData<fn(M) -> M>,
}

impl<M> Netlink<M>
where
    M: NetlinkSerializable + NetlinkDeserializable,
{
    /// Opens a socket in the namespace of the calling thread.
    pub fn open(protocol: isize) -> Result<Self> {
        let open = || -> std::io::Result<Socket> {
            let mut socket = Socket::new(protocol)?;
            socket.bind_auto()?;
            socket.connect(&SocketAddr::new(0, 0))?;
            // The kernel's sentence beside its error number; old kernels do without.
            let _ = socket.set_ext_ack(true);
            let _ = socket.set_cap_ack(true);
            Ok(socket)
        };
        let socket = open().map_err(|e| KernelError::system("open a netlink socket", e))?;
        Ok(Netlink { socket, sequence: 0, messages: PhantomData })
    }

    /// Sends a request and waits for the kernel's acknowledgement. `doing` names the step in errors.
    pub fn request(&mut self, message: M, flags: u16, doing: &str) -> Result<()> {
        self.converse(message, flags | NLM_F_REQUEST | NLM_F_ACK, doing).map(drop)
    }

    /// Sends a request whose answer is a message followed by an acknowledgement.
    pub fn query(&mut self, message: M, doing: &str) -> Result<Vec<M>> {
        self.converse(message, NLM_F_REQUEST | NLM_F_ACK, doing)
    }

    /// Asks for every object of a kind.
    pub fn dump(&mut self, message: M, doing: &str) -> Result<Vec<M>> {
        self.converse(message, NLM_F_REQUEST | NLM_F_DUMP, doing)
    }

    /// Asks for every object of a kind, and passes on the bytes of each behind its header.
    pub fn dump_each(
        &mut self,
        message: M,
        doing: &str,
        mut each: impl FnMut(&[u8]),
    ) -> Result<()> {
        self.sequence += 1;
        let mut buffer = vec![];
        self.append(message, NLM_F_REQUEST | NLM_F_DUMP, &mut buffer);
        let failed = |error| KernelError::system(doing, error);
        self.socket.send(&buffer, 0).map_err(failed)?;
        loop {
            let (datagram, _) = self.socket.recv_from_full().map_err(failed)?;
            let mut rest = &datagram[..];
            while let Some((kind, sequence, body, after)) = split(rest) {
                rest = after;
                match kind {
                    _ if sequence != self.sequence => {}
                    NLMSG_DONE => return Ok(()),
                    // Understood as any answer is.
                    NLMSG_ERROR => return self.absorb(&datagram, doing, &mut vec![]).map(drop),
                    _ => each(body),
                }
            }
        }
    }

    /// Sends requests in one piece and waits until the kernel is done with the last; it creates what
    /// they name. The first that is refused is the error.
    pub fn request_batch(&mut self, messages: Vec<M>, doing: &str) -> Result<()> {
        let last = messages.len().saturating_sub(1);
        self.sequence += 1;
        let mut buffer = vec![];
        for (index, message) in messages.into_iter().enumerate() {
            let ack = if index == last { NLM_F_ACK } else { 0 };
            self.append(message, NLM_F_REQUEST | NLM_F_CREATE | NLM_F_REPLACE | ack, &mut buffer);
        }
        if buffer.is_empty() { Ok(()) } else { self.exchange(&buffer, doing).map(drop) }
    }

    /// Sends one message and collects answers until the kernel says that it is done.
    fn converse(&mut self, message: M, flags: u16, doing: &str) -> Result<Vec<M>> {
        self.sequence += 1;
        let mut buffer = vec![];
        self.append(message, flags, &mut buffer);
        self.exchange(&buffer, doing)
    }

    fn append(&self, message: M, flags: u16, buffer: &mut Vec<u8>) {
        let mut header = NetlinkHeader::default();
        header.flags = flags;
        header.sequence_number = self.sequence;
        let mut packet = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(message));
        packet.finalize();
        let begin = buffer.len();
        buffer.resize(begin + packet.buffer_len(), 0);
        packet.serialize(&mut buffer[begin..]);
    }

    fn exchange(&mut self, buffer: &[u8], doing: &str) -> Result<Vec<M>> {
        self.socket.send(buffer, 0).map_err(|e| KernelError::system(doing, e))?;
        let mut answers = Vec::new();
        loop {
            let (datagram, _) =
                self.socket.recv_from_full().map_err(|e| KernelError::system(doing, e))?;
            if self.absorb(&datagram, doing, &mut answers)? {
                return Ok(answers);
            }
        }
    }

    /// Reads every message of a datagram; true when the conversation is over.
    fn absorb(&self, datagram: &[u8], doing: &str, answers: &mut Vec<M>) -> Result<bool> {
        let mut rest = datagram;
        while !rest.is_empty() {
            let message =
                NetlinkMessage::<M>::deserialize(rest).map_err(|e| KernelError::System {
                    doing: format!("{doing}: decode the kernel's answer"),
                    source: std::io::Error::new(std::io::ErrorKind::InvalidData, e.to_string()),
                })?;
            let length = (message.header.length as usize).next_multiple_of(4);
            rest = rest.get(length.max(16)..).unwrap_or(&[]);
            if message.header.sequence_number != self.sequence {
                continue;
            }
            match message.payload {
                NetlinkPayload::InnerMessage(inner) => answers.push(inner),
                NetlinkPayload::Done(_) => return Ok(true),
                NetlinkPayload::Error(error) if error.code.is_none() => return Ok(true),
                NetlinkPayload::Error(error) => {
                    return Err(refusal(doing, error.to_io(), kernel_explanation(&error.header)));
                }
                _ => {}
            }
        }
        Ok(false)
    }
}

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;

/// The first message of a datagram: type, sequence number, what is behind its header (struct nlmsghdr), and
/// the rest of the datagram.
fn split(datagram: &[u8]) -> Option<(u16, u32, &[u8], &[u8])> {
    let header = datagram.get(..16)?;
    let word = |at: usize| header[at..at + 4].try_into().map(u32::from_ne_bytes).ok();
    let length = word(0)? as usize;
    let body = datagram.get(16..length)?;
    let rest = datagram.get(length.next_multiple_of(4)..).unwrap_or(&[]);
    Some((u16::from_ne_bytes([header[4], header[5]]), word(8)?, body, rest))
}

fn refusal(doing: &str, source: std::io::Error, explanation: Option<String>) -> KernelError {
    match source.kind() {
        std::io::ErrorKind::PermissionDenied => KernelError::not_permitted(doing),
        _ => KernelError::Netlink { doing: doing.into(), explanation, source },
    }
}

/// The text of NLMSGERR_ATTR_MSG behind the echoed request header (16 bytes, the rest capped).
fn kernel_explanation(echoed: &[u8]) -> Option<String> {
    const NLMSGERR_ATTR_MSG: u16 = 1;
    let attributes = echoed.get(16..)?;
    let message =
        NlasIterator::new(attributes).flatten().find(|a| a.kind() == NLMSGERR_ATTR_MSG)?;
    let text = message.value();
    Some(String::from_utf8_lossy(text).trim_end_matches('\0').to_owned())
}
