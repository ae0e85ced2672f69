//! Any bytes as a received frame: the summary for logs and the checksum check of the receiver
//! never panic, and agree on what is whole.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::decode::{Header, summarize};
use wire::verify::transport_is_good;

fuzz_target!(|frame: &[u8]| {
    let summary = summarize(frame);
    let _ = summary.to_string();
    let is_transport =
        |header: &Header| matches!(header, Header::Udp(_) | Header::Tcp(_) | Header::Icmpv6(_));
    if summary.fault.is_none() && summary.headers.iter().any(is_transport) {
        assert!(transport_is_good(frame), "{summary}");
    }
});
