//! Frames a second from generation through link, device and link to the full account: one virtual
//! second at a time, on one core. (A composed router is measured beside ns-3: `make bench-simulator`.)

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sim::{Patch, QueueLimit, SimPort, SimTester, StoreAndForward};
use trial::{
    Expectation, PortId, PortLoad, Role, Schedule, Segment, Stream, StreamFrame, StreamId, Tester,
    Trial, ValidityLimits, Waits,
};
use units::{Duration, FrameRate, FrameSize, LineRate};
use wire::signature::{Form, Key};

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
        grows_by_bytes: 0,
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
        key: Key::from_seed(0x4e41),
        streams: senders.iter().map(stream).collect(),
        loads: senders.iter().map(load).collect(),
        prelude: vec![],
        waits: Waits::fixed(Duration::from_ms(1), Duration::ZERO),
        tagging: None,
        count_flows: false,
        verify_payload: false,
        action: None,
        captures: vec![],
        limits: ValidityLimits::default(),
    }
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
