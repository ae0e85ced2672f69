//! A test method in one file: how many frames a device has room for. Bursts at the rate of the medium grow
//! until one frame is lost; what a burst leaves in the device when its last frame arrives is its buffer.
//!
//! The method sees a [`Tester`] and nothing else, so that it runs on real ports as it does here.
//! `cargo run --example test_method`

use method::outcome::{Cell, Figure, Layout, Relation, Unit};
use method::search::{Bisect, Outcome, Range, Resolution, drive};
use report::tables::Table;
use report::terminal::{self, Style};
use sim::{QueueLimit, SimPort, SimTester, StoreAndForward};
use std::{error::Error, net::Ipv4Addr};
use trial::{PortId, Schedule, Segment, Stream, StreamId, Tester, Trial};
use units::{Duration, FrameRate, FrameSize, LineRate};
use wire::signature::{Key, RunKey};
use wire::{ethernet::MacAddr, template::FrameTemplate};

/// What the method is configured by.
struct BurstConfig {
    /// Of every frame, FCS included.
    size: FrameSize,
    /// The longest burst that is tried, in frames.
    longest_frames: u64,
    /// Attempts at a burst in which the tester falls short.
    attempts: u64,
}

/// The longest burst that arrives whole.
fn longest_burst(
    tester: &mut dyn Tester,
    frames: &FrameTemplate,
    config: &BurstConfig,
) -> Result<Figure, Box<dyn Error>> {
    let rate = tester.describe().ports[0].line_rate.max_frame_rate(config.size);
    let range = Range { min: 1, max: config.longest_frames };
    let mut search = Bisect::new(range, Resolution { absolute: 1, relative: 0.0 });
    let mut trials = 0;
    let bounds = drive(&mut search, |burst_frames, _| {
        for _ in 0..config.attempts {
            // A key of its own for each trial, so that no late frame is taken for one of the next.
            trials += 1;
            let key = Key::new(RunKey::from_seed(1), trials);
            let trial = burst(frames, config.size, rate, burst_frames, key)?;
            let result = tester.run(&trial)?;
            // A trial in which the tester did not keep up says nothing of the device.
            match (result.is_valid(), result.lost_frames()) {
                (true, 0) => return Ok(Outcome::Passed),
                (true, lost_frames) => return Ok(Outcome::Failed { lost_frames }),
                (false, _) => {}
            }
        }
        Ok::<_, Box<dyn Error>>(Outcome::Undecided)
    })?;
    Ok(Figure::count("longest burst", Unit::Frames, (bounds.lower, bounds.failed), &[]))
}

/// A trial of one burst.
fn burst(
    frames: &FrameTemplate,
    size: FrameSize,
    rate: FrameRate,
    burst_frames: u64,
    key: Key,
) -> Result<Trial, Box<dyn Error>> {
    let stream = Stream::new(StreamId(1), (PortId(0), PortId(1)), frames, size, key)?;
    let schedule = Schedule { segments: vec![Segment::constant(rate, burst_frames)] };
    Ok(Trial::new(format!("a burst of {burst_frames} frames"), key).sending(stream, schedule))
}

/// As its document would print it.
fn layout(figures: &[(FrameSize, Figure)]) -> Layout {
    let cell = |figure: &Figure| match figure.value {
        Some(value) => Cell::Count(value as u64).at_least_if(figure.relation == Relation::AtLeast),
        None => Cell::Words(figure.reason.clone()),
    };
    let row =
        |(size, figure): &(FrameSize, Figure)| vec![Cell::Count(size.bytes().into()), cell(figure)];
    Layout {
        heading: "Longest burst".into(),
        about: vec!["the frames that arrive whole at the rate of the medium".into()],
        columns: vec!["frame size (bytes)".into(), "frames".into()],
        rows: figures.iter().map(row).collect(),
        ..Layout::default()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // A frame of 64 bytes takes 6.72 us on the medium and ten times that in the device. One of 1518 bytes takes
    // longer on the medium than in the device, so that no burst is too long.
    let per_frame = Duration::from_ns(67_200);
    let device = StoreAndForward::new(per_frame, Duration::ZERO, QueueLimit::Frames(90));
    let mut tester = SimTester::new(&[SimPort::physical(LineRate::from_mbps(100)); 2], device);
    let end = |n| (MacAddr([2, 0, 0, 0, 0, n]), Ipv4Addr::new(198, 18, n, 2));
    let frames = FrameTemplate::udp_ipv4(end(0), end(1));
    let mut figures = vec![];
    for size in [64, 1518].map(FrameSize::from_bytes) {
        let config = BurstConfig { size, longest_frames: 10_000, attempts: 3 };
        figures.push((size, longest_burst(&mut tester, &frames, &config)?));
    }
    let table = Table::from(&layout(&figures));
    print!("{}", terminal::render_table(&table, Style { width: None, colour: false }));
    Ok(())
}
