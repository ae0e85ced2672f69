//! A run to render: the suite on a simulated router whose truth is known, with a tester that
//! itself loses a frame now and then, so that there are invalid trials too.

use method::{
    Attachment, Event, EventSink, Forwarding, LegacyAddresses, Profile, Suite, SuiteConfig,
    TestKind, Topology,
};
use sim::{
    DeviceUnderTest, EveryNth, Fate, Impaired, Limits, Outage, Patch, QueueLimit, SimPort,
    SimTester, StoreAndForward,
};
use std::net::{Ipv4Addr, Ipv6Addr};
use traffic::size::SizePattern;
use trial::{
    Observer, PortId, Tester, TesterDescription, TesterError, Trial, TrialResult, Unobserved,
};
use units::{Duration, FrameRate, FrameSize, LineRate};
use wire::ethernet::MacAddr;

/// What makes one sample differ from another.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Time the router takes for a frame of any size.
    pub per_frame: Duration,
    /// Frame sizes in bytes.
    pub sizes: Vec<u32>,
    /// Which tests.
    pub tests: Vec<TestKind>,
}

impl Default for Sample {
    /// All tests with the sizes of RFC 2544.
    fn default() -> Self {
        use TestKind::*;
        Sample {
            per_frame: Duration::from_us(9),
            sizes: FrameSize::RFC2544_ETHERNET.map(FrameSize::bytes).to_vec(),
            tests: vec![Throughput, Latency, Pdv, Ipdv, FrameLoss, BackToBack, Recovery, Reset],
        }
    }
}

impl Sample {
    /// Runs it; events go to `sink` as they happen.
    pub fn run(&self, sink: &mut dyn EventSink) {
        let ports = [SimPort::physical(LineRate::from_mbps(100)); 2];
        let router =
            StoreAndForward::new(self.per_frame, Duration::from_ns(2), QueueLimit::Frames(48));
        let router = router.delay(Duration::from_us(12));
        let slow_path = EveryNth::new(211, Fate::Delay(Duration::from_us(140)));
        let outage = Outage::new(Duration::from_ms(900), Duration::from_ms(40));
        let router = Impaired::new(Impaired::new(router, slow_path), outage);
        let mut device = Clumsy { tester: Some(SimTester::new(&ports, router)), trials: 0 };
        let mut looped = SimTester::new(&ports, Patch::default()).limits(fastest());
        self.suite().run(&mut device, Some(&mut looped), sink).expect("the simulator runs it");
    }

    /// The events of the run.
    #[allow(dead_code, reason = "not every user of this module wants them in memory")]
    pub fn events(&self) -> Vec<Event> {
        let mut events = vec![];
        self.run(&mut events);
        events
    }

    fn suite(&self) -> Suite {
        let mut config = SuiteConfig::of(Profile::Quick);
        config.tests = self.tests.clone();
        let sizes = self.sizes.iter().map(|bytes| FrameSize::from_bytes(*bytes));
        config.frame_sizes = sizes.map(SizePattern::Fixed).collect();
        config.trial.duration_s = 0.2;
        config.search.trial_duration_s = 0.1;
        config.self_test.trial_duration_s = 0.1;
        config.latency.repetitions = 6;
        config.latency.stream_s = 0.4;
        config.latency.first_tag_s = 0.1;
        config.latency.tags = 100;
        config.back_to_back.repetitions = 5;
        config.back_to_back.limit_s = 0.1;
        config.recovery.repetitions = 3;
        config.recovery.overload_s = 0.1;
        config.recovery.observe_s = 0.1;
        config.reset.repetitions = 2;
        config.reset.before_s = 0.2;
        config.reset.after_s = 1.6;
        let words = [
            ("date", "2026-01-31T23:59:07Z"),
            ("host", "a simulation in virtual time"),
            ("device configuration", "queue of 48 frames <per port> & a slow path for 1 in 211"),
        ];
        Suite {
            program: concat!("netanvil ", env!("CARGO_PKG_VERSION")).into(),
            device: "Simulated router \"R&D <1>\"".into(),
            environment: words.map(|(name, value)| (name.into(), value.into())).into(),
            config,
            topology: Topology {
                encapsulated: None,
                forwarding: Forwarding::Routed,
                ports: vec![attachment(0), attachment(1)],
            },
            self_test: None,
            more: &[],
        }
    }
}

/// What the tester reaches, less than 0.9 of the medium's maximum for 64 bytes.
fn fastest() -> Limits {
    Limits { max_rate: Some(FrameRate::from_fps(130_000)), ..Limits::default() }
}

/// A tester that in one trial of eleven loses frames it has received.
struct Clumsy<D> {
    tester: Option<SimTester<D>>,
    trials: u64,
}

impl<D: DeviceUnderTest> Clumsy<D> {
    fn tester(&mut self) -> &mut SimTester<D> {
        self.tester.as_mut().expect("it is put back at once")
    }
}

impl<D: DeviceUnderTest> Tester for Clumsy<D> {
    fn describe(&self) -> &TesterDescription {
        self.tester.as_ref().expect("it is put back at once").describe()
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
        self.run_observed(trial, &mut Unobserved)
    }

    fn run_observed(
        &mut self,
        trial: &Trial,
        observer: &mut dyn Observer,
    ) -> Result<TrialResult, TesterError> {
        self.trials += 1;
        let loses_every = self.trials.is_multiple_of(11).then_some(1_000);
        let limits = Limits { loses_every, ..fastest() };
        self.tester = self.tester.take().map(|tester| tester.limits(limits));
        self.tester().run_observed(trial, observer)
    }

    fn pause(&mut self, span: Duration) -> Result<(), TesterError> {
        self.tester().pause(span)
    }
}

/// A port with the addresses of RFC 2544 section C.2.2.
fn attachment(port: u16) -> Attachment {
    let side = 18 + port as u8;
    let v6 = |host: u16| Ipv6Addr::new(0x2001, 2, 0, port, 0, 0, 0, host);
    Attachment {
        port: PortId(port),
        mac: MacAddr([2, 0, 0, 0, 0, port as u8]),
        host_ipv4: Ipv4Addr::new(198, side, 1, 2),
        host_ipv6: v6(2),
        device_mac: MacAddr([2, 0, 0, 0, 1, port as u8]),
        device_ipv4: Ipv4Addr::new(198, side, 1, 1),
        device_ipv6: v6(1),
        network_hosts_ipv4: vec![],
        network_hosts_ipv6: vec![],
        network_prefix_ipv4: 24,
        prefix_hosts_ipv6: Default::default(),
        legacy: LegacyAddresses::plan(PortId(port)),
    }
}
