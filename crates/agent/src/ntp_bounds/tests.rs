use super::*;
use crate::clock_bounds::fit;
use crate::host_time::Claim;
use proptest::prelude::*;

/// Times of these tests are true ones (UTC) since this, so that nothing is below zero.
const EPOCH_NS: u64 = 1_764_000_000_000_000_000;

/// A host: its own clock and its time of day, both of known truth.
#[derive(Clone, Debug)]
struct Host {
    /// Its own clock at the epoch.
    own_ns: u64,
    rate_ppm: f64,
    /// What its time of day is really wrong by.
    wrong_ns: i64,
    /// What it says of that.
    claim: Claim,
}

impl Host {
    fn own(&self, true_ns: u64) -> u64 {
        self.own_ns + (true_ns as f64 * (1.0 + self.rate_ppm * 1e-6)).round() as u64
    }

    /// A reading that takes so long before and after the time of day.
    fn reading(&self, true_ns: u64, (before, after): (u64, u64)) -> UtcReading {
        UtcReading {
            before_ns: self.own(true_ns),
            realtime_ns: (EPOCH_NS + true_ns + before).wrapping_add_signed(self.wrong_ns),
            after_ns: self.own(true_ns + before + after),
            claim: self.claim,
        }
    }
}

/// In microseconds, whenever.
fn claim(error_us: u64) -> Claim {
    Claim { error_ns: error_us * 1_000, growth_ppb: 0, asked_ns: 0 }
}

fn host(wrong: impl Strategy<Value = i64>, claim: Claim) -> impl Strategy<Value = Host> {
    (0..20_000_000_000_000_u64, -490.0..490.0_f64, wrong)
        .prop_map(move |(own_ns, rate_ppm, wrong_ns)| Host { own_ns, rate_ppm, wrong_ns, claim })
}

/// A host that is no more wrong than it says.
fn honest() -> impl Strategy<Value = Host> {
    let claims = prop_oneof![1 => 2..50_u64, 2 => 50..2_000_u64, 1 => 2_000..200_000_u64];
    claims.prop_flat_map(|error_us| {
        let most = error_us as i64 * 1_000;
        host(-most..=most, claim(error_us))
    })
}

/// When an exchange begins, its delays there and back, and how long the readings take.
#[derive(Clone, Copy, Debug)]
struct Moment {
    at: u64,
    there: u64,
    back: u64,
    own_window: (u64, u64),
    window: (u64, u64),
}

fn moments() -> impl Strategy<Value = Vec<Moment>> {
    let delay = || prop_oneof![2 => 20_000..200_000_u64, 2 => 20_000..60_000_000_u64];
    // Now and then a thread loses its processor in between.
    let window = || prop_oneof![9 => 20..900_u64, 1 => 900..4_000_000_u64];
    let window = move || (window(), window());
    let one = (0..5_000_000_000_u64, delay(), delay(), window(), window());
    prop::collection::vec(one, 4..60).prop_map(|mut all| {
        all.sort();
        let moment =
            |(at, there, back, own_window, window)| Moment { at, there, back, own_window, window };
        all.into_iter().map(moment).collect()
    })
}

fn observe(tester: &Host, agent: &Host, moment: &Moment) -> Observation {
    let own = tester.reading(moment.at, moment.own_window);
    let asked = moment.at + moment.own_window.0 + moment.own_window.1;
    let there = asked + moment.there;
    let theirs = agent.reading(there, moment.window);
    let answered = there + moment.window.0 + moment.window.1 + moment.back;
    let received_ns = tester.own(answered);
    Observation {
        exchange: Exchange { sent_ns: tester.own(asked), agent_ns: theirs.before_ns, received_ns },
        by_ntp: by_ntp(&own, &theirs, received_ns),
    }
}

fn observations(tester: &Host, agent: &Host, moments: &[Moment]) -> Vec<Observation> {
    moments.iter().map(|moment| observe(tester, agent, moment)).collect()
}

/// One that takes nothing but its delays.
fn even(at: u64, there: u64, back: u64) -> Moment {
    Moment { at, there, back, own_window: (0, 0), window: (0, 0) }
}

fn steady(wrong_us: i64, claim: Claim) -> Host {
    Host { own_ns: 7_000_000_000, rate_ppm: 0.0, wrong_ns: wrong_us * 1_000, claim }
}

proptest! {
    /// If both hosts are as good as they say, the truth lies within the bound at every moment, and no claim is doubted.
    #[test]
    fn the_truth_is_within_the_bound_of_both(tester in honest(), agent in honest(), moments in moments(), at in 0.0..1.0_f64) {
        let all = observations(&tester, &agent, &moments);
        for (one, moment) in all.iter().zip(&moments) {
            let there = moment.at + moment.own_window.0 + moment.own_window.1 + moment.there;
            let truth = tester.own(there);
            let claimed = one.by_ntp.expect("both claim something");
            prop_assert!(claimed.sent_ns <= truth && truth <= claimed.received_ns, "{truth} is not within {claimed:?}");
        }
        let narrow = narrowed(&all).expect("claims are true");
        let known = narrow.len().div_ceil(2);
        let fitted = fit(&narrow[..known]).expect("there are exchanges");
        let verdict = judge(&fitted.mapping, &all);
        prop_assert!(!verdict.claim_is_wrong, "{verdict:?}");
        let error_ns = verdict.error_ns.expect("nobody has set a clock");
        prop_assert!(Some(error_ns) <= error_over(&fitted.mapping, &exchanges(&all)));
        let moment = |moment: &Moment| moment.at + moment.own_window.0 + moment.own_window.1 + moment.there;
        let (first, last) = (moment(&moments[0]), moment(&moments[moments.len() - 1]));
        let then = first + (last.saturating_sub(first) as f64 * at) as u64;
        let off = fitted.mapping.apply(agent.own(then)).abs_diff(tester.own(then));
        prop_assert!(off <= error_ns + 2, "off by {off} with a bound of {error_ns}");
    }

    /// A host that is further off than both claims and the best exchange leave open is found out, and the exchanges
    /// count alone.
    #[test]
    fn a_false_claim_beyond_the_exchanges_is_found(
        agent in host(-50_000..50_000_i64, claim(60)), moments in moments(), ahead in any::<bool>(),
        beyond in 1_000_000..3_600_000_000_000_i64,
    ) {
        let tester = steady(0, claim(40));
        // By what no exchange can be explained: the shortest way either way, claims, windows and drift.
        let best = moments.iter().map(|m| m.there + m.back + m.own_window.0 + m.own_window.1 + m.window.0 + m.window.1).min();
        let off = best.expect("some") as i64 * 2 + beyond;
        let agent = Host { wrong_ns: if ahead { off } else { -off }, ..agent };
        let all = observations(&tester, &agent, &moments);
        let fitted = fit(&exchanges(&all)).expect("there are exchanges");
        let verdict = judge(&fitted.mapping, &all);
        prop_assert!(verdict.claim_is_wrong);
        prop_assert_eq!(verdict.source, Source::Exchanges);
        prop_assert_eq!(verdict.error_ns, error_over(&fitted.mapping, &exchanges(&all)));
    }
}

/// 20 ms there, 4 ms back: exchanges alone are off by 8 ms, within 12 ms. Claims of 0.3 ms and 0.2 ms leave 0.5 ms.
#[test]
fn claims_narrow_a_long_path() {
    let (tester, agent) = (steady(0, claim(301)), steady(0, claim(201)));
    let moments: Vec<_> = (0..50).map(|n| even(n * 5_000_000, 20_000_000, 4_000_000)).collect();
    let all = observations(&tester, &agent, &moments);
    let alone = fit(&exchanges(&all)).expect("there are exchanges");
    assert_eq!((alone.error_ns, alone.mapping.offset_ns), (12_000_002, -8_000_000));
    let both = fit(&narrowed(&all).expect("true")).expect("there are exchanges");
    // Of rates in 24 ms 24 us more are left open.
    assert_eq!(both.error_ns, 301_000 + 201_000 + 24_000 + 1 + 2);
    assert!(both.mapping.offset_ns.abs() <= 1, "{both:?}");
    let verdict = judge(&both.mapping, &all);
    assert_eq!((verdict.source, verdict.claim_is_wrong), (Source::Ntp, false));
    assert!(verdict.error_ns.is_some_and(|ns| (526_000..534_000).contains(&ns)), "{verdict:?}");
}

/// A short path says more than such claims.
#[test]
fn claims_that_say_less_change_nothing() {
    let (tester, agent) = (steady(0, claim(3_001)), steady(900, claim(2_001)));
    let moments: Vec<_> = (0..50).map(|n| even(n * 5_000_000, 60_000, 60_000)).collect();
    let all = observations(&tester, &agent, &moments);
    assert_eq!(narrowed(&all), Some(exchanges(&all)));
    let verdict = judge(&fit(&exchanges(&all)).expect("some").mapping, &all);
    assert_eq!((verdict.source, verdict.claim_is_wrong), (Source::Exchanges, false));
}

/// The agent is 0.45 ms ahead and both are within their claims of 0.3 ms and 0.2 ms; of 1 ms there and 0.2 ms back the
/// exchanges cut the one side off, and the claims the other.
#[test]
fn each_may_narrow_the_other() {
    let (tester, agent) = (steady(-290, claim(301)), steady(160, claim(201)));
    let moments: Vec<_> = (0..50).map(|n| even(n * 5_000_000, 1_000_000, 200_000)).collect();
    let all = observations(&tester, &agent, &moments);
    let both = fit(&narrowed(&all).expect("true")).expect("some");
    let verdict = judge(&both.mapping, &all);
    assert_eq!((verdict.source, verdict.claim_is_wrong), (Source::Both, false));
    assert!(verdict.error_ns < error_over(&both.mapping, &exchanges(&all)));
}

/// 100 ppm for 20 ms are 2 us more for each host.
#[test]
fn a_claim_grows_until_it_is_renewed() {
    let grows = |claim: Claim| Claim { growth_ppb: 100_000, asked_ns: 7_000_000_000, ..claim };
    let (tester, agent) = (steady(0, grows(claim(300))), steady(0, grows(claim(200))));
    let at_once = observe(&tester, &agent, &even(0, 0, 0)).by_ntp.expect("both claim something");
    let later = observe(&tester, &agent, &even(20_000_000, 0, 0)).by_ntp.expect("the same");
    assert_eq!(later.round_trip_ns() - at_once.round_trip_ns(), 2 * (2_000 + 2_000));
}

/// One host without a claim: exchanges count, and nobody is doubted.
#[test]
fn without_claims_exchanges_count() {
    let (tester, agent) = (steady(0, claim(11)), steady(9_000_000, claim(11)));
    let moments: Vec<_> = (0..50).map(|n| even(n * 5_000_000, 60_000, 60_000)).collect();
    let alone = |one: Observation| Observation { by_ntp: None, ..one };
    let all: Vec<_> = observations(&tester, &agent, &moments).into_iter().map(alone).collect();
    let mapping = fit(&exchanges(&all)).expect("some").mapping;
    let error_ns = error_over(&mapping, &exchanges(&all));
    let expected = Verdict { error_ns, source: Source::Exchanges, claim_is_wrong: false };
    assert_eq!(judge(&mapping, &all), expected);
}
