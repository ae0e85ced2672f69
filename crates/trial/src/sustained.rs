//! What a device carries on and on, told from what it carries for one trial by filling a queue.
//!
//! A device that is offered more than it forwards, and has room for what is left over, loses nothing
//! until the room is used up. In such a trial frames arrive more slowly than they left: the last one
//! waits behind the whole queue, so that the arrivals take longer than the departures by the delay
//! that was built up.
//!
//! ```text
//! departures  |k k k k k k k k k k|            n frames in T: offered n/T
//! arrivals      |k  k  k  k  k  k  k  k  k  k|  the same n in T + growth: forwarded n/(T + growth)
//!                                  ^ here (n x growth / (T + growth)) frames stand in the queue
//! ```

use crate::{
    DelayVariation, Histogram, PortId, PortSent, Role, StreamReceived, StreamResult, TrialResult,
};
use units::{Duration, FrameRate, LineRate};

/// What one trial shows of the rate that a device keeps up, for the direction (all frames that one
/// port sent) whose arrivals took longest beside its departures.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sustained {
    /// Frames that came out over the time in which they did: the device does this and maybe more.
    pub rate_low: FrameRate,
    /// Frames that came out over the time in which they were sent: where a queue grew, no device keeps
    /// this up.
    pub rate_high: FrameRate,
    /// Frames that were still in the device for having had to wait, when the last one left the tester.
    pub standing_queue_frames: f64,
    /// By how much longer the frames arrived than they were sent.
    pub growth: Duration,
    /// `rate_low` over `rate_high`, at most 1.
    pub share: f64,
    /// The same with no more growth than the trial proves: of what delays vary by themselves the first and
    /// the last frame may have had the least and the most.
    pub share_at_most: f64,
    /// Whether delays say that a queue grew all through the trial: the first frame waited least, the
    /// last most, and the mean lies between. A single late frame or a delay that varies does not look
    /// so.
    pub is_buffered: bool,
}

/// Of the delay that a queue adds to the last frame the mean of all frames has half; where the queue
/// was full towards the end, more.
const MEAN_OF_GROWTH: f64 = 0.3;
/// A queue that grows steadily adds half of its growth to the mean, and a tenth more if the device slows down by much.
const MEAN_OF_STEADY: f64 = 0.55;
/// The last frame is the one that waited longest, but for what the delay varies by itself.
const LAST_OF_LONGEST: f64 = 0.9;
/// Two delays drawn evenly from a range differ by a third of it on average, and at most by all of it.
const RANGE_OF_DIFFERENCE: f64 = 3.0;
/// The largest mean of several trials of a few frames each is half of that range or more.
const RANGE_OF_LARGEST: f64 = 2.0;
/// Of few frames the differences may by chance be far smaller than the range: of three drawn evenly they
/// are less than a sixth as large once in a hundred, of six a third, of thirty three quarters.
const SMALL_SAMPLE: f64 = 10.0;
/// A double is known to its last bit by so many.
const BISECTIONS: u32 = 52;
/// So many differences tell by themselves what delays vary by.
const MANY: f64 = 30.0;

/// Into the device and out of it: a long frame of a mix takes longer on each, and frames behind it wait
/// for it.
const LINKS: u64 = 2;

/// What a trial shows of the rate that the device keeps up; `None` where too few frames came out. Frames
/// of a mix differ by as much as their length makes of `medium`, the slowest link: no queue needs to
/// have grown for that.
pub fn sustained(result: &TrialResult, medium: LineRate) -> Option<Sustained> {
    sustained_beside(result, medium, &[])
}

/// The same, where other trials have shown too how much delays differ from frame to frame: by chance a few
/// frames differ by less.
pub fn sustained_beside(
    result: &TrialResult,
    medium: LineRate,
    others: &[&TrialResult],
) -> Option<Sustained> {
    let directions = result.sent.iter().filter_map(|sent| {
        let port = sent.report.port;
        let others = others.iter().filter_map(|other| {
            let sent = other.sent.iter().find(|sent| sent.report.port == port)?;
            Direction::of(other, sent, medium)
        });
        let direction = Direction::of(result, sent, medium)?;
        let is_small = direction.intervals < MANY;
        let varies_at_least = if is_small { varies_in_all(others) } else { Duration::ZERO };
        Some(direction.sustained(sent.intended_rate, varies_at_least))
    });
    directions.min_by(|a, b| a.share.total_cmp(&b.share))
}

/// All frames of a trial that one port sent.
struct Direction<'r> {
    accounts: Vec<&'r StreamReceived>,
    lost: u64,
    /// Between frames that came in.
    intervals: f64,
    /// From the first departure to the last.
    sending: Duration,
    /// By how much longer they arrived than they were sent, beyond what lengths that differ make of it.
    growth: Duration,
    by_length: Duration,
    /// What lengths that differ make of the difference between one frame and the next, in the mean.
    step: Duration,
}

/// The test streams that a port sent, and what was received of them where it was expected.
pub(crate) fn accounts_from(
    result: &TrialResult,
    port: PortId,
) -> impl Iterator<Item = (&StreamResult, &StreamReceived)> {
    result.expected_accounts().filter_map(move |received| {
        let stream = result.streams.iter().find(|stream| stream.id == received.stream)?;
        (stream.from == port && stream.role == Role::Test).then_some((stream, received))
    })
}

impl<'r> Direction<'r> {
    /// `None` where too few frames came in.
    fn of(result: &'r TrialResult, sent: &PortSent, medium: LineRate) -> Option<Self> {
        let report = &sent.report;
        let accounts = accounts_from(result, report.port).map(|(_, received)| received);
        let accounts: Vec<_> = accounts.collect();
        let frames: u64 = accounts.iter().map(|received| received.account.unique).sum();
        let lost: u64 = accounts.iter().map(|received| received.missing.count).sum();
        let first = accounts.iter().filter_map(|received| received.account.first_at).min()?;
        let last = accounts.iter().filter_map(|received| received.account.last_at).max()?;
        let sending = report.last_departure?.since(report.first_departure?);
        let intervals = frames.checked_sub(1).filter(|intervals| *intervals > 0)? as f64;
        if sending == Duration::ZERO {
            return None;
        }
        let time_of = |bytes: u32| medium.time_of_bytes(u64::from(bytes)) * LINKS;
        let (by_length, step) = report.by_length.map_or((Duration::ZERO, Duration::ZERO), |mix| {
            (time_of(mix.longest_bytes), time_of(mix.step_bytes))
        });
        let growth = last.since(first).saturating_sub(sending + by_length);
        Some(Direction { accounts, lost, intervals, sending, growth, by_length, step })
    }

    fn sustained(&self, intended: FrameRate, varies_at_least: Duration) -> Sustained {
        let Direction { lost, intervals, sending, growth, by_length, .. } = *self;
        let delays = Delays::of(&self.accounts);
        // First and last frame tell the growth only as far as the delay does not vary by itself.
        let steps = self.varies_by();
        // Frames that keep their order, close to each other, share a long delay: they differ by little from
        // one to the next, while half of what they vary by, or more, is in their mean.
        let mean = delays.map_or(Duration::ZERO, |delays| delays.mean * 2);
        let varies = steps.max(mean.saturating_sub(growth + by_length * 2));
        // What delays vary by less than they grow from one frame to the next does not show.
        let hidden = Duration::from_secs_f64(growth.as_secs_f64() / intervals * few(intervals));
        // A full queue has one frame less, when the last one left, where its turn was to be lost.
        let slack = if lost > 0 { intended.interval() } else { Duration::ZERO };
        // Where frames have no transmit time the arrivals alone have to tell.
        let grew = delays.is_none_or(|delays| delays.grew(growth, slack));
        // A queue that was full for long has a long mean too, and frames were lost.
        let by_itself = if lost > 0 { steps } else { varies };
        let proven = growth.saturating_sub(by_itself.max(hidden));
        // Without loss the queue was never full: frames that waited longer in the mean did for another reason.
        let is_steady = lost > 0 || delays.is_none_or(|delays| delays.are_steady(growth, steps));
        let is_buffered = proven > Duration::ZERO && grew && is_steady;
        // What it did before the queue began to grow, from a bucket of tokens say, it does not keep up.
        let growing = delays.filter(|_| is_buffered).map_or(1.0, |d| d.growing_for(growth, varies));
        let most = growth + varies.max(hidden).max(varies_at_least);
        let arriving = sending + Duration::from_secs_f64(most.as_secs_f64() / growing);
        let rate_over = |time: Duration| FrameRate::from_fps_f64(intervals / time.as_secs_f64());
        let rate_low = rate_over(arriving);
        Sustained {
            rate_low,
            rate_high: rate_over(sending),
            standing_queue_frames: rate_low.fps() * growth.as_secs_f64(),
            growth,
            share: sending.as_secs_f64() / arriving.as_secs_f64(),
            share_at_most: sending.as_secs_f64() / (sending + proven).as_secs_f64(),
            is_buffered,
        }
    }

    /// The range that delays are drawn from by chance, in seconds: from their differences from frame to frame, without
    /// what a queue adds steadily and what lengths that differ make of it.
    fn range_s(&self) -> f64 {
        let mut variation = DelayVariation::default();
        self.accounts.iter().for_each(|received| variation.merge(&received.account.variation));
        let tick =
            self.accounts.first().map_or(0.0, |one| one.account.latency.tick().as_secs_f64());
        let mean = variation.mean_abs_ticks().unwrap_or(0.0) * tick;
        let steady = self.growth.as_secs_f64() / self.intervals;
        range_beside(steady, mean - self.step.as_secs_f64())
    }

    /// By how much delays vary by themselves.
    fn varies_by(&self) -> Duration {
        Duration::from_secs_f64(self.range_s() * few(self.intervals))
    }
}

/// By how much delays vary by themselves, told from several trials: behind a queue that never empties they do
/// not show how much.
fn varies_in_all<'r>(directions: impl Iterator<Item = Direction<'r>>) -> Duration {
    let largest = directions.map(|direction| direction.range_s()).fold(0.0, f64::max);
    // The largest of several means is nearer to the range than each of them.
    Duration::from_secs_f64(largest * RANGE_OF_LARGEST / RANGE_OF_DIFFERENCE)
}

/// The range of evenly drawn delays whose differences are as large as `mean` where a queue adds `steady` to each: of a
/// range r beyond `steady` s the mean is r/3 + s²/r - s³/(3 r²). A smaller range does not show.
fn range_beside(steady: f64, mean: f64) -> f64 {
    if mean <= steady {
        return 0.0;
    }
    let mean_of =
        |r: f64| r / RANGE_OF_DIFFERENCE + steady.powi(2) / r - (steady / r).powi(2) * steady / 3.0;
    let (mut low, mut high) = (steady, RANGE_OF_DIFFERENCE * mean);
    for _ in 0..BISECTIONS {
        let middle = (low + high) / 2.0;
        if mean_of(middle) < mean { low = middle } else { high = middle }
    }
    high
}

/// Delays of the frames of a direction, above the shortest one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delays {
    pub longest: Duration,
    mean: Duration,
}

impl Delays {
    pub fn of(accounts: &[&StreamReceived]) -> Option<Delays> {
        let mut all: Option<Histogram> = None;
        for received in accounts {
            match &mut all {
                Some(all) => all.merge(&received.account.latency),
                None => all = Some(received.account.latency.clone()),
            }
        }
        let all = all?;
        let min = all.min()?;
        let above = |delay: Duration| delay.saturating_sub(min);
        Some(Delays { longest: above(all.max()?), mean: above(all.mean()?) })
    }

    /// For which part of the trial a queue grew steadily that grew until its end: the mean of all delays is
    /// half of the last one, times that part.
    fn growing_for(&self, growth: Duration, varies: Duration) -> f64 {
        let mean = self.mean.saturating_sub(Duration::from_ps(varies.as_ps() / 2));
        (2.0 * mean.as_secs_f64() / growth.as_secs_f64()).clamp(MEAN_OF_GROWTH, 1.0)
    }

    /// Whether they are short enough in the mean for a queue that grew all the time, of frames that vary by so much.
    fn are_steady(&self, growth: Duration, varies: Duration) -> bool {
        let s = Duration::as_secs_f64;
        s(self.mean) <= MEAN_OF_STEADY * s(growth) + s(varies) / 2.0
    }

    /// Whether they are those of a queue that grew from the first frame to the last.
    fn grew(&self, growth: Duration, slack: Duration) -> bool {
        let s = Duration::as_secs_f64;
        s(growth) + s(slack) >= LAST_OF_LONGEST * s(self.longest)
            && s(self.mean) >= MEAN_OF_GROWTH * s(growth)
    }
}

/// By how much to widen what so few differences show.
fn few(intervals: f64) -> f64 {
    1.0 + SMALL_SAMPLE / intervals
}

impl Sustained {
    /// Share of frames that the device would lose if the trial went on for ever: what it lost, and what
    /// it only put off.
    pub fn loss_ratio(&self, lost: f64) -> f64 {
        1.0 - (1.0 - lost) * self.share
    }
    /// The same with no more put off than the trial proves.
    pub fn loss_ratio_at_least(&self, lost: f64) -> f64 {
        1.0 - (1.0 - lost) * self.share_at_most
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Deferred, Missing, Paused, PortReceived, Slips, StreamAccount, StreamId, TransmitReport,
        Validity,
    };
    use units::Instant;

    const TICK: Duration = Duration::from_ns(1);
    const MEDIUM: LineRate = LineRate::from_mbps(10);

    /// Frames at 1,000 a second, each of which takes as long as `delay` says of its number.
    fn trial(frames: u64, delay: impl Fn(u64) -> Duration) -> TrialResult {
        let rate = FrameRate::from_fps(1_000);
        let left = |k| Instant::ZERO + rate.departure(k);
        let mut account = StreamAccount::new(TICK);
        let mut before = None;
        for k in 0..frames {
            let ticks = delay(k).as_ns();
            account.unique += 1;
            account.latency.record(ticks);
            if let Some(before) = before {
                account.variation.record(before, ticks);
            }
            before = Some(ticks);
            let at = left(k) + delay(k);
            account.first_at.get_or_insert(at);
            account.last_at = account.last_at.max(Some(at));
        }
        let report = TransmitReport {
            port: PortId(0),
            intended_frames: frames,
            sent_frames: frames,
            sent_bytes: 0,
            sent_of_stream: vec![],
            first_departure: Some(left(0)),
            last_departure: Some(left(frames - 1)),
            lateness: Histogram::new(TICK),
            late_frames: 0,
            late_after: Duration::ZERO,
            slips: Slips::default(),
            paused: Paused::default(),
            deferred: Deferred::default(),
            by_length: None,
        };
        let stream = StreamResult {
            id: StreamId(1),
            name: "test".into(),
            role: Role::Test,
            from: PortId(0),
            mean_frame_size_bytes: 64.0,
            sent: frames,
            expected_ports: vec![PortId(1)],
            received: frames,
            lost: 0,
            misdirected: 0,
            duplicates: 0,
            reordered: 0,
            late: 0,
            corrupted: 0,
        };
        let received = StreamReceived {
            port: PortId(1),
            stream: StreamId(1),
            expected: true,
            unchecked: false,
            missing: Missing::default(),
            flows: crate::FlowCounts::default(),
            account,
        };
        TrialResult {
            label: String::new(),
            sent: vec![PortSent { report, intended_rate: rate, dropped_by_tester: 0 }],
            received: vec![PortReceived {
                port: PortId(1),
                streams: vec![received],
                foreign: 0,
                foreign_bytes: 0,
                corrupted: 0,
                forged: 0,
                leftovers: crate::Leftovers::default(),
            }],
            counters: vec![],
            streams: vec![stream],
            started_at: Instant::ZERO,
            drained_after: Duration::ZERO,
            action: None,
            device: vec![],
            pressure: crate::Pressure::default(),
            balance: vec![],
            places: vec![],
            clocks: vec![],
            validity: Validity::Valid,
            notes: vec![],
        }
    }

    fn shown(frames: u64, delay: impl Fn(u64) -> Duration) -> Sustained {
        sustained(&trial(frames, delay), MEDIUM).unwrap()
    }

    /// A device of 800 a second: frame k leaves it at (k + 1) x 1.25 ms and came at k x 1 ms. Of 1,001
    /// frames in 1 s 800 are out when the last comes, 200 wait and one is in service.
    #[test]
    fn what_waits_at_the_end_is_not_kept_up() {
        let shown = shown(1_001, |k| Duration::from_us(250 * k + 1_250));
        // A delay that varied by the 0.25 ms that each frame waits longer than the one before would not show:
        // of 1.25 s that is a part in 5,000.
        assert!(shown.rate_low.fps() <= 800.0, "{shown:?}");
        assert!(shown.rate_low.fps() > 800.0 * (1.0 - 1.02 / 5_000.0), "{shown:?}");
        assert!((shown.rate_high.fps() - 1_000.0).abs() < 0.01, "{shown:?}");
        assert!((shown.standing_queue_frames - 200.0).abs() < 0.1, "{shown:?}");
        assert_eq!(shown.growth, Duration::from_ms(250));
        assert!(shown.is_buffered);
        let in_the_end = shown.loss_ratio_at_least(0.0);
        // Less what does not show: of 250 ms of growth a part in 990.
        let proven = 250.0 * (1.0 - 1.01 / 1_000.0);
        let expected = 1.0 - 1_000.0 / (1_000.0 + proven);
        assert!((in_the_end - expected).abs() < 1e-5, "close to a fifth is lost: {in_the_end}");
    }

    /// 200 tokens are there at first, and 800 more come each second: the queue grows for as long as the
    /// trial goes on after 1 s, for 1 s of 2. Then 800 + 200 / 2 a second came out, 800 are kept up.
    #[test]
    fn a_bucket_of_tokens_is_not_kept_up_either() {
        let shown = shown(2_001, |k| Duration::from_us(250 * k.saturating_sub(1_000) + 10));
        assert!(!shown.is_buffered, "half of the trial went by without a queue: {shown:?}");
        let longer =
            super::tests::shown(10_001, |k| Duration::from_us(250 * k.saturating_sub(1_000) + 10));
        assert!(longer.is_buffered);
        assert!((longer.rate_low.fps() - 800.0).abs() < 5.0, "{longer:?}");
    }

    #[test]
    fn a_steady_device_keeps_everything_up() {
        let shown = shown(1_000, |_| Duration::from_ms(300));
        assert_eq!((shown.growth, shown.share), (Duration::ZERO, 1.0));
        assert_eq!(shown.rate_low, shown.rate_high);
        assert!(!shown.is_buffered);
    }

    /// The last frame is held up for 20 ms, or delays go up and down by 2 ms: no queue grew.
    #[test]
    fn neither_an_accident_nor_a_delay_that_varies_is_a_queue() {
        let accident = |k| Duration::from_ms(if k == 999 { 21 } else { 1 });
        assert!(!shown(1_000, accident).is_buffered);
        let varies = |k: u64| Duration::from_us(1_000 + 500 * (k * 7 % 5));
        let shown = shown(1_000, varies);
        assert!(!shown.is_buffered, "{shown:?}");
        // From frame to frame by 2, 2, 3, 2 and 3 steps, 1.2 ms on average; thrice that, and the 1.5 ms by
        // which the last one took longer than the first, of 999 ms.
        // And a hundredth more, for differences of 1,000 frames.
        assert!((shown.share - 999.0 / (999.0 + 3.6 * 1.01 + 1.5)).abs() < 1e-5, "{shown:?}");
    }

    /// Delays vary by up to 2 ms while frames keep their order: they come in bunches, each with the slowest
    /// of it. The first one took least and the last one most, but nothing grew.
    #[test]
    fn a_bunch_at_the_end_is_not_a_queue() {
        let in_bunches = |k: u64| match k {
            0 => Duration::ZERO,
            k => Duration::from_us(2_000 - 500 * ((1_000 - k) % 3)),
        };
        let shown = shown(1_001, in_bunches);
        assert!(shown.growth == Duration::from_ms(2) && !shown.is_buffered, "{shown:?}");
        assert_eq!(shown.loss_ratio_at_least(0.0), 0.0);
        assert!(shown.share < 1.0, "nor is it known that nothing grew");
    }

    /// Of six frames each took 0.4 ms longer than the one before, but delays vary by 1 ms: the last one
    /// might have taken 3 ms longer than the first one, the queue having grown by so much.
    #[test]
    fn few_frames_that_drift_hide_what_their_delay_varies_by() {
        let shown = shown(6, |k| Duration::from_us(400 * k));
        let grown = 5.0 / (5.0 + 3.0);
        assert!(shown.share <= grown, "{shown:?}");
        assert!(shown.share_at_most > shown.share);
    }

    /// Delays of a range of 3 ms, and what a queue adds to each: the mean difference by a sum over all that may be.
    #[test]
    fn the_range_is_told_through_what_a_queue_adds() {
        for steady in [0.0, 0.5e-3, 1e-3, 2e-3, 2.9e-3] {
            // The difference of two even draws is x with a density of (r - |x|) / r².
            let density = |x: f64| (3e-3 - x.abs()) / 9e-6 * 1e-6;
            let mean: f64 = (-3_000..3_000)
                .map(|k| (f64::from(k) + 0.5) * 1e-6)
                .map(|x| (x + steady).abs() * density(x))
                .sum();
            let range = range_beside(steady, mean);
            assert!((range / 3e-3 - 1.0).abs() < 1e-3, "{steady}: {range}");
        }
        assert_eq!(range_beside(1e-3, 1e-3), 0.0);
    }

    /// 1,000 trials of 12 frames. Each waits 0.1 ms longer than the one before, so that 909.1 a second come out,
    /// and takes up to 0.3 ms by chance: what delays vary by is told through what the queue adds.
    #[test]
    fn a_queue_that_grows_hides_little_of_what_delays_vary_by() {
        let too_high = |seed: &u64| {
            let by_chance = |k: u64| {
                let mixed = (seed * 100 + k).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                ((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32) % 300
            };
            let shown = shown(12, |k| Duration::from_us(100 * k + by_chance(k)));
            shown.rate_low.fps() > 1e3 / 1.1
        };
        let too_high = (0..1_000).filter(too_high).count();
        assert!(too_high <= 2, "{too_high}");
    }

    /// Delays vary by 1 ms among frames that keep their order: most wait for a slow one before them, for 0.7 ms in the
    /// mean. The first one took least and the last one most, and yet nothing grew.
    #[test]
    fn frames_that_wait_long_in_the_mean_are_no_queue_that_grew() {
        let in_order = |k: u64| match k {
            0 => Duration::ZERO,
            k => Duration::from_us(1_000 - 20 * ((1_000 - k) % 31)),
        };
        let shown = shown(1_001, in_order);
        assert_eq!(shown.growth, Duration::from_ms(1));
        assert!(!shown.is_buffered, "{shown:?}");
    }
}
