//! A policer lets a burst of any rate pass from its tokens: what it carries on and on is the rate at which tokens come.

use super::bed::*;
use method::{Finding, Profile, SearchPolicy, SuiteConfig};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sim::{Impaired, Patch, Policer};
use units::FrameRate;

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
