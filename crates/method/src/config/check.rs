//! What cannot be run, and why.

use super::SuiteConfig;
use crate::search_config::SearchPolicy;
use crate::traffic::{Destinations, IPV6_PREFIXES};
use crate::{Method, Protocol, RunError, TestKind, ipv6_traffic};

/// Longer bursts are those of the test of back-to-back frames.
const BURST_FRAMES_MAX: u64 = 65_536;
const BURST_FRAMES_OF_MANY: u64 = 930;

impl SuiteConfig {
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
        let shortfall = self.trial.limits.shortfall;
        refuse(!(0.0..=1.0).contains(&shortfall), || {
            format!(
                "trial.limits.shortfall must lie between 0 and 1, a share of the load: {shortfall}"
            )
        })?;
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
}

fn refuse(is_wrong: bool, why: impl FnOnce() -> String) -> Result<(), RunError> {
    if is_wrong { Err(RunError::Config(why())) } else { Ok(()) }
}
