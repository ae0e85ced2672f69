//! Where a configuration departs from the standards, found by comparing: nobody sets it by hand.

use crate::harvard::y1989::{Harvard1989Config, Test1989};
use crate::{Profile, SearchPolicy, SuiteConfig, TestKind};
use trial::ValidityLimits;

/// Collects departures in words.
#[derive(Default)]
struct Deviations(Vec<String>);

impl Deviations {
    /// `value` should be at least `bound`.
    fn at_least(&mut self, what: &str, value: f64, bound: f64, unit: &str, source: &str) {
        if value < bound {
            self.0.push(format!("{what} {value}{unit} instead of >= {bound}{unit} ({source})"));
        }
    }
    fn say(&mut self, when: bool, what: String) {
        self.0.extend(when.then_some(what));
    }
}

/// Departures of one test from its standard, in words; empty where it conforms.
pub fn deviations(config: &SuiteConfig, test: TestKind) -> Vec<String> {
    let mut found = Deviations::default();
    if test != TestKind::SelfTest && !test.is_harvard() {
        waits(config, &mut found);
    }
    match test {
        // Nobody has standardised them, or they say it themselves.
        TestKind::SelfTest | TestKind::Chassis(_) => {}
        TestKind::Harvard1989(test) => campaign_1989(config, test, &mut found),
        TestKind::Throughput => throughput(config, &mut found),
        TestKind::Latency => latency(config, &mut found),
        TestKind::Pdv => variation(
            config,
            (config.pdv.repetitions, config.pdv.stream_s),
            "RFC 8219 section 7.3.1",
            &mut found,
        ),
        TestKind::Ipdv => variation(
            config,
            (config.ipdv.repetitions, config.ipdv.stream_s),
            "RFC 8219 section 7.3.2",
            &mut found,
        ),
        TestKind::FrameLoss => frame_loss(config, &mut found),
        TestKind::BackToBack => back_to_back(config, &mut found),
        TestKind::Recovery => recovery(config, &mut found),
        TestKind::Reset => reset(config, &mut found),
        TestKind::Delay => {}
        TestKind::MaxRate | TestKind::DualMaxRate => {
            let streams = config.harvard.max_rate_stream_s;
            found.at_least("streams of", streams, 20.0, " s", "router tests of 1990");
        }
        TestKind::RawRate | TestKind::DualStream => {
            let streams = config.harvard.raw_rate_stream_s;
            found.at_least("streams of", streams, 30.0, " s", "router tests of 1990");
        }
    }
    if test != TestKind::SelfTest && !test.is_harvard() {
        ipv6(config, test, &mut found);
    }
    shortfall(config, test, &mut found);
    let is_named = config.profile == Profile::Quick && !found.0.is_empty();
    found.say(is_named, "quick profile: for a first look, not for publication".into());
    found.0
}

/// The document states one duration; elsewhere the suite's own full form is the measure.
fn campaign_1989(config: &SuiteConfig, test: Test1989, found: &mut Deviations) {
    use Test1989::*;
    let (config, full) = (&config.harvard_1989, Harvard1989Config::default());
    let own = "this suite's full form; the router tests of 1989 state none";
    match test {
        IdleState => found.at_least("counting", config.idle_s, 10.0, " s", "router tests of 1989"),
        Delay => found.at_least("stream", config.delay_stream_s, full.delay_stream_s, " s", own),
        BackToBack | NfsBursts => {
            found.at_least("bursts", config.bursts as f64, full.bursts as f64, "", own);
        }
        RoutingTable | ArpCache | FilterList => {
            found.at_least(
                "tables tried up to",
                config.table_limit as f64,
                full.table_limit as f64,
                "",
                own,
            );
        }
        CrcErrors | Runts | Giants => {
            found.at_least("frames", config.error_frames as f64, full.error_frames as f64, "", own);
        }
        MaxRate | RawRate | Overload25 | Flood | LengthMix | MixedProtocols | Counters
        | Filtering | ManyRoutes | Management | ArpStorm | BroadcastStorm | RoutingUpdates
        | FloodedSizes => {
            found.at_least("streams of", config.rate_stream_s, full.rate_stream_s, " s", own);
        }
    }
}

fn waits(config: &SuiteConfig, found: &mut Deviations) {
    let trial = &config.trial;
    let source = "RFC 2544 section 23";
    found.at_least("wait after learning frames", trial.learning_wait_s, 2.0, " s", source);
    found.at_least("wait before the next trial", trial.settle_s, 5.0, " s", source);
    let random = config.traffic.destinations == crate::Destinations::Random;
    found.say(
        random && config.traffic.protocol != crate::Protocol::Ethernet,
        "no routing update before each trial: the device's routes are static (RFC 2544 section 13)"
            .into(),
    );
}

/// What RFC 5180 recommends and a run with IPv6 does not do.
fn ipv6(config: &SuiteConfig, test: TestKind, found: &mut Deviations) {
    let traffic = &config.traffic;
    if traffic.protocol != crate::Protocol::UdpIpv6 {
        return;
    }
    let one_way = config.direction == crate::Direction::Unidirectional;
    found.say(one_way, "one direction instead of both (RFC 5180 section 5.4)".into());
    found.say(
        traffic.destinations == crate::Destinations::Random,
        "destination prefixes of one length instead of /48, /64, /126 and /128 in turn (RFC 5180 section \
         5.2.1)"
            .into(),
    );
    found.say(
        test == TestKind::BackToBack,
        "back-to-back frames are not recommended with IPv6 (RFC 5180 section 7.4)".into(),
    );
}

/// "at a specific rate" (section 26.1): a trial that offered less decides in tests that ask for a rate. The
/// adaptive search goes by what was offered, bursts have a limit of their own, other suites theirs.
fn shortfall(config: &SuiteConfig, test: TestKind, found: &mut Deviations) {
    use TestKind::*;
    let asks_for_a_rate = match test {
        Throughput => config.search.policy != SearchPolicy::Adaptive,
        Latency | Pdv | Ipdv | FrameLoss | Recovery | Reset => true,
        _ => false,
    };
    let usual = ValidityLimits::default().shortfall;
    let limit = config.trial.limits.shortfall;
    found.say(
        asks_for_a_rate && limit > usual,
        format!(
            "offered load up to {} % below the intended instead of {} % (RFC 2544 section 26)",
            limit * 100.0,
            usual * 100.0
        ),
    );
}

fn residual_wait(config: &SuiteConfig, found: &mut Deviations) {
    let source = "RFC 2544 section 23 d";
    found.at_least("wait for residual frames", config.trial.drain_s, 2.0, " s", source);
}

fn duration(config: &SuiteConfig, found: &mut Deviations) {
    let source = "RFC 2544 section 24";
    found.at_least("trial duration", config.trial.duration_s, 60.0, " s", source);
}

fn sizes(config: &SuiteConfig, found: &mut Deviations) {
    let count = config.frame_sizes.len();
    found.say(count < 5, format!("{count} frame sizes instead of >= 5 (RFC 2544 section 9)"));
}

fn throughput(config: &SuiteConfig, found: &mut Deviations) {
    residual_wait(config, found);
    match config.search.policy {
        SearchPolicy::Mlrsearch => goal(config, found),
        _ => duration(config, found),
    }
    sizes(config, found);
}

/// The goal without loss stands for throughput.
fn goal(config: &SuiteConfig, found: &mut Deviations) {
    let goals = config.search.goals(&[], config.trial.duration_s);
    let Some(goal) = goals.first() else { return };
    let seconds = goal.final_duration.as_secs_f64();
    let source = "RFC 2544 section 24";
    found.at_least("final trial duration", seconds, 60.0, " s", source);
    found.say(
        goal.exceed_ratio > 0.0,
        format!(
            "exceed ratio of {} % instead of 0 %: trials at the throughput rate may lose frames \
             (RFC 2544 section 26.1)",
            goal.exceed_ratio * 100.0
        ),
    );
}

fn latency(config: &SuiteConfig, found: &mut Deviations) {
    residual_wait(config, found);
    let latency = &config.latency;
    let source = "RFC 2544 section 26.2";
    let repetitions = f64::from(latency.repetitions);
    found.at_least("repetitions", repetitions, 20.0, "", source);
    found.at_least("stream", latency.stream_s, 120.0, " s", source);
    found.at_least("first tagged frame after", latency.first_tag_s, 60.0, " s", source);
    found.at_least("tagged frames", latency.tags as f64, 500.0, "", "RFC 8219 section 7.2");
    sizes(config, found);
}

fn variation(
    config: &SuiteConfig,
    (repetitions, stream_s): (u32, f64),
    source: &str,
    found: &mut Deviations,
) {
    residual_wait(config, found);
    found.at_least("repetitions", f64::from(repetitions), 20.0, "", source);
    found.at_least("stream", stream_s, 60.0, " s", source);
    sizes(config, found);
}

fn frame_loss(config: &SuiteConfig, found: &mut Deviations) {
    residual_wait(config, found);
    duration(config, found);
    let step = config.frame_loss.step_percent;
    found.say(step > 10.0, format!("steps of {step} % instead of <= 10 % (RFC 2544 section 26.3)"));
    sizes(config, found);
}

fn back_to_back(config: &SuiteConfig, found: &mut Deviations) {
    let burst = &config.back_to_back;
    found.at_least("wait after a burst", burst.wait_s, 2.0, " s", "RFC 9004 section 6.2");
    let repetitions = f64::from(burst.repetitions);
    found.at_least("repetitions", repetitions, 50.0, "", "RFC 2544 section 26.4");
    found.at_least("longest burst", burst.limit_s, 30.0, " s", "RFC 9004 section 6.2");
    sizes(config, found);
}

fn recovery(config: &SuiteConfig, found: &mut Deviations) {
    residual_wait(config, found);
    let recovery = &config.recovery;
    let source = "RFC 2544 section 26.5";
    found.at_least("overload", recovery.overload_s, 60.0, " s", source);
    let percent = recovery.overload_percent;
    found.say(
        percent != 110.0,
        format!("overload of {percent} % of the throughput instead of 110 % ({source})"),
    );
    sizes(config, found);
}

fn reset(config: &SuiteConfig, found: &mut Deviations) {
    let source = "RFC 6201 section 4";
    found.at_least("traffic before the reset", config.reset.before_s, 15.0, " s", source);
    let percent = config.reset.rate_percent;
    found.say(
        percent != 100.0,
        format!("load of {percent} % of the throughput instead of 100 % ({source})"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GoalConfig;

    const ALL: [TestKind; 8] = [
        TestKind::Throughput,
        TestKind::Latency,
        TestKind::Pdv,
        TestKind::Ipdv,
        TestKind::FrameLoss,
        TestKind::BackToBack,
        TestKind::Recovery,
        TestKind::Reset,
    ];

    #[test]
    fn the_rfc_profile_deviates_nowhere_and_the_quick_one_everywhere() {
        for test in ALL {
            let rfc = deviations(&SuiteConfig::default(), test);
            assert!(rfc.is_empty(), "{test}: {rfc:?}");
            assert!(!deviations(&SuiteConfig::of(Profile::Quick), test).is_empty(), "{test}");
        }
    }

    /// RFC 5180: both directions (5.4), prefixes of several lengths (5.2.1), no back-to-back frames (7.4).
    #[test]
    fn what_rfc_5180_recommends_is_missed_with_ipv6_alone() {
        let mut config = SuiteConfig::default();
        let says = |config: &SuiteConfig, test, what: &str| {
            deviations(config, test).iter().any(|deviation| deviation.contains(what))
        };
        config.traffic.destinations = crate::Destinations::Random;
        assert!(!says(&config, TestKind::Throughput, "5180"));
        config.traffic.protocol = crate::Protocol::UdpIpv6;
        assert!(says(&config, TestKind::Throughput, "section 5.4"));
        assert!(says(&config, TestKind::Throughput, "/48, /64, /126 and /128"));
        assert!(says(&config, TestKind::BackToBack, "section 7.4"));
        config.direction = crate::Direction::Bidirectional;
        config.traffic.destinations = crate::Destinations::One;
        assert!(!says(&config, TestKind::Throughput, "5180"));
    }

    /// The adaptive search counts what was offered, whatever was intended; bursts have their own limit.
    #[test]
    fn a_load_that_need_not_be_reached_is_named_where_it_decides() {
        let says = |config: &SuiteConfig, test| {
            let found = deviations(config, test);
            found.iter().any(|what| {
                what.starts_with("offered load up to 10 % below the intended instead of 0.1 %")
            })
        };
        let quick = SuiteConfig::of(Profile::Quick);
        for test in ALL {
            let is_free = matches!(test, TestKind::Throughput | TestKind::BackToBack);
            assert_eq!(says(&quick, test), !is_free, "{test}");
        }
        let mut bisecting = quick;
        bisecting.search.policy = SearchPolicy::Bisect;
        assert!(says(&bisecting, TestKind::Throughput));
        bisecting.trial.limits.shortfall = 0.001;
        assert!(!says(&bisecting, TestKind::Throughput));
    }

    #[test]
    fn a_quick_look_at_the_tests_of_1989_says_so() {
        for test in
            [Test1989::IdleState, Test1989::MaxRate, Test1989::RoutingTable, Test1989::NfsBursts]
        {
            let test = TestKind::Harvard1989(test);
            assert!(deviations(&SuiteConfig::default(), test).is_empty(), "{test}");
            let quick = deviations(&SuiteConfig::of(Profile::Quick), test);
            assert_eq!(quick.len(), 2, "{test}: {quick:?}");
            assert!(quick[1].contains("not for publication"), "{test}: {quick:?}");
        }
    }

    #[test]
    fn each_number_that_is_changed_is_named() {
        let mut config = SuiteConfig::default();
        config.trial.duration_s = 1.0;
        let found = deviations(&config, TestKind::Throughput);
        let expected = "trial duration 1 s instead of >= 60 s (RFC 2544 section 24)";
        assert_eq!(found, vec![expected.to_string()]);
        config.search.policy = SearchPolicy::Mlrsearch;
        config.trial.duration_s = 60.0;
        assert!(deviations(&config, TestKind::Throughput).is_empty());
        config.search.goals = vec![GoalConfig { exceed_percent: 50.0, ..GoalConfig::default() }];
        assert!(deviations(&config, TestKind::Throughput)[0].contains("exceed ratio of 50 %"));
        config.recovery.overload_percent = 105.0;
        assert!(deviations(&config, TestKind::Recovery)[0].contains("105 %"));
        config.frame_loss.step_percent = 20.0;
        assert!(deviations(&config, TestKind::FrameLoss).iter().any(|d| d.contains("20 %")));
    }
}
