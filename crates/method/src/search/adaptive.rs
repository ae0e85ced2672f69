//! A search that learns from every trial what it can: not only whether a load passed, but how much
//! the device carried.
//!
//! * The first trial floods: what comes out of it is where the search goes on.
//! * A trial without loss proves the load that was really offered, even where the tester was held
//!   up and offered less than intended: that becomes the lower bound.
//! * A trial with loss bounds the rate by the load intended, which was never exceeded, and its
//!   forwarding rate says where to look next.
//!   Where nothing comes out at all, the lowest load says whether anything ever does.
//! * From there strides double until one load has passed and one has failed; then the middle is
//!   tried until the bounds are as near as asked for, or the tester comes no nearer.
//! * A load that lost little is tried again before it counts as failed (loss verification, ETSI GS
//!   NFV-TST 009 section 12.3.3), and the load found is confirmed by trials of full length, as is, where noise
//!   is looked for, the load that failed: a device that scatters shows itself then.
//! * Where trials contradict each other (one lost frames at a load below what another carried), the
//!   device is noisy, and an estimate goes on ([`super::scatter`]), or a sequential test where one is asked
//!   for ([`super::sequential`]): the bounds then hold the truth but for a stated chance of error.

use super::contradiction::{self, Seen};
use super::scatter::{self, Scatter};
use super::sequential::{Evidence, Sequential};
use super::{Bounds, Range, Resolution, Search, Upper};

/// A load of which less than this share was offered was beyond the tester: it stands for what was
/// offered.
pub(crate) const FAR_SHORT: f64 = 0.9;
/// Once so many trials in a row were beyond the tester, the search is over: at the highest load it
/// offered all that it can, below that it may have been held up by chance.
const BEYOND_AT_MAX: u32 = 2;
const BEYOND_BELOW: u32 = 4;
/// A trial that loses a larger share is believed at once.
const BELIEVED_AT_ONCE: f64 = 0.3;

/// A load to try.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asked {
    /// The intended load.
    pub load: u64,
    /// Whether the trial is to have its full length.
    pub is_final: bool,
}

/// What came of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Came {
    /// Nothing (or no more than allowed) was lost.
    Carried {
        /// The load that was offered, no more than the one intended.
        offered: u64,
        /// What the device carries on and on, at least: less than was offered where a queue may have grown.
        sustained: u64,
    },
    /// Frames were lost.
    Lost {
        /// What came out, as a load.
        forwarded: u64,
        /// Between which loads lies what the device carries on and on.
        sustained: (u64, u64),
    },
    /// The trial decides nothing, however often it was tried.
    Undecided,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Adaptive {
    range: Range,
    resolution: Resolution,
    trials_per_load: u32,
    confirmations: u32,
    /// Loads that passed, with what was offered of them: (intended, offered).
    carried: Vec<(u64, u64)>,
    upper: Option<(u64, Upper)>,
    failed: Option<u64>,
    /// Where the last trial with loss says that the rate is.
    estimate: Option<u64>,
    /// How far above the highest load that passed the next is tried, and how far below the lowest
    /// that failed.
    climb: u64,
    fall: u64,
    /// How often the load at hand has failed.
    failures: u32,
    /// Loads in a row that were beyond the tester.
    beyond: u32,
    confirmed: u32,
    /// What was offered of the load at hand in the trials that confirmed it.
    confirmed_load: Option<u64>,
    stage: Phase,
    /// Whether a load found by short trials has failed a long one: then only long ones count.
    is_long: bool,
    /// What to do when trials contradict each other; `None` to go on as if they did not.
    noise: Option<Noise>,
    /// Whether the device, and not the tester, holds back what is not offered.
    keeps_to_rate: bool,
    seen: Vec<Seen>,
    /// What goes on once they did.
    noisy: Option<Noisy>,
}

/// A search that expects trials to contradict each other.
#[derive(Clone, Debug)]
enum Noisy {
    Scatter(Scatter),
    Sequential(Sequential),
}

/// What is done against noise.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Against {
    /// An estimate of the median, from few trials.
    Estimate,
    /// A sequential test, whose bounds hold the truth but for this chance of error.
    Sequential {
        /// That chance.
        error: f64,
    },
}

/// How a noisy device is searched.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Noise {
    /// What is done.
    pub against: Against,
    /// Bounds are near enough at this share of the upper one.
    pub near: f64,
    /// Whether all trials have full length.
    pub are_all_final: bool,
    /// Trials of full length at the load that failed.
    pub challenges: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Searching,
    Confirming,
    Challenging,
    Over,
}

impl Adaptive {
    /// A search over `range` down to `resolution`. A load that fails is tried up to
    /// `trials_per_load` times; the load found has to pass `confirmations` trials of full length.
    pub fn new(
        range: Range,
        resolution: Resolution,
        trials_per_load: u32,
        confirmations: u32,
    ) -> Self {
        let range = Range { min: range.min.clamp(1, range.max.max(1)), max: range.max };
        Adaptive {
            range,
            resolution,
            trials_per_load: trials_per_load.max(1),
            confirmations,
            carried: vec![],
            upper: None,
            failed: None,
            estimate: None,
            climb: 0,
            fall: 0,
            failures: 0,
            beyond: 0,
            confirmed: 0,
            confirmed_load: None,
            stage: Phase::Searching,
            is_long: false,
            noise: None,
            keeps_to_rate: false,
            seen: vec![],
            noisy: None,
        }
    }

    /// The same, which goes on as told where trials contradict each other.
    pub fn with_noise(mut self, noise: Option<Noise>) -> Self {
        self.noise = noise;
        self
    }

    /// Takes no notice of contradictions from here on: what looks like one may be a queue that carried more
    /// in one trial than in another.
    pub fn trust(&mut self) {
        self.noise = None;
    }

    /// The device holds back what is not offered: asked for more than it takes, it takes no more.
    pub fn keep_to_rate(&mut self) {
        self.keeps_to_rate = true;
    }

    /// Whether the load to try next is one that has failed.
    pub fn is_challenging(&self) -> bool {
        self.noisy.is_none() && self.stage == Phase::Challenging
    }

    /// Whether trials contradicted each other.
    pub fn is_noisy(&self) -> bool {
        self.noisy.is_some()
    }

    /// The chance that the bounds of a noisy device do not hold the truth; `None` where one is open.
    pub fn error(&self) -> Option<f64> {
        match self.noisy.as_ref()? {
            Noisy::Scatter(_) => Some(scatter::ERROR),
            Noisy::Sequential(sequential) => sequential.error(),
        }
    }

    /// The load intended in a trial that proved the lower bound of a noisy device: of those that carried as
    /// much, the one that carried least.
    pub fn asked_for(&self, lower: u64) -> Option<u64> {
        let all = self.seen.iter().rev().filter(|seen| seen.is_final && !seen.is_lossy);
        all.filter(|seen| seen.load >= lower).min_by_key(|seen| seen.load).map(|seen| seen.asked)
    }

    fn see(&mut self, asked: Asked, came: Came) -> Option<Seen> {
        let (load, sustained, is_lossy) = match came {
            Came::Carried { offered, sustained } => (offered, (sustained, offered), false),
            Came::Lost { sustained, .. } => (asked.load, sustained, true),
            Came::Undecided => return None,
        };
        let is_final = asked.is_final || self.noise.is_some_and(|noise| noise.are_all_final);
        let load = load.min(asked.load);
        let sustained = (sustained.0.min(load), sustained.1.min(load));
        let seen = Seen { asked: asked.load, load, sustained, is_lossy, is_final };
        self.seen.push(seen);
        Some(seen)
    }

    /// Goes over to what suits a noisy device when trials contradict each other.
    fn doubt(&mut self) {
        let (Some(noise), None) = (self.noise, &self.noisy) else { return };
        let Some(spread) = contradiction::of_last(&self.seen, self.resolution) else { return };
        let near = noise.near.max(self.resolution.relative);
        let step = self.resolution.relative;
        let seen = &self.seen;
        self.noisy = Some(match noise.against {
            Against::Estimate => {
                let shown = seen.iter().map(Seen::shown).collect();
                Noisy::Scatter(Scatter::new(self.range, near, step, shown))
            }
            Against::Sequential { error } => {
                let mut evidence = Evidence::default();
                for seen in seen {
                    evidence.hint(seen.load, seen.is_lossy.then_some(seen.sustained.1));
                }
                let test = Sequential::new(self.range, error, near, step, evidence, spread);
                Noisy::Sequential(test)
            }
        });
    }

    /// The highest load that passed.
    fn highest(&self) -> Option<u64> {
        self.carried.iter().map(|(asked, offered)| stands_for(*asked, *offered)).max()
    }

    /// The highest load proven.
    fn proven(&self) -> Option<u64> {
        self.carried.iter().map(|(_, offered)| *offered).max()
    }

    /// The next load while bounds are sought; `None` once they are near enough.
    fn sought(&self) -> Option<u64> {
        let Range { min, max } = self.range;
        let allowed = if self.upper.is_none() { BEYOND_AT_MAX } else { BEYOND_BELOW };
        if self.beyond >= allowed {
            return None;
        }
        // By half a step below what came out, a result is the same each time.
        let near = |estimate: u64| estimate - (self.resolution.step(estimate) / 2).min(estimate);
        let Some((upper, _)) = self.upper else {
            let climbed = |passed: u64| passed.saturating_add(self.climb).clamp(min, max);
            // What the tester can offer at all, a second trial as fast as it can will show.
            let next = self.highest().filter(|_| self.beyond == 0).map_or(max, climbed);
            return self.highest().is_none_or(|passed| passed < max).then_some(next);
        };
        let Some(lower) = self.highest() else {
            let below = upper.saturating_sub(self.fall.max(1));
            let next = self.estimate.map_or(below, |estimate| near(estimate).min(below));
            return (upper > min).then_some(next.max(min));
        };
        if self.resolution.is_met(lower.min(upper), upper) {
            return None;
        }
        let is_between = |at: &u64| (lower + 1..upper).contains(at);
        if let Some(estimate) = self.estimate.map(near).filter(is_between) {
            return Some(estimate.max(min));
        }
        let middle = lower + upper.saturating_sub(lower) / 2;
        if self.estimate == Some(0) {
            // Nothing came out, which says nothing of how much could: it may be of any order.
            let geometric = (lower as f64 * upper as f64).sqrt() as u64;
            let is_wide = upper / 4 > lower;
            return Some(
                if is_wide { geometric } else { middle }.clamp(lower + 1, upper - 1).max(min),
            );
        }
        Some(middle.min(lower.saturating_add(self.climb.max(1))).max(min))
    }

    fn passed(&mut self, load: u64, offered: u64) {
        self.carried.push((load, offered));
        let is_beyond = stands_for(load, offered) < load.max(1);
        self.beyond = if is_beyond { self.beyond + 1 } else { 0 };
        self.climb = self.climb.saturating_mul(2).max(self.resolution.step(offered));
    }

    fn lost(&mut self, load: u64, forwarded: u64) {
        let is_heavy = ((load - forwarded.min(load)) as f64) > BELIEVED_AT_ONCE * load as f64;
        self.failures += 1;
        if self.failures < self.trials_per_load && !is_heavy {
            return;
        }
        self.estimate = (forwarded < load).then_some(forwarded);
        self.bound(load, Upper::Failed);
    }

    /// A load is no lower bound, and loads from there on no longer are.
    fn bound(&mut self, load: u64, why: Upper) {
        self.failures = 0;
        (self.confirmed, self.confirmed_load) = (0, None);
        let is_lowest = load <= self.range.min;
        self.carried.retain(|(asked, offered)| stands_for(*asked, *offered) < load && !is_lowest);
        if self.upper.is_none_or(|(upper, _)| load <= upper) {
            self.upper = Some((load, why));
        }
        if why == Upper::Failed {
            self.failed = Some(self.failed.map_or(load, |failed| failed.min(load)));
        }
        let near = self.estimate.filter(|estimate| *estimate > 0).unwrap_or(load).min(load);
        self.climb = self.highest().map_or(0, |_| self.resolution.step(near));
        self.beyond = 0;
        self.fall = self.fall.saturating_mul(2).max(self.resolution.step(near));
    }

    fn confirm(&mut self, offered: u64) {
        self.confirmed += 1;
        self.confirmed_load = self.confirmed_load.max(Some(offered));
    }

    /// What was offered of the load found in the trials of full length that confirmed it.
    pub fn confirmed(&self) -> Option<u64> {
        self.confirmed_load
    }

    /// Takes in what came of the trials of a load before the search, for another goal, and whether each had
    /// its full length.
    pub fn learn(&mut self, load: u64, trials: &[(Came, bool)]) {
        for (came, is_final) in trials {
            self.see(Asked { load, is_final: *is_final }, *came);
            self.doubt();
            match *came {
                Came::Carried { offered, .. } => self.passed(load, offered.min(load)),
                Came::Lost { forwarded, .. } => self.lost(load, forwarded),
                Came::Undecided => {}
            }
        }
        self.failures = 0;
        self.advance();
    }

    fn upper_is(&self, load: u64) -> bool {
        self.upper.is_some_and(|(upper, _)| upper == load)
    }

    /// Goes on to confirming, or to the end, when there is nothing to seek.
    fn advance(&mut self) {
        if self.failures > 0 || self.stage == Phase::Over {
            return;
        }
        let is_found = self.sought().is_none();
        self.stage = match (is_found, self.highest()) {
            (false, _) => Phase::Searching,
            (true, None) => Phase::Over,
            (true, Some(_)) if self.confirmed < self.confirmations => Phase::Confirming,
            (true, Some(_)) if self.challenge().is_some() => Phase::Challenging,
            (true, Some(_)) => Phase::Over,
        };
    }

    /// The load that failed, where noise is looked for and too few trials of full length have failed there.
    fn challenge(&self) -> Option<u64> {
        let (Some((upper, Upper::Failed)), Some(noise)) = (self.upper, self.noise) else {
            return None;
        };
        let at = self.seen.iter().filter(|seen| seen.asked == upper && seen.is_final).count();
        (at < noise.challenges as usize).then_some(upper)
    }
}

/// The load that a trial stands for in which nothing was lost.
fn stands_for(asked: u64, offered: u64) -> u64 {
    if (offered as f64) < FAR_SHORT * asked as f64 { offered } else { asked }
}

impl Search for Adaptive {
    type Load = Asked;
    type TrialOutput = Came;

    fn next_load(&self) -> Option<Asked> {
        let final_trial = |load| Asked { load, is_final: true };
        match &self.noisy {
            Some(Noisy::Scatter(scatter)) => return scatter.next_load().map(final_trial),
            Some(Noisy::Sequential(test)) => return test.next_load().map(final_trial),
            None => {}
        }
        match self.stage {
            Phase::Searching => self.sought().map(|load| Asked { load, is_final: self.is_long }),
            Phase::Confirming => {
                let Range { min, max } = self.range;
                // What a tester can offer at the most it offers when it is asked for more: one that keeps to
                // just that rate has nothing in reserve when it is held up.
                let floods = self.upper.is_none() && !self.keeps_to_rate;
                let load = if floods { max } else { self.highest()? };
                Some(Asked { load: load.clamp(min, max), is_final: true })
            }
            Phase::Challenging => self.challenge().map(final_trial),
            Phase::Over => None,
        }
    }

    fn record(&mut self, asked: Asked, came: Came) {
        let Asked { load, is_final } = asked;
        let seen = self.see(asked, came);
        if let Some(noisy) = &mut self.noisy {
            noisy.record(load, seen);
            return;
        }
        self.doubt();
        if self.stage == Phase::Challenging {
            // What did not contradict the bounds leaves them as they are.
            self.stage = if came == Came::Undecided { Phase::Over } else { self.stage };
            return self.advance();
        }
        let was_bound = self.upper_is(load);
        match came {
            Came::Carried { offered, .. } => {
                self.failures = 0;
                match self.stage {
                    Phase::Confirming => self.confirm(offered.min(load)),
                    _ => self.passed(load, offered.min(load)),
                }
            }
            Came::Lost { forwarded, .. } => self.lost(load, forwarded),
            Came::Undecided => self.bound(load, Upper::Undecided),
        }
        // What short trials carried is no longer believed.
        if is_final && !self.is_long && !was_bound && self.upper_is(load) {
            self.is_long = true;
            self.carried.clear();
        }
        self.advance();
    }

    fn bounds(&self) -> Bounds {
        match &self.noisy {
            Some(Noisy::Scatter(scatter)) => scatter.bounds(),
            Some(Noisy::Sequential(test)) => test.bounds(),
            None => Bounds { lower: self.proven(), upper: self.upper, failed: self.failed },
        }
    }
}

impl Noisy {
    fn record(&mut self, asked: u64, seen: Option<Seen>) {
        match (self, seen) {
            (Noisy::Scatter(scatter), Some(seen)) => scatter.record(seen.shown()),
            (Noisy::Scatter(scatter), None) => scatter.limit(asked),
            (Noisy::Sequential(test), Some(seen)) => {
                test.record(asked, seen.load, seen.is_lossy.then_some(seen.sustained.1));
            }
            (Noisy::Sequential(test), None) => test.limit(asked),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::drive;
    use super::*;
    use proptest::prelude::*;

    const RANGE: Range = Range { min: 10_000, max: 1_000_000_000 };
    const FINE: Resolution = Resolution { absolute: 1, relative: 0.01 };

    fn carried(offered: u64) -> Came {
        Came::Carried { offered, sustained: offered }
    }

    fn lost(forwarded: u64) -> Came {
        Came::Lost { forwarded, sustained: (forwarded, forwarded) }
    }

    /// A device that carries `capacity`, before a tester that offers `share` of what it intends and
    /// `reach` at most: loads tried and bounds found.
    fn search(capacity: u64, share: f64, reach: u64) -> (Vec<u64>, Bounds) {
        let mut tried = vec![];
        let mut search = Adaptive::new(RANGE, FINE, 2, 1);
        let bounds = drive(&mut search, |asked, _| {
            tried.push(asked.load);
            let offered = ((asked.load as f64 * share) as u64).min(reach);
            Ok::<_, ()>(match asked.load.min(reach) > capacity {
                true => lost(capacity.min(offered)),
                false => carried(offered),
            })
        });
        (tried, bounds.unwrap())
    }

    #[test]
    fn a_steady_device_takes_a_handful_of_trials() {
        let (tried, bounds) = search(52_345_678, 1.0, u64::MAX);
        assert!(tried.len() <= 7, "{tried:?}");
        let (lower, (upper, why)) = (bounds.lower.unwrap(), bounds.upper.unwrap());
        assert!(lower <= 52_345_678 && upper > 52_345_678 && why == Upper::Failed);
        assert!((upper - lower) as f64 <= 0.01 * upper as f64, "{lower}..{upper}");
    }

    /// A device carries 5 % less than it can in the first half of the trials: the load that failed then is
    /// carried when it is tried once more, which no other trial of the search would have shown.
    #[test]
    fn a_load_that_failed_by_chance_is_found_out() {
        let noise =
            Noise { against: Against::Estimate, near: 0.05, are_all_final: false, challenges: 1 };
        let mut search = Adaptive::new(RANGE, FINE, 2, 1).with_noise(Some(noise));
        let mut confirmed = false;
        let bounds = drive(&mut search, |asked, bounds| {
            confirmed |= asked.is_final && bounds.lower.is_some();
            let capacity = if confirmed { 52_000_000 } else { 49_400_000 };
            Ok::<_, ()>(match asked.load > capacity {
                true => lost(capacity),
                false => carried(asked.load),
            })
        });
        assert!(search.is_noisy(), "{bounds:?}");
    }

    /// Cables that lead nowhere, a gateway that nobody is: nobody waits for a search down to the lowest load.
    #[test]
    fn a_device_that_carries_nothing_takes_two_trials() {
        let (tried, bounds) = search(0, 1.0, u64::MAX);
        assert_eq!(tried, [RANGE.max, RANGE.min]);
        assert_eq!((bounds.lower, bounds.upper), (None, Some((RANGE.min, Upper::Failed))));
    }

    /// Overloaded, it forwards nothing (receive livelock); what it carries is found all the same.
    #[test]
    fn a_device_that_carries_nothing_at_overload_is_found() {
        for capacity in [20_000, 3_000_000, 52_345_678, 700_000_000] {
            let mut tried = vec![];
            let mut search = Adaptive::new(RANGE, FINE, 2, 1);
            let bounds = drive(&mut search, |asked, _| {
                tried.push(asked.load);
                Ok::<_, ()>(if asked.load > capacity { lost(0) } else { carried(asked.load) })
            });
            let bounds = bounds.unwrap();
            let (lower, (upper, why)) = (bounds.lower.unwrap(), bounds.upper.unwrap());
            assert!(lower <= capacity && upper > capacity && why == Upper::Failed, "{bounds:?}");
            assert!((upper - lower) as f64 <= 0.01 * upper as f64, "{lower}..{upper}");
            assert!(tried.len() <= 16, "{}: {tried:?}", tried.len());
        }
    }

    #[test]
    fn a_tester_that_cannot_go_faster_says_at_least() {
        let (tried, bounds) = search(u64::MAX, 1.0, 70_000_000);
        assert!(tried.len() <= 5, "{tried:?}");
        assert_eq!((bounds.lower, bounds.upper), (Some(70_000_000), None));
    }

    #[test]
    fn the_maximum_needs_two_trials() {
        assert_eq!(search(u64::MAX, 1.0, u64::MAX).0, [RANGE.max; 2]);
    }

    /// Held up for 4 % of the time, the tester decides within 4 % and the resolution.
    #[test]
    fn a_tester_that_is_held_up_decides_as_near_as_it_can() {
        let (tried, bounds) = search(300_000_000, 0.96, u64::MAX);
        let (lower, (upper, _)) = (bounds.lower.unwrap(), bounds.upper.unwrap());
        assert!(lower <= 300_000_000 && upper > 300_000_000);
        assert!((upper - lower) as f64 <= 0.055 * upper as f64, "{lower}..{upper}");
        assert!(tried.len() <= 14, "{tried:?}");
    }

    /// A device that carries every short trial and fails every long one is carried down to the end of
    /// the range, once.
    #[test]
    fn a_load_that_is_never_confirmed_is_given_up() {
        let mut trials = 0;
        let mut search = Adaptive::new(RANGE, FINE, 1, 1);
        let bounds = drive(&mut search, |asked, _| {
            trials += 1;
            assert!(trials < 2_000, "{asked:?}");
            Ok::<_, ()>(match asked.is_final {
                true => lost(asked.load / 2),
                false => carried(asked.load - asked.load / 20),
            })
        });
        assert_eq!(bounds.unwrap().upper, Some((RANGE.min, Upper::Failed)));
    }

    proptest! {
        #[test]
        fn the_truth_is_never_outside(
            capacity in 1u64..2_000_000_000, share in 0.5f64..=1.0, reach in 1u64..2_000_000_000,
        ) {
            let (tried, bounds) = search(capacity, share, reach);
            prop_assert!(tried.len() < 60, "{}", tried.len());
            prop_assert!(bounds.lower.is_none_or(|lower| lower <= capacity.min(reach)));
            prop_assert!(bounds.upper.is_none_or(|(upper, _)| upper > capacity));
            prop_assert!(bounds.lower.is_some() || capacity.min(reach) < 2 * RANGE.min);
        }

        /// Whatever comes of the trials, the search ends.
        #[test]
        fn it_ends_on_any_device(seed: u64, r in 1u32..4, confirmations in 0u32..3) {
            let mut state = seed | 1;
            let mut random = move || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state
            };
            let mut trials = 0;
            let mut search = Adaptive::new(RANGE, FINE, r, confirmations);
            drive(&mut search, |asked, _| {
                trials += 1;
                assert!(trials < 2_000);
                assert!((RANGE.min..=RANGE.max).contains(&asked.load));
                let part = random() % (asked.load + 1);
                Ok::<_, ()>(match random() % 3 {
                    0 => carried(part),
                    1 => lost(part),
                    _ => Came::Undecided,
                })
            }).unwrap();
        }
    }
}
