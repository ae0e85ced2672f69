//! RTMP: how AppleTalk's routers tell each other, and nodes, of networks.
//!
//! Only what is spoken on Ethernet, whose networks are extended: on such a network the first
//! route is the sender's own range.

use super::ddp::{self, Endpoint, Kind, socket};
use super::{Address, BROADCAST_MAC};
use crate::DecodeError;
use crate::bytes::{put_u16, require, u16_at};
use crate::ethernet::MacAddr;
use serde::{Deserialize, Serialize};
use std::fmt;

const SENDER_NETWORK: usize = 0;
const ID_LEN: usize = 2;
const SENDER_NODE: usize = 3;
const ROUTES: usize = 4;
const EXTENDED_LEN: usize = 6;
const PLAIN_LEN: usize = 3;

const ID_BITS: u8 = 8;
const EXTENDED_BIT: u8 = 0x80;
const HOPS_MASK: u8 = 0x1f;
const VERSION_2: u8 = 0x82;
/// The distance of a network that is no more.
pub const NOTIFY_DEAD: u8 = 31;
const WHAT: &str = "RTMP message";

/// Networks and how far they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// An extended network: a range of numbers.
    Extended {
        /// The first number.
        first: u16,
        /// The last.
        last: u16,
        /// Routers on the way; [`NOTIFY_DEAD`] where there is none.
        hops: u8,
    },
    /// A network of one number, such as LocalTalk.
    Plain {
        /// The number.
        network: u16,
        /// Routers on the way.
        hops: u8,
    },
}

impl Route {
    const fn len(&self) -> usize {
        match self {
            Route::Extended { .. } => EXTENDED_LEN,
            Route::Plain { .. } => PLAIN_LEN,
        }
    }
}

/// An RTMP message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repr {
    /// A routing table, or the answer to a request: the sender's own range first.
    Data {
        /// Who sends it.
        sender: Address,
        /// The sender's own range, and what it can reach.
        routes: Vec<Route>,
    },
    /// Asks for the range of the network (1), or for the table with (2) or without (3) split
    /// horizon.
    Request {
        /// Which of these.
        function: u8,
    },
}

impl Repr {
    /// Reads the data of a datagram of this kind.
    pub fn parse(kind: Kind, bytes: &[u8]) -> Result<(Repr, &[u8]), DecodeError> {
        match kind {
            Kind::RTMP_DATA => Ok((parse_data(bytes)?, &[])),
            Kind::RTMP_REQUEST => {
                require(WHAT, bytes, 1)?;
                match bytes[0] {
                    function @ 1..=3 => Ok((Repr::Request { function }, &bytes[1..])),
                    _ => Err(DecodeError::malformed(WHAT, "asks for something unknown")),
                }
            }
            _ => Err(DecodeError::malformed(WHAT, "in a datagram of another kind")),
        }
    }
    /// The kind of datagram that carries it.
    pub const fn kind(&self) -> Kind {
        match self {
            Repr::Data { .. } => Kind::RTMP_DATA,
            Repr::Request { .. } => Kind::RTMP_REQUEST,
        }
    }
    /// Bytes that [`emit`](Repr::emit) writes.
    pub fn header_len(&self) -> usize {
        match self {
            Repr::Data { routes, .. } => ROUTES + routes.iter().map(Route::len).sum::<usize>(),
            Repr::Request { .. } => 1,
        }
    }
    /// Writes the message. Panics where `bytes` is too short.
    pub fn emit(&self, bytes: &mut [u8]) {
        match self {
            Repr::Request { function } => bytes[0] = *function,
            Repr::Data { sender, routes } => {
                put_u16(bytes, SENDER_NETWORK, sender.network);
                bytes[ID_LEN] = ID_BITS;
                bytes[SENDER_NODE] = sender.node;
                let mut at = ROUTES;
                for route in routes {
                    emit_route(*route, &mut bytes[at..]);
                    at += route.len();
                }
            }
        }
    }
    /// The message as a broadcast on its network, without FCS, with checksum.
    pub fn frame(&self, mac: MacAddr, sender: Address) -> Vec<u8> {
        let mut message = vec![0; self.header_len()];
        self.emit(&mut message);
        let header = ddp::Repr {
            hops: 0,
            dst: Endpoint { address: Address::LOCAL_BROADCAST, socket: socket::RTMP },
            src: Endpoint { address: sender, socket: socket::RTMP },
            kind: self.kind(),
            payload_len: message.len() as u16,
        };
        header.frame(mac, BROADCAST_MAC, &message)
    }
}

fn parse_data(bytes: &[u8]) -> Result<Repr, DecodeError> {
    require(WHAT, bytes, ROUTES)?;
    if bytes[ID_LEN] != ID_BITS {
        return Err(DecodeError::malformed(WHAT, "a node number that is not of 8 bits"));
    }
    let sender = Address::new(u16_at(bytes, SENDER_NETWORK), bytes[SENDER_NODE]);
    let mut routes = Vec::new();
    let mut rest = &bytes[ROUTES..];
    while !rest.is_empty() {
        require(WHAT, rest, PLAIN_LEN)?;
        let (number, distance) = (u16_at(rest, 0), rest[2]);
        let hops = distance & HOPS_MASK;
        let route = if distance & EXTENDED_BIT == 0 {
            Route::Plain { network: number, hops }
        } else {
            require(WHAT, rest, EXTENDED_LEN)?;
            if rest[5] != VERSION_2 {
                return Err(DecodeError::malformed(WHAT, "not of version 2"));
            }
            Route::Extended { first: number, last: u16_at(rest, 3), hops }
        };
        rest = &rest[route.len()..];
        routes.push(route);
    }
    Ok(Repr::Data { sender, routes })
}

fn emit_route(route: Route, bytes: &mut [u8]) {
    match route {
        Route::Extended { first, last, hops } => {
            put_u16(bytes, 0, first);
            bytes[2] = EXTENDED_BIT | (hops & HOPS_MASK);
            put_u16(bytes, 3, last);
            bytes[5] = VERSION_2;
        }
        Route::Plain { network, hops } => {
            put_u16(bytes, 0, network);
            bytes[2] = hops & HOPS_MASK;
        }
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Repr::Data { sender, routes } => {
                write!(f, "RTMP data of {sender} with {} routes", routes.len())
            }
            Repr::Request { function } => write!(f, "RTMP request {function}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;
    use proptest::prelude::*;

    /// Both were read by tshark; their checksums by the algorithm of another implementation.
    #[test]
    fn known_frames_byte_by_byte() {
        let sender = Address::new(200, 20);
        let routes = vec![
            Route::Extended { first: 200, last: 200, hops: 0 },
            Route::Extended { first: 300, last: 309, hops: 0 },
        ];
        let data = Repr::Data { sender, routes };
        let mut expected = hex("090007ffffff02005e1000020025aaaa03080007809b001d2c40000000c8ff14
             01010100c8081400c88000c88201 2c80013582");
        expected.resize(60, 0);
        assert_eq!(data.frame(MacAddr([2, 0, 0x5e, 0x10, 0, 2]), sender), expected);
        assert_eq!(Repr::parse(Kind::RTMP_DATA, &expected[35..51]), Ok((data, &[][..])));

        let request = Repr::Request { function: 1 };
        let mut expected = hex("090007ffffff02005e1000010016aaaa03080007809b000e732e00000064ff0a
             01010501");
        expected.resize(60, 0);
        let mac = MacAddr([2, 0, 0x5e, 0x10, 0, 1]);
        assert_eq!(request.frame(mac, Address::new(100, 10)), expected);
    }

    /// A network of one number, and a range that is no more.
    #[test]
    fn routes_of_both_kinds_and_dead_ones() {
        let bytes = hex("00c80814 00c88000c882 000503 012c9f013582");
        let (repr, _) = Repr::parse(Kind::RTMP_DATA, &bytes).unwrap();
        let Repr::Data { routes, .. } = &repr else { panic!("{repr}") };
        assert_eq!(routes[1], Route::Plain { network: 5, hops: 3 });
        assert_eq!(routes[2], Route::Extended { first: 300, last: 309, hops: NOTIFY_DEAD });
        assert!(Repr::parse(Kind::RTMP_DATA, &bytes[..bytes.len() - 1]).is_err());
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(
            network: u16, node: u8, function in 1u8..4, asks: bool,
            routes in proptest::collection::vec((any::<(u16, u16, bool)>(), 0u8..32), 0..20),
        ) {
            let route = |((first, last, extended), hops)| match extended {
                true => Route::Extended { first, last, hops },
                false => Route::Plain { network: first, hops },
            };
            let sender = Address::new(network, node);
            let routes = routes.into_iter().map(route).collect();
            let repr = if asks { Repr::Request { function } } else { Repr::Data { sender, routes } };
            let mut bytes = vec![0; repr.header_len()];
            repr.emit(&mut bytes);
            prop_assert_eq!(Repr::parse(repr.kind(), &bytes), Ok((repr, &[][..])));
        }

        #[test]
        fn no_bytes_make_the_parser_panic(kind: u8, bytes: Vec<u8>) {
            let _ = Repr::parse(Kind(kind), &bytes);
            let _ = Repr::parse(Kind::RTMP_DATA, &bytes);
            let _ = Repr::parse(Kind::RTMP_REQUEST, &bytes);
        }
    }
}
