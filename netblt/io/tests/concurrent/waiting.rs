//! A station that has more in its hands than it takes at once does not sleep over it.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::common;
use crate::common::PORT;
use netblt_io::files::Nobody;
use netblt_io::{Carrier, Socket};
use std::time::Instant;
use units::Duration;
use wire::netblt::{Header, Packet, Repr};

/// More than a station takes in between two looks, in few messages that the kernel keeps together: one
/// system call brings all of them.
const DATAGRAMS: usize = 300;
const LEN: usize = 100;

#[test]
fn what_the_kernel_gave_together_is_looked_at_before_anything_is_waited_for() {
    let (mut station, address) = common::station();
    station.listen(PORT);
    let mut peer = Socket::bind(Carrier::Udp, "127.0.0.1:0".parse().unwrap()).unwrap();
    let mut packets = vec![0xff; DATAGRAMS * LEN];
    peer.send(address, &packets, LEN).unwrap();
    packets.clear();
    Repr { header: Header::new(6100, PORT), packet: Packet::Quit("enough".into()) }
        .emit(&mut packets);
    let len = packets.len();
    peer.send(address, &packets, len).unwrap();
    let started = Instant::now();
    station.turn(Duration::from_secs(20), &mut Nobody).unwrap();
    // A hundred times as long as it takes, and far less than it might have waited.
    assert!(started.elapsed() < std::time::Duration::from_secs(10), "{:?}", started.elapsed());
    station.turn(Duration::ZERO, &mut Nobody).unwrap();
    assert!(peer.receive().unwrap().is_some(), "the last of them is answered");
}
