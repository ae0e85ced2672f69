//! The configuration of a suite: what the TOML file and the flags map to. Every number has the
//! RFC's value or the quick profile's (see [`Profile`]) unless it is overridden.

use crate::chassis::ChassisConfig;
use crate::harvard::HarvardConfig;
use crate::harvard::y1989::Harvard1989Config;
use crate::search_config::{SearchConfig, SearchPolicy};
use crate::traffic::{Destinations, IPV6_PREFIXES, TrafficConfig};
use crate::{Direction, Modifier, Pattern, Profile, Protocol, RunError, TestKind, ipv6_traffic};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use trial::{ValidityLimits, Waits};
use units::{Duration, FrameSize};
use wire::signature::RunKey;
use wire::size::SizePattern;

/// Everything about a run of the suite but the ports and the device.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SuiteConfig {
    /// Whose numbers are meant where none are given.
    pub profile: Profile,
    /// Whose tests.
    pub method: Method,
    /// Which tests of RFC 2544, run in the order of its section 26.
    pub tests: Vec<TestKind>,
    /// Frame sizes in bytes with FCS, or mixes.
    pub frame_sizes: Vec<SizePattern>,
    /// Which ports send.
    pub direction: Direction,
    /// Which of them send to which: one pair, pairs, or as RFC 2544 section 16 has it.
    pub pattern: Pattern,
    /// Frames of a burst, in throughput and frame loss rate (RFC 2544 section 21); 1 for a constant load.
    pub burst_frames: u64,
    /// What is mixed in; the whole suite is run once for each (RFC 2544 section 11).
    pub modifiers: Vec<Modifier>,
    /// Seed of everything random.
    pub seed: u64,
    /// Key of the test frames, so that nobody else's are taken for the run's; none to have it of the
    /// seed, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_key: Option<RunKey>,
    /// What is sent.
    pub traffic: TrafficConfig,
    /// How a trial is run.
    pub trial: TrialConfig,
    /// How a search is made.
    pub search: SearchConfig,
    /// The tester's measurement of itself.
    pub self_test: SelfTestConfig,
    /// RFC 2544 section 26.1.
    pub throughput: ThroughputConfig,
    /// RFC 2544 section 26.2, RFC 8219 section 7.2.
    pub latency: LatencyConfig,
    /// RFC 8219 section 7.3.1.
    pub pdv: PdvConfig,
    /// RFC 8219 section 7.3.2.
    pub ipdv: IpdvConfig,
    /// RFC 2544 section 26.3.
    pub frame_loss: FrameLossConfig,
    /// RFC 9004.
    pub back_to_back: BackToBackConfig,
    /// RFC 2544 section 26.5.
    pub recovery: RecoveryConfig,
    /// RFC 6201.
    pub reset: ResetConfig,
    /// The tests of many ports.
    pub chassis: ChassisConfig,
    /// The Harvard tests of 1989 and 1990.
    pub harvard: HarvardConfig,
    /// The router tests of 1989.
    pub harvard_1989: Harvard1989Config,
    /// Sections of tests that were registered from outside ([`crate::Suite::more`]), by the test's id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub own: BTreeMap<String, Value>,
}

/// Whose tests are run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Those of RFC 2544, as later RFCs have them.
    #[default]
    Rfc2544,
    /// The router tests of 1989.
    #[serde(rename = "harvard-1989")]
    Harvard1989,
}

/// How a trial is run (RFC 2544 sections 23 and 24).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrialConfig {
    /// Length of a trial that decides a result, in seconds.
    pub duration_s: f64,
    /// Wait after learning frames, in seconds.
    pub learning_wait_s: f64,
    /// Wait after routing updates, in seconds; the learning frames and their wait come after it.
    pub routing_wait_s: f64,
    /// Wait for residual frames after the last one was sent, in seconds: at least so long where
    /// frames are missing, and on until nothing has arrived for as long as the slowest frame took.
    pub drain_s: f64,
    /// At most so long.
    pub drain_max_s: f64,
    /// Wait for the device to settle before the next trial, in seconds.
    pub settle_s: f64,
    /// How often a trial is repeated, at most, in which the tester did not keep up; only once
    /// where it fell short by a tenth, and not at all where by half.
    pub invalid_retries: u32,
    /// Whether the IP and transport checksums of received test frames are verified; a frame with a bad
    /// one is corrupted, and lost. Without it only the signature at a frame's end is: on the machine of
    /// a device under test the work would be taken from the device.
    pub verify_checksums: bool,
    /// Whether hosts make themselves known again during trials longer than their keep-alive's
    /// period, out of the ports that only receive.
    pub keep_alives: bool,
    /// When the tester counts as not having kept up.
    pub limits: ValidityLimits,
}

/// The tester's measurement of itself.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SelfTestConfig {
    /// Length of its trials, in seconds.
    pub trial_duration_s: f64,
    /// Resolution of its searches, in percent of the upper bound.
    pub resolution_percent: f64,
    /// Rate of the latency floor's trial at low load, in percent of the maximum found.
    pub low_rate_percent: f64,
    /// Rate of its trial at high load.
    pub high_rate_percent: f64,
}

/// Throughput.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ThroughputConfig {
    /// Further searches in which so much loss passes, in percent. Their results are not RFC 2544
    /// throughput and are labelled so.
    pub loss_tolerances_percent: Vec<f64>,
    /// How often the rate found is tried again with full-length trials; 0 only where the search
    /// itself used full-length ones.
    pub final_trials: u32,
}

/// Latency.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LatencyConfig {
    /// Trials for each frame size.
    pub repetitions: u32,
    /// Length of a trial, in seconds.
    pub stream_s: f64,
    /// When the first frame is tagged, in seconds from the start.
    pub first_tag_s: f64,
    /// Tagged frames of a trial, from `first_tag_s` on; the first is RFC 2544's.
    pub tags: u64,
}

/// Packet delay variation.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PdvConfig {
    /// Trials for each frame size.
    pub repetitions: u32,
    /// Length of a trial, in seconds.
    pub stream_s: f64,
}

/// Inter-packet delay variation.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IpdvConfig {
    /// Trials for each frame size.
    pub repetitions: u32,
    /// Length of a trial, in seconds.
    pub stream_s: f64,
    /// Frames in a row whose delays are kept one by one, for the median; minimum and maximum are of
    /// every frame.
    pub median_frames: u64,
}

/// Frame loss rate.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FrameLossConfig {
    /// From one load to the next, in percent of the maximum.
    pub step_percent: f64,
}

/// Back-to-back frames.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BackToBackConfig {
    /// Complete, independent searches for each frame size.
    pub repetitions: u32,
    /// Smallest step of a search, in frames.
    pub step_frames: u64,
    /// Resolution of a search in percent of the upper bound, where that is more than the step.
    pub resolution_percent: f64,
    /// Longest burst tried, in seconds at the burst rate.
    pub limit_s: f64,
    /// What that is raised to, by steps of a factor of 4, where no burst loses a frame (RFC 9004
    /// section 6.2).
    pub highest_limit_s: f64,
    /// Wait after a burst has been received, in seconds.
    pub wait_s: f64,
}

/// System recovery.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RecoveryConfig {
    /// Repetitions.
    pub repetitions: u32,
    /// Overload, in percent of the throughput.
    pub overload_percent: f64,
    /// How long it lasts, in seconds.
    pub overload_s: f64,
    /// How long frames are sent at half that rate afterwards, in seconds.
    pub observe_s: f64,
}

/// Reset.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ResetConfig {
    /// What is done to the device.
    pub kinds: Vec<ResetKind>,
    /// Repetitions of each.
    pub repetitions: u32,
    /// How long traffic flows before, in seconds.
    pub before_s: f64,
    /// How long it flows afterwards, in seconds: longer than the device needs.
    pub after_s: f64,
    /// How long a link stays down, in seconds.
    pub link_down_s: f64,
    /// Load, in percent of the throughput; 100 in RFC 6201.
    pub rate_percent: f64,
}

/// What is done to the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResetKind {
    /// Its link at the first receiving port goes down and up again.
    Link,
    /// Its forwarding software is restarted (RFC 6201 section 4.2).
    Software,
}

impl Default for SuiteConfig {
    /// As the RFCs have it.
    fn default() -> Self {
        use TestKind::*;
        SuiteConfig {
            profile: Profile::Rfc,
            method: Method::default(),
            tests: vec![Throughput, Latency, FrameLoss, BackToBack, Recovery, Reset],
            frame_sizes: FrameSize::RFC2544_ETHERNET.map(SizePattern::Fixed).to_vec(),
            direction: Direction::Unidirectional,
            pattern: Pattern::Pair,
            burst_frames: 1,
            modifiers: vec![Modifier::None],
            seed: 1,
            run_key: None,
            traffic: TrafficConfig::default(),
            trial: TrialConfig::default(),
            search: SearchConfig::default(),
            self_test: SelfTestConfig::default(),
            throughput: ThroughputConfig::default(),
            latency: LatencyConfig::default(),
            pdv: PdvConfig::default(),
            ipdv: IpdvConfig::default(),
            frame_loss: FrameLossConfig::default(),
            back_to_back: BackToBackConfig::default(),
            recovery: RecoveryConfig::default(),
            reset: ResetConfig::default(),
            chassis: ChassisConfig::default(),
            harvard: HarvardConfig::default(),
            harvard_1989: Harvard1989Config::default(),
            own: BTreeMap::new(),
        }
    }
}

impl Default for TrialConfig {
    fn default() -> Self {
        TrialConfig {
            duration_s: 60.0,
            learning_wait_s: 2.0,
            routing_wait_s: 5.0,
            drain_s: 2.0,
            drain_max_s: 60.0,
            settle_s: 5.0,
            invalid_retries: 3,
            verify_checksums: false,
            keep_alives: false,
            limits: ValidityLimits::default(),
        }
    }
}

impl Default for SelfTestConfig {
    fn default() -> Self {
        SelfTestConfig {
            trial_duration_s: 5.0,
            resolution_percent: 0.5,
            low_rate_percent: 1.0,
            high_rate_percent: 90.0,
        }
    }
}

impl Default for ThroughputConfig {
    fn default() -> Self {
        ThroughputConfig { loss_tolerances_percent: vec![0.5], final_trials: 1 }
    }
}

impl Default for LatencyConfig {
    fn default() -> Self {
        LatencyConfig { repetitions: 20, stream_s: 120.0, first_tag_s: 60.0, tags: 1_000 }
    }
}

impl Default for PdvConfig {
    fn default() -> Self {
        PdvConfig { repetitions: 20, stream_s: 60.0 }
    }
}

impl Default for IpdvConfig {
    fn default() -> Self {
        IpdvConfig { repetitions: 20, stream_s: 60.0, median_frames: 10_000 }
    }
}

impl Default for FrameLossConfig {
    fn default() -> Self {
        FrameLossConfig { step_percent: 10.0 }
    }
}

impl Default for BackToBackConfig {
    fn default() -> Self {
        BackToBackConfig {
            repetitions: 50,
            step_frames: 1,
            resolution_percent: 0.0,
            limit_s: 30.0,
            highest_limit_s: 120.0,
            wait_s: 2.0,
        }
    }
}

impl Default for RecoveryConfig {
    fn default() -> Self {
        RecoveryConfig {
            repetitions: 3,
            overload_percent: 110.0,
            overload_s: 60.0,
            observe_s: 60.0,
        }
    }
}

impl Default for ResetConfig {
    fn default() -> Self {
        ResetConfig {
            kinds: vec![ResetKind::Link, ResetKind::Software],
            repetitions: 3,
            before_s: 15.0,
            after_s: 60.0,
            link_down_s: 1.0,
            rate_percent: 100.0,
        }
    }
}

impl SuiteConfig {
    /// Key of the run's test frames.
    pub fn run_key(&self) -> RunKey {
        self.run_key.unwrap_or(RunKey::from_seed(self.seed))
    }
    /// What a profile stands for.
    pub fn of(profile: Profile) -> SuiteConfig {
        match profile {
            Profile::Rfc => SuiteConfig::default(),
            Profile::Minutes => SuiteConfig::minutes(),
            Profile::Quick => SuiteConfig::quick(),
        }
    }

    /// The tests of the quick profile with trials of seconds: some minutes.
    fn minutes() -> SuiteConfig {
        let mut config = SuiteConfig { profile: Profile::Minutes, ..SuiteConfig::quick() };
        config.trial.duration_s = 5.0;
        config.trial.learning_wait_s = 0.1;
        config.trial.invalid_retries = 3;
        config.search.resolution_percent = 1.0;
        config.search.trial_duration_s = 1.0;
        config.self_test.trial_duration_s = 0.2;
        config.self_test.resolution_percent = 2.0;
        config.latency =
            LatencyConfig { repetitions: 3, stream_s: 2.0, first_tag_s: 0.5, tags: 500 };
        config.pdv.stream_s = 5.0;
        config.ipdv.stream_s = 5.0;
        config.back_to_back.repetitions = 3;
        config.back_to_back.resolution_percent = 2.0;
        config
    }

    /// Short trials and few of them: a demonstration within two minutes.
    fn quick() -> SuiteConfig {
        use TestKind::*;
        let sizes = [64, 512, 1518].map(FrameSize::from_bytes).map(SizePattern::Fixed);
        let mut config = SuiteConfig {
            profile: Profile::Quick,
            tests: vec![Throughput, Latency, FrameLoss, BackToBack],
            frame_sizes: sizes.to_vec(),
            ..SuiteConfig::default()
        };
        config.trial.duration_s = 0.4;
        config.trial.learning_wait_s = 0.01;
        config.trial.routing_wait_s = 0.5;
        config.trial.drain_s = 0.0;
        config.trial.drain_max_s = 10.0;
        config.trial.settle_s = 0.0;
        config.trial.invalid_retries = 1;
        config.trial.limits.shortfall = 0.1;
        config.search.resolution_percent = 2.0;
        config.search.lowest_load_percent = 1.0;
        config.search.trial_duration_s = 0.2;
        config.self_test.trial_duration_s = 0.05;
        config.self_test.resolution_percent = 4.0;
        config.throughput.final_trials = 1;
        config.latency =
            LatencyConfig { repetitions: 1, stream_s: 1.0, first_tag_s: 0.4, tags: 500 };
        config.pdv = PdvConfig { repetitions: 3, stream_s: 1.0 };
        config.ipdv = IpdvConfig { repetitions: 3, stream_s: 1.0, ..config.ipdv };
        config.back_to_back.repetitions = 1;
        config.back_to_back.step_frames = 16;
        config.back_to_back.resolution_percent = 4.0;
        config.back_to_back.limit_s = 0.2;
        config.back_to_back.highest_limit_s = 0.8;
        config.back_to_back.wait_s = 0.1;
        config.recovery =
            RecoveryConfig { repetitions: 1, overload_s: 1.0, observe_s: 1.0, ..config.recovery };
        config.reset.repetitions = 1;
        config.reset.before_s = 1.0;
        config.reset.after_s = 4.0;
        config.harvard = HarvardConfig::quick();
        config.harvard_1989 = Harvard1989Config::quick();
        config
    }

    /// A profile with overrides on top: the members of `overrides` (as JSON; nested objects are
    /// merged, everything else replaces) take the place of the profile's. A member `profile`
    /// chooses the profile.
    pub fn layered(overrides: &serde_json::Value) -> Result<SuiteConfig, RunError> {
        let profile = match overrides.get("profile") {
            Some(profile) => Profile::deserialize(profile)
                .map_err(|error| RunError::Config(error.to_string()))?,
            None => Profile::default(),
        };
        SuiteConfig::of(profile).over(overrides)
    }

    /// The same with these members in place of its own.
    pub fn over(&self, overrides: &serde_json::Value) -> Result<SuiteConfig, RunError> {
        let config_error = |error: serde_json::Error| RunError::Config(error.to_string());
        let mut merged = serde_json::to_value(self).map_err(config_error)?;
        merge(&mut merged, overrides);
        let config = SuiteConfig::deserialize(merged).map_err(config_error)?;
        config.check()?;
        Ok(config)
    }

    /// Refuses what cannot be run.
    pub fn check(&self) -> Result<(), RunError> {
        let positive = [
            ("trial.duration_s", self.trial.duration_s),
            ("search.trial_duration_s", self.search.trial_duration_s),
            ("search.resolution_percent", self.search.resolution_percent),
            ("search.lowest_load_percent", self.search.lowest_load_percent),
            ("self_test.trial_duration_s", self.self_test.trial_duration_s),
            ("self_test.resolution_percent", self.self_test.resolution_percent),
            ("self_test.low_rate_percent", self.self_test.low_rate_percent),
            ("self_test.high_rate_percent", self.self_test.high_rate_percent),
            ("latency.stream_s", self.latency.stream_s),
            ("pdv.stream_s", self.pdv.stream_s),
            ("ipdv.stream_s", self.ipdv.stream_s),
            ("frame_loss.step_percent", self.frame_loss.step_percent),
            ("back_to_back.limit_s", self.back_to_back.limit_s),
            ("back_to_back.highest_limit_s", self.back_to_back.highest_limit_s),
            ("recovery.overload_percent", self.recovery.overload_percent),
            ("recovery.overload_s", self.recovery.overload_s),
            ("recovery.observe_s", self.recovery.observe_s),
            ("reset.before_s", self.reset.before_s),
            ("reset.after_s", self.reset.after_s),
            ("reset.rate_percent", self.reset.rate_percent),
            ("harvard.raw_rate_stream_s", self.harvard.raw_rate_stream_s),
            ("harvard.max_rate_stream_s", self.harvard.max_rate_stream_s),
            ("harvard.gap_step_ns", self.harvard.gap_step_ns),
            ("harvard.delay_stream_s", self.harvard.delay_stream_s),
            ("harvard.delay_gap_s", self.harvard.delay_gap_s),
        ];
        let at_least_zero = [
            ("trial.learning_wait_s", self.trial.learning_wait_s),
            ("trial.routing_wait_s", self.trial.routing_wait_s),
            ("trial.drain_s", self.trial.drain_s),
            ("trial.drain_max_s", self.trial.drain_max_s),
            ("trial.settle_s", self.trial.settle_s),
            ("latency.first_tag_s", self.latency.first_tag_s),
            ("back_to_back.resolution_percent", self.back_to_back.resolution_percent),
            ("back_to_back.wait_s", self.back_to_back.wait_s),
            ("reset.link_down_s", self.reset.link_down_s),
        ];
        for (name, value) in positive {
            refuse(!(value > 0.0 && value.is_finite()), || format!("{name} must be above 0"))?;
        }
        for (name, value) in at_least_zero {
            refuse(!(value >= 0.0 && value.is_finite()), || format!("{name} must not be below 0"))?;
        }
        self.check_relations()
    }

    fn check_relations(&self) -> Result<(), RunError> {
        let counts = [
            ("search.max_trials_per_load", self.search.max_trials_per_load),
            ("latency.repetitions", self.latency.repetitions),
            ("pdv.repetitions", self.pdv.repetitions),
            ("ipdv.repetitions", self.ipdv.repetitions),
            ("back_to_back.repetitions", self.back_to_back.repetitions),
            ("recovery.repetitions", self.recovery.repetitions),
            ("reset.repetitions", self.reset.repetitions),
        ];
        for (name, count) in counts {
            refuse(count == 0, || format!("{name} must be at least 1"))?;
        }
        let percents = [
            ("search.resolution_percent", self.search.resolution_percent),
            ("search.lowest_load_percent", self.search.lowest_load_percent),
            ("self_test.low_rate_percent", self.self_test.low_rate_percent),
            ("self_test.high_rate_percent", self.self_test.high_rate_percent),
            ("frame_loss.step_percent", self.frame_loss.step_percent),
            ("reset.rate_percent", self.reset.rate_percent),
        ];
        for (name, percent) in percents {
            refuse(percent > 100.0, || format!("{name} must not be above 100"))?;
        }
        let tolerances = &self.throughput.loss_tolerances_percent;
        refuse(!tolerances.iter().all(|t| *t > 0.0 && *t < 100.0), || {
            "throughput.loss_tolerances_percent must lie between 0 and 100; \
             0 is throughput itself and always searched for"
                .into()
        })?;
        self.search.check_goals(self.trial.duration_s)?;
        self.chassis.check()?;
        self.check_many_ports()?;
        self.check_bursts()?;
        ipv6_traffic::check(&self.traffic.extension_headers, &self.tests)?;
        let has_networks = self.traffic.destinations != Destinations::One;
        refuse(self.traffic.routing_updates && !has_networks, || {
            "routing updates announce the networks of random destinations: write --destinations random \
             or both"
                .into()
        })?;
        self.check_prefixes()?;
        refuse(self.latency.first_tag_s >= self.latency.stream_s, || {
            "latency.first_tag_s must be below latency.stream_s".into()
        })?;
        refuse(self.latency.tags == 0, || "latency.tags must be at least 1".into())?;
        refuse(self.ipdv.median_frames < 2, || "ipdv.median_frames must be at least 2".into())?;
        refuse(self.back_to_back.step_frames == 0, || {
            "back_to_back.step_frames must be at least 1".into()
        })?;
        refuse(self.frame_sizes.is_empty(), || "frame_sizes is empty: name at least one".into())?;
        let sizes = &self.frame_sizes;
        let twice = (0..sizes.len()).any(|at| sizes[..at].contains(&sizes[at]));
        refuse(twice, || "frame_sizes names a size twice: leave the second one out".into())?;
        refuse(self.modifiers.is_empty(), || "modifiers is empty: write [\"none\"] for none".into())
    }

    fn check_prefixes(&self) -> Result<(), RunError> {
        let traffic = &self.traffic;
        let prefixes = &traffic.ipv6_prefixes;
        if let Some(wrong) = prefixes.iter().find(|length| !IPV6_PREFIXES.contains(length)) {
            return refuse(true, || {
                format!("IPv6 prefixes of /{wrong}: 48, 64, 126 and 128 are possible (RFC 5180)")
            });
        }
        let twice = (0..prefixes.len()).any(|at| prefixes[..at].contains(&prefixes[at]));
        refuse(twice, || "a length of IPv6 prefixes stands twice: leave one out".into())?;
        let is_used = traffic.destinations != Destinations::One && traffic.has_ipv6();
        refuse(!prefixes.is_empty() && !is_used, || {
            "IPv6 prefixes are those of random destinations: write --destinations random and --protocol \
             udp_ipv6 or --ipv6-percent"
                .into()
        })
    }

    fn check_many_ports(&self) -> Result<(), RunError> {
        if !self.is_of_many_ports() {
            return Ok(());
        }
        refuse(self.frame_sizes.iter().any(|size| size.period() > 1), || {
            "tests of many ports have one frame size at a time: leave out the mix".into()
        })?;
        refuse(self.traffic.protocol == Protocol::Decnet, || {
            "DECnet gives each port one hardware address of its own: choose another protocol".into()
        })?;
        refuse(self.search.policy == SearchPolicy::Adaptive, || {
            "the adaptive search goes by what one port carries; with many ports write --search bisect, step, \
             tst009 or mlrsearch"
                .into()
        })?;
        refuse(self.traffic.random_macs && self.chassis.addresses_per_port > 1, || {
            "random source MAC addresses and chassis.addresses_per_port are two ways to have several \
             addresses: leave out one of them"
                .into()
        })?;
        let burst = self.burst_frames;
        refuse(burst > BURST_FRAMES_OF_MANY, || {
            format!(
                "bursts of {burst} frames: 1 to {BURST_FRAMES_OF_MANY} are possible (RFC 2889 section 5.1.2)"
            )
        })
    }

    fn check_bursts(&self) -> Result<(), RunError> {
        let burst = self.burst_frames;
        refuse(!(1..=BURST_FRAMES_MAX).contains(&burst), || {
            format!("bursts of {burst} frames: 1 to {BURST_FRAMES_MAX} are possible")
        })?;
        if burst == 1 || self.is_of_many_ports() {
            return Ok(());
        }
        let has_bursts = |test: &TestKind| {
            matches!(test, TestKind::Throughput | TestKind::FrameLoss | TestKind::SelfTest)
        };
        let other = self.tests.iter().find(|test| !has_bursts(test));
        refuse(other.is_some() || self.method != Method::Rfc2544, || {
            let what = other.map_or_else(|| "this suite".into(), |test| format!("the test {test}"));
            format!(
                "{what} has loads of its own: leave out --burst-frames, or write --test throughput,loss"
            )
        })?;
        refuse(self.frame_sizes.iter().any(|size| size.period() > 1), || {
            "a burst has frames of one size: leave out --burst-frames, or the mix".into()
        })?;
        let is_adaptive = self.search.policy == SearchPolicy::Adaptive;
        refuse(is_adaptive && self.tests.contains(&TestKind::Throughput), || {
            "the adaptive search goes by what a device carries steadily: with bursts write --search \
             tst009 (or bisect, step, mlrsearch)"
                .into()
        })
    }

    /// The suite is run once with each of these.
    pub(crate) fn rounds(&self) -> Vec<Round> {
        let destinations = self.recipients();
        let with = |modifier: &Modifier| {
            let round = |(destinations, ipv6_prefix): &(_, _)| Round {
                modifier: *modifier,
                destinations: *destinations,
                ipv6_prefix: *ipv6_prefix,
            };
            destinations.iter().map(round).collect::<Vec<_>>()
        };
        self.modifiers.iter().flat_map(with).collect()
    }

    /// To whom its rounds send: one destination, or random ones in networks of each prefix length.
    fn recipients(&self) -> Vec<(Destinations, Option<u8>)> {
        let prefixes = &self.traffic.ipv6_prefixes;
        let of = |to: &Destinations| match *to {
            Destinations::Random if !prefixes.is_empty() => {
                prefixes.iter().map(|length| (*to, Some(*length))).collect()
            }
            _ => vec![(*to, None)],
        };
        self.traffic.destinations.runs().iter().flat_map(of).collect()
    }

    /// The first round, without a modifier.
    pub(crate) fn first_round(&self) -> Round {
        let (destinations, ipv6_prefix) = self.recipients()[0];
        Round { modifier: Modifier::None, destinations, ipv6_prefix }
    }

    /// The same suite with the destinations of a round alone.
    pub(crate) fn in_round(&self, round: Round) -> SuiteConfig {
        let traffic = TrafficConfig {
            destinations: round.destinations,
            ipv6_prefixes: round.ipv6_prefix.into_iter().collect(),
            ..self.traffic.clone()
        };
        SuiteConfig { traffic, ..self.clone() }
    }

    /// The same for ports that are joined back to back in pairs: of tests of many ports all at once, both ways.
    pub fn looped(&self) -> SuiteConfig {
        let config = SuiteConfig { pattern: self.pattern.looped(), ..self.clone() };
        match self.is_of_many_ports() {
            true => SuiteConfig {
                pattern: Pattern::Pairs,
                direction: Direction::Bidirectional,
                ..config
            },
            false => config,
        }
    }

    /// Whether its tests are those of many ports.
    pub fn is_of_many_ports(&self) -> bool {
        self.tests.iter().any(|test| matches!(test, TestKind::Chassis(_)))
    }

    /// Waits after a trial.
    pub(crate) fn waits(&self) -> Waits {
        self.trial.waits()
    }
}

/// What one pass of a suite has of its own: what is mixed in, one destination or random ones, and the length
/// of the prefixes of their IPv6 networks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Round {
    pub modifier: Modifier,
    pub destinations: Destinations,
    pub ipv6_prefix: Option<u8>,
}

/// Longer bursts are those of the test of back-to-back frames.
const BURST_FRAMES_MAX: u64 = 65_536;
const BURST_FRAMES_OF_MANY: u64 = 930;

impl TrialConfig {
    /// The same with no more shortfall than the RFCs' tests tolerate: for tests that ask whether a
    /// rate is reached at all.
    pub(crate) fn strict(mut self) -> Self {
        let usual = ValidityLimits::default().shortfall;
        self.limits.shortfall = self.limits.shortfall.min(usual);
        self
    }

    /// Waits after a trial.
    pub(crate) fn waits(&self) -> Waits {
        Waits::until_silence(
            Duration::from_secs_f64(self.drain_s),
            Duration::from_secs_f64(self.drain_max_s),
            Duration::from_secs_f64(self.settle_s),
        )
    }
}

fn refuse(is_wrong: bool, why: impl FnOnce() -> String) -> Result<(), RunError> {
    if is_wrong { Err(RunError::Config(why())) } else { Ok(()) }
}

/// Lays members of one JSON object over those of another.
pub(crate) fn merge(base: &mut serde_json::Value, overrides: &serde_json::Value) {
    match (base.as_object_mut(), overrides.as_object()) {
        (Some(base), Some(overrides)) => {
            for (name, value) in overrides {
                let slot = base.entry(name.clone()).or_insert(serde_json::Value::Null);
                merge(slot, value);
            }
        }
        _ => *base = overrides.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn overrides_lie_on_top_of_the_profile_they_name() {
        let config = SuiteConfig::layered(&json!({
            "profile": "quick",
            "frame_sizes": ["128"],
            "latency": { "repetitions": 3 },
        }))
        .unwrap();
        assert_eq!(config.frame_sizes, vec![SizePattern::Fixed(FrameSize::from_bytes(128))]);
        assert_eq!(config.latency.repetitions, 3);
        assert_eq!(config.latency.stream_s, SuiteConfig::of(Profile::Quick).latency.stream_s);
        assert_eq!(SuiteConfig::layered(&json!({})).unwrap(), SuiteConfig::default());
    }

    #[test]
    fn what_cannot_be_run_is_refused_by_name() {
        let refusals = [
            (json!({ "trial": { "durations": 1 } }), "unknown field `durations`"),
            (json!({ "trial": { "duration_s": 0 } }), "trial.duration_s must be above 0"),
            (json!({ "trial": { "drain_s": -1 } }), "trial.drain_s must not be below 0"),
            (json!({ "latency": { "repetitions": 0 } }), "latency.repetitions"),
            (json!({ "frame_sizes": [] }), "frame_sizes"),
            (json!({ "frame_sizes": ["32"] }), "32 bytes"),
            (json!({ "frame_sizes": ["64", "128", "64"] }), "twice"),
            (json!({ "throughput": { "loss_tolerances_percent": [0.0] } }), "always searched"),
        ];
        for (overrides, expected) in refusals {
            let error = SuiteConfig::layered(&overrides).unwrap_err().to_string();
            assert!(error.contains(expected), "{overrides}: {error}");
        }
    }

    #[test]
    fn both_profiles_can_be_run_and_read_back() {
        for profile in [Profile::Rfc, Profile::Minutes, Profile::Quick] {
            let config = SuiteConfig::of(profile);
            assert_eq!(config.check(), Ok(()));
            let json = serde_json::to_value(&config).unwrap();
            assert_eq!(SuiteConfig::layered(&json).unwrap(), config);
        }
    }
}
