//! The configuration of a suite: what the TOML file and the flags map to. Every number has the
//! RFC's value or the quick profile's (see [`Profile`]) unless it is overridden.

mod check;
mod of_tests;
mod rounds;
mod trial;

pub use of_tests::{
    BackToBackConfig, FrameLossConfig, IpdvConfig, LatencyConfig, PdvConfig, RecoveryConfig,
    ResetConfig, ResetKind, SelfTestConfig, ThroughputConfig,
};
pub(crate) use rounds::Round;
pub use trial::TrialConfig;

use crate::chassis::ChassisConfig;
use crate::harvard::HarvardConfig;
use crate::harvard::y1989::Harvard1989Config;
use crate::search_config::SearchConfig;
use crate::traffic::TrafficConfig;
use crate::{Direction, Modifier, Pattern, Profile, RunError, TestKind};
use ::trial::Waits;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use traffic::size::SizePattern;
use units::FrameSize;
use wire::signature::RunKey;

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
        // On the machine of a device under test the work would be taken from the device.
        config.trial.verify_checksums = false;
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
    fn every_profile_can_be_run_and_read_back() {
        for profile in [Profile::Rfc, Profile::Minutes, Profile::Quick] {
            let config = SuiteConfig::of(profile);
            assert_eq!(config.check(), Ok(()));
            let json = serde_json::to_value(&config).unwrap();
            assert_eq!(SuiteConfig::layered(&json).unwrap(), config);
        }
    }
}
