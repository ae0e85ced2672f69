//! Questions to an SNMP agent (version 2c) and what of IF-MIB (RFC 2863) is asked for.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};
use wire::snmp::{Kind, Oid, Repr, Value};

/// How long a socket waits for an answer before it asks again.
pub const ASK_AGAIN_AFTER: Duration = Duration::from_millis(50);
/// Tag of a Counter64 (RFC 2578 section 7.1.10).
const COUNTER64: u8 = 0x46;
/// Room for an answer: more than fits into a frame of Ethernet, since agents may answer in fragments.
const LONGEST_BYTES: usize = 65_507;

/// Rows of ifTable, to be followed by a column and the interface.
pub const IF_ENTRY: [u32; 9] = [1, 3, 6, 1, 2, 1, 2, 2, 1];
/// Rows of ifXTable.
pub const IF_X_ENTRY: [u32; 10] = [1, 3, 6, 1, 2, 1, 31, 1, 1, 1];

/// A way to an agent.
pub struct Client {
    /// Connected to the agent, with [`ASK_AGAIN_AFTER`] as its timeout.
    pub socket: UdpSocket,
    /// The agent in messages.
    pub agent: String,
    /// The password, in the clear.
    pub community: Vec<u8>,
    /// How long it may take to answer.
    pub patience: Duration,
}

impl Client {
    /// The values of these variables, in their order.
    pub fn get(&self, oids: Vec<Oid>) -> Result<Vec<Value>, String> {
        let asked = oids.len();
        let bindings = oids.iter().map(|oid| (oid.clone(), Value::Null)).collect();
        let answer = self.ask(Kind::GetRequest, bindings)?;
        let same = answer.bindings.iter().map(|(oid, _)| oid).eq(&oids);
        match same {
            true => Ok(answer.bindings.into_iter().map(|(_, value)| value).collect()),
            false => Err(format!("{} does not answer the {asked} questions asked", self.agent)),
        }
    }

    /// A column of a table by its rows, in the agent's order.
    pub fn column(&self, column: &[u32]) -> Result<Vec<(Vec<u32>, Value)>, String> {
        let mut rows = vec![];
        let mut at = Oid(column.to_vec());
        loop {
            let answer = self.ask(Kind::GetNextRequest, vec![(at.clone(), Value::Null)])?;
            let Some((next, value)) = answer.bindings.into_iter().next() else { return Ok(rows) };
            match next.0.strip_prefix(column) {
                // An agent that goes in circles is not followed.
                Some(row) if next > at => rows.push((row.to_vec(), value)),
                _ => return Ok(rows),
            }
            at = next;
        }
    }

    /// Asks until it is answered.
    pub fn ask(&self, kind: Kind, bindings: Vec<(Oid, Value)>) -> Result<Repr, String> {
        static REQUESTS: AtomicI32 = AtomicI32::new(1);
        let request = Repr {
            community: self.community.clone(),
            kind,
            request_id: REQUESTS.fetch_add(1, Ordering::Relaxed),
            error_status: 0,
            error_index: 0,
            bindings,
        };
        let give_up = Instant::now() + self.patience;
        let mut buffer = vec![0; LONGEST_BYTES];
        while Instant::now() < give_up {
            // Refused while nobody listens there.
            if self.socket.send(&request.emit()).is_err() {
                std::thread::sleep(ASK_AGAIN_AFTER);
                continue;
            }
            let Ok(len) = self.socket.recv(&mut buffer) else {
                std::thread::sleep(ASK_AGAIN_AFTER / 5);
                continue;
            };
            let Ok((answer, _)) = Repr::parse(&buffer[..len]) else { continue };
            if answer.kind != Kind::Response || answer.request_id != request.request_id {
                continue;
            }
            return match answer.error_status {
                0 => Ok(answer),
                status => Err(format!("{} answers {request} with error {status}", self.agent)),
            };
        }
        Err(format!("{} does not answer", self.agent))
    }
}

/// A number that counts; `None` where the agent has no such counter.
pub fn count(value: &Value) -> Option<u64> {
    match value {
        Value::Counter32(count) => Some((*count).into()),
        Value::Integer(count) => u64::try_from(*count).ok(),
        Value::Other(COUNTER64, bytes) => {
            Some(bytes.iter().fold(0, |count, byte| count << 8 | u64::from(*byte)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_64_bits_are_read_whole() {
        let value =
            Value::Other(COUNTER64, vec![0, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0]);
        assert_eq!(count(&value), Some(0x1234_5678_9abc_def0));
        assert_eq!(count(&Value::Counter32(7)), Some(7));
        assert_eq!(count(&Value::NoSuchInstance), None);
    }
}
