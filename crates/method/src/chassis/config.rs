//! What tests of many ports have besides the rest of a configuration, and the numbers of their suites. Every number has
//! the document's value or the quick profile's unless it is overridden.

use super::ChassisTest;
use crate::config::TrialConfig;
use crate::registry::SuiteName;
use crate::rfc3918::MulticastConfig;
use crate::tolly::TollyConfig;
use crate::{Profile, RunError, SearchConfig, SearchPolicy, SuiteConfig, TestKind};
use serde::{Deserialize, Serialize};
use traffic::size::SizePattern;
use units::FrameSize;

/// The section `chassis`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChassisConfig {
    /// Loads whose loss and forwarding rate are reported beside the maximum, in percent of the
    /// medium.
    pub loads_percent: Vec<f64>,
    /// Source addresses of each port; a power of two, 1 recommended.
    pub addresses_per_port: u64,
    /// From one learning frame to the next, in seconds: 50 a second in RFC 2889 section 3.
    pub learning_interval_s: f64,
    /// From one further address of a port to the next: devices that hash may like other steps.
    pub address_step: u64,
    /// RFC 2889 sections 5.7 and 5.8.
    pub addresses: AddressConfig,
    /// RFC 2889 section 5.6.
    pub forward_pressure: ForwardPressureConfig,
    /// RFC 2889 section 5.9.
    pub errored: ErroredConfig,
    /// Single frames of the broadcast latency test (RFC 2889 section 5.10.3 has one).
    pub broadcast_frames: u32,
    /// The fan-out of the GIGAswitch/FDDI tests.
    pub fanout: FanoutConfig,
    /// Their ARP server test.
    pub arp_server: ArpServerConfig,
    /// The IP9000 tests.
    pub tolly: TollyConfig,
    /// RFC 3918.
    pub multicast: MulticastConfig,
}

/// Address caching capacity and learning rate.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AddressConfig {
    /// The ageing time of the device, in seconds: the tester waits so long before each trial.
    pub ageing_s: f64,
    /// Addresses never tried: one more than the device claims, or more.
    pub max_addresses: u64,
    /// From the last learning frame to the first that proves what was learned, in seconds: time for
    /// the device to learn what it has taken in.
    pub digest_s: f64,
    /// The number tried first.
    pub initial_addresses: u64,
    /// Rate of learning frames in the capacity test, in frames a second.
    pub learning_fps: u64,
    /// Rate of the frames that prove what was learned, in frames a second.
    pub test_fps: u64,
    /// Addresses of the learning rate test.
    pub rate_addresses: u64,
    /// The highest learning rate tried, in frames a second.
    pub max_learning_fps: u64,
    /// Resolution of the learning rate, in frames a second.
    pub rate_resolution_fps: u64,
}

/// Forward pressure and maximum forwarding rate.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ForwardPressureConfig {
    /// Step of the search for the maximum forwarding rate, in percent of the medium.
    pub step_percent: f64,
}

/// Errored frames.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ErroredConfig {
    /// Loads, good and errored frames together, in percent of the medium.
    pub loads_percent: Vec<f64>,
}

/// Fan-out.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FanoutConfig {
    /// Receivers of each transmitter ("each transmit port sent to 4 receive ports - not including
    /// itself").
    pub receivers: usize,
    /// The same with no more ports than `receivers`: "it was necessary to modify the number of
    /// destination MAC addresses sent by each transmitter from 4 to 2".
    pub receivers_of_few: usize,
    /// Numbers of ports that are measured.
    pub ports: Vec<usize>,
    /// The number to which they are extrapolated, and which is measured too where there are so
    /// many.
    pub extrapolate_to: usize,
    /// Length of the trial with all of them, in seconds.
    pub all_ports_trial_s: f64,
}

/// ARP server.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ArpServerConfig {
    /// Addresses that the server learns, and requests for them.
    pub addresses: u64,
    /// Requests of a trial: the addresses are asked for again and again.
    pub requests: u64,
    /// The highest rate tried, in requests a second.
    pub max_fps: u64,
    /// Resolution of the rate, in requests a second.
    pub resolution_fps: u64,
}

impl Default for ChassisConfig {
    /// As the documents have it.
    fn default() -> Self {
        ChassisConfig {
            loads_percent: vec![100.0, 90.0, 80.0, 70.0, 60.0, 50.0],
            addresses_per_port: 1,
            learning_interval_s: 0.02,
            address_step: 1,
            addresses: AddressConfig::default(),
            forward_pressure: ForwardPressureConfig::default(),
            errored: ErroredConfig::default(),
            broadcast_frames: 10,
            fanout: FanoutConfig::default(),
            arp_server: ArpServerConfig::default(),
            tolly: TollyConfig::default(),
            multicast: MulticastConfig::default(),
        }
    }
}

impl Default for AddressConfig {
    fn default() -> Self {
        AddressConfig {
            ageing_s: 300.0,
            max_addresses: 16_385,
            digest_s: 1.0,
            initial_addresses: 1_024,
            learning_fps: 1_000,
            test_fps: 1_000,
            rate_addresses: 1_000,
            max_learning_fps: 100_000,
            rate_resolution_fps: 10,
        }
    }
}

impl Default for ForwardPressureConfig {
    fn default() -> Self {
        ForwardPressureConfig { step_percent: 1.0 }
    }
}

impl Default for ErroredConfig {
    fn default() -> Self {
        ErroredConfig { loads_percent: vec![100.0, 50.0, 10.0] }
    }
}

impl Default for FanoutConfig {
    fn default() -> Self {
        FanoutConfig {
            receivers: 4,
            receivers_of_few: 2,
            ports: vec![4, 8],
            extrapolate_to: 34,
            all_ports_trial_s: 60.0,
        }
    }
}

impl FanoutConfig {
    /// Receivers of each transmitter of so many ports.
    pub fn receivers_of(&self, ports: usize) -> usize {
        if ports > self.receivers { self.receivers } else { self.receivers_of_few }
    }
}

impl Default for ArpServerConfig {
    fn default() -> Self {
        ArpServerConfig { addresses: 100, requests: 2_000, max_fps: 10_000, resolution_fps: 10 }
    }
}

impl SuiteConfig {
    /// The numbers of a suite in a profile.
    pub fn of_suite(suite: SuiteName, profile: Profile) -> Self {
        match suite {
            SuiteName::Rfc2544 | SuiteName::Harvard1989 | SuiteName::Harvard1990 => {
                SuiteConfig::of(profile)
            }
            SuiteName::Rfc2889 => SuiteConfig::of_many_ports(profile, &ChassisTest::RFC2889),
            SuiteName::Rfc3918 => SuiteConfig::of_many_ports(profile, &ChassisTest::RFC3918),
            SuiteName::Gigaswitch => SuiteConfig::gigaswitch(profile),
            SuiteName::Tolly => SuiteConfig::tolly(profile),
        }
    }

    /// As RFC 2889 has it, with these tests.
    pub fn of_many_ports(profile: Profile, tests: &[ChassisTest]) -> Self {
        let mut config = SuiteConfig::of(profile);
        let quick = profile != Profile::Rfc;
        config.tests = tests.iter().copied().map(TestKind::Chassis).collect();
        config.trial = TrialConfig { duration_s: 30.0, ..config.trial };
        config.search = SearchConfig {
            policy: SearchPolicy::Bisect,
            trial_duration_s: 30.0,
            lowest_load_percent: 0.1,
            ..config.search
        };
        config.throughput.loss_tolerances_percent = vec![];
        config.chassis.multicast = MulticastConfig::of(profile);
        if quick {
            config.trial = TrialConfig { duration_s: 0.1, ..config.trial.strict() };
            config.search.trial_duration_s = 0.1;
            config.search.resolution_percent = 1.0;
            config.chassis.loads_percent = vec![100.0, 50.0];
            config.chassis.broadcast_frames = 3;
        }
        config
    }

    /// As DEC had it for its GIGAswitch/FDDI: frames of 64 octets, at least 60 s of transmission.
    fn gigaswitch(profile: Profile) -> Self {
        let mut config = SuiteConfig::of_many_ports(profile, &ChassisTest::GIGASWITCH);
        let quick = profile != Profile::Rfc;
        config.frame_sizes = vec![SizePattern::Fixed(FrameSize::MIN_ETHERNET)];
        config.trial.duration_s = if quick { 0.1 } else { 60.0 };
        config.search.trial_duration_s = if quick { 0.1 } else { 0.5 };
        config.chassis.fanout.all_ports_trial_s = config.trial.duration_s;
        config
    }

    /// As the Tolly Group had it for the IP9000: counted packets, three iterations. It does not say how
    /// long the trials of the base unicast test were: a second here.
    fn tolly(profile: Profile) -> Self {
        let mut config = SuiteConfig::of_many_ports(profile, &ChassisTest::TOLLY);
        let quick = profile != Profile::Rfc;
        config.frame_sizes = SuiteConfig::default().frame_sizes;
        config.trial.duration_s = if quick { 0.1 } else { 1.0 };
        config.search.trial_duration_s = config.trial.duration_s;
        config.chassis.tolly = if quick { TollyConfig::quick() } else { TollyConfig::default() };
        // No delay is measured, and no group is used twice.
        config.chassis.multicast = MulticastConfig {
            report_fps: 1_000,
            join_settle_s: 0.5,
            leave_settle_s: 0.1,
            verify_fps: 2_000,
            ..MulticastConfig::of(profile)
        };
        config
    }
}

impl ChassisConfig {
    /// Refuses what cannot be run.
    pub(crate) fn check(&self) -> Result<(), RunError> {
        let refuse = |is_wrong: bool, why: &str| match is_wrong {
            true => Err(RunError::Config(format!("chassis.{why}"))),
            false => Ok(()),
        };
        let percents = || self.loads_percent.iter().chain(&self.errored.loads_percent);
        refuse(!percents().all(|p| *p > 0.0 && *p <= 100.0), "loads_percent: above 0 up to 100")?;
        refuse(
            !self.addresses_per_port.is_power_of_two() || self.addresses_per_port > 4_096,
            "addresses_per_port must be a power of two up to 4096 (RFC 2889 section 5.1.2)",
        )?;
        if let Some(why) = self.tolly.fault() {
            return Err(RunError::Config(why.into()));
        }
        self.multicast.check()?;
        let addresses = &self.addresses;
        refuse(
            addresses.initial_addresses == 0
                || addresses.initial_addresses >= addresses.max_addresses,
            "addresses.initial_addresses must lie between 1 and addresses.max_addresses - 1",
        )?;
        let rates = [
            addresses.learning_fps,
            addresses.test_fps,
            addresses.max_learning_fps,
            addresses.rate_addresses,
            addresses.rate_resolution_fps,
            self.arp_server.max_fps,
            self.arp_server.addresses,
            self.arp_server.requests,
        ];
        refuse(rates.contains(&0), "*: rates and numbers of addresses must be at least 1")?;
        refuse(self.fanout.receivers == 0, "fanout.receivers must be at least 1")?;
        refuse(self.fanout.receivers_of_few == 0, "fanout.receivers_of_few must be at least 1")
    }
}
