//! The receiver in the kernel and the pure one agree, field by field, on the same arrivals: frames
//! of every kind are sent by hand, the kernel counts and captures them, and the pure receiver is
//! given what was captured.
#![cfg(xdp_programs)]
#![allow(clippy::disallowed_methods)]

use crate::common::*;
use ports::xdp::XdpPort;
use ports::{CaptureWish, Interface, Port, TrialSignals, clock};
use std::collections::BTreeMap;
use trial::*;
use units::{Duration, Instant};
use wire::signature::{Form, Key, Stamp};

const STREAMS: u16 = 4;
const FRAMES_MAX: u64 = 60_000;
const LENGTHS: [u32; 3] = [60, 128, 590];

/// A small seeded generator (xorshift64*): the test is the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound
    }
}

fn receive_plan(form: Form, verify_payload: bool) -> ReceivePlan {
    let stream = |id: u16| ExpectedStream {
        id: StreamId(id * 7),
        role: Role::Test,
        here: id != 2,
        unchecked: id == 3,
        frames_max: FRAMES_MAX,
        lengths_bytes: if id == 1 { LENGTHS.to_vec() } else { vec![60] },
        flows: 0,
        tagging: (id < 2).then_some(Tagging {
            stream: StreamId(id * 7),
            first: 10,
            every: 90,
            count: 300,
        }),
        // The source address 198.18.0.1.
        fingerprint: Some(Fingerprint { offset_bytes: 26, value: 0xc612_0001, mask: !0 }),
        by_queues: None,
    };
    let mut forms = vec![form, Form::Full];
    forms.sort();
    forms.dedup();
    ReceivePlan {
        port: PortId(1),
        key: KEY,
        forms,
        streams: (0..STREAMS).map(stream).collect(),
        verify_payload,
        clock_slack: trial::clocks::SLACK,
    }
}

/// What is sent by hand.
struct Sender<'a> {
    socket: RawSocket,
    plan: &'a ReceivePlan,
    form: Form,
    dice: Dice,
    next: [u64; STREAMS as usize],
    held_back: Vec<(usize, u64)>,
}

impl Sender<'_> {
    fn frame(&mut self, stream: usize, sequence: u64) -> Vec<u8> {
        // Now and then a stamp from the future, as of clocks that disagree: latency zero.
        let bits = self.dice.below(22);
        let ago_ns = self.dice.below(1 << bits) as i64 - 20;
        self.frame_of(KEY, stream, sequence, ago_ns)
    }

    fn frame_of(&mut self, key: Key, stream: usize, sequence: u64, ago_ns: i64) -> Vec<u8> {
        let lengths = &self.plan.streams[stream].lengths_bytes;
        let len = lengths[(sequence % lengths.len() as u64) as usize] as usize;
        let mut bytes = frame(len, 1_000, Some(self.form)).bytes;
        let stamp = Stamp {
            stream: self.plan.streams[stream].id.0,
            sequence,
            transmit_ticks: clock::now().as_ns().saturating_add_signed(-ago_ns),
        };
        // The key's constant is what the checksum was made for, but Compact's depends on the
        // stream; so the checksum is mended for it.
        wire::signature::write(self.form, key, stamp, &mut bytes);
        mend_udp_checksum(&mut bytes);
        bytes
    }

    fn send_one(&mut self) {
        let stream = self.dice.below(STREAMS.into()) as usize;
        let sequence = self.next[stream];
        // Of the last stream every other frame is missing: more gaps than any history holds.
        self.next[stream] += if stream == 3 { 2 } else { 1 };
        match self.dice.below(40) {
            // Lost.
            0 => {}
            // A long gap.
            1 => self.next[stream] += self.dice.below(300),
            2..6 => self.held_back.push((stream, sequence)),
            6 => {
                for (stream, sequence) in std::mem::take(&mut self.held_back) {
                    let frame = self.frame(stream, sequence);
                    self.socket.send(&frame);
                }
            }
            7 => {
                let again = self.dice.below(sequence + 1);
                let frame = self.frame(stream, again);
                self.socket.send(&frame);
            }
            8 => {
                let impossible = FRAMES_MAX + self.dice.below(3);
                let frame = self.frame(stream, impossible);
                self.socket.send(&frame);
            }
            // A changed bit anywhere: header, payload or signature.
            9 | 10 => {
                let mut frame = self.frame(stream, sequence);
                let bit = 12 * 8 + self.dice.below((frame.len() as u64 - 12) * 8) as usize;
                frame[bit / 8] ^= 1 << (bit % 8);
                self.socket.send(&frame);
            }
            // With a VLAN tag that was not sent.
            11 => {
                let mut frame = self.frame(stream, sequence);
                frame.splice(12..12, [0x81, 0, 0, 5]);
                self.socket.send(&frame);
            }
            12 => {
                let len = 14 + self.dice.below(200) as usize;
                let frame = (0..len).map(|_| self.dice.below(256) as u8).collect::<Vec<_>>();
                self.socket.send(&frame);
            }
            // Of an earlier trial.
            14 => {
                let ago = 1 + self.dice.below(4);
                // In earnest, or forged: sent in this trial.
                let ago_ns = [30_000_000_000, 500][sequence as usize % 2];
                let frame = self.frame_of(KEY.earlier(ago).unwrap(), stream, sequence, ago_ns);
                self.socket.send(&frame);
            }
            // Of another run.
            15 => {
                let frame = self.frame_of(Key::from_seed(sequence).later(4), stream, sequence, 0);
                self.socket.send(&frame);
            }
            // With another number, and the sum of before.
            16 | 17 => {
                let mut frame = self.frame(stream, sequence);
                let at = frame.len() - if self.form == Form::Full { 8 } else { 4 };
                let [high, low] = [at, at + 2].map(|at| [frame[at], frame[at + 1]]);
                frame[at..at + 4].copy_from_slice(&[low, high].concat());
                self.socket.send(&frame);
            }
            // From long before the trial, and from after it.
            18 => {
                let ago_ns = [30_000_000_000, -5_000_000, -2_000_000_000][sequence as usize % 3];
                let frame = self.frame_of(KEY, stream, sequence, ago_ns);
                self.socket.send(&frame);
            }
            // A datagram that ends before its packet does; or says that it ends where it cannot.
            19 => {
                let mut frame = self.frame(stream, sequence);
                let length = u16::from_be_bytes([frame[38], frame[39]]);
                let signature = self.form.len_bytes() as u16;
                let lengths = [length - signature, length - 1, 8, 7, 0, length + 1];
                let shorter = lengths[(sequence % 6) as usize];
                frame[38..40].copy_from_slice(&shorter.to_be_bytes());
                if shorter < length {
                    mend_udp_checksum(&mut frame);
                }
                self.socket.send(&frame);
            }
            13 => std::thread::sleep(std::time::Duration::from_micros(self.dice.below(400))),
            _ => {
                let frame = self.frame(stream, sequence);
                self.socket.send(&frame);
            }
        }
    }
}

fn agree(form: Form, verify_payload: bool) {
    with_veth_pair(move || {
        let mut port = XdpPort::open(&Interface::open("vb").unwrap(), describe(1, "vb")).unwrap();
        let plan = receive_plan(form, verify_payload);
        let receive = port.halves().receive;
        receive.capture(Some(CaptureWish { streams: vec![], max_frames: 60_000 })).unwrap();
        receive.prepare(&plan).unwrap();
        let signals = TrialSignals::new([PortId(1)]);
        let mut sender = Sender {
            socket: RawSocket::open("va"),
            plan: &plan,
            form,
            dice: Dice(0x5eed_0001 + u64::from(verify_payload) + 2 * form.len_bytes() as u64),
            next: [0; STREAMS as usize],
            held_back: vec![],
        };
        // The trial began a while ago, so that arrivals lie in its third and fourth second.
        let start = Instant::from_ns(clock::now().as_ns() - 2_900_000_000);
        signals.announce(start);
        let sent: BTreeMap<StreamId, u64> =
            plan.streams.iter().map(|stream| (stream.id, 12_000)).collect();
        let received = std::thread::scope(|scope| {
            let receiving = scope.spawn(|| receive.receive(&plan, &signals).unwrap());
            // Once it notes an arrival, the receiver has also passed the start on to the kernel.
            while signals.arrivals() == 0 {
                sender.socket.send(&[0xee; 60]);
                clock::sleep(Duration::from_ms(1));
            }
            (0..30_000).for_each(|_| sender.send_one());
            let deadline = clock::now() + Duration::from_ms(200);
            signals.set_deadline(deadline);
            clock::wait_until(deadline + Duration::from_us(10));
            (0..1_000).for_each(|_| sender.send_one());
            clock::sleep(Duration::from_ms(20));
            signals.close(sent.clone());
            receiving.join().unwrap()
        });
        let captured = receive.captured();
        assert_eq!(captured.missed, 0);
        let mut pure = Receiver::new(&plan, start, clock::TICK);
        pure.set_deadline(signals.deadline());
        for frame in &captured.frames {
            pure.absorb(frame.at, &frame.bytes);
        }
        let expected = pure.into_received(|id| sent[&id]);
        assert!(captured.frames.len() > 20_000, "{} frames", captured.frames.len());
        see_that_everything_occurred(&expected, form, verify_payload);
        for (kernel, pure) in received.streams.iter().zip(&expected.streams) {
            assert_eq!(kernel, pure);
        }
        assert_eq!(received, expected);
    });
}

/// The comparison is worth something only if there was something to compare.
fn see_that_everything_occurred(received: &PortReceived, form: Form, verify_payload: bool) {
    assert!(received.foreign > 100 && received.corrupted > 100);
    assert!(received.leftovers.frames.iter().all(|frames| *frames > 50));
    let forged = if form == Form::Compact { 0..1 } else { 300..10_000 };
    assert!(forged.contains(&received.forged), "{} forged", received.forged);
    for stream in &received.streams {
        let account = &stream.account;
        assert!(account.unique > 1_000 && account.late > 50);
        assert!(account.corrupted > if verify_payload { 200 } else { 30 });
        if !stream.expected && !stream.unchecked {
            assert!(account.duplicates == 0 && account.latency.count() == 0, "strays are counted");
            continue;
        }
        assert!(account.duplicates > 10);
        assert!(account.reordered > 100 && account.reorder_extent_max_frames > 3);
        assert!(account.wrong_length > 10);
        assert!(account.per_second.len() > 1 && account.longest_silence.is_some());
        assert_eq!(stream.missing.count > 0, stream.expected);
    }
    if form != Form::Compact {
        assert!(received.streams[0].account.tagged.len() > 10);
    }
}

#[test]
fn on_full_signatures() {
    agree(Form::Full, false);
}

#[test]
fn on_full_signatures_with_payloads_verified() {
    agree(Form::Full, true);
}

#[test]
fn on_short_signatures() {
    agree(Form::Short, true);
}

#[test]
fn on_compact_signatures() {
    agree(Form::Compact, false);
}
