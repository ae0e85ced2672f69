//! SNMPv2c (RFC 1901, RFC 3416): the management query of RFC 2544 sections 11.2 and C.2.4.3, which
//! asks one interface for `sysUpTime`, `ifInOctets`, `ifOutOctets`, `ifInUcastPkts` and
//! `ifOutUcastPkts`, and its answer.
//!
//! Of BER only what these messages need: definite lengths, integers, octet strings, object
//! identifiers.

mod ber;

use crate::DecodeError;
use ber::Reader;
use serde::{Deserialize, Serialize};
use std::fmt;

/// UDP port of an agent.
pub const PORT: u16 = 161;
const VERSION_2C: i64 = 1;
const WHAT: &str = "SNMP message";

/// `sysUpTime.0` (RFC 3418).
const SYS_UP_TIME: [u32; 9] = [1, 3, 6, 1, 2, 1, 1, 3, 0];
/// `ifEntry` (RFC 2863), to be followed by a column and the interface.
const IF_ENTRY: [u32; 9] = [1, 3, 6, 1, 2, 1, 2, 2, 1];
const IF_IN_OCTETS: u32 = 10;
const IF_IN_UCAST_PKTS: u32 = 11;
const IF_OUT_OCTETS: u32 = 16;
const IF_OUT_UCAST_PKTS: u32 = 17;

/// What the message is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Asks for values.
    GetRequest,
    /// Asks for the variables that come next in the agent's order, to read a table.
    GetNextRequest,
    /// Gives them.
    Response,
    /// Asks for variables to be set.
    SetRequest,
}

/// The name of a variable, as its arcs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Oid(pub Vec<u32>);

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arcs: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&arcs.join("."))
    }
}

/// The value of a variable.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// None: what a request carries.
    Null,
    /// A number.
    Integer(i64),
    /// A counter that wraps at 2^32.
    Counter32(u32),
    /// Hundredths of a second.
    TimeTicks(u32),
    /// The agent has no such object.
    NoSuchObject,
    /// The agent has the object, but not of this interface.
    NoSuchInstance,
    /// Anything else, by its BER tag.
    Other(u8, Vec<u8>),
}

/// An SNMPv2c message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Repr {
    /// The password, in the clear.
    pub community: Vec<u8>,
    /// Question or answer.
    pub kind: Kind,
    /// An answer repeats its question's.
    pub request_id: i32,
    /// 0, or what went wrong (RFC 3416 section 3).
    pub error_status: i32,
    /// The variable at which it went wrong, from 1.
    pub error_index: i32,
    /// Names and values.
    pub bindings: Vec<(Oid, Value)>,
}

/// The answer to the query of RFC 2544: all as the agent counts, 32 bits, wrapping.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InterfaceCounters {
    /// Time since the agent started, in hundredths of a second.
    pub sys_up_time_ticks: u32,
    /// Octets received, framing included.
    pub if_in_octets: u32,
    /// Octets sent, framing included.
    pub if_out_octets: u32,
    /// Unicast packets delivered upwards.
    pub if_in_ucast_pkts: u32,
    /// Unicast packets sent for those above.
    pub if_out_ucast_pkts: u32,
}

impl Repr {
    /// The query of RFC 2544 C.2.4.3 for interface number `if_index`.
    pub fn interface_query(community: &str, request_id: i32, if_index: u32) -> Repr {
        Repr {
            community: community.as_bytes().to_vec(),
            kind: Kind::GetRequest,
            request_id,
            error_status: 0,
            error_index: 0,
            bindings: query_oids(if_index).into_iter().map(|oid| (oid, Value::Null)).collect(),
        }
    }
    /// Reads a whole message: the payload of a datagram.
    pub fn parse(bytes: &[u8]) -> Result<(Repr, &[u8]), DecodeError> {
        let mut outer = Reader::new(bytes);
        let mut message = outer.sequence(ber::SEQUENCE)?;
        if message.integer()? != VERSION_2C {
            return Err(DecodeError::malformed(WHAT, "not version 2c"));
        }
        let community = message.expect(ber::OCTET_STRING)?.to_vec();
        let (tag, body) = message.element()?;
        let kind = match tag {
            ber::GET_REQUEST => Kind::GetRequest,
            ber::GET_NEXT_REQUEST => Kind::GetNextRequest,
            ber::RESPONSE => Kind::Response,
            ber::SET_REQUEST => Kind::SetRequest,
            _ => {
                let why = "neither GetRequest nor GetNextRequest nor SetRequest nor Response";
                return Err(DecodeError::malformed(WHAT, why));
            }
        };
        let mut pdu = Reader::new(body);
        let (request_id, error_status, error_index) = (pdu.int32()?, pdu.int32()?, pdu.int32()?);
        let mut list = pdu.sequence(ber::SEQUENCE)?;
        let mut bindings = Vec::new();
        while !list.is_empty() {
            let mut binding = list.sequence(ber::SEQUENCE)?;
            bindings.push((binding.oid()?, binding.value()?));
        }
        let repr = Repr { community, kind, request_id, error_status, error_index, bindings };
        Ok((repr, outer.rest()))
    }
    /// The message as the payload of a datagram.
    pub fn emit(&self) -> Vec<u8> {
        let bindings: Vec<u8> = self
            .bindings
            .iter()
            .flat_map(|(oid, value)| ber::sequence(&[ber::oid(oid), ber::value(value)]))
            .collect();
        let pdu = [
            ber::integer(self.request_id.into()),
            ber::integer(self.error_status.into()),
            ber::integer(self.error_index.into()),
            ber::element(ber::SEQUENCE, &bindings),
        ];
        let tag = match self.kind {
            Kind::GetRequest => ber::GET_REQUEST,
            Kind::GetNextRequest => ber::GET_NEXT_REQUEST,
            Kind::Response => ber::RESPONSE,
            Kind::SetRequest => ber::SET_REQUEST,
        };
        ber::sequence(&[
            ber::integer(VERSION_2C),
            ber::element(ber::OCTET_STRING, &self.community),
            ber::element(tag, &pdu.concat()),
        ])
    }
    /// What this response says to a [query](Repr::interface_query) of this identity, and for this
    /// interface; an error where it answers something else, or not all of it.
    pub fn interface_counters(
        &self,
        request_id: i32,
        if_index: u32,
    ) -> Result<InterfaceCounters, DecodeError> {
        let refuse = |why| DecodeError::malformed("SNMP response", why);
        if self.kind != Kind::Response || self.request_id != request_id {
            return Err(refuse("not the answer to this query"));
        }
        if self.error_status != 0 {
            return Err(refuse("the agent reports an error"));
        }
        let [up_time, in_octets, out_octets, in_packets, out_packets] = query_oids(if_index);
        let value = |oid: Oid| self.bindings.iter().find(|(name, _)| *name == oid).map(|(_, v)| v);
        let counter = |oid| match value(oid) {
            Some(Value::Counter32(count)) => Ok(*count),
            _ => Err(refuse("a counter of the interface is missing: has the agent this ifIndex?")),
        };
        let Some(Value::TimeTicks(sys_up_time_ticks)) = value(up_time) else {
            return Err(refuse("sysUpTime is missing"));
        };
        Ok(InterfaceCounters {
            sys_up_time_ticks: *sys_up_time_ticks,
            if_in_octets: counter(in_octets)?,
            if_out_octets: counter(out_octets)?,
            if_in_ucast_pkts: counter(in_packets)?,
            if_out_ucast_pkts: counter(out_packets)?,
        })
    }
    /// Whether a frame is an agent's whole answer to a [query](Repr::interface_query) of this identity, and
    /// for this interface.
    pub fn is_answer(frame: &[u8], request_id: i32, if_index: u32) -> bool {
        let innermost = crate::decode::summarize(frame).headers.pop();
        match innermost {
            Some(crate::decode::Header::Snmp(reply)) => {
                reply.interface_counters(request_id, if_index).is_ok()
            }
            _ => false,
        }
    }
    /// The answer that an agent with these counters gives to this query of `if_index`.
    pub fn answer(&self, if_index: u32, counters: InterfaceCounters) -> Repr {
        let values = [
            Value::TimeTicks(counters.sys_up_time_ticks),
            Value::Counter32(counters.if_in_octets),
            Value::Counter32(counters.if_out_octets),
            Value::Counter32(counters.if_in_ucast_pkts),
            Value::Counter32(counters.if_out_ucast_pkts),
        ];
        let known: Vec<(Oid, Value)> = query_oids(if_index).into_iter().zip(values).collect();
        let answered = |(oid, _): &(Oid, Value)| {
            let value = known.iter().find(|(name, _)| name == oid).map(|(_, value)| value.clone());
            (oid.clone(), value.unwrap_or(Value::NoSuchInstance))
        };
        let bindings = self.bindings.iter().map(answered).collect();
        Repr { kind: Kind::Response, bindings, ..self.clone() }
    }
}

/// The five variables, in the order in which RFC 2544 C.2.4.3 lists them.
fn query_oids(if_index: u32) -> [Oid; 5] {
    let column = |column| Oid([&IF_ENTRY[..], &[column, if_index]].concat());
    [
        Oid(SYS_UP_TIME.to_vec()),
        column(IF_IN_OCTETS),
        column(IF_OUT_OCTETS),
        column(IF_IN_UCAST_PKTS),
        column(IF_OUT_UCAST_PKTS),
    ]
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::GetRequest => "get",
            Kind::GetNextRequest => "get next",
            Kind::Response => "response",
            Kind::SetRequest => "set",
        };
        write!(f, "SNMP {kind} {} of {} variables", self.request_id, self.bindings.len())
    }
}

#[cfg(test)]
mod tests;
