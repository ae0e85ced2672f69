//! What agents and testers tell each other.

use agent::message::{read_reply, read_request};

/// Any bytes as a message: what is read can be written and read again.
pub(crate) fn agent(bytes: &[u8]) {
    if let Ok(request) = read_request(bytes) {
        let written = serde_json::to_vec(&request).expect("what was read can be written");
        assert_eq!(read_request(&written), Ok(request));
    }
    if let Ok(reply) = read_reply(bytes) {
        let written = serde_json::to_vec(&reply).expect("what was read can be written");
        assert_eq!(read_reply(&written), Ok(reply));
    }
}
