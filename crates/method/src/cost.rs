//! What a frame costs a device in processor time, at a moderate load; and the capacity that this implies.
//!
//! A second way to a device's capacity, which needs no saturation: a device whose busiest processor works
//! for a share u of the time at a load of r frames a second carries r / u, if a frame costs the same at
//! any load and nothing else ends it. Where saturation finds another rate, one of the two does not hold.

use crate::bench::Bench;
use crate::event::Verdict;
use crate::outcome::number::grouped_f64;
use crate::rate_search::Known;
use crate::subject::Subject;
use crate::{Finding, RateFound, RunError, TestKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use trial::{Owner, Pressure, TrialResult};
use units::{Duration, FrameRate};

/// The load, in terms of the throughput.
pub const MODERATE: f64 = 0.5;
/// Trials: what differs between them is part of the error.
const TRIALS: u32 = 2;
/// Longer trials tell no more.
const LONGEST: Duration = Duration::from_secs(2);
/// How far apart the two must be to differ: the least and the most of two trials are no bounds of what a
/// third would show.
const APART: f64 = 1.05;
/// A processor's time is told in such steps (USER_HZ, proc(5)).
const STEP: Duration = Duration::from_ms(10);

/// What a frame costs the device, or why nobody knows.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CostFound {
    /// Measured.
    Measured(CostPerFrame),
    /// Not known.
    Unknown {
        /// Why, in words.
        why: String,
    },
}

/// Processor time of the device for a frame that it forwards.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct CostPerFrame {
    /// Load at which it was measured, offered, of each direction.
    pub load: FrameRate,
    /// Trials at it.
    pub trials: u32,
    /// Time of the device's own threads, in nanoseconds: the least of the trials.
    pub low_ns: f64,
    /// The most of the trials, with whatever else ran on the device's processors and was not the
    /// tester's, in nanoseconds.
    pub high_ns: f64,
    /// Processors that the device used: the time of all its threads over that of its busiest processor.
    pub processors: f64,
    /// The load at which its busiest processor would never be idle, of each direction, at least.
    pub capacity_low: FrameRate,
    /// The same, at most.
    pub capacity_high: FrameRate,
}

/// One trial's word on it.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Sample {
    load_fps: f64,
    low_ns: f64,
    high_ns: f64,
    processors: f64,
    /// Frames a second over both directions.
    capacity_low_fps: f64,
    capacity_high_fps: f64,
}

impl CostPerFrame {
    /// Where the capacity lies on one side of a throughput by more than either is uncertain, a sentence
    /// on it.
    pub fn contradiction(&self, found: &RateFound) -> Option<String> {
        let rate = found.rate?.fps();
        let upper = match found.finding {
            Finding::Measured | Finding::Between { .. } => found.upper.map(FrameRate::fps),
            Finding::AtTheoreticalMaximum | Finding::AtLeast { .. } => Some(f64::INFINITY),
            Finding::NothingPassed { .. } | Finding::Invalid { .. } => None,
        };
        let upper = upper.unwrap_or(rate);
        let (low, high) = (self.capacity_low.fps(), self.capacity_high.fps());
        if low > upper * APART {
            return Some(format!(
                "the cost of a frame leaves room for {} frames/s and more, the device lost frames \
                 from {} on: something other than its processor ends its throughput (a rate \
                 limit, a queue too short, a processor taken away)",
                grouped_f64(low, 0),
                grouped_f64(upper, 0)
            ));
        }
        (high * APART < rate).then(|| {
            format!(
                "the cost of a frame at {} frames/s leaves room for {} at most, yet the device \
                 carried {}: under a high load a frame costs it less",
                grouped_f64(self.load.fps(), 0),
                grouped_f64(high, 0),
                grouped_f64(rate, 0)
            )
        })
    }
}

/// Measures it at half of a rate found, where trials tell of the device's processor time at all.
pub(crate) fn measure(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    found: &RateFound,
    known: &Known,
) -> Result<Option<CostFound>, RunError> {
    let unknown = |why: &str| Ok(Some(CostFound::Unknown { why: why.into() }));
    let pressures = || known.trials().map(|result| &result.pressure);
    let times_device = |pressure: &Pressure| pressure.longest_wait(Owner::Device).is_some();
    // A program that polls has threads, too, and their time says nothing of a frame.
    if let Some(why) = pressures().find_map(|pressure| pressure.untimed.as_deref()) {
        return unknown(why);
    }
    if !pressures().any(times_device) {
        return Ok(None);
    }
    let Some(rate) = found.rate else { return unknown("no load passed") };
    let load = rate.scaled(MODERATE);
    let length = Duration::from_secs_f64(subject.config.search.trial_duration_s).min(LONGEST);
    let mut samples = vec![];
    let mut why = String::new();
    for _ in 0..TRIALS {
        let label = format!("cost of a frame at half of the throughput, {load:.1} for {length}");
        let ran = bench.run(subject.request(TestKind::Throughput, label, load, length))?;
        match sample(&ran.result) {
            _ if ran.verdict == Verdict::Invalid => why = ran.invalid_reasons().join("; "),
            Ok(sample) => samples.push(sample),
            Err(reason) => why = reason.into(),
        }
    }
    let directions = subject.traffic.senders().len().max(1) as f64;
    Ok(Some(match together(&samples, directions) {
        Some(cost) => CostFound::Measured(cost),
        None => CostFound::Unknown { why },
    }))
}

/// All trials together; `None` of none.
fn together(samples: &[Sample], directions: f64) -> Option<CostPerFrame> {
    let first = samples.first()?;
    let least = |of: fn(&Sample) -> f64| samples.iter().map(of).fold(f64::INFINITY, f64::min);
    let most = |of: fn(&Sample) -> f64| samples.iter().map(of).fold(0.0, f64::max);
    let each = |fps: f64| FrameRate::from_fps_f64(fps / directions);
    Some(CostPerFrame {
        load: each(first.load_fps),
        trials: samples.len() as u32,
        low_ns: least(|sample| sample.low_ns),
        high_ns: most(|sample| sample.high_ns),
        processors: most(|sample| sample.processors),
        capacity_low: each(least(|sample| sample.capacity_low_fps)),
        capacity_high: each(most(|sample| sample.capacity_high_fps)),
    })
}

/// What a trial says of the cost of a frame.
fn sample(result: &TrialResult) -> Result<Sample, &'static str> {
    let frames = result.forwarded_frames();
    let time = Use::of(&result.pressure);
    let ran = time.iter().map(|one| one.ran).sum::<f64>();
    if frames == 0 {
        return Err("nothing was forwarded");
    }
    if ran <= 0.0 {
        return Err("the device's threads used no time that was seen");
    }
    let frames = frames as f64;
    let elsewhere = time.iter().map(|one| one.elsewhere).sum::<f64>();
    let busiest = time.iter().map(|one| one.ran).fold(0.0, f64::max);
    let busiest_with_all = time.iter().map(|one| one.ran + one.elsewhere).fold(0.0, f64::max);
    Ok(Sample {
        load_fps: result.offered_rate().fps(),
        low_ns: ran / frames * 1e9,
        high_ns: (ran + elsewhere) / frames * 1e9,
        processors: ran / busiest,
        capacity_low_fps: frames / busiest_with_all,
        capacity_high_fps: frames / busiest,
    })
}

/// How a device used one processor, in seconds.
struct Use {
    /// Its own threads ran.
    ran: f64,
    /// Others did, or the kernel on its behalf with no thread to account for it (softirqs on an idle
    /// processor), in all but the tester's threads.
    elsewhere: f64,
}

impl Use {
    /// Processor by processor. Threads of which it is not known where they ran have one each.
    fn of(pressure: &Pressure) -> Vec<Use> {
        let mut ran: BTreeMap<Result<u32, &str>, (f64, f64)> = BTreeMap::new();
        for thread in &pressure.threads {
            let place = thread.processor.ok_or(thread.name.as_str());
            let (device, all) = ran.entry(place).or_default();
            *all += thread.ran.as_secs_f64();
            if thread.owner == Owner::Device {
                *device += thread.ran.as_secs_f64();
            }
        }
        let of_device = ran.into_iter().filter(|(_, (device, _))| *device > 0.0);
        let one = |(place, (device, all)): (Result<u32, &str>, (f64, f64))| {
            let busy = pressure.processors.iter().find(|one| Ok(one.processor) == place);
            // A processor is looked at in steps: up to one of them is not seen.
            let busy = busy.map_or(all, |one| (one.busy + STEP).as_secs_f64());
            Use { ran: device, elsewhere: (busy - all).max(0.0) }
        };
        of_device.map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SearchPolicy;
    use proptest::prelude::*;
    use trial::{ProcessorUse, ThreadPressure};

    fn thread(owner: Owner, ran_us: u64, processor: Option<u32>) -> ThreadPressure {
        let (name, none) = (format!("{owner} {ran_us} {processor:?}"), Duration::ZERO);
        let ran = Duration::from_us(ran_us);
        ThreadPressure {
            owner,
            name,
            ran,
            waited: none,
            held_up: None,
            slices: 0,
            processor,
            stopped: none,
            is_program: false,
        }
    }

    fn pressure(threads: Vec<ThreadPressure>, busy: &[(u32, u64)]) -> Pressure {
        let busy = busy.iter().map(|(processor, us)| ProcessorUse {
            processor: *processor,
            busy: Duration::from_us(*us),
        });
        Pressure { threads, processors: busy.collect(), ..Pressure::default() }
    }

    fn found(finding: Finding, rate: u64, upper: Option<u64>) -> RateFound {
        RateFound {
            loss_tolerance_percent: 0.0,
            confidence: None,
            finding,
            rate: Some(FrameRate::from_fps(rate)),
            buffered: None,
            conditional_throughput: None,
            percent_of_theoretical: None,
            offered: None,
            loss_percent: Some(0.0),
            upper: upper.map(FrameRate::from_fps),
            resolution_fps: None,
            resolution_percent_of_theoretical: None,
            trial_duration: Duration::from_secs(1),
            trials: 1,
            invalid_trials: 0,
            test_time: Duration::from_secs(1),
            trials_at_rate: 1,
            failed_trials_at_rate: 0,
            policy: SearchPolicy::default(),
            search: String::new(),
        }
    }

    fn cost(capacity: [u64; 2]) -> CostPerFrame {
        CostPerFrame {
            load: FrameRate::from_fps(500),
            trials: 2,
            low_ns: 1.0,
            high_ns: 1.0,
            processors: 1.0,
            capacity_low: FrameRate::from_fps(capacity[0]),
            capacity_high: FrameRate::from_fps(capacity[1]),
        }
    }

    #[test]
    fn only_intervals_apart_contradict_each_other() {
        let measured = |rate, upper| found(Finding::Measured, rate, Some(upper));
        for (capacity, found, says) in [
            ([990, 1_010], measured(1_000, 1_050), None),
            ([900, 1_000], measured(1_000, 1_050), None),
            ([900, 953], measured(1_000, 1_050), None),
            ([900, 951], measured(1_000, 1_050), Some("costs it less")),
            ([1_101, 1_200], measured(1_000, 1_050), None),
            ([1_104, 1_200], measured(1_000, 1_050), Some("something other than its processor")),
            ([9_000, 9_900], found(Finding::AtLeast { why: "x".into() }, 1_000, Some(1_100)), None),
            ([9_000, 9_900], found(Finding::AtTheoreticalMaximum, 1_000, None), None),
            ([90, 99], found(Finding::AtTheoreticalMaximum, 1_000, None), Some("costs it less")),
        ] {
            let sentence = cost(capacity).contradiction(&found);
            match says {
                None => assert_eq!(sentence, None, "{capacity:?}"),
                Some(words) => assert!(sentence.unwrap().contains(words), "{capacity:?}"),
            }
        }
        let nothing = RateFound { rate: None, ..measured(1, 2) };
        assert_eq!(cost([1, 2]).contradiction(&nothing), None);
    }

    /// What else ran on the device's processor may have been the device's; the tester's threads were not.
    #[test]
    fn time_that_nobody_owns_widens_the_upper_end_only() {
        let threads = vec![
            thread(Owner::Device, 100_000, Some(1)),
            thread(Owner::Tester, 50_000, Some(1)),
            thread(Owner::Tester, 400_000, Some(0)),
        ];
        let uses = Use::of(&pressure(threads, &[(0, 400_000), (1, 180_000)]));
        assert_eq!(uses.len(), 1, "processor 0 is the tester's");
        assert!((uses[0].ran - 0.1).abs() < 1e-9);
        // 180 ms busy, and a step of 10 ms that may be missing, less 150 ms of threads.
        assert!((uses[0].elsewhere - 0.04).abs() < 1e-9);
    }

    proptest! {
        /// Each of n processors works for its share of the frames at a known cost: the capacity is that
        /// of the busiest one, whatever the shares.
        #[test]
        fn the_busiest_processor_is_full_first(
            shares in prop::collection::vec(1u64..1_000, 1..5),
            each_us in 1u64..50,
        ) {
            let threads = shares.iter().enumerate().map(|(processor, frames)| {
                thread(Owner::Device, frames * each_us, Some(processor as u32))
            });
            let uses = Use::of(&pressure(threads.collect(), &[]));
            let ran: f64 = uses.iter().map(|one| one.ran).sum();
            let frames: u64 = shares.iter().sum();
            prop_assert!((ran / frames as f64 * 1e6 - each_us as f64).abs() < 1e-6);
            let busiest = uses.iter().map(|one| one.ran).fold(0.0, f64::max);
            let most = *shares.iter().max().unwrap();
            prop_assert!((busiest - (most * each_us) as f64 / 1e6).abs() < 1e-9);
            prop_assert!(uses.iter().all(|one| one.elsewhere == 0.0));
        }
    }
}
