use super::*;
use proptest::prelude::*;

/// A clock that starts elsewhere and changes its rate now and then.
#[derive(Clone, Debug)]
struct Clock {
    offset_ns: i64,
    /// In ppm, each for a second.
    rates_ppm: Vec<f64>,
}

impl Clock {
    /// What it shows at a time of the tester's.
    fn read(&self, true_ns: u64) -> u64 {
        let mut shown = true_ns as f64;
        for (second, ppm) in self.rates_ppm.iter().enumerate() {
            let within = (true_ns as f64 - second as f64 * 1e9).clamp(0.0, 1e9);
            shown += within * ppm * 1e-6;
        }
        (shown.round() as u64).wrapping_add_signed(self.offset_ns)
    }
}

fn clocks() -> impl Strategy<Value = Clock> {
    let hours = -20_000_000_000_000_i64..20_000_000_000_000;
    (hours, prop::collection::vec(-400.0..400.0_f64, 12)).prop_map(|(offset_ns, rates_ppm)| Clock {
        // No clock counts below zero.
        offset_ns: offset_ns + 20_000_000_000_000,
        rates_ppm,
    })
}

/// When each begins, and its delays there and back: from microseconds to tens of milliseconds, each its own.
fn exchanges(clock: &Clock, times: &[(u64, u64, u64)]) -> Vec<Exchange> {
    let exchange = |&(sent_ns, there, back): &(u64, u64, u64)| Exchange {
        sent_ns,
        agent_ns: clock.read(sent_ns + there),
        received_ns: sent_ns + there + back,
    };
    times.iter().map(exchange).collect()
}

fn times() -> impl Strategy<Value = Vec<(u64, u64, u64)>> {
    let delay = || prop_oneof![3 => 20_000..200_000_u64, 1 => 20_000..30_000_000_u64];
    prop::collection::vec((0..10_000_000_000_u64, delay(), delay()), 4..80).prop_map(|mut times| {
        times.sort();
        times
    })
}

proptest! {
    /// Whatever the path does, the truth lies within the bound at every moment between the exchanges.
    #[test]
    fn the_truth_is_within_the_bound(clock in clocks(), times in times(), at in 0.0..1.0_f64, before in 2..20_usize) {
        let all = exchanges(&clock, &times);
        let known = &all[..before.min(all.len())];
        let fitted = fit(known).expect("there are exchanges");
        let error_ns = error_over(&fitted.mapping, &all).expect("nobody has set a clock");
        let (first, last) = (times[0].0 + times[0].1, times[times.len() - 1].0 + times[times.len() - 1].1);
        let moment = first + ((last.saturating_sub(first)) as f64 * at) as u64;
        let converted = fitted.mapping.apply(clock.read(moment));
        prop_assert!(
            converted.abs_diff(moment) <= error_ns + 1,
            "off by {} with a bound of {error_ns}", converted.abs_diff(moment)
        );
    }

    /// With a constant rate the fit is as good as it says, where it begins.
    #[test]
    fn the_fit_is_as_good_as_it_says(offset_ns in 0..30_000_000_000_000_i64, ppm in -300.0..300.0_f64, times in times()) {
        let clock = Clock { offset_ns, rates_ppm: vec![ppm; 12] };
        let all = exchanges(&clock, &times);
        let fitted = fit(&all).expect("there are exchanges");
        let last = all.iter().max_by_key(|exchange| exchange.agent_ns).expect("one");
        let sent = times[all.iter().position(|one| one == last).expect("it is one of them")];
        let truth = sent.0 + sent.1;
        let converted = fitted.mapping.apply(last.agent_ns);
        // The narrowest of each stretch may end before the last exchange of all.
        let slack = 3.0 + 1e-3 * (last.agent_ns - fitted.mapping.since_ns) as f64;
        prop_assert!(converted.abs_diff(truth) as f64 <= fitted.error_ns as f64 + slack);
    }

    /// A clock that is set by more than the exchanges leave open, in the middle of a trial, is found.
    #[test]
    fn a_clock_that_is_set_is_found(clock in clocks(), step_ms in 200..5_000_i64, back in any::<bool>()) {
        let times: Vec<_> = (0..200).map(|n| (n * 5_000_000, 100_000, 100_000)).collect();
        let mut all = exchanges(&clock, &times);
        let fitted = fit(&all[..20]).expect("there are exchanges");
        let step_ns = step_ms * 1_000_000 * if back { -1 } else { 1 };
        all[100..].iter_mut().for_each(|one| one.agent_ns = one.agent_ns.wrapping_add_signed(step_ns));
        prop_assert_eq!(error_over(&fitted.mapping, &all), None);
    }
}

/// 100 us there and 20 us back: the bound is half of the round trip, and the fit off by 40 us.
#[test]
fn a_lopsided_path_is_within_half_of_the_round_trip() {
    let clock = Clock { offset_ns: 7_200_000_000_000, rates_ppm: vec![] };
    let times: Vec<_> = (0..50).map(|n| (n * 5_000_000, 100_000, 20_000)).collect();
    let all = exchanges(&clock, &times);
    let fitted = fit(&all).expect("there are exchanges");
    assert_eq!(fitted.error_ns, 60_002);
    assert_eq!(fitted.mapping.rate, 0);
    let error_ns = error_over(&fitted.mapping, &all).expect("nobody has set a clock");
    assert!((60_000..66_000).contains(&error_ns), "{error_ns}");
}

#[test]
fn a_drift_that_must_be_is_followed() {
    let clock = Clock { offset_ns: 1, rates_ppm: vec![100.0; 12] };
    let times: Vec<_> = (0..1_000).map(|n| (n * 10_000_000, 50_000, 50_000)).collect();
    let fitted = fit(&exchanges(&clock, &times)).expect("there are exchanges");
    let ppm = fitted.mapping.rate as f64 / 4_294.967_296;
    // 100 us in 10 s are 10 ppm: so much is left open, and no more.
    assert!((-101.0..-88.0).contains(&ppm), "{ppm}");
}

#[test]
fn without_exchanges_nothing_is_known() {
    assert_eq!(fit(&[]), None);
    assert_eq!(error_over(&Mapping::default(), &[]), None);
}
