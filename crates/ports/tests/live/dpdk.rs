//! Ports of DPDK on virtual devices: what every tester must get right, and each refusal.

use crate::bed::testpmd::Testpmd;
use crate::bed::{devices, undecided};
use crate::common::{elsewhere, ip};
use ports::{LiveOptions, LiveTester, clock};
use std::sync::atomic::{AtomicBool, Ordering};
use trial::conformance::{Capacity, Load, Path, check, run_accounted};
use trial::{Balance, InvalidReason, Tester};
use units::{Duration, FrameRate, FrameSize};
use wire::signature::Key;

/// So slow that two processors with other work on them carry it in any queue of 256 frames.
fn capacity() -> Capacity {
    Capacity { rate: FrameRate::from_fps(20_000), largest: FrameSize::MAX_ETHERNET }
}

/// The conformance body between two ports, or of one port with itself; gives the tester again, and the paths between them.
fn conforms(mut tester: LiveTester, pairs: &[(usize, usize)]) -> (LiveTester, Vec<Path>) {
    let paths: Vec<_> = pairs.iter().map(|(from, to)| devices::path(&tester, *from, *to)).collect();
    let kinds: Vec<_> = tester.describe().ports.iter().map(|port| &port.port_type).collect();
    assert!(kinds.iter().all(|kind| *kind == "dpdk"), "{kinds:?}");
    for why in check(&mut tester, &paths, capacity()) {
        undecided::tell(&why);
    }
    (tester, paths)
}

#[test]
fn a_memif_link_conforms() {
    let folder = devices::folder();
    let devices = [folder.memif(0, "server", "a"), folder.memif(1, "client", "a")];
    conforms(devices::tester(&devices, FrameSize::MAX_ETHERNET), &[(0, 1), (1, 0)]);
}

#[test]
fn a_vhost_user_link_conforms() {
    let folder = devices::folder();
    conforms(devices::tester(&folder.vhost_user(), FrameSize::MAX_ETHERNET), &[(0, 1), (1, 0)]);
}

#[test]
fn af_packet_by_dpdk_conforms_on_a_veth() {
    let _folder = devices::folder();
    elsewhere(|| {
        let devices =
            [(0, "va"), (1, "vb")].map(|(n, name)| format!("net_af_packet{n},iface={name}"));
        conforms(devices::tester(&devices, FrameSize::MAX_ETHERNET), &[(0, 1), (1, 0)]);
        ip("link delete va");
    });
}

#[test]
fn a_ring_conforms() {
    let _folder = devices::folder();
    conforms(devices::tester(&["net_ring0".into()], FrameSize::MAX_ETHERNET), &[(0, 0)]);
}

/// Two queues each way: what the conformance body asks of one, and each frame of 16 flows once, from both directions.
fn two_queues_conform(devices: &[String], pairs: &[(usize, usize)]) {
    let ports = devices::open_with_queues(devices, 2).expect("open the ports");
    let tester = LiveTester::new(ports, LiveOptions::default()).expect("a tester");
    let threads = &tester.describe().notes;
    for thread in ["port 0 transmit by queue 1", "port 0 receive from queue 1"] {
        assert!(threads.iter().any(|note| note.contains(thread)), "{threads:?}");
    }
    let (mut tester, paths) = conforms(tester, pairs);
    let load = Load {
        paths: &paths,
        streams_each: 16,
        sizes: &[FrameSize::MIN_ETHERNET],
        rate: FrameRate::from_fps(20_000),
        duration: Duration::from_ms(300),
        key: Key::from_seed(0xd9d5),
    };
    let result = run_accounted(&mut tester, &load.trial("two queues"));
    assert!(result.offered_frames() > 5_000, "{}", result.offered_frames());
    if !result.is_valid() {
        return undecided::tell(&format!("{:?}", result.invalid_reasons()));
    }
    assert_eq!(result.lost_frames(), 0, "{:?}", result.counters);
    for stream in &result.streams {
        assert_eq!((stream.reordered, stream.duplicates, stream.corrupted), (0, 0, 0));
    }
}

#[test]
fn a_memif_server_has_the_rings_that_its_client_makes() {
    let folder = devices::folder();
    let server = folder.memif(0, "server", "a");
    let error = devices::open_with_queues(&[server], 2).err().expect("it has no rings of its own");
    assert!(error.to_string().contains("role=client"), "{error}");
}

/// testpmd with as many queues between two memif links, of which netanvil is the client.
#[test]
fn two_queues_of_memif_links_conform() {
    let folder = devices::folder();
    let far = [folder.memif(0, "server", "a"), folder.memif(1, "server", "b")];
    let _testpmd = Testpmd::start([&far[0], &far[1]], "io", "--rxq=2 --txq=2");
    let near = [folder.memif(0, "client", "a"), folder.memif(1, "client", "b")];
    two_queues_conform(&near, &[(0, 1), (1, 0)]);
}

#[test]
fn two_queues_of_a_vhost_user_link_conform() {
    let folder = devices::folder();
    two_queues_conform(&folder.vhost_user(), &[(0, 1), (1, 0)]);
}

#[test]
fn two_queues_of_a_ring_conform() {
    let _folder = devices::folder();
    two_queues_conform(&["net_ring0".into()], &[(0, 0)]);
}

/// 64-byte frames from port 0 to port 1 for 300 ms through testpmd, whose counters are read around the trial.
fn through_testpmd(rate_fps: u64) -> trial::TrialResult {
    let folder = devices::folder();
    let far = [folder.memif(0, "server", "a"), folder.memif(1, "server", "b")];
    let testpmd = Testpmd::start([&far[0], &far[1]], "io", "");
    let near = [folder.memif(0, "client", "a"), folder.memif(1, "client", "b")];
    let ports = devices::open(&near, FrameSize::MIN_ETHERNET).expect("open the ports");
    let options = LiveOptions { device: Some(Box::new(testpmd)), ..LiveOptions::default() };
    offer(rate_fps, &mut LiveTester::new(ports, options).expect("a tester"))
}

fn offer(rate_fps: u64, tester: &mut LiveTester) -> trial::TrialResult {
    let load = Load {
        paths: &[devices::path(tester, 0, 1)],
        streams_each: 1,
        sizes: &[FrameSize::MIN_ETHERNET],
        rate: FrameRate::from_fps(rate_fps),
        duration: Duration::from_ms(300),
        key: Key::from_seed(0xd9d4),
    };
    run_accounted(tester, &load.trial("through testpmd"))
}

/// A device that the tester cannot ask: what it could not hand over to the tester never counts as its loss.
#[test]
fn what_only_the_far_end_could_count_decides_nothing() {
    let folder = devices::folder();
    let far = [folder.memif(0, "server", "a"), folder.memif(1, "server", "b")];
    let mut testpmd = Testpmd::start([&far[0], &far[1]], "io", "");
    let near = [folder.memif(0, "client", "a"), folder.memif(1, "client", "b")];
    let ports = devices::open(&near, FrameSize::MIN_ETHERNET).expect("open the ports");
    let before = testpmd.links()[1].tx_dropped;
    let mut tester = LiveTester::new(ports, LiveOptions::default()).expect("a tester");
    let result = offer(8_000_000, &mut tester);
    // Asked while the ports are open: testpmd 22.11 may fail as its peer leaves (docs/dpdk.md).
    let unseen = testpmd.links()[1].tx_dropped - before;
    let says = |reason: &InvalidReason| matches!(reason, InvalidReason::PerhapsFull { port, queue_frames: 1_024, .. } if port.0 == 1);
    match unseen {
        0 => undecided::tell("testpmd could hand over every frame"),
        _ => assert!(result.invalid_reasons().iter().any(says), "{unseen}: {:?}", result.validity),
    }
}

/// A program that keeps testpmd's processor for 60 ms of each 100, which the tester finds out though nobody told it
/// which program its device is.
#[test]
fn a_program_at_the_far_end_that_others_hold_up_is_not_blamed() {
    let folder = devices::folder();
    let far = [folder.memif(0, "server", "a"), folder.memif(1, "server", "b")];
    let _testpmd = Testpmd::start([&far[0], &far[1]], "io", "");
    let near = [folder.memif(0, "client", "a"), folder.memif(1, "client", "b")];
    let ports = devices::open(&near, FrameSize::MIN_ETHERNET).expect("open the ports");
    let mut tester = LiveTester::new(ports, LiveOptions::default()).expect("a tester");
    let over = AtomicBool::new(false);
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            kernel::thread::pin_this(1).expect("pinned");
            let _turn = kernel::thread::RealTimeTurn::begin(1);
            while !over.load(Ordering::Relaxed) {
                let until = clock::now() + Duration::from_ms(60);
                while clock::now() < until && !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
                clock::sleep(Duration::from_ms(40));
            }
        });
        let result = offer(500_000, &mut tester);
        over.store(true, Ordering::Relaxed);
        result
    });
    let held_up = |reason: &InvalidReason| matches!(reason, InvalidReason::DeviceHeldUp { .. });
    assert!(result.lost_frames() > 0, "60 ms are 30,000 frames, and the queue holds 1,024");
    assert!(result.invalid_reasons().iter().any(held_up), "{:?}", result.validity);
}

/// Every frame is where a counter has it: the tester's, testpmd's on the way in and out, and the tester's again.
fn accounts_close(result: &trial::TrialResult) -> Balance {
    let balance = Balance::of(result);
    assert_eq!((balance.unknown(), balance.surplus()), (0, 0), "{balance:#?}");
    let [first, second] = &result.balance[..] else { panic!("two ports: {balance:#?}") };
    assert_eq!(first.tester_sent - first.refused, first.device_received, "{balance:#?}");
    assert_eq!(second.device_sent, second.tester_received, "{balance:#?}");
    balance
}

/// Slow enough for a queue of 1,024 frames to bridge 200 ms in which testpmd has no processor.
#[test]
fn what_testpmd_forwards_arrives_and_every_counter_agrees() {
    let result = through_testpmd(5_000);
    let balance = accounts_close(&result);
    let sent = result.sent[0].report.sent_frames;
    assert_eq!(result.lost_frames() + result.balance[1].tester_received, sent, "{balance:#?}");
    if result.is_valid() {
        assert_eq!(result.lost_frames(), 0, "{balance:#?}");
        assert_eq!(result.balance[0].device_received, sent, "{balance:#?}");
    } else {
        undecided::tell("the tester was held up");
    }
}

/// More than testpmd takes: what its queue has no room for is lost, to the frame, and so it is where the
/// tester's own queue has no room for what testpmd sends.
#[test]
fn an_overload_loses_exactly_what_testpmd_did_not_take_or_send() {
    let result = through_testpmd(8_000_000);
    let balance = accounts_close(&result);
    let [near, far] = [&result.balance[0], &result.balance[1]];
    assert!(near.refused > 0, "so much fits through no queue: {balance:#?}");
    let dropped = near.device_received - far.device_sent;
    assert_eq!(result.lost_frames(), near.refused + dropped, "{balance:#?}");
    assert_eq!(dropped, far.turned_away, "testpmd drops nothing but what it cannot hand over");
    assert_eq!(result.tester_drops(), dropped, "and that is the tester's loss: {balance:#?}");
}

/// A frame of 9,018 bytes takes five slots of a memif.
#[test]
fn jumbo_frames_in_several_pieces_arrive_whole() {
    let folder = devices::folder();
    let jumbo = FrameSize::from_bytes(9_018);
    let devices = [folder.memif(0, "server", "j"), folder.memif(1, "client", "j")];
    let mut tester = devices::tester(&devices, jumbo);
    let load = Load {
        paths: &[devices::path(&tester, 0, 1), devices::path(&tester, 1, 0)],
        streams_each: 1,
        sizes: &[jumbo],
        rate: FrameRate::from_fps(1_000),
        duration: Duration::from_ms(500),
        key: Key::from_seed(0x1a60),
    };
    let result = run_accounted(&mut tester, &load.trial("jumbo frames"));
    assert_eq!((result.lost_frames(), result.tester_drops()), (0, 0));
    for received in result.expected_accounts() {
        let account = &received.account;
        assert!(account.unique > 0);
        assert_eq!(account.unique_bytes, account.unique * 9_018);
        assert_eq!((account.wrong_length, account.corrupted), (0, 0));
    }
}
