//! Frames a second from generation through link, device and link to the full account: one virtual
//! second at a time, on one core.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sim::{Addresses, Description, Patch, QueueLimit, SimPort, SimTester, StoreAndForward};
use std::net::Ipv4Addr;
use trial::{
    Expectation, PortId, PortLoad, Prelude, Role, Schedule, Segment, Stream, StreamFrame, StreamId,
    Tester, Trial, ValidityLimits, Waits,
};
use units::{Duration, FrameRate, FrameSize, LineRate};
use wire::ethernet::MacAddr;
use wire::learning;
use wire::signature::{Form, Key};
use wire::template::FrameTemplate;

const FRAMES: u64 = 200_000;
const LINE: LineRate = LineRate::from_gbps(10);

/// As many frames at line rate from each of these ports to its partner.
fn trial_of(size: FrameSize, senders: &[u16]) -> Trial {
    let frame = StreamFrame { bytes: vec![0x5a; size.bytes_without_fcs()], form: Some(Form::Full) };
    let stream = |port: &u16| Stream {
        id: StreamId(port + 1),
        name: format!("from port {port}"),
        role: Role::Test,
        from: PortId(*port),
        expect: Expectation::Ports(vec![PortId(port ^ 1)]),
        frames: vec![frame.clone()],
        fingerprint: None,
        given_up: vec![],
        bad_fcs: false,
    };
    let rate = LINE.max_frame_rate(size);
    let load = |port: &u16| PortLoad {
        port: PortId(*port),
        schedule: Schedule {
            segments: vec![Segment::constant(rate, FRAMES / senders.len() as u64)],
        },
        order: vec![StreamId(port + 1)],
        insertions: vec![],
    };
    Trial {
        label: "bench".into(),
        key: Key(0x4e41),
        streams: senders.iter().map(stream).collect(),
        loads: senders.iter().map(load).collect(),
        prelude: vec![],
        waits: Waits { drain: Duration::from_ms(1), settle: Duration::ZERO },
        tagging: None,
        verify_payload: false,
        action: None,
        captures: vec![],
        limits: ValidityLimits::default(),
    }
}

/// A composed router that looks its routes and neighbours up and rewrites each frame.
fn router() -> SimTester<Box<dyn sim::DeviceUnderTest>> {
    let text = "line-rate = \"10G\"\nroute = [\"ipv4\"]\n\
                [input]\nframes = 64\n[cpu]\ncost = { per-frame = \"60ns\" }\n";
    let description = Description::from_toml(text).expect("a sound description");
    description.tester(&Addresses::plan(2)).expect("as many interfaces as ports")
}

/// UDP frames through it, after the destination has made itself known.
fn routed() -> Trial {
    let plan = Addresses::plan(2).interfaces;
    let host = |side: u8| Ipv4Addr::new(198, 18 + side, 1, 2);
    let mac = |side: u8| MacAddr([2, 0, 0, 0, side, 2]);
    let template = FrameTemplate::udp_ipv4((mac(0), host(0)), (plan[0].mac, host(1)));
    let mut trial = trial_of(FrameSize::MIN_ETHERNET, &[0]);
    let prepared = template.prepare(FrameSize::MIN_ETHERNET, Some((trial.key, 1)));
    let prepared = prepared.expect("a frame with room for a signature");
    trial.streams[0].frames = vec![StreamFrame { bytes: prepared.frame(0), form: prepared.form() }];
    trial.prelude = vec![Prelude {
        port: PortId(1),
        frames: vec![learning::arp_request(mac(1), host(1), plan[1].ipv4.0)],
        wait: Duration::from_ms(1),
    }];
    trial
}

fn lossless(tester: &mut dyn Tester, trial: &Trial) {
    let result = tester.run(trial).expect("a sound trial");
    assert_eq!((result.forwarded_frames(), result.lost_frames()), (FRAMES, 0));
}

fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("simulated");
    group.throughput(Throughput::Elements(FRAMES)).sample_size(20);
    for bytes in [64, 1518] {
        let trial = trial_of(FrameSize::from_bytes(bytes), &[0]);
        let mut tester = SimTester::new(&[SimPort::physical(LINE); 2], Patch::default());
        group.bench_function(format!("cable, {bytes} bytes"), |bencher| {
            bencher.iter(|| lossless(&mut tester, &trial));
        });
        let queue = QueueLimit::Frames(64);
        let server = StoreAndForward::with_capacity(FrameRate::from_fps(20_000_000), queue);
        let mut tester = SimTester::new(&[SimPort::physical(LINE); 2], server);
        group.bench_function(format!("server, {bytes} bytes"), |bencher| {
            bencher.iter(|| lossless(&mut tester, &trial));
        });
    }
    let trial = routed();
    let mut tester = router();
    group.bench_function("router, 64 bytes", |bencher| {
        bencher.iter(|| lossless(&mut tester, &trial));
    });
    let senders: Vec<u16> = (0..64).collect();
    let trial = trial_of(FrameSize::MIN_ETHERNET, &senders);
    let mut tester = SimTester::new(&[SimPort::physical(LINE); 64], Patch::default());
    group.bench_function("64 ports, 64 bytes", |bencher| {
        bencher.iter(|| lossless(&mut tester, &trial));
    });
    group.finish();
}

criterion_group!(frame_rate, benches);
criterion_main!(frame_rate);
