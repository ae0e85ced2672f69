//! A policer lets a burst of any rate pass from its tokens: what it carries on and on is the rate at which tokens come.

use super::bed::*;
use method::{Finding, Flows, Profile, SearchPolicy, SuiteConfig, Vary};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sim::{Fate, Impaired, Patch, Policer, Rule};
use trial::PortId;
use units::{Duration, FrameRate, Instant};

/// With the waits and trials of the quick profile, and with its tolerance of loss.
#[test]
fn tokens_are_not_taken_for_throughput() {
    for (fps, burst_frames) in
        [(5_000, 5), (5_000, 100), (5_000, 500), (50_000, 5_000), (5_000, 2_500), (50_000, 50_000)]
    {
        let mut config = SuiteConfig::of(Profile::Quick);
        config.frame_sizes = vec![size(64)];
        let device = Impaired::new(Patch::default(), Policer::new(fps as f64, burst_frames));
        let result = throughput_of(&config, [VIRTUAL; 2], device);
        for found in std::iter::once(&result.throughput).chain(&result.with_tolerance) {
            let case = format!("{fps} {burst_frames}: {found:?}");
            let (rate, upper) = (found.rate.expect("a rate"), found.upper.expect("a bound"));
            let most = fps as f64 * (1.0 + 0.01 * found.loss_tolerance_percent) * 1.002;
            assert!(rate.fps() <= most && fps as f64 <= upper.fps(), "{case}");
            // Tokens of a second last for 20 s at 5 % above the limit.
            let lasts = burst_frames as f64 / fps as f64 >= 1.0;
            assert!(lasts || found.finding == Finding::Measured, "{case}");
            assert!(upper.fps() <= 1.12 * rate.fps(), "{case}");
        }
    }
}

/// Any limit, any burst up to three seconds' worth, behind any search: the limit is within the bounds.
#[test]
fn no_policer_reads_more_than_its_limit() {
    let given = std::env::var("NETANVIL_POLICERS");
    let seeds = given.map_or(60, |seeds| seeds.parse().expect("NETANVIL_POLICERS: a number"));
    for seed in (0..seeds).chain(crate::new_seeds::new_seeds()) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut draw = |from: f64, to: f64| {
            let share = random.next_u64() as f64 / u64::MAX as f64;
            (from.ln() + share * (to / from).ln()).exp()
        };
        let fps = draw(300.0, 140_000.0).round();
        let burst_frames = draw(1.0, 3.0 * fps) as u64;
        // Tokens that a trial of full length does not use up at the medium's rate show nowhere.
        if burst_frames as f64 > (148_809.0 - fps) * 0.4 {
            continue;
        }
        let policies = [SearchPolicy::Adaptive, SearchPolicy::Bisect, SearchPolicy::Mlrsearch];
        let mut config = SuiteConfig::of(Profile::Quick);
        config.frame_sizes = vec![size(64)];
        config.search.policy = policies[(seed % 3) as usize];
        let device = Impaired::new(Patch::default(), Policer::new(fps, burst_frames));
        let result = throughput_of(&config, [VIRTUAL; 2], device);
        for found in std::iter::once(&result.throughput).chain(&result.with_tolerance) {
            let case = format!("seed {seed}: {fps} {burst_frames}: {found:?}");
            // One token is lost whenever it waits: any load above the limit loses every second frame.
            let allowed = if burst_frames == 1 { 0.0 } else { found.loss_tolerance_percent };
            let limit = fps / (1.0 - 0.01 * allowed);
            // A frame more or less in a trial.
            let frame = 2.0 / found.trial_duration.as_secs_f64();
            let no_faster = |rate: FrameRate| rate.fps() <= limit * 1.002 + frame;
            let may_be = |upper: FrameRate| upper.fps() >= limit * 0.998 - frame;
            assert!(found.rate.is_none_or(no_faster), "{case}");
            assert!(found.upper.is_none_or(may_be), "{case}");
        }
    }
}

/// The note says what a trial let out beyond the limit, and no more than the tokens there are: later trials find a
/// bucket that earlier ones have emptied.
#[test]
fn the_tokens_of_the_note_are_those_that_a_trial_used() {
    let mut told = 0;
    for (fps, burst_frames) in
        [(5_000.0, 100), (5_000.0, 500), (5_000.0, 2_500), (20_000.0, 9_000), (60_000.0, 24_000)]
    {
        let mut config = SuiteConfig::of(Profile::Quick);
        config.frame_sizes = vec![size(64)];
        let device = Impaired::new(Patch::default(), Policer::new(fps, burst_frames));
        let mut tester = sim::SimTester::new(&[VIRTUAL; 2], device);
        let (result, events) = run(&config, &mut tester, method::rfc2544::throughput);
        let let_out = events.iter().filter_map(|event| match event {
            method::Event::TrialFinished(trial) if trial.result.is_valid() => {
                let seconds = trial.duration.as_secs_f64();
                Some(trial.result.forwarded_frames() as f64 - fps * seconds)
            }
            _ => None,
        });
        let most = let_out.fold(0.0, f64::max);
        for found in std::iter::once(&result.throughput).chain(&result.with_tolerance) {
            let Some(buffered) = found.buffered else { continue };
            let tokens = buffered.token_frames;
            let case = format!("{fps} {burst_frames}: {tokens} of {most}");
            assert!(tokens <= burst_frames as f64 + 2.0, "{case}");
            assert!(tokens >= 0.95 * most - 2.0, "{case}");
            told += 1;
        }
    }
    assert!(told >= 3, "{told} notes");
}

/// Limits one flow of 16.
struct OfOneFlow(Policer);

impl Rule for OfOneFlow {
    fn decide(&mut self, now: Instant, port: PortId, frame: &[u8]) -> Fate {
        // The last byte of the destination port counts the flows.
        let is_limited = frame.get(37).is_some_and(|byte| byte % 16 == 3);
        if is_limited { self.0.decide(now, port, frame) } else { Fate::Pass }
    }
}

/// A frame needs a token of each.
struct OfTwo([Policer; 2]);

impl Rule for OfTwo {
    fn decide(&mut self, now: Instant, port: PortId, frame: &[u8]) -> Fate {
        match self.0[1].decide(now, port, frame) {
            Fate::Pass => self.0[0].decide(now, port, frame),
            dropped => dropped,
        }
    }
}

const POLICIES: [SearchPolicy; 3] =
    [SearchPolicy::Adaptive, SearchPolicy::Bisect, SearchPolicy::Mlrsearch];

/// What is stated of a device that carries `truth_fps` of a tolerated loss: never more than that.
fn none_reads_more<R: Rule>(
    config: &SuiteConfig,
    rule: impl Fn() -> R,
    truth_fps: impl Fn(f64) -> f64,
) {
    for policy in POLICIES {
        let mut config = config.clone();
        config.search.policy = policy;
        let device = Impaired::new(Patch::default(), rule());
        let result = throughput_of(&config, [VIRTUAL; 2], device);
        for found in std::iter::once(&result.throughput).chain(&result.with_tolerance) {
            let case = format!("{policy}: {found:?}");
            let truth = truth_fps(0.01 * found.loss_tolerance_percent);
            // A frame more or less in a trial.
            let frame = 2.0 / found.trial_duration.as_secs_f64();
            assert!(found.rate.is_none_or(|rate| rate.fps() <= truth * 1.001 + frame), "{case}");
            assert!(found.upper.is_none_or(|it| it.fps() >= truth * 0.999 - frame), "{case}");
            let (rate, upper) = (found.rate.expect("a rate"), found.upper.expect("a bound"));
            assert!(upper.fps() <= 1.12 * rate.fps(), "{case}");
        }
    }
}

/// What comes out of an overload depends on the load, since 15 flows have no limit: no two trials agree on one. Tokens of
/// 0.08 s carry all of 86,400 frames a second for 1 s.
#[test]
fn the_limit_of_one_flow_is_found_behind_its_tokens() {
    let mut config = config();
    config.throughput.loss_tolerances_percent = vec![0.5];
    config.traffic.flows = Some(Flows { count: 16, vary: vec![Vary::DstPort] });
    let rule = || OfOneFlow(Policer::new(5_000.0, 400));
    // Of r frames, r / 16 - 5,000 are lost.
    none_reads_more(&config, rule, |allowed| 5_000.0 / (1.0 / 16.0 - allowed));
}

/// Of 50,000 frames a second with 4,000 tokens behind one of 100,000 with 20: what comes out of a flood is neither.
#[test]
fn the_lower_of_two_limits_in_a_row_is_found_behind_its_tokens() {
    let mut config = config();
    config.throughput.loss_tolerances_percent = vec![0.5];
    let rule = || OfTwo([Policer::new(50_000.0, 4_000), Policer::new(100_000.0, 20)]);
    none_reads_more(&config, rule, |allowed| 50_000.0 / (1.0 - allowed));
}

/// Lets so many frames pass in each window of its own clock.
struct Windows {
    frames: u64,
    window: Duration,
    /// The window it is, and what has passed in it.
    now: (u64, u64),
}

impl Rule for Windows {
    fn decide(&mut self, now: Instant, _: PortId, _: &[u8]) -> Fate {
        // Windows do not begin when trials do.
        let window = (now.as_ps() + self.window.as_ps() / 3) / self.window.as_ps();
        let passed = if self.now.0 == window { self.now.1 } else { 0 };
        self.now = (window, (passed + 1).min(self.frames));
        if passed < self.frames { Fate::Pass } else { Fate::Drop }
    }
}

/// A window of a second, or the better part of two, carries up to 125,000 frames a second in a trial of 0.4 s.
#[test]
fn a_counter_by_windows_is_found_behind_what_one_window_carries() {
    let mut config = SuiteConfig::of(Profile::Quick);
    config.frame_sizes = vec![size(64)];
    for policy in POLICIES {
        config.search.policy = policy;
        let rule = Windows { frames: 50_000, window: Duration::from_ms(1000), now: (0, 0) };
        let result = throughput_of(&config, [VIRTUAL; 2], Impaired::new(Patch::default(), rule));
        for found in std::iter::once(&result.throughput).chain(&result.with_tolerance) {
            let case = format!("{policy}: {found:?}");
            let (rate, upper) = (found.rate.expect("a rate"), found.upper.expect("a bound"));
            let is_told = matches!(found.finding, Finding::Between { .. });
            assert!(is_told || (48_000.0..=50_500.0).contains(&rate.fps()), "{case}");
            assert!(is_told || (49_500.0..=52_500.0).contains(&upper.fps()), "{case}");
        }
    }
}

/// Carries 30,000 frames a second until so many have passed, as a cache that fills, and then all.
struct Warms {
    passed: u32,
    cold: Policer,
}

impl Rule for Warms {
    fn decide(&mut self, now: Instant, port: PortId, frame: &[u8]) -> Fate {
        if self.passed >= 20_000 {
            return Fate::Pass;
        }
        let fate = self.cold.decide(now, port, frame);
        self.passed += u32::from(matches!(fate, Fate::Pass));
        fate
    }
}

/// What failed while it was cold passes later: no search takes the load that failed for a bound and says nothing.
#[test]
fn a_load_that_failed_before_a_cache_was_warm_is_looked_at_again() {
    let mut config = SuiteConfig::of(Profile::Quick);
    config.frame_sizes = vec![size(64)];
    for policy in POLICIES {
        config.search.policy = policy;
        let rule = Warms { passed: 0, cold: Policer::new(30_000.0, 20) };
        let result = throughput_of(&config, [VIRTUAL; 2], Impaired::new(Patch::default(), rule));
        let found = &result.throughput;
        let case = format!("{policy}: {found:?}");
        let is_all = found.finding == Finding::AtTheoreticalMaximum;
        let is_told = result.contradiction.is_some();
        assert!(is_all || is_told, "{case}");
        assert!(is_all || found.upper.is_none_or(|upper| upper.fps() > 40_000.0), "{case}");
    }
}
