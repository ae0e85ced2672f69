//! The frame-building loop alone: schedule, slot, copy, stamp and lateness of every frame, without
//! any port. And its counterpart: recognising and fully accounting for every frame.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use trial::{
    Expectation, FrameSet, PortId, Receiver, Role, Schedule, Stream, StreamFrame, StreamId,
    TransmitPlan, Transmitter, Trial, ValidityLimits, Waits,
};
use units::{Duration, FrameRate, FrameSize, Instant};
use wire::signature::{Form, Key};

const FRAMES: u64 = 100_000;
const TICK: Duration = Duration::from_ns(1);

fn trial_of(size: FrameSize) -> Trial {
    let frame = StreamFrame { bytes: vec![0x5a; size.bytes_without_fcs()], form: Some(Form::Full) };
    let stream = Stream {
        id: StreamId(1),
        name: "bench".into(),
        role: Role::Test,
        from: PortId(0),
        expect: Expectation::Ports(vec![PortId(1)]),
        frames: vec![frame],
        fingerprint: None,
        given_up: vec![],
        bad_fcs: false,
        grows_by_bytes: 0,
    };
    let rate = FrameRate::from_fps(14_880_952);
    let load = trial::PortLoad {
        port: PortId(0),
        schedule: Schedule { segments: vec![trial::Segment::constant(rate, FRAMES)] },
        order: vec![StreamId(1)],
        insertions: vec![],
    };
    Trial {
        label: "bench".into(),
        key: Key::from_seed(0x4e41),
        streams: vec![stream],
        loads: vec![load],
        prelude: vec![],
        waits: Waits::RFC2544,
        tagging: None,
        count_flows: false,
        verify_payload: false,
        action: None,
        captures: vec![],
        limits: ValidityLimits::default(),
    }
}

fn build_all(plan: &TransmitPlan, buffer: &mut [u8]) -> u64 {
    let mut transmitter = Transmitter::new(plan, Instant::ZERO, TICK);
    let mut bytes = 0;
    while let Some(due) = transmitter.next_due() {
        bytes += transmitter.emit(due, buffer).len_bytes as u64;
        black_box(&buffer);
    }
    bytes
}

fn all_frames(plan: &TransmitPlan) -> Vec<(Instant, Vec<u8>)> {
    let mut transmitter = Transmitter::new(plan, Instant::ZERO, TICK);
    let mut frames = vec![];
    while let Some(due) = transmitter.next_due() {
        let mut frame = vec![0; FrameSet::longest_bytes(&plan.set)];
        transmitter.emit(due, &mut frame);
        frames.push((due + Duration::from_us(7), frame));
    }
    frames
}

fn benches(criterion: &mut Criterion) {
    for bytes in [64, 1518] {
        let trial = trial_of(FrameSize::from_bytes(bytes));
        let plan = trial.transmit_plans().expect("a sound trial").remove(0);
        let mut group = criterion.benchmark_group(format!("{bytes}-byte frames"));
        group.throughput(Throughput::Elements(FRAMES));
        let mut buffer = vec![0; 2048];
        group.bench_function("build", |bencher| bencher.iter(|| build_all(&plan, &mut buffer)));

        let receive_plan = trial.receive_plan(PortId(1));
        let frames = all_frames(&plan);
        group.bench_function("account", |bencher| {
            bencher.iter_batched(
                || Receiver::new(&receive_plan, Instant::ZERO, TICK),
                |mut receiver| {
                    for (at, frame) in &frames {
                        receiver.absorb(*at, frame);
                    }
                    receiver.arrivals()
                },
                BatchSize::LargeInput,
            );
        });
        group.finish();
    }
}

criterion_group!(frame_building, benches);
criterion_main!(frame_building);
