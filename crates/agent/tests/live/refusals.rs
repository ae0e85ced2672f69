//! What cannot be had is refused with what to do.

use crate::lab::Lab;
use agent::{Validity, borrow, make_certificates};
use ports::{PortRequest, PortType};
use std::time::{Duration, SystemTime};

#[test]
fn each_refusal_names_its_remedy() {
    let lab = Lab::new();
    let agent = lab.agent(0, 6);
    // Nobody there.
    let nobody = lab.session("127.0.0.1:1".parse().expect("an address")).err().expect("refused");
    assert!(nobody.to_string().contains("netanvil agent --listen"), "{nobody}");
    // Another authority.
    let other = tempfile::tempdir().expect("a folder");
    make_certificates(other.path(), Validity::of_days(2)).expect("certificates");
    let stranger = lab.session_of(other.path(), agent.address).err().expect("refused");
    assert!(stranger.to_string().contains("one authority"), "{stranger}");
    // An expired certificate, at both ends.
    let old = tempfile::tempdir().expect("a folder");
    let now = SystemTime::now();
    let day = Duration::from_secs(86_400);
    make_certificates(old.path(), Validity { from: now - 3 * day, until: now - day })
        .expect("made");
    let expired = lab.agent_of(old.path(), 1, 6);
    let error = lab.session_of(old.path(), expired.address).err().expect("refused");
    assert!(error.to_string().contains("expired"), "{error}");
    // A port that is not offered; one that there is not; a kind that is not lent.
    let session = lab.session(agent.address).expect("a session");
    let refused =
        |request: &PortRequest| borrow(&session, request).err().expect("refused").to_string();
    let not_offered = refused(&lab.request(1, PortType::AUTO));
    assert!(not_offered.contains("lends") && not_offered.contains("--ports"), "{not_offered}");
    let dpdk = refused(&lab.request(0, PortType::DPDK));
    assert!(dpdk.contains("use xdp"), "{dpdk}");
    // A second tester.
    let second = lab.session(agent.address).err().expect("refused");
    assert!(second.to_string().contains("another tester"), "{second}");
    drop(session);
    assert!(lab.session(agent.address).is_ok(), "the first one has ended");
}
