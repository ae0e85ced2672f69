//! Every number of a run that is stated with confidence, held against what is true.

use super::device::Device;
use method::rfc2544::{
    BackToBackResult, BurstOutcome, FrameLossResult, LatencyResult, LossPoint, ThroughputResult,
};
use method::{Finding, Outcome, RateFound, TestKind};
use serde::de::DeserializeOwned;
use units::Duration;

/// What came of one device.
#[derive(Default, Debug)]
pub struct Tally {
    /// Wrong numbers: their class, and in words.
    pub wrong: Vec<(&'static str, String)>,
    /// Statements that decide something.
    pub decided: u64,
    /// Those that say honestly that they do not, by what they are about.
    pub undecided: Vec<(&'static str, String)>,
}

/// A rate may be off by so much of the resolution without being called wrong: what a search takes
/// for no growth of a queue.
const OF_RESOLUTION: f64 = 0.05;
/// Departures are whole picoseconds, rates come as decimals.
const ROUNDING: f64 = 2e-6;

impl Tally {
    fn wrong(&mut self, class: &'static str, what: String) {
        self.wrong.push((class, what));
    }

    /// Looks at every number of a result.
    pub fn judge(&mut self, device: &Device, outcome: &Outcome) {
        fn record<T: DeserializeOwned>(outcome: &Outcome) -> T {
            outcome.record().expect("the test's record")
        }
        match outcome.test {
            TestKind::Throughput => self.throughput(device, &record(outcome)),
            TestKind::FrameLoss => self.frame_loss(device, &record(outcome)),
            TestKind::Latency => self.latency(device, &record(outcome)),
            TestKind::BackToBack => self.back_to_back(device, &record(outcome)),
            _ => {}
        }
    }

    fn throughput(&mut self, device: &Device, result: &ThroughputResult) {
        self.rate("throughput", device, &result.throughput);
        for found in &result.with_tolerance {
            self.rate("rate with loss", device, found);
        }
    }

    fn rate(&mut self, about: &'static str, device: &Device, found: &RateFound) {
        let resolution = if device.is_rfc { 0.001 } else { 0.02 };
        let slack = resolution * OF_RESOLUTION + ROUNDING;
        let truth = device.capacity_with_loss_fps(found.loss_tolerance_percent / 100.0);
        let rate = found.rate.map_or(0.0, |rate| rate.fps());
        let upper = found.upper.map_or(f64::INFINITY, |upper| upper.fps());
        let words = format!("{about}: {truth:.3} is true, stated {rate:.3}..{upper:.3} {found:?}");
        // Rates are stated to the thousandth.
        let is_above = rate > truth * (1.0 + slack) + 0.001;
        let is_bound = matches!(found.finding, Finding::Measured | Finding::Between { .. });
        let is_below = upper < truth * (1.0 - slack) - 0.001;
        match &found.finding {
            Finding::Measured => self.decided += 1,
            Finding::AtTheoreticalMaximum => {
                self.decided += 1;
                if truth < device.medium_fps() * (1.0 - slack) {
                    return self.wrong("rate: at the medium's maximum", words);
                }
            }
            Finding::NothingPassed { lowest, .. } => {
                self.decided += 1;
                if truth > lowest.fps() * (1.0 + slack) + 0.001 {
                    return self.wrong("rate: nothing passed", words);
                }
            }
            other => self.undecided.push((about, format!("{other:?} {rate:.3}..{upper:.3}"))),
        }
        if is_above {
            self.wrong("rate: above the truth", words);
        } else if is_below && is_bound {
            self.wrong("rate: below the truth", words);
        }
    }

    fn frame_loss(&mut self, device: &Device, result: &FrameLossResult) {
        for point in &result.points {
            match point.invalid.first() {
                Some(why) => self.undecided.push(("loss", why.clone())),
                None => self.loss_at(device, point),
            }
        }
    }

    /// The device is empty at first, and every frame that finds room comes out.
    fn loss_at(&mut self, device: &Device, point: &LossPoint) {
        self.decided += 1;
        let sent = point.expected_frames;
        // A tester may be slower than intended by a tenth in the quick profile: then the point stands at
        // the load that it offered, and has to say so.
        let is_short = point.offered.fps() < point.intended.fps() * 0.999;
        let load = if is_short { point.offered } else { point.intended };
        if load.is_zero() {
            return self.wrong("loss: at no load", format!("{point:?}"));
        }
        let truth = device.forwards(load.as_fraction(), sent);
        let stands_at = point.percent_of_theoretical / 100.0 * device.medium_fps();
        if (stands_at / load.fps() - 1.0).abs() > ROUNDING {
            self.wrong("loss: at another load", format!("{stands_at}: {point:?}"));
        }
        // Two at the edges: a frame that comes as another leaves.
        if truth.abs_diff(point.received_frames) > 2 {
            let received = point.received_frames;
            self.wrong(
                "loss",
                format!("loss: {truth} of {sent} find room, stated {received} {point:?}"),
            );
        }
        // Rates are stated to the thousandth.
        let most = device.medium_fps() * (1.0 + ROUNDING) + 0.001;
        if point.offered.fps() > most || point.received_frames > sent {
            self.wrong("loss: more than the medium carries", format!("{point:?}"));
        }
    }

    fn latency(&mut self, device: &Device, result: &LatencyResult) {
        let Some(all) = &result.all_frames else {
            let why = result.not_measured.clone().unwrap_or_default();
            return self.undecided.push(("latency", why));
        };
        self.decided += 1;
        let (alone, most) = (device.latency_alone_ns(), device.latency_most_ns());
        let ns = |span: Duration| span.as_ns_f64();
        let rate = result.rate.map_or(0.0, |rate| rate.fps());
        let words = format!(
            "latency at {rate:.3} of {:.3}: {alone:.0}..{most:.0} ns is true, stated {} mean {} .. {}",
            device.capacity_fps(),
            ns(all.min),
            ns(all.mean),
            ns(all.max)
        );
        // The tester's clock tells picoseconds; one nanosecond is for the sums above.
        let varies = device.delay_varies_by_ns as f64;
        if ns(all.min) < alone - 1.0 || ns(all.min) > alone + varies + 1.0 {
            return self.wrong("latency: minimum", words);
        }
        if ns(all.max) > most + 1.0 {
            return self.wrong("latency: maximum", words);
        }
        if !(all.min <= all.mean && all.mean <= all.max) {
            return self.wrong("latency: order", words);
        }
        // Below its capacity the device keeps nobody waiting.
        let waits = ns(all.mean) > alone + varies + 1.0 && rate <= device.capacity_fps();
        if waits && result.rate_is_throughput && !device.has_pause {
            self.wrong("latency: of a queue, stated at the throughput", words);
        }
    }

    fn back_to_back(&mut self, device: &Device, result: &BackToBackResult) {
        if let Some(why) = &result.not_measured {
            let applies = why.contains("RFC 9004");
            match applies {
                true => self.decided += 1,
                false => self.undecided.push(("burst", why.clone())),
            }
            return;
        }
        let Some(rate) = result.burst_rate else { return };
        let fits = |frames| device.forwards(rate.as_fraction(), frames) == frames;
        for found in &result.searches {
            let words = || format!("burst at {rate:?}: stated {found:?}");
            match &found.outcome {
                BurstOutcome::Measured | BurstOutcome::AtLimit | BurstOutcome::NothingPassed => {
                    self.decided += 1;
                }
                other => self.undecided.push(("burst", format!("{other:?}"))),
            }
            if !fits(found.frames) {
                self.wrong("burst: too long", words());
            }
            let too_long =
                found.too_long_frames.filter(|_| found.outcome == BurstOutcome::Measured);
            if too_long.is_some_and(fits) {
                self.wrong("burst: too short", words());
            }
        }
    }
}
