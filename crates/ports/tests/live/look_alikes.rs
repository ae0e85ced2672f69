//! Test frames that look like those of the control side, which a capture or a client may have: their signature tells
//! them apart, on every kind of port. Needs root.

use crate::common::*;
use ports::{Interface, PortType, Room, clock};
use trial::*;
use units::Duration;
use wire::signature::{self, Form};

const MACS: [u8; 12] = [2, 0, 0, 0, 0, 0xb, 2, 0, 0, 0, 0, 0xa];

/// An Ethernet frame of this type, with room for a signature behind its payload.
fn ethernet(ether_type: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut bytes = MACS.to_vec();
    bytes.extend_from_slice(ether_type);
    bytes.extend_from_slice(payload);
    bytes
}

fn arp() -> Vec<u8> {
    let mut payload = vec![0; 28];
    payload[..8].copy_from_slice(&[0, 1, 8, 0, 6, 4, 0, 1]);
    payload
}

fn signed(mut bytes: Vec<u8>) -> StreamFrame {
    bytes.resize(bytes.len().max(46) + Form::Full.len_bytes(), 0);
    let stamp = signature::Stamp { stream: 0, sequence: 0, transmit_ticks: 0 };
    signature::write(Form::Full, KEY, stamp, &mut bytes);
    StreamFrame { bytes, form: Some(Form::Full) }
}

fn look_alikes() -> Vec<StreamFrame> {
    let mut igmp_query = vec![0; 28];
    igmp_query[..10].copy_from_slice(&[0x45, 0, 0, 28, 0, 0, 0, 0, 1, 2]);
    igmp_query[20] = 0x11;
    let mut solicitation = vec![0; 64];
    solicitation[..8].copy_from_slice(&[0x60, 0, 0, 0, 0, 24, 58, 255]);
    solicitation[40] = 135;
    vec![
        signed(ethernet(&[8, 6], &arp())),
        signed(ethernet(&[0x81, 0, 0, 7, 8, 6], &arp())),
        signed(ethernet(&[8, 0], &igmp_query)),
        signed(ethernet(&[0x86, 0xdd], &solicitation)),
        frame(60, 161, Some(Form::Full)),
        frame(60, 4_000, Some(Form::Full)),
    ]
}

#[test]
fn a_signature_makes_a_test_frame_of_arp_and_its_like() {
    let xdp = ports::xdp::available().is_ok().then_some(PortType::XDP);
    for kind in xdp.into_iter().chain([PortType::AF_XDP, PortType::AF_PACKET]) {
        with_veth_pair(move || {
            let open = |id, name| {
                let interface = Interface::open(name).unwrap();
                let room = Room { receive_frames: None, ports: 2, queues: 1 };
                kind.kind().unwrap().open(&interface, describe(id, name), room).unwrap().0
            };
            let mut ports = [open(0, "va"), open(1, "vb")];
            let load = load(0, constant(3_000, 200), &[1]);
            let trial = trial(vec![stream(1, 0, 1, look_alikes())], vec![load]);
            let outcome = run_with(&trial, &mut ports, |_, start| {
                // What the kernel itself would ask is the control side's, and not counted.
                let socket = RawSocket::open("va");
                clock::wait_until(start + Duration::from_ms(50));
                (0..20).for_each(|_| socket.send(&ethernet(&[8, 6], &arp())));
            });
            let received = &outcome.received[1];
            let account = &received.streams[0].account;
            let counted = (account.unique, account.corrupted, received.foreign, received.forged);
            assert_eq!((outcome.sent_of(StreamId(1)), counted), (600, (600, 0, 0, 0)), "{kind:?}");
        });
    }
}
