//! Forward pressure and maximum forwarding rate (RFC 2889 section 5.6).

use crate::RunError;
use crate::bench::Bench;
use crate::chassis::{
    ChassisConditions, ChassisTest, LoadPoint, Pattern, TestSetup, Throughput, highest_load,
    point_at, shortfall_words,
};
use serde::{Deserialize, Serialize};
use trial::Schedule;
use units::{Duration, FrameRate, FrameSize};

/// What two ports forward at most, and whether the device breaks the rules for it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ForwardPressureResult {
    /// Under which conditions.
    pub conditions: ChassisConditions,
    /// Where the search for the maximum forwarding rate begins.
    pub throughput: Throughput,
    /// Loads from there up to the medium's maximum.
    pub steps: Vec<LoadPoint>,
    /// What frames with a gap of 88 bit times showed.
    pub gap: GapOutcome,
}

/// What came of frames sent with too small a gap. Gaps are judged, not rates.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum GapOutcome {
    /// The device sent faster than the medium allows.
    Detected {
        /// Rate at the receiving port.
        rate: FrameRate,
        /// Mean gap there, in bit times; runs saved before it was kept have none.
        #[serde(default)]
        gap_bits: Option<f64>,
    },
    /// It did not.
    NotDetected {
        /// Rate at the receiving port.
        rate: FrameRate,
        /// Mean gap there, in bit times; runs saved before it was kept have none.
        #[serde(default)]
        gap_bits: Option<f64>,
    },
    /// It could not be tried.
    NotTested {
        /// Why.
        why: String,
    },
}

impl ForwardPressureResult {
    /// The maximum forwarding rate, and at which load it was reached (RFC 2285 section 3.6.3).
    pub fn mfr(&self) -> Option<&LoadPoint> {
        let points = self.steps.iter().chain(&self.throughput.point);
        let valid = points.filter(|point| point.invalid.is_empty());
        valid.max_by(|a, b| a.forwarding_rate.fps().total_cmp(&b.forwarding_rate.fps()))
    }
}

/// The gap of the test, one byte below the legal one (section 5.6.3.2: 88 bits).
const GAP_BYTES: u32 = FrameSize::GAP_BYTES - 1;
const BYTE_BITS: u32 = 8;
const GAP_BITS: u32 = GAP_BYTES * BYTE_BITS;
/// A tester whose gaps are longer in the mean has sent nearer to the legal gap than to the short one. A
/// rate does not tell: at 1518 bytes the two differ by 0.065 %.
const MOST_SENT_GAP_BITS: f64 = (GAP_BITS + BYTE_BITS / 2) as f64;
/// Two clocks of 100 ppm each may differ by so much without anybody breaking a rule.
const CLOCK_TOLERANCE: f64 = 200e-6;
const PAIR: (ChassisTest, Pattern) = (ChassisTest::ForwardPressure, Pattern::Unidirectional);

/// The test, between the first two ports.
pub fn forward_pressure(
    bench: &mut Bench<'_>,
    rack: &TestSetup<'_>,
) -> Result<ForwardPressureResult, RunError> {
    let rack = &rack.with_ports(2);
    let throughput = highest_load(bench, rack, PAIR.0, PAIR.1)?;
    let duration = Duration::from_secs_f64(rack.config.trial.duration_s);
    let mut steps = vec![];
    let mut load = throughput.load_percent.unwrap_or(0.0);
    // Where the throughput is the medium's maximum, so is the maximum forwarding rate.
    while load < 100.0 {
        load = (load + rack.config.chassis.forward_pressure.step_percent.max(0.01)).min(100.0);
        steps.push(point_at(bench, rack, PAIR, load, duration)?.0);
    }
    let gap = try_gap(bench, rack, duration)?;
    Ok(ForwardPressureResult { conditions: rack.conditions(PAIR.0), throughput, steps, gap })
}

fn try_gap(
    bench: &mut Bench<'_>,
    rack: &TestSetup<'_>,
    duration: Duration,
) -> Result<GapOutcome, RunError> {
    let not_tested = |why: String| Ok(GapOutcome::NotTested { why });
    let port = rack.described(0);
    if !port.line_rate_is_physical {
        return not_tested("a virtual link has no gaps: its medium enforces no rate".into());
    }
    let bytes = rack.size.bytes() + FrameSize::PREAMBLE_BYTES + GAP_BYTES;
    let rate = FrameRate::new(port.line_rate.bps(), u64::from(bytes) * 8);
    let label = format!("{}, {} bytes: gap of 88 bit times", PAIR.0, rack.size);
    let ran = rack.run(bench, PAIR.0, &label, rate, &|draft| {
        draft.learn_all(rack);
        for turn in PAIR.1.turns(rack.ports) {
            draft.turn(rack, &turn, Schedule::constant(rate, duration))?;
        }
        Ok(())
    })?;
    let invalid = shortfall_words(&ran);
    if !invalid.is_empty() {
        return not_tested(format!(
            "the tester cannot send frames with gaps below the legal minimum: {}",
            invalid.join("; ")
        ));
    }
    let sent = ran.result.sent.iter().find_map(|sent| sent.report.sent_rate());
    let sent_bits = sent.map_or(f64::INFINITY, |sent| gap_bits(rack, sent.fps()));
    if sent_bits > MOST_SENT_GAP_BITS {
        return not_tested(format!(
            "the tester's gaps were {sent_bits:.1} bit times in the mean instead of {GAP_BITS}"
        ));
    }
    if f64::from(BYTE_BITS) <= CLOCK_TOLERANCE * frame_bits(rack) {
        return not_tested(format!(
            "a gap that is {BYTE_BITS} bits short cannot be told from clocks that differ by {} ppm",
            CLOCK_TOLERANCE * 1e6
        ));
    }
    let arrived = ran.result.expected_accounts().next().map(|received| &received.account);
    let span = arrived.and_then(|a| Some(a.last_at?.since(a.first_at?).as_secs_f64()));
    let frames = arrived.map_or(0, |account| account.unique).saturating_sub(1);
    let fps = span.filter(|span| *span > 0.0).map_or(0.0, |span| frames as f64 / span);
    let rate = FrameRate::from_fps_f64(fps);
    let bits = gap_bits(rack, fps);
    let legal = f64::from(FrameSize::GAP_BYTES * BYTE_BITS) - CLOCK_TOLERANCE * frame_bits(rack);
    let gap_bits = bits.is_finite().then_some(bits);
    Ok(match bits < legal {
        true => GapOutcome::Detected { rate, gap_bits },
        false => GapOutcome::NotDetected { rate, gap_bits },
    })
}

/// Bit times of a frame with preamble, without gap.
fn frame_bits(rack: &TestSetup<'_>) -> f64 {
    f64::from((rack.size.bytes() + FrameSize::PREAMBLE_BYTES) * BYTE_BITS)
}

/// Mean gap of frames that follow each other at this rate, in bit times of the first port's medium.
fn gap_bits(rack: &TestSetup<'_>, fps: f64) -> f64 {
    rack.described(0).line_rate.bps() as f64 / fps - frame_bits(rack)
}
