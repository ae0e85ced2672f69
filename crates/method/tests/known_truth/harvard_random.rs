//! The whole suite of 1990 on random devices of cards, bus and processor, by seed: every figure is
//! that of the arithmetic of [`tandem`](super::tandem), with filters, within a card and between two,
//! of one stream and of two, in every protocol, from sources with gaps of their own.

use super::harvard::{run_on, setting};
use super::pipelines::{Draw, service};
use super::tandem::{Coming, Stage, alone, through};
use method::harvard::{DelayResult, Filters, MaxRateResult, Mode, Path, RawRateResult, Setting};
use method::{Finding, Outcome, TestKind};
use sim::{Card, Cost, Cpu, CpuServers, Description, Filter, Processor, Protocol, Queue};
use units::text::{BitRate, Span};
use units::{Duration, FrameRate, FrameSize, LineRate};

const LINE: LineRate = LineRate::from_mbps(10);
const MAX_RATE_STREAM: Duration = Duration::from_ms(200);
const RAW_RATE_STREAM: Duration = Duration::from_ms(400);
const GAP_STEP: Duration = Duration::from_ns(100);

fn device(seed: u64) -> Description {
    let mut draw = Draw(seed, 1_000);
    let slow = |cost: Cost| Cost { per_frame: Span(cost.per_frame.0 * 4), ..cost };
    let protocols = [Protocol::Ipv4, Protocol::Decnet, Protocol::Appletalk, Protocol::Ipx];
    let costs = protocols.map(|protocol| (protocol, slow(draw.cost())));
    let filter = Filter {
        per_frame: Span(draw.ps(0, 90_000_000)),
        per_rule: Span(draw.ps(0, 30_000_000)),
        ..Filter::default()
    };
    let bus = Processor { cost: draw.cost(), queue: draw.queue(), ..Processor::default() };
    let mut device = Description {
        ports: 4,
        line_rate: BitRate(LINE.bps()),
        route: protocols.to_vec(),
        bridge: true,
        delay: Span(draw.ps(0, 3_000_000_000)),
        input: draw.queue(),
        card: Some(Card {
            ports: 2,
            local: draw.chance(),
            servers: CpuServers::PerPort,
            input: draw.cost(),
            output: draw.cost(),
            queue: draw.queue(),
            ..Card::default()
        }),
        bus: draw.chance().then_some(bus),
        cpu: Some(Cpu {
            cost: slow(draw.cost()),
            protocols: costs.into_iter().skip(1).collect(),
            queue: draw.queue(),
            ..Cpu::default()
        }),
        filter,
        ..Description::default()
    };
    device.tester.min_gap = Span(draw.ps(11_000_000, 30_000_000));
    device.tester.second_min_gap = Some(Span(draw.ps(11_000_000, 30_000_000)));
    device
}

/// The processors that a frame passes.
fn stages(device: &Description, setting: Setting, size: FrameSize) -> Vec<Stage> {
    let stage = |cost: &Cost, queue: Queue, of_each_input| Stage {
        service: service(cost, size.bytes().into()),
        room: queue.frames.unwrap_or(u64::MAX),
        of_each_input,
    };
    let rules = match setting.filters {
        Filters::None => 0,
        Filters::One => 1,
        Filters::Ten => 10,
    };
    let filtering = match rules {
        0 => Duration::ZERO,
        rules => device.filter.per_frame.0 + device.filter.per_rule.0 * rules,
    };
    let (card, cpu) = (device.card.as_ref().unwrap(), device.cpu.as_ref().unwrap());
    let mut first = stage(&card.input, device.input, true);
    let last = stage(&card.output, card.queue, true);
    if card.local && setting.path == Path::Within {
        first.service += filtering;
        return vec![first, last];
    }
    let protocol = match setting.mode {
        Mode::Ip => Protocol::Ipv4,
        Mode::AppleTalk => Protocol::Appletalk,
        Mode::Decnet => Protocol::Decnet,
        Mode::Ipx => Protocol::Ipx,
        Mode::Bridge => Protocol::Bridged,
    };
    let cost = cpu.protocols.get(&protocol).unwrap_or(&cpu.cost);
    let mut middle = stage(cost, cpu.queue, false);
    middle.service += filtering;
    let bus = device.bus.as_ref().map(|bus| stage(&bus.cost, bus.queue, false));
    [Some(first), bus, Some(middle), Some(last)].into_iter().flatten().collect()
}

/// From the start of a source's frame to that of the next, at least.
fn periods(device: &Description, size: FrameSize) -> [Duration; 2] {
    let bits = LINE.time_of_bytes(u64::from(size.bytes()) + 8);
    [device.tester.min_gap, device.tester.second_min_gap.unwrap()].map(|gap| bits + gap.0)
}

/// What comes from a source at this rate: as it is due, but no sooner than its gap allows.
fn source(input: usize, rate: FrameRate, period: Duration, stream: Duration) -> Vec<Coming> {
    let mut free_at = 0;
    let departs = |k| {
        let at = rate.departure(k).as_ps().max(free_at);
        free_at = at + period.as_ps();
        (at, input)
    };
    (0..rate.frames_in(stream)).map(departs).collect()
}

struct Truth<'a> {
    device: &'a Description,
    setting: Setting,
    size: FrameSize,
}

impl Truth<'_> {
    fn stages(&self) -> Vec<Stage> {
        stages(self.device, self.setting, self.size)
    }

    /// Frames sent and forwarded of each stream.
    fn counts(&self, rates: &[FrameRate], stream: Duration) -> Vec<(u64, u64)> {
        let periods = periods(self.device, self.size);
        let sources = rates.iter().zip(periods).enumerate();
        let sources = sources.map(|(input, (rate, period))| source(input, *rate, period, stream));
        let frames: Vec<Coming> = sources.flatten().collect();
        let out = through(&self.stages(), frames.clone());
        let count =
            |of: &[Coming], input| of.iter().filter(|frame| frame.1 == input).count() as u64;
        (0..rates.len()).map(|input| (count(&frames, input), count(&out, input))).collect()
    }

    fn carries(&self, rate: FrameRate) -> bool {
        let counts = self.counts(&vec![rate; self.setting.streams], MAX_RATE_STREAM);
        counts.iter().all(|(sent, forwarded)| sent == forwarded)
    }

    fn check(&self, result: &Outcome) {
        let Truth { setting, size, .. } = self;
        let context =
            format!("{setting:?}, {size} bytes, {:#}, {:#?}", result.detail, self.stages());
        match result.test {
            TestKind::Delay => {
                let delay: DelayResult = result.record().unwrap();
                let truth = alone(&self.stages()) + self.device.delay.0;
                assert_eq!(delay.delay(), Some([truth; 3]), "{context}");
                assert_eq!(delay.lost_frames, 0, "{context}");
            }
            TestKind::RawRate | TestKind::DualStream => {
                let raw: RawRateResult = result.record().unwrap();
                let rates: Vec<FrameRate> = raw.streams.iter().map(|s| s.offered).collect();
                for (rate, period) in rates.iter().zip(periods(self.device, self.size)) {
                    let shortest = 1e12 / period.as_ps() as f64;
                    assert!((rate.fps() / shortest - 1.0).abs() < 1e-6, "{context}");
                }
                let counts = raw.streams.iter().map(|s| (s.sent_frames, s.received_frames));
                let truth = self.counts(&rates, RAW_RATE_STREAM);
                assert_eq!(counts.collect::<Vec<_>>(), truth, "{context}");
            }
            _ => {
                let max: MaxRateResult = result.record().unwrap();
                if let Finding::NothingPassed { lowest, .. } = max.found.finding {
                    // Two streams whose first frames come together, before a queue without room.
                    return assert!(!self.carries(lowest), "{context}");
                }
                let rate = max.found.rate.unwrap_or_else(|| panic!("no rate: {context}"));
                assert!(self.carries(rate), "{context}");
                match (&max.found.finding, max.found.upper) {
                    (Finding::Measured, Some(upper)) => {
                        assert!(!self.carries(upper), "{context}");
                        let apart_ns = 1e9 / rate.fps() - 1e9 / upper.fps();
                        // Rates are whole thousandths of a frame a second.
                        let rounded_ns = 1e9 * 0.002 / rate.fps().powi(2);
                        let step_ns = GAP_STEP.as_ns_f64() + rounded_ns;
                        assert!(apart_ns <= step_ns, "{apart_ns} {context}");
                    }
                    (Finding::AtLeast { why }, None) => assert!(why.contains("own"), "{context}"),
                    other => panic!("{other:?} {context}"),
                }
            }
        }
    }
}

#[test]
fn every_figure_of_the_suite_is_what_arithmetic_says() {
    let mut measured = 0;
    for seed in (0..6).chain(crate::new_seeds::new_seeds()) {
        let device = device(seed);
        let size = FrameSize::from_bytes([64, 128, 256, 300, 512, 600][seed as usize % 6]);
        let change = |config: &mut method::SuiteConfig| {
            config.harvard.max_rate_stream_s = MAX_RATE_STREAM.as_secs_f64();
            config.harvard.raw_rate_stream_s = RAW_RATE_STREAM.as_secs_f64();
            config.harvard.delay_stream_s = 0.1;
            config.trial.drain_s = 2.0;
        };
        let sizes = [size.bytes()];
        let (results, _) = run_on(device.clone(), change, &sizes, &Mode::ALL, &Path::ALL);
        // Five protocols: delay, max and raw rate; two filters: max and raw; two streams: both.
        assert_eq!(results.len(), 2 * (5 * 3 + 2 * 2 + 2));
        for result in &results {
            Truth { device: &device, setting: setting(result), size }.check(result);
            let max = result.record::<MaxRateResult>().ok();
            measured += u32::from(max.is_some_and(|max| max.found.finding == Finding::Measured));
        }
    }
    assert!(measured > 30, "{measured} were not the tester's own maximum");
}
