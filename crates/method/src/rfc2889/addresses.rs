//! Address caching capacity and address learning rate (RFC 2889 sections 5.7 and 5.8): how many
//! addresses a device learns, and how fast.

use crate::Verdict;
use crate::bench::{Bench, Ran};
use crate::chassis::{ChassisConditions, ChassisTest, Draft, TestSetup};
use crate::{RunError, SuiteConfig};
use serde::{Deserialize, Serialize};
use traffic::modifier::Field;
use trial::{InvalidReason, Schedule, Segment, StreamId, Waits};
use units::{Duration, FrameRate};
use wire::learning;

/// How many addresses a device learns, or how fast.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct AddressResult {
    /// Under which conditions.
    pub conditions: ChassisConditions,
    /// The most addresses, or the highest rate in addresses a second, with which all were learned;
    /// `None` where not even the lowest was.
    pub found: Option<u64>,
    /// The least that failed; the truth lies below it.
    pub failed: Option<u64>,
    /// Whether the search ended at the highest value tried and not at the device's limit.
    pub at_least: bool,
    /// Why it ended before it was decided, where it did.
    #[serde(default)]
    pub ended: Option<String>,
    /// How long the tester waited for addresses to age out, before each trial.
    pub ageing: Duration,
    /// Every trial, in order.
    pub trials: Vec<AddressTrial>,
    /// Why nothing is known; empty where something is.
    pub invalid: Vec<String>,
}

/// One trial: addresses are taught, then a frame is sent to each.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct AddressTrial {
    /// How many.
    pub addresses: u64,
    /// Learning frames a second.
    pub learning_rate: FrameRate,
    /// Learning frames that came through to the test port.
    pub learning_received: u64,
    /// Frames sent from the test port, one to each address.
    pub offered: u64,
    /// Those that came out at the learning port.
    pub received: u64,
    /// Frames that came out at the test port and should not have.
    pub flood_test_port: u64,
    /// The same at the learning port.
    pub flood_learning_port: u64,
    /// Frames that the device flooded to the monitoring port.
    pub flood_monitor_port: u64,
    /// Whether all were learned; `None` where the tester fell short.
    pub learned: Option<bool>,
}

/// Frames of addresses may come so much more slowly than intended, as a share: the pace of those that are tried is no
/// condition of the test, and of those that are taught the rate that was reached is stated.
const SLOWER: f64 = 0.05;

/// The three ports (section 5.7.2): addresses are behind the learning port, frames for them come
/// from the test port, and what is not known floods to the monitoring port.
const LEARNING: usize = 0;
const TEST: usize = 1;
const MONITOR: usize = 2;

/// Address caching capacity: the most addresses that are learned without a flood or a loss. A device that loses frames
/// of addresses that it knows has no capacity to find: loss is no full table then.
pub fn caching(bench: &mut Bench<'_>, rack: &TestSetup<'_>) -> Result<AddressResult, RunError> {
    let config = &rack.config.chassis.addresses;
    let mut search = AddressSearch::new(rack, ChassisTest::AddressCaching)?;
    let rate = within_medium(rack, config.learning_fps);
    let (mut low, mut high, mut n) = (0, config.max_addresses, config.initial_addresses);
    loop {
        match search.trial(bench, n, rate)? {
            Some(true) => low = n,
            Some(false) => high = n,
            None => break,
        }
        if let Some(why) = search.lost_though_known(high) {
            // What was lost tells nothing of the table; the last pass does.
            search.invalid.push(why);
            high = config.max_addresses;
            break;
        }
        n = low + (high - low) / 2;
        if high - low < 2 {
            break;
        }
    }
    let result = search.result(bench, low, high, config.max_addresses);
    if result.failed.is_some() && result.ended.is_none() {
        rack.tables.addresses.set(result.found);
    }
    Ok(result)
}

/// Address learning rate: the highest rate of new addresses at which all are learned.
pub fn learning_rate(
    bench: &mut Bench<'_>,
    rack: &TestSetup<'_>,
) -> Result<AddressResult, RunError> {
    let config = &rack.config.chassis.addresses;
    let mut search = AddressSearch::new(rack, ChassisTest::AddressLearning)?;
    let highest = within_medium(rack, config.max_learning_fps).fps_truncated();
    let beyond = highest + config.rate_resolution_fps;
    // No more than the table holds (section 5.8).
    let room = rack.tables.addresses.get().unwrap_or(u64::MAX);
    let addresses = config.rate_addresses.min(room.max(1));
    let (mut low, mut high, mut fps) = (0, beyond, highest);
    while high - low > config.rate_resolution_fps {
        match search.trial(bench, addresses, FrameRate::from_fps(fps))? {
            Some(true) => low = fps,
            Some(false) => high = fps,
            None => break,
        }
        fps = (low + (high - low) / 2).max(1);
    }
    Ok(search.result(bench, low, high, beyond))
}

struct AddressSearch<'r, 'a> {
    rack: &'r TestSetup<'a>,
    test: ChassisTest,
    trials: Vec<AddressTrial>,
    invalid: Vec<String>,
}

impl<'r, 'a> AddressSearch<'r, 'a> {
    fn new(rack: &'r TestSetup<'a>, test: ChassisTest) -> Result<Self, RunError> {
        if rack.ports < 3 {
            return Err(RunError::Config(format!("{test} needs 3 ports or more")));
        }
        Ok(AddressSearch { rack, test, trials: vec![], invalid: vec![] })
    }

    fn result(self, bench: &mut Bench<'_>, low: u64, high: u64, never_tried: u64) -> AddressResult {
        // A full table floods whatever the next test sends.
        bench.let_age(forgotten_after(self.rack.config));
        // What was decided before stands.
        let is_decided = low > 0 && !self.invalid.is_empty();
        let ended = is_decided.then(|| self.invalid.join("; "));
        let invalid = if is_decided { vec![] } else { self.invalid };
        AddressResult {
            conditions: self.rack.with_ports(3).conditions(self.test),
            found: (low > 0).then_some(low),
            failed: (high < never_tried).then_some(high),
            at_least: low > 0 && high == never_tried,
            ended,
            ageing: ageing(self.rack.config),
            trials: self.trials,
            invalid,
        }
    }

    /// Whether so many addresses are learned when they come at this rate.
    fn trial(
        &mut self,
        bench: &mut Bench<'_>,
        addresses: u64,
        rate: FrameRate,
    ) -> Result<Option<bool>, RunError> {
        self.check_time(addresses, rate)?;
        bench.let_age(forgotten_after(self.rack.config));
        let taught = self.teach(bench, addresses, rate)?;
        let tested = self.test(bench, addresses)?;
        let invalid = [not_only_slow(&taught), not_only_slow(&tested)].concat();
        let flood = |port: usize| {
            let id = self.rack.port(port).port;
            let here = tested.result.received.iter().find(|received| received.port == id);
            here.map_or(0, |received| received.flood_count())
        };
        let (offered, received) =
            (tested.result.offered_frames(), tested.result.forwarded_frames());
        let learned = flood(MONITOR) == 0 && received == offered;
        self.trials.push(AddressTrial {
            addresses,
            learning_rate: rate,
            learning_received: taught.result.streams.iter().map(|stream| stream.received).sum(),
            offered,
            received,
            flood_test_port: flood(TEST),
            flood_learning_port: flood(LEARNING),
            flood_monitor_port: flood(MONITOR),
            learned: invalid.is_empty().then_some(learned),
        });
        let outcome = invalid.is_empty().then_some(learned);
        self.invalid.extend(invalid);
        Ok(outcome)
    }

    /// Frames that were lost though the table has room: learning frames that did not come through, to an address
    /// that the device knows, and no more floods than those explain; or a number that failed by loss alone, though
    /// as many addresses were known in another trial.
    fn lost_though_known(&self, high: u64) -> Option<String> {
        let last = self.trials.last().filter(|trial| trial.learned == Some(false))?;
        let untaught = last.addresses.saturating_sub(last.learning_received);
        if untaught > 0 && last.flood_monitor_port <= untaught {
            return Some(format!(
                "{untaught} of {} learning frames did not come through, which a full table does not explain: the \
                 device loses frames; try a lower addresses.learning_fps",
                last.addresses
            ));
        }
        // Each frame went to an address of its own, and only what is known is not flooded.
        let known = |trial: &AddressTrial| trial.received.saturating_sub(trial.flood_monitor_port);
        let most = self.trials.iter().max_by_key(|trial| known(trial))?;
        (last.flood_monitor_port == 0 && known(most) >= high).then(|| {
            format!(
                "{} of {} frames were lost, though {} addresses were known in another trial: no full table",
                last.offered - last.received,
                last.offered,
                known(most)
            )
        })
    }

    /// No address may age out before its turn comes.
    fn check_time(&self, addresses: u64, rate: FrameRate) -> Result<(), RunError> {
        let test_rate = within_medium(self.rack, self.rack.config.chassis.addresses.test_fps);
        let sending = rate.departure(addresses) + test_rate.departure(addresses);
        let waits = Duration::from_secs_f64(self.rack.config.chassis.addresses.digest_s + 1.0);
        let (needed, ageing) = (sending + waits, ageing(self.rack.config));
        if needed < ageing {
            return Ok(());
        }
        Err(RunError::Config(format!(
            "{addresses} addresses take {needed} to be learned and tried, {waits} of it in waits, and the \
             device forgets them after {ageing}: set a longer ageing time on the device and here (addresses.ageing_s), or \
             higher rates (addresses.learning_fps, addresses.test_fps)"
        )))
    }

    /// The learning port sends a frame from each address to the test port, which has made itself
    /// known.
    fn teach(
        &self,
        bench: &mut Bench<'_>,
        addresses: u64,
        rate: FrameRate,
    ) -> Result<Ran, RunError> {
        let label = format!("{}: {addresses} addresses learned at {rate:.0}", self.test);
        let digest = Duration::from_secs_f64(self.rack.config.chassis.addresses.digest_s);
        self.run(bench, &label, (rate, digest), &|draft, rack| {
            let known = vec![rack.traffic.tagged(learning::bridge(rack.port(TEST).mac))];
            draft.say(
                rack,
                TEST,
                known,
                Duration::from_secs_f64(rack.config.trial.learning_wait_s),
            );
            let signature = (draft.key(), draft.next_id());
            let sources = (Field::EthSrc, LEARNING, addresses);
            let frames = rack.frames_of_addresses((LEARNING, TEST), sources, signature)?;
            let id = draft.stream(rack, LEARNING, &[TEST], frames);
            draft.send(LEARNING, once(rate, addresses), vec![id]);
            Ok(())
        })
    }

    /// The test port sends a frame to each address.
    fn test(&self, bench: &mut Bench<'_>, addresses: u64) -> Result<Ran, RunError> {
        let rate = within_medium(self.rack, self.rack.config.chassis.addresses.test_fps);
        let label = format!("{}: a frame to each of {addresses} addresses", self.test);
        self.run(bench, &label, (rate, Duration::ZERO), &|draft, rack| {
            let signature = (draft.key(), draft.next_id());
            let destinations = (Field::EthDst, LEARNING, addresses);
            let frames = rack.frames_of_addresses((TEST, LEARNING), destinations, signature)?;
            let id: StreamId = draft.stream(rack, TEST, &[LEARNING], frames);
            draft.send(TEST, once(rate, addresses), vec![id]);
            Ok(())
        })
    }

    fn run(
        &self,
        bench: &mut Bench<'_>,
        label: &str,
        (rate, settle): (FrameRate, Duration),
        build: &dyn Fn(&mut Draft, &TestSetup<'_>) -> Result<(), RunError>,
    ) -> Result<Ran, RunError> {
        let rack = &self.rack.with_ports(3);
        // No longer than need be: addresses must not age out.
        let waits = Waits::fixed(Duration::from_ms(100), settle);
        rack.run_with(bench, self.test, label, rate, waits, &|draft| build(draft, rack))
    }
}

fn ageing(config: &SuiteConfig) -> Duration {
    Duration::from_secs_f64(config.chassis.addresses.ageing_s)
}

/// "Allow the device to age out": a little longer than it takes.
fn forgotten_after(config: &SuiteConfig) -> Duration {
    ageing(config) + Duration::from_secs(1)
}

/// About how long the test takes: a bisection down to one address, with a wait for each trial.
pub fn caching_estimate(config: &SuiteConfig) -> Duration {
    let addresses = &config.chassis.addresses;
    let (most, rate) = (addresses.max_addresses as f64, addresses.learning_fps as f64);
    estimate(config, most.log2(), most / 2.0 / rate)
}

/// The same of the rate.
pub fn learning_rate_estimate(config: &SuiteConfig) -> Duration {
    let addresses = &config.chassis.addresses;
    let steps = addresses.max_learning_fps as f64 / addresses.rate_resolution_fps.max(1) as f64;
    // The rate found may be any up to the highest: the geometric mean of 1 and that.
    let taught_s = addresses.rate_addresses as f64 / (addresses.max_learning_fps as f64).sqrt();
    estimate(config, steps.log2(), taught_s)
}

fn estimate(config: &SuiteConfig, trials: f64, taught_s: f64) -> Duration {
    let addresses = &config.chassis.addresses;
    let waits_s = addresses.digest_s + 0.2 + config.trial.learning_wait_s;
    let trial = forgotten_after(config) + Duration::from_secs_f64(2.0 * taught_s + waits_s);
    trial * (trials.ceil().max(0.0) as u64 + 1)
}

/// So many frames a second, or as many as the medium takes.
fn within_medium(rack: &TestSetup<'_>, fps: u64) -> FrameRate {
    FrameRate::from_fps(fps.min(rack.theoretical_max().fps_truncated()).max(1))
}

/// What speaks against a trial of addresses but that its frames came a little more slowly: all of them came.
fn not_only_slow(ran: &Ran) -> Vec<String> {
    let is_only_slow = |reason: &&InvalidReason| {
        matches!(reason, InvalidReason::Shortfall { unsent_frames: 0, intended, offered, .. }
            if offered.fps() >= (1.0 - SLOWER) * intended.fps())
    };
    let all = if ran.verdict == Verdict::Invalid { ran.result.invalid_reasons() } else { &[] };
    all.iter().filter(|reason| !is_only_slow(reason)).map(ToString::to_string).collect()
}

/// Each frame of a stream once.
fn once(rate: FrameRate, frames: u64) -> Schedule {
    Schedule { segments: vec![Segment::constant(rate, frames)] }
}
