//! The `xdp` port on a veth pair, back to back. Needs root.
#![cfg(xdp_programs)]
#![allow(clippy::disallowed_methods)]

use crate::common::*;
use ports::xdp::XdpPort;
use ports::{CaptureWish, Interface, Port, TrialSignals};
use trial::{PortId, StreamId, Tagging, TesterError, Trial};
use units::Duration;
use wire::signature::{Form, Stamp};

fn open(id: u16, name: &str) -> Box<dyn Port> {
    Box::new(XdpPort::open(&Interface::open(name).unwrap(), describe(id, name)).unwrap())
}

fn one_stream(len: usize, fps: u64, ms: u64) -> Trial {
    let frames = vec![frame(len, 1_000, Some(Form::Full))];
    trial(vec![stream(1, 0, 1, frames)], vec![load(0, constant(fps, ms), &[1])])
}

#[test]
fn one_stream_back_to_back_arrives_whole() {
    with_veth_pair(|| {
        let outcome = run(&one_stream(60, 100_000, 500), &mut [open(0, "va"), open(1, "vb")]);
        let report = outcome.report(0);
        assert_eq!((report.intended_frames, report.sent_frames), (50_000, 50_000));
        assert_eq!(report.sent_bytes, 50_000 * 64);
        let received = &outcome.received[1].streams[0];
        assert_eq!((received.account.unique, received.missing.count), (50_000, 0));
        assert_eq!(received.account.arrivals(), 50_000);
        assert_eq!(outcome.received[1].foreign, 0);
        assert_eq!(outcome.received[0].arrivals(), 0);
    });
}

/// No frame leaves before it is due, and the last leaves by the schedule, moved by the lateness that was
/// given up: nothing else adds up. How late frames are is for `make bench` to say.
#[test]
fn frames_keep_to_the_schedule_and_do_not_drift() {
    with_veth_pair(|| {
        let mut ports = [open(0, "va"), open(1, "vb")];
        for fps in [14_880, 500_000] {
            let trial = one_stream(60, fps, 300);
            let schedule = &trial.loads[0].schedule;
            let outcome = run(&trial, &mut ports);
            let report = outcome.report(0);
            assert_eq!(report.sent_frames, schedule.frames());
            assert_eq!(report.lateness.count(), report.sent_frames, "each frame has its own");
            let last = report.last_departure.unwrap();
            let span = last.since(report.first_departure.unwrap());
            let due = schedule.departure(schedule.frames() - 1) + report.slips.total;
            let worst = report.lateness.max().unwrap();
            assert!(span + worst >= due, "{fps}: {span} of {due} is early");
            assert!(span <= due + worst, "{fps}: {span} of {due} is later than {worst}");
        }
    });
}

/// A sender that begins 5 ms late makes up for its credit of 100 us and gives up the rest: all frames
/// leave, the schedule has moved by what was given up, and over no stretch do more frames leave than the
/// rate and the credit allow.
#[test]
fn frames_that_are_late_move_the_schedule() {
    with_veth_pair(|| {
        let mut ports = [open(0, "va"), open(1, "vb")];
        let trial = one_stream(60, 100_000, 400);
        let plan = &trial.transmit_plans().unwrap()[0];
        assert_eq!(plan.credit, Duration::from_us(100));
        let [sender, _receiver] = &mut ports;
        let sender = sender.halves().transmit;
        sender.capture(Some(CaptureWish { streams: vec![], max_frames: 40_000 })).unwrap();
        sender.prepare(plan).unwrap();
        let start = ports::clock::now();
        ports::clock::wait_until(start + Duration::from_ms(5));
        let signals = TrialSignals::new([PortId(0), PortId(1)]);
        let stop_at = start + trial.duration() + Duration::from_ms(500);
        let report = sender.transmit(plan, start, stop_at, &signals).unwrap().report;
        assert_eq!(report.sent_frames, 40_000);
        let left = sender.captured().frames;
        assert_eq!(left.len(), 40_000);
        let schedule = &trial.loads[0].schedule;
        let moved = left[39_999].at.since(start + schedule.departure(39_999));
        assert!(report.slips.times >= 1 && report.slips.total >= Duration::from_us(4_900));
        assert!(moved >= report.slips.total, "{moved} and {:?}", report.slips);
        assert!(moved <= report.slips.total + plan.credit, "{moved} and {:?}", report.slips);
        for stretch in left.windows(51) {
            let took = stretch[50].at.since(stretch[0].at);
            assert!(took + plan.credit + Duration::from_us(1) >= Duration::from_us(500), "{took}");
        }
    });
}

/// The number of an interface is another interface elsewhere: a port is used from any namespace.
#[test]
fn a_port_may_be_used_from_another_namespace() {
    with_veth_pair(|| {
        let mut ports = [open(0, "va"), open(1, "vb")];
        elsewhere(move || {
            let outcome = run(&one_stream(60, 100_000, 20), &mut ports);
            assert_eq!(outcome.received[1].streams[0].account.unique, 2_000);
        });
    });
}

#[test]
fn frames_longer_than_a_live_frame_are_refused_with_the_remedy() {
    with_veth_pair(|| {
        let mut port = open(0, "va");
        let trial = one_stream(3_500, 1_000, 10);
        let plan = &trial.transmit_plans().unwrap()[0];
        let error = port.halves().transmit.prepare(plan).unwrap_err();
        let TesterError::Unsupported { what, remedy, .. } = error else { panic!("{error}") };
        assert!(what.contains("3504 bytes") && remedy.contains("af_packet"), "{what}; {remedy}");
    });
}

/// As long as a live frame can be, and on a link whose MTU is larger still.
#[test]
fn frames_as_long_as_a_live_frame_arrive_whole() {
    with_veth_pair(|| {
        ip("link set va mtu 9000");
        ip("link set vb mtu 9000");
        let outcome = run(&one_stream(3_400, 10_000, 50), &mut [open(0, "va"), open(1, "vb")]);
        let account = &outcome.received[1].streams[0].account;
        assert_eq!((account.unique, account.wrong_length), (500, 0));
        assert_eq!(account.unique_bytes, 500 * 3_404);
    });
}

#[test]
fn a_far_end_that_does_not_poll_is_an_error_that_says_so() {
    with_veth_pair(|| {
        let frames = vec![frame(60, 1_000, Some(Form::Full))];
        let trial = trial(vec![stream(1, 0, 0, frames)], vec![load(0, constant(10_000, 10), &[1])]);
        let outcome = run(&trial, &mut [open(0, "va")]);
        let error = outcome.sent[0].as_ref().unwrap_err().to_string();
        assert!(error.contains("gro on"), "{error}");
    });
}

/// A minute's plan is given up within a moment, at every pace of waiting.
#[test]
fn a_stop_is_prompt_at_every_rate() {
    with_veth_pair(|| {
        let mut ports = [open(0, "va"), open(1, "vb")];
        for fps in [1, 10_000, 1_000_000, 14_880_952] {
            let mut stopped = None;
            let outcome = run_with(&one_stream(60, fps, 60_000), &mut ports, |signals, start| {
                ports::clock::wait_until(start + Duration::from_ms(100));
                signals.stop();
                stopped = Some(ports::clock::now());
            });
            let took = outcome.transmitted_at.since(stopped.unwrap());
            assert!(took < Duration::from_ms(500), "{fps} frames/s: {took}");
            let report = outcome.report(0);
            assert!(report.sent_frames > 0 && report.sent_frames < report.intended_frames);
            assert_eq!(outcome.received[1].streams[0].account.unique, report.sent_frames);
        }
    });
}

/// Frames that the device loses are missing exactly, however the frames are counted.
#[test]
fn every_third_frame_dropped_on_the_way_is_missing_exactly() {
    with_veth_pair(|| {
        // A second pair behind a bridge that drops: va - vb [bridge] vc - vd.
        ip("link add name vc type veth peer name vd");
        ip("link add name bridge0 type bridge mcast_snooping 0");
        for link in ["vb", "vc"] {
            ip(&format!("link set {link} master bridge0"));
        }
        for link in ["vc", "vd", "bridge0"] {
            std::fs::write(format!("/proc/sys/net/ipv6/conf/{link}/disable_ipv6"), "1").ok();
            ip(&format!("link set {link} up"));
        }
        gro_on("vb");
        nft("add table bridge t; add chain bridge t f { type filter hook forward priority 0; }; \
             add rule bridge t f udp dport 7 numgen inc mod 3 == 2 drop");
        let mut trial = one_stream(60, 20_000, 300);
        // Not to the bridge's own port.
        trial.streams[0].frames[0].bytes[5] = 0xdd;
        let outcome = run(&trial, &mut [open(0, "va"), open(1, "vd")]);
        let received = &outcome.received[1].streams[0];
        assert_eq!(outcome.report(0).sent_frames, 6_000);
        assert_eq!((received.account.unique, received.missing.count), (4_000, 2_000));
        assert_eq!((received.missing.gaps, received.missing.first), (2_000, Some(2)));
        assert_eq!(received.account.reordered, 0);
    });
}

/// Frames of two flows come in by two receive queues, and so does each frame a second time: what
/// is counted on either adds up.
#[test]
fn two_receive_queues_add_up() {
    with_veth_pair(|| {
        ip("link del va");
        ip("link add name va numtxqueues 2 numrxqueues 2 type veth peer name vb numtxqueues 2 \
            numrxqueues 2");
        for link in ["va", "vb"] {
            std::fs::write(format!("/proc/sys/net/ipv6/conf/{link}/disable_ipv6"), "1").ok();
            channels(link, 2);
            ip(&format!("link set {link} up"));
        }
        let mut trial = one_stream(60, 1_000, 2_000);
        let tagging = Tagging { stream: StreamId(1), first: 100, every: 10, count: 50 };
        trial.tagging = Some(tagging);
        let mut port = open(1, "vb");
        let plan = trial.receive_plan(PortId(1));
        let signals = TrialSignals::new([PortId(1)]);
        let receive = port.halves().receive;
        receive.prepare(&plan).unwrap();
        let socket = RawSocket::open("va");
        let received = std::thread::scope(|scope| {
            let receiving = scope.spawn(|| receive.receive(&plan, &signals).unwrap());
            for sequence in 0..2_000 {
                let flow = |number: u64| {
                    let mut bytes = frame(60, 1_000 + number as u16, Some(Form::Full)).bytes;
                    let transmit_ticks = ports::clock::now().as_ns();
                    let stamp = Stamp { stream: 1, sequence, transmit_ticks };
                    wire::signature::write(Form::Full, KEY, stamp, &mut bytes);
                    bytes
                };
                socket.send(&flow(sequence % 16));
                socket.send(&flow((sequence + 8) % 16));
            }
            ports::clock::sleep(Duration::from_ms(20));
            signals.close([(StreamId(1), 2_000)].into());
            receiving.join().unwrap()
        });
        let account = &received.streams[0].account;
        assert_eq!((account.unique, account.duplicates), (2_000, 2_000));
        assert_eq!((account.latency.count(), received.streams[0].missing.count), (2_000, 0));
        let mut tags: Vec<u64> = account.tagged.iter().map(|(index, _)| *index).collect();
        tags.sort();
        assert_eq!(tags, (0..50).collect::<Vec<_>>());
        let statistics = Interface::open("vb").unwrap().ethtool().statistics();
        for queue in 0..2 {
            let name = format!("rx_queue_{queue}_xdp_packets");
            let (_, frames) = statistics.iter().find(|(counter, _)| *counter == name).unwrap();
            assert!(*frames > 100, "{name}: {frames}");
        }
    });
}
