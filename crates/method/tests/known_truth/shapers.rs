//! A shaper lets a burst pass from its tokens, and then keeps a queue: what it carries on and on is the rate at which
//! tokens come, with a tolerance of loss as without.

use super::bed::*;
use method::{Profile, SearchPolicy, SuiteConfig};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sim::{Departing, DeviceUnderTest, Frame, Lines};
use std::collections::VecDeque;
use trial::PortId;
use units::{Duration, Instant};

/// A token bucket with a queue, as `tc qdisc tbf` is one, for both directions together.
pub(crate) struct Shaper {
    fps: f64,
    bucket_frames: f64,
    queue_frames: usize,
    tokens: f64,
    filled_at: Instant,
    queue: VecDeque<Departing>,
    dropped_frames: u64,
}

impl Shaper {
    pub(crate) fn new(fps: f64, bucket_frames: u32, queue_frames: usize) -> Shaper {
        Shaper {
            fps,
            bucket_frames: bucket_frames.into(),
            queue_frames,
            tokens: bucket_frames.into(),
            filled_at: Instant::ZERO,
            queue: VecDeque::new(),
            dropped_frames: 0,
        }
    }
    fn fill(&mut self, now: Instant) {
        let earned = now.since(self.filled_at).as_secs_f64() * self.fps;
        self.filled_at = now;
        self.tokens = (self.tokens + earned).min(self.bucket_frames);
    }
}

impl DeviceUnderTest for Shaper {
    fn handle_frame(&mut self, now: Instant, port: PortId, frame: Frame) {
        self.fill(now);
        match self.queue.len() < self.queue_frames {
            true => self.queue.push_back(Departing { port: PortId(port.0 ^ 1), frame }),
            false => self.dropped_frames += 1,
        }
    }
    fn poll_output(&mut self, now: Instant, _: &Lines<'_>) -> Option<Departing> {
        self.fill(now);
        // What rounding takes from a token is less than this.
        let has_token = self.tokens >= 1.0 - 1e-6 && !self.queue.is_empty();
        self.tokens -= f64::from(u8::from(has_token));
        if has_token { self.queue.pop_front() } else { None }
    }
    fn poll_timeout(&self) -> Option<Instant> {
        let missing = (1.0 - self.tokens).max(0.0);
        let comes = Duration::from_secs_f64(missing / self.fps) + Duration::from_ns(1);
        (!self.queue.is_empty()).then(|| self.filled_at + comes)
    }
    fn keeps_frames(&self) -> u64 {
        self.queue.len() as u64
    }
    fn drops(&self) -> Vec<(String, u64)> {
        vec![("shaper".into(), self.dropped_frames)]
    }
}

/// With the waits and trials of the quick profile, and with its tolerance of loss. Bucket and queue of the first are as
/// long as each other, half a second's worth.
#[test]
fn neither_tokens_nor_a_queue_are_taken_for_a_rate() {
    for (fps, bucket_frames, queue_frames) in [
        (16_667.0, 8_333, 8_335),
        (16_667.0, 8_333, 100),
        (16_667.0, 100, 8_335),
        (5_000.0, 500, 1_500),
        (5_000.0, 1_500, 500),
        (50_000.0, 2_000, 5_000),
    ] {
        let mut config = SuiteConfig::of(Profile::Quick);
        config.frame_sizes = vec![size(64)];
        let device = Shaper::new(fps, bucket_frames, queue_frames);
        let result = throughput_of(&config, [VIRTUAL; 2], device);
        for found in std::iter::once(&result.throughput).chain(&result.with_tolerance) {
            let case = format!("{fps} {bucket_frames} {queue_frames}: {found:?}");
            // To the resolution of the search.
            let most = fps / (1.0 - 0.01 * found.loss_tolerance_percent) * 1.02;
            assert!(found.rate.is_none_or(|rate| rate.fps() <= most), "{case}");
            assert!(found.upper.is_none_or(|upper| upper.fps() >= 0.995 * fps), "{case}");
            let (rate, upper) = (found.rate.expect("a rate"), found.upper.expect("a bound"));
            assert!(upper.fps() <= 1.12 * rate.fps(), "{case}");
        }
    }
}

/// Any limit, any bucket and any queue of up to a second's worth, behind any search: no rate is above the limit by more
/// than the resolution.
#[test]
fn no_shaper_reads_more_than_its_limit() {
    let given = std::env::var("NETANVIL_SHAPERS");
    let seeds = given.map_or(40, |seeds| seeds.parse().expect("NETANVIL_SHAPERS: a number"));
    for seed in 0..seeds {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut draw = |from: f64, to: f64| {
            let share = random.next_u64() as f64 / u64::MAX as f64;
            (from.ln() + share * (to / from).ln()).exp()
        };
        let fps = draw(1_000.0, 140_000.0).round();
        let (bucket_frames, queue_frames) = (draw(2.0, fps), draw(2.0, fps));
        // What a trial of full length does not fill at the medium's rate shows nowhere.
        if bucket_frames + queue_frames > (148_809.0 - fps) * 0.35 {
            continue;
        }
        let policies = [SearchPolicy::Adaptive, SearchPolicy::Bisect, SearchPolicy::Mlrsearch];
        let mut config = SuiteConfig::of(Profile::Quick);
        config.frame_sizes = vec![size(64)];
        config.search.policy = policies[(seed % 3) as usize];
        let device = Shaper::new(fps, bucket_frames as u32, queue_frames as usize);
        let result = throughput_of(&config, [VIRTUAL; 2], device);
        for found in std::iter::once(&result.throughput).chain(&result.with_tolerance) {
            let case = format!("seed {seed}: {fps} {bucket_frames} {queue_frames}: {found:?}");
            let limit = fps / (1.0 - 0.01 * found.loss_tolerance_percent);
            // A frame more or less in a trial.
            let frame = 2.0 / found.trial_duration.as_secs_f64();
            let no_faster = found.rate.is_none_or(|rate| rate.fps() <= limit * 1.02 + frame);
            let may_be = found.upper.is_none_or(|upper| upper.fps() >= fps * 0.995 - frame);
            assert!(no_faster && may_be, "{case}");
        }
    }
}
