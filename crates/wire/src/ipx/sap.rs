//! IPX SAP: how servers are known to all.

use super::{Encapsulation, Endpoint, Kind, broadcast, socket};
use crate::DecodeError;
use crate::bytes::{put, put_u16, require, u16_at};
use crate::ethernet::MacAddr;
use crate::view::Field;
use serde::{Deserialize, Serialize};
use std::fmt;

const OPERATION_LEN: usize = 2;
const QUERY_LEN: usize = 4;
const NAME: usize = 2;
const NAME_LEN: usize = 48;
const SERVER: usize = 50;
const HOPS: usize = 62;
const ENTRY_LEN: usize = 64;
/// Servers in one packet.
pub const MAX_SERVERS: usize = 7;
/// The hops of a server that is no more.
pub const DOWN: u16 = 16;
const WHAT: &str = "IPX SAP message";

/// What a server does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Service(pub u16);

impl Service {
    /// Keeps files.
    pub const FILE_SERVER: Service = Service(4);
    /// In a query: any.
    pub const ANY: Service = Service(0xffff);
}

/// A server.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Server {
    /// What it does.
    pub service: Service,
    /// Its name, up to 48 bytes, without the zeros that fill the field.
    pub name: Vec<u8>,
    /// Where it is.
    pub at: Endpoint,
    /// Routers on the way; [`DOWN`] where it is no more.
    pub hops: u16,
}

/// A SAP message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repr {
    /// Who does this?
    Query {
        /// Only the nearest is to answer.
        nearest: bool,
        /// Does what.
        service: Service,
    },
    /// These do; asked for or not.
    Response {
        /// It answers a query for the nearest.
        nearest: bool,
        /// At most [`MAX_SERVERS`].
        servers: Vec<Server>,
    },
}

impl Repr {
    /// Reads the payload of a packet.
    pub fn parse(bytes: &[u8]) -> Result<(Repr, &[u8]), DecodeError> {
        require(WHAT, bytes, OPERATION_LEN)?;
        let operation = u16_at(bytes, 0);
        if let 1 | 3 = operation {
            require(WHAT, bytes, QUERY_LEN)?;
            let service = Service(u16_at(bytes, OPERATION_LEN));
            return Ok((Repr::Query { nearest: operation == 3, service }, &bytes[QUERY_LEN..]));
        }
        if !matches!(operation, 2 | 4) {
            return Err(DecodeError::malformed(WHAT, "neither query nor response"));
        }
        let entries = bytes[OPERATION_LEN..].chunks_exact(ENTRY_LEN);
        if entries.len() > MAX_SERVERS {
            return Err(DecodeError::malformed(WHAT, "more than 7 servers"));
        }
        if !entries.remainder().is_empty() {
            return Err(DecodeError::malformed(WHAT, "its last server is cut short"));
        }
        let servers = entries.map(Server::parse).collect();
        Ok((Repr::Response { nearest: operation == 4, servers }, &[]))
    }
    /// Bytes that [`emit`](Repr::emit) writes.
    pub fn header_len(&self) -> usize {
        match self {
            Repr::Query { .. } => QUERY_LEN,
            Repr::Response { servers, .. } => OPERATION_LEN + ENTRY_LEN * servers.len(),
        }
    }
    /// Writes the message; a name is cut to 48 bytes. Panics where `bytes` is too short.
    pub fn emit(&self, bytes: &mut [u8]) {
        match self {
            Repr::Query { nearest, service } => {
                put_u16(bytes, 0, if *nearest { 3 } else { 1 });
                put_u16(bytes, OPERATION_LEN, service.0);
            }
            Repr::Response { nearest, servers } => {
                put_u16(bytes, 0, if *nearest { 4 } else { 2 });
                let entries = bytes[OPERATION_LEN..].chunks_exact_mut(ENTRY_LEN);
                entries.zip(servers).for_each(|(bytes, server)| server.emit(bytes));
            }
        }
    }
    /// The message as a broadcast on its sender's cable, without FCS. `sender` is the number of
    /// that network and the sender's node.
    pub fn frame(&self, encapsulation: Encapsulation, sender: (u32, MacAddr)) -> Vec<u8> {
        let mut message = vec![0; self.header_len()];
        self.emit(&mut message);
        broadcast(encapsulation, Kind::PACKET_EXCHANGE, sender, socket::SAP, &message)
    }
}

impl Server {
    fn parse(bytes: &[u8]) -> Server {
        let field = &bytes[NAME..NAME + NAME_LEN];
        let len = field.iter().position(|byte| *byte == 0).unwrap_or(NAME_LEN);
        Server {
            service: Service(u16_at(bytes, 0)),
            name: field[..len].to_vec(),
            at: Field::read(bytes, SERVER),
            hops: u16_at(bytes, HOPS),
        }
    }
    fn emit(&self, bytes: &mut [u8]) {
        put_u16(bytes, 0, self.service.0);
        bytes[NAME..NAME + NAME_LEN].fill(0);
        put(bytes, NAME, &self.name[..self.name.len().min(NAME_LEN)]);
        self.at.write(bytes, SERVER);
        put_u16(bytes, HOPS, self.hops);
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Repr::Query { nearest: true, .. } => f.write_str("IPX SAP query for the nearest"),
            Repr::Query { nearest: false, .. } => f.write_str("IPX SAP query"),
            Repr::Response { servers, .. } => {
                write!(f, "IPX SAP response of {} servers", servers.len())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;
    use proptest::prelude::*;

    /// Was read by tshark.
    #[test]
    fn a_known_response_byte_by_byte() {
        let mac = MacAddr([2, 0, 0x5e, 0x10, 0, 2]);
        let server = Server {
            service: Service::FILE_SERVER,
            name: b"TESTSERVER".to_vec(),
            at: Endpoint::new(0x300, MacAddr([0, 0, 0, 0, 0, 1]), socket::NCP),
            hops: 1,
        };
        let response = Repr::Response { nearest: false, servers: vec![server] };
        let mut expected = hex("ffffffffffff02005e1000020060ffff0060000400000002ffffffffffff0452
             0000000202005e100002045200020004 54455354534552564552");
        expected.resize(96, 0);
        expected.extend(hex("0000030000000000000104510001"));
        assert_eq!(response.frame(Encapsulation::Raw, (2, mac)), expected);
        assert_eq!(Repr::parse(&expected[44..]), Ok((response, &[][..])));
    }

    /// The same frame's query: operation 3, type 4.
    #[test]
    fn a_query_for_the_nearest() {
        let query = Repr::Query { nearest: true, service: Service::FILE_SERVER };
        let mut bytes = [0; 4];
        query.emit(&mut bytes);
        assert_eq!(bytes, [0, 3, 0, 4]);
        assert!(Repr::parse(&[0, 5, 0, 4]).is_err());
    }

    fn any_server() -> impl Strategy<Value = Server> {
        let name = proptest::collection::vec(1u8.., 0..=48);
        (any::<(u16, u32, [u8; 6], u16, u16)>(), name).prop_map(
            |((service, network, node, socket, hops), name)| Server {
                service: Service(service),
                name,
                at: Endpoint::new(network, MacAddr(node), socket),
                hops,
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(nearest: bool, asks: bool, service: u16,
                                     servers in proptest::collection::vec(any_server(), 0..=7)) {
            let repr = match asks {
                true => Repr::Query { nearest, service: Service(service) },
                false => Repr::Response { nearest, servers },
            };
            let mut bytes = vec![0xff; repr.header_len()];
            repr.emit(&mut bytes);
            prop_assert_eq!(Repr::parse(&bytes), Ok((repr, &[][..])));
        }

        #[test]
        fn no_bytes_make_the_parser_panic(bytes: Vec<u8>) {
            let _ = Repr::parse(&bytes);
        }
    }
}
