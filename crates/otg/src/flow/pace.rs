//! How fast frames of a flow leave, and how many.

use super::Refusal;
use crate::model::{
    Flow, FlowBurst, FlowDelay, FlowDelayChoice, FlowDurationChoice,
    FlowDurationInterBurstGapChoice, FlowRate, FlowRateChoice,
};
use units::{Duration, FrameRate, FrameSize, LineRate};
use wire::signature::Form;

/// The gap that every frame has at least; the specification's default, and the only one.
const GAP_BYTES: u32 = 12;

/// Faster than any port.
const RATE_MAX_FPS: f64 = 1e9;

/// How fast, and how many.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pace {
    /// Frames a second, within a burst where there are bursts.
    pub rate: FrameRate,
    /// In all; none for as long as one likes.
    pub frames: Option<u64>,
    /// Whether `frames` stands for a time: what the tester does not send in it is not sent later.
    pub by_time: bool,
    /// Frames of a burst, and time from one burst's start to the next one's.
    pub bursts: Option<(u64, Duration)>,
}

/// Whether frames of this form bear a transmit time.
pub fn measures_latency(form: Option<Form>) -> bool {
    form.is_some_and(|form| form.time_bits() > 0)
}

impl Pace {
    /// Of a flow with frames of these sizes on this line.
    ///
    /// # Errors
    /// Where it asks for a gap or a delay, or the rate is none of a port's.
    pub fn of(flow: &Flow, (sizes, line): (&[u32], LineRate), path: &str) -> Result<Pace, Refusal> {
        let rate = rate(&flow.rate, sizes, line);
        if rate.is_zero() {
            return Err(Refusal::new(
                &format!("{path}.rate"),
                "less than one frame a second".into(),
            ));
        }
        if rate.fps() > RATE_MAX_FPS {
            return Err(Refusal::new(
                &format!("{path}.rate"),
                "more than 10^9 frames a second".into(),
            ));
        }
        let plain = Pace { rate, frames: None, by_time: false, bursts: None };
        let path = format!("{path}.duration");
        let duration = &flow.duration;
        match duration.choice {
            FlowDurationChoice::Continuous => {
                let own = duration.continuous.clone().unwrap_or_default();
                refuse_gap((own.gap, &own.delay), &format!("{path}.continuous"))?;
                Ok(plain)
            }
            FlowDurationChoice::FixedPackets => {
                let own = duration.fixed_packets.clone().unwrap_or_default();
                refuse_gap((own.gap, &own.delay), &format!("{path}.fixed_packets"))?;
                Ok(Pace { frames: Some(own.packets.into()), ..plain })
            }
            FlowDurationChoice::FixedSeconds => {
                let own = duration.fixed_seconds.clone().unwrap_or_default();
                let path = format!("{path}.fixed_seconds");
                refuse_gap((own.gap, &own.delay), &path)?;
                if own.seconds > 1e6 {
                    let what = "at most 1000000 seconds are possible; use continuous".into();
                    return Err(Refusal::new(&format!("{path}.seconds"), what));
                }
                let frames = rate.frames_in(Duration::from_secs_f64(own.seconds));
                Ok(Pace { frames: Some(frames), by_time: true, ..plain })
            }
            FlowDurationChoice::Burst => {
                let own = duration.burst.clone().unwrap_or_default();
                refuse_gap((own.gap, &FlowDelay::default()), &format!("{path}.burst"))?;
                let bursts = Some((own.packets.into(), burst_period(&own, rate, line)));
                let frames = u64::from(own.bursts) * u64::from(own.packets);
                // 0 bursts go on.
                Ok(Pace { frames: Some(frames).filter(|frames| *frames > 0), bursts, ..plain })
            }
        }
    }

    /// The part of one of `sharing` that take turns; `place` is its number.
    pub fn shared(self, sharing: u64, place: u64) -> Pace {
        let part = |frames: u64| frames / sharing + u64::from(place < frames % sharing);
        Pace { rate: self.rate.scaled(1.0 / sharing as f64), frames: self.frames.map(part), ..self }
    }
}

fn refuse_gap((gap, delay): (u32, &FlowDelay), path: &str) -> Result<(), Refusal> {
    if gap != GAP_BYTES {
        let what = format!("the gap follows from the rate; leave it out, or write {GAP_BYTES}");
        return Err(Refusal::new(&format!("{path}.gap"), what));
    }
    let delay = match delay.choice {
        FlowDelayChoice::Bytes => delay.bytes,
        FlowDelayChoice::Nanoseconds => delay.nanoseconds,
        FlowDelayChoice::Microseconds => delay.microseconds,
    };
    match delay {
        Some(delay) if delay > 0.0 => {
            let what = "netanvil begins all flows at once; leave it out".into();
            Err(Refusal::new(&format!("{path}.delay"), what))
        }
        _ => Ok(()),
    }
}

/// Bits are those on the medium, with preamble and gap: the least rate that the specification allows, 672 bit/s,
/// is one frame of 64 bytes a second.
fn rate(rate: &FlowRate, sizes: &[u32], line: LineRate) -> FrameRate {
    let bytes: u64 =
        sizes.iter().map(|size| u64::from(FrameSize::from_bytes(*size).bytes_on_medium())).sum();
    let bits = bytes as f64 * 8.0 / sizes.len().max(1) as f64;
    let of_bits = |rate: Option<u64>, unit: f64| rate.unwrap_or_default() as f64 * unit / bits;
    let fps = match rate.choice {
        FlowRateChoice::Pps => return FrameRate::from_fps(rate.pps.unwrap_or_default()),
        FlowRateChoice::Bps => of_bits(rate.bps, 1.0),
        FlowRateChoice::Kbps => of_bits(rate.kbps, 1e3),
        FlowRateChoice::Mbps => of_bits(rate.mbps, 1e6),
        FlowRateChoice::Gbps => of_bits(rate.gbps.map(u64::from), 1e9),
        FlowRateChoice::Percentage => {
            line.bps() as f64 * rate.percentage.unwrap_or_default() / 100.0 / bits
        }
    };
    FrameRate::from_fps_f64(fps)
}

/// From one burst's start to the next one's.
fn burst_period(burst: &FlowBurst, rate: FrameRate, line: LineRate) -> Duration {
    let gap = &burst.inter_burst_gap;
    let ns = match gap.choice {
        FlowDurationInterBurstGapChoice::Bytes => {
            gap.bytes.unwrap_or_default() * 8e9 / line.bps().max(1) as f64
        }
        FlowDurationInterBurstGapChoice::Nanoseconds => gap.nanoseconds.unwrap_or_default(),
        FlowDurationInterBurstGapChoice::Microseconds => gap.microseconds.unwrap_or_default() * 1e3,
    };
    let gap = Duration::from_secs_f64((ns / 1e9).min(1e6));
    rate.departure(burst.packets.into()) + gap
}
