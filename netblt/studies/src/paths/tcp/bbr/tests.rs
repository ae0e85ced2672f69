use super::*;
use std::collections::BTreeSet;

const PATH: Duration = Duration::from_ms(20);
/// 100 Mb/s in packets of 1,448 bytes with 52 of headers.
const FULL_PPS: f64 = 100e6 / 8.0 / 1500.0;

fn at_ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_ms(ms)
}

/// Acknowledgements of one packet each at a rate, `in_flight` others under way.
struct Acks {
    bbr: Bbr,
    now: Instant,
    delivered: u64,
}

impl Acks {
    fn new(seed: u64) -> Acks {
        Acks { bbr: Bbr::new(Dice::new(seed)), now: Instant::ZERO, delivered: 0 }
    }
    fn come(&mut self, for_ms: u64, pps: f64, in_flight: u64) {
        let until = self.now + Duration::from_ms(for_ms);
        while self.now < until {
            self.one(pps, in_flight, 0, false);
        }
    }
    fn one(&mut self, pps: f64, in_flight: u64, lost: u64, recovering: bool) {
        self.now += Duration::from_secs_f64(1.0 / pps);
        self.delivered += 1;
        let sample = RateSample {
            pps: Some(pps),
            delivered_before: self.delivered.saturating_sub(in_flight + 1),
            delivered: self.delivered,
            new: 1,
            in_flight,
            lost,
            recovering,
            limited: self.bbr.limits_itself(),
            round_trip: PATH,
        };
        if lost > 0 && !self.bbr.recovering {
            self.bbr.lost(self.now);
        }
        self.bbr.sampled(self.now, &sample);
    }
    /// Past Startup and Drain.
    fn steady(seed: u64) -> Acks {
        let mut acks = Acks::new(seed);
        acks.come(200, FULL_PPS, 166);
        assert!(matches!(acks.bbr.state, State::ProbeRate { .. }), "{:?}", acks.bbr);
        acks
    }
}

fn first_phase(seed: u64, now: Instant) -> usize {
    let mut bbr = Bbr::new(Dice::new(seed));
    bbr.probe_rate(now);
    match bbr.state {
        State::ProbeRate { phase, .. } => phase,
        state => panic!("{state:?}"),
    }
}

/// Section 4.3.4.3: "randomly picking an initial phase" other than that of 3/4, whatever the time.
#[test]
fn the_first_phase_is_drawn_from_the_seed_and_never_the_one_that_drains() {
    let drawn: Vec<usize> = (0..700).map(|seed| first_phase(seed, at_ms(0))).collect();
    let kinds: BTreeSet<usize> = drawn.iter().copied().collect();
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), [0, 2, 3, 4, 5, 6, 7]);
    for phase in [0, 2, 3, 4, 5, 6, 7] {
        // 100 are expected, with a standard deviation of 9.3.
        let count = drawn.iter().filter(|one| **one == phase).count();
        assert!((63..=137).contains(&count), "{phase}: {count}");
    }
    for us in 0..50 {
        assert_eq!(first_phase(7, Instant::ZERO + Duration::from_us(us)), drawn[7]);
    }
}

/// 2 BDP are 333.3 packets. A send quantum is what leaves in 1/1024 s at 99 % of 8,333 packets a second: 8, and with the gains
/// of 5/4 and 3/4 10 and 6. The sum is an even number, and two more where it probes.
#[test]
fn the_window_is_two_bdp_and_three_send_quanta() {
    let mut acks = Acks::steady(1);
    let mut seen = BTreeSet::new();
    for _ in 0..20_000 {
        acks.one(FULL_PPS, 400, 0, false);
        let State::ProbeRate { phase, .. } = acks.bbr.state else { panic!("{:?}", acks.bbr.state) };
        let (quantum, more) = [(10.0, 2.0), (6.0, 0.0), (8.0, 0.0)][phase.min(2)];
        let at_once = acks.bbr.aggregation.most(acks.bbr.rate_pps());
        let target = f64::ceil((334.0 + at_once + 3.0 * quantum) / 2.0) * 2.0 + more;
        assert!(acks.bbr.window <= target, "{phase}: {} of {target}", acks.bbr.window);
        if acks.bbr.window == target {
            seen.insert(phase);
        }
    }
    assert_eq!(seen.len(), CYCLE.len(), "reached in each phase: {seen:?}");
}

/// Section 4.3.5 and Linux: of a path of 20 ms, ProbeRTT takes ten round trips with four packets under way. What is
/// delivered then says nothing of the path, and the rate is that of before.
#[test]
fn a_probe_of_the_round_trip_does_not_lower_the_rate() {
    let mut acks = Acks::steady(1);
    // A queue: the round trip of before is not seen again.
    let mut probed = None;
    for _ in 0..12_000 {
        let probes = matches!(acks.bbr.state, State::ProbePath { .. });
        match probes {
            true => acks.come(20, 4.0 / 0.020, 4),
            false => acks.come(1, FULL_PPS, 330),
        }
        if probes {
            probed.get_or_insert(acks.now);
            assert!(acks.bbr.window <= LEAST_WINDOW || acks.bbr.state != State::Startup);
        } else if probed.is_some() {
            break;
        }
        if let Some((path, _)) = &mut acks.bbr.path
            && !probes
        {
            // As if the queue had made all round trips longer since.
            *path = Duration::from_ms(19);
        }
    }
    // The path was seen last within the first 200 ms and a little more.
    let in_time = probed.is_some_and(|at| (at_ms(10_150)..at_ms(10_300)).contains(&at));
    assert!(in_time, "after ten seconds: {probed:?}");
    assert!((acks.bbr.rate_pps().unwrap_or(0.0) / FULL_PPS - 1.0).abs() < 1e-6, "{:?}", acks.bbr);
    assert!(acks.bbr.window > 300.0, "the window is back: {}", acks.bbr.window);
}

/// Linux, bbr_is_next_cycle_phase: the phase that probes goes on until so much is under way, or the very acknowledgement
/// tells of a loss.
#[test]
fn the_phase_that_probes_ends_with_a_loss_that_is_told_after_its_round_trip() {
    for (lost_at_ms, ends) in [(5, false), (30, true)] {
        let mut acks = Acks::steady(1);
        acks.bbr.state = State::ProbeRate { phase: 0, since: acks.now };
        acks.come(lost_at_ms, FULL_PPS, 150);
        acks.one(FULL_PPS, 150, 1, true);
        acks.come(40 - lost_at_ms, FULL_PPS, 150);
        let is_probing = matches!(acks.bbr.state, State::ProbeRate { phase: 0, .. });
        assert_eq!(!is_probing, ends, "{lost_at_ms} ms: {:?}", acks.bbr.state);
    }
}

/// Section 4.2.3.4: packets are conserved for a round trip; after the recovery the window is what it was.
#[test]
fn a_loss_lowers_the_window_until_what_was_lost_has_arrived() {
    let mut acks = Acks::steady(1);
    acks.come(100, FULL_PPS, 330);
    let before = acks.bbr.window;
    acks.one(FULL_PPS, 200, 130, true);
    assert_eq!(acks.bbr.window, 201.0);
    acks.one(FULL_PPS, 200, 0, true);
    assert_eq!(acks.bbr.window, 201.0, "no growth in the first round trip");
    acks.one(FULL_PPS, 200, 0, false);
    assert!((acks.bbr.window - before).abs() <= 12.0, "{} after {before}", acks.bbr.window);
}
