//! A tester that moves every frame of a trial through virtual time.

use crate::evidence::Evidence;
use crate::medium::Way;
use crate::port::{Cable, Lines};
use crate::running::Running;
use crate::soonest::Soonest;
use crate::{Counter, DeviceUnderTest, Frame, Limits, SimPort};
use trial::{
    DeviceCount, DeviceSetup, Observer, PortId, QueryResponder, ReceivePlan, Tester,
    TesterDescription, TesterError, Trial, TrialResult, Unobserved, counted_between,
};
use units::{Duration, Instant};
use wire::group_message;

/// More frames than are between arrival and departure at once.
const SPARE_BUFFERS: usize = 4_096;

/// Runs trials on a simulated device, frame by frame, with the same [`Transmitter`]
/// (trial::Transmitter) and [`Receiver`](trial::Receiver) as the live ports.
///
/// The stamp in a frame is the moment its first bit leaves; its arrival is the moment its last
/// bit is in. The device and what is under way outlive a trial, as in reality.
pub struct SimTester<D> {
    pub(crate) description: TesterDescription,
    pub(crate) limits: Limits,
    pub(crate) device: D,
    /// True time; the tester's own clock may be wrong.
    pub(crate) now: Instant,
    ports: Vec<SimPort>,
    pub(crate) cables: Vec<Cable>,
    /// What the tester's hosts have joined, port by port, and how they answer queries.
    pub(crate) members: Vec<QueryResponder>,
    /// Buffers of frames that have arrived, for the next ones.
    pub(crate) spare: Vec<Vec<u8>>,
}

impl<D: DeviceUnderTest> SimTester<D> {
    /// A tester with these ports in front of `device`.
    pub fn new(ports: &[SimPort], device: D) -> Self {
        let described =
            ports.iter().enumerate().map(|(index, port)| port.describe(PortId(index as u16)));
        let mut tester = SimTester {
            description: TesterDescription {
                name: concat!("netanvil ", env!("CARGO_PKG_VERSION"), ", simulated ports").into(),
                ports: described.collect(),
                tick: Limits::default().tick(),
                notes: vec![],
            },
            limits: Limits::default(),
            device,
            now: Instant::ZERO,
            ports: ports.to_vec(),
            cables: vec![],
            members: (0..ports.len() as u64).map(QueryResponder::new).collect(),
            spare: vec![],
        };
        tester.plug_in();
        tester
    }
    /// Limits the tester itself.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self.description.tick = limits.tick();
        self.plug_in();
        self
    }
    /// Virtual time passed so far, by the tester's own clock.
    pub fn now(&self) -> Instant {
        self.limits.reads(self.now)
    }
    /// The device, to ask it what it knows.
    pub fn device(&self) -> &D {
        &self.device
    }
    /// The device, to do something to it.
    pub fn device_mut(&mut self) -> &mut D {
        &mut self.device
    }

    /// Keeps the buffer of a frame that has arrived. Of a device that copies frames more arrive than were
    /// sent: what is beyond any use is not kept.
    #[inline]
    pub(crate) fn keep(&mut self, buffer: Vec<u8>) {
        if self.spare.len() < SPARE_BUFFERS {
            self.spare.push(buffer);
        }
    }

    fn plug_in(&mut self) {
        let heard_after = self.device.hears_after_bytes();
        let error_ppm = self.limits.clock_error_ppm;
        let ports = self.ports.iter().enumerate();
        let cable = |(index, port): (usize, &SimPort)| {
            port.cable(PortId(index as u16), error_ppm, heard_after)
        };
        self.cables = ports.map(cable).collect();
    }

    /// Checks that the trial's ports exist, and that none has two loads.
    fn check(&self, trial: &Trial) -> Result<(), TesterError> {
        let bad = |what: String| Err(TesterError::BadTrial(what));
        let used = trial.loads.iter().map(|load| load.port);
        let used = used.chain(trial.prelude.iter().map(|prelude| prelude.port));
        let missing = |port: &PortId| usize::from(port.0) >= self.cables.len();
        if let Some(port) = used.into_iter().find(missing) {
            return bad(format!("there is no {port}"));
        }
        let mut loaded: Vec<PortId> = trial.loads.iter().map(|load| load.port).collect();
        loaded.sort();
        match loaded.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => bad(format!("{} has two loads", pair[0])),
            None => Ok(()),
        }
    }

    /// Moves frames with nobody sending or counting until `end`.
    fn idle_until(&mut self, end: Instant) {
        let mut events = self.events();
        loop {
            let (_, at) = events.first();
            if at > end || at == Instant::FAR_FUTURE {
                break;
            }
            self.now = self.now.max(at);
            self.receive_at(at, &mut events);
            while let Some((port, frame)) = self.next_output() {
                self.cables[port].send(Way::ToTester, self.now, frame);
                self.note_event(port, &mut events);
            }
            self.note_device(&mut events);
        }
        self.now = self.now.max(end);
    }

    /// What arrives anywhere at `at`, port after port.
    fn receive_at(&mut self, at: Instant, events: &mut Soonest) {
        while let (port, next) = events.first()
            && port < self.cables.len()
            && next <= at
        {
            while let Some((heard, frame)) = self.cables[port].receive(Way::ToDevice, at) {
                self.device.handle_frame(heard, PortId(port as u16), frame);
            }
            while let Some((heard, frame)) = self.cables[port].receive(Way::ToTester, at) {
                self.hear_query(port, heard, &frame);
            }
            self.answer_queries(port, at);
            self.note_event(port, events);
        }
    }

    /// Whether a frame is a query for members of groups; then the port's hosts have heard it.
    #[inline]
    pub(crate) fn hear_query(&mut self, port: usize, now: Instant, frame: &Frame) -> bool {
        let is_query = !frame.damaged && group_message::is_query(frame);
        if is_query {
            self.members[port].hear(now, frame);
        }
        is_query
    }

    /// Sends what a port's hosts have to answer by now.
    #[inline]
    pub(crate) fn answer_queries(&mut self, port: usize, now: Instant) {
        while let Some(frame) = self.members[port].answer(now) {
            self.cables[port].send(Way::ToDevice, now, frame.into());
        }
    }

    /// When something happens next at a port: on its link, or among its hosts.
    #[inline]
    pub(crate) fn next_at_port(&self, port: usize) -> Instant {
        let link = self.cables[port].next_event().unwrap_or(Instant::FAR_FUTURE);
        link.min(self.members[port].next_due().unwrap_or(Instant::FAR_FUTURE))
    }

    /// Every counter that the device shows.
    fn device_counts(&self) -> Vec<DeviceCount> {
        let ports = self.description.ports.iter().map(|port| port.id);
        let count = |(port, counter): (PortId, Counter)| {
            Some(DeviceCount {
                source: "device".into(),
                port: Some(port),
                name: self.device.counter_name(counter),
                counted: counter.counted(),
                count: self.count(port, counter)?,
            })
        };
        let all = ports.flat_map(|port| Counter::ALL.map(|counter| (port, counter)));
        all.filter_map(count).collect()
    }

    /// What the device shows of a counter; where its MAC counts it, on a half-duplex link only.
    fn count(&self, port: PortId, counter: Counter) -> Option<u64> {
        let shown = self.device.counter(port, counter)?;
        match counter.is_of_medium() {
            true => self.cables[usize::from(port.0)].mac_counts(Way::ToTester)?.get(counter),
            false => Some(shown),
        }
    }

    /// Frames of the device's that its links lost.
    fn lost_on_links(&self) -> Vec<(String, u64)> {
        let lost = |(port, cable): (usize, &Cable)| {
            let uncarried = cable.uncarried(Way::ToTester);
            let lost = [
                ("given up after 16 collisions", uncarried.given_up),
                ("collided unnoticed", uncarried.unnoticed),
            ];
            lost.map(|(how, frames)| (format!("{how} at port {port}"), frames))
        };
        self.cables.iter().enumerate().flat_map(lost).collect()
    }

    /// What the device tells of itself, and its links of its frames.
    fn evidence(&self) -> Evidence {
        let waiting = self.cables.iter().map(|cable| cable.uncarried(Way::ToTester).waiting).sum();
        Evidence::of(&self.device).and_on_links(self.lost_on_links(), waiting)
    }

    /// When something happens next on each link, and last in the device.
    fn events(&self) -> Soonest {
        let mut events = Soonest::new(self.cables.len() + 1);
        (0..self.cables.len()).for_each(|port| self.note_event(port, &mut events));
        self.note_device(&mut events);
        events
    }

    fn note_event(&self, port: usize, events: &mut Soonest) {
        events.set(port, self.next_at_port(port));
    }

    fn note_device(&self, events: &mut Soonest) {
        let timeout = self.device.poll_timeout();
        events.set(self.cables.len(), timeout.unwrap_or(Instant::FAR_FUTURE));
    }

    /// What leaves the device now, and at which port.
    #[inline]
    pub(crate) fn next_output(&mut self) -> Option<(usize, Frame)> {
        loop {
            let departing = self.device.poll_output(self.now, &Lines(&self.cables))?;
            let port = usize::from(departing.port.0);
            if port < self.cables.len() {
                return Some((port, departing.frame));
            }
        }
    }
}

impl<D: DeviceUnderTest> Tester for SimTester<D> {
    fn describe(&self) -> &TesterDescription {
        &self.description
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
        self.run_observed(trial, &mut Unobserved)
    }

    /// Samples are taken in virtual time.
    fn run_observed(
        &mut self,
        trial: &Trial,
        observer: &mut dyn Observer,
    ) -> Result<TrialResult, TesterError> {
        self.check(trial)?;
        let before = self.device_counts();
        for prelude in &trial.prelude {
            let port = usize::from(prelude.port.0);
            for frame in &prelude.frames {
                self.members[port].note_sent(self.now, frame);
                self.cables[port].send(Way::ToDevice, self.now, frame.clone().into());
            }
            self.idle_until(self.after(prelude.wait));
        }
        let transmit = trial.transmit_plans()?;
        let ports = self.description.ports.iter();
        let receive: Vec<ReceivePlan> = ports.map(|port| trial.receive_plan(port.id)).collect();
        let told = self.evidence();
        let mut result = Running::new(self, trial, &transmit, &receive).run(observer)?;
        let tells = self.evidence();
        result.places = tells.places(&told);
        result.pressure = tells.pressure(&told);
        result.device = counted_between(&before, &self.device_counts());
        Ok(result)
    }

    fn pause(&mut self, span: Duration) -> Result<(), TesterError> {
        self.idle_until(self.after(span));
        Ok(())
    }

    fn configure(&mut self, setup: &DeviceSetup) -> Result<(), TesterError> {
        match self.device.configure(setup) {
            Some(done) => done.map_err(TesterError::Refused),
            None => Err(TesterError::Unsupported {
                port: "any".into(),
                what: "packet filters on this device".into(),
                remedy: "simulate a device that routes IPv4".into(),
            }),
        }
    }
}

impl<D> SimTester<D> {
    /// The moment of true time when so much has passed on the tester's clock.
    fn after(&self, span: Duration) -> Instant {
        self.limits.moment(self.limits.reads(self.now) + span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Addresses, Description, EveryNth, Fate, Impaired, Outage, Patch, QueueLimit, Stall,
        StoreAndForward,
    };
    use trial::{
        DeviceAction, Expectation, PortLoad, Role, Schedule, Segment, Stream, StreamFrame,
        StreamId, ValidityLimits, Waits,
    };
    use units::{FrameRate, LineRate};
    use wire::signature::{Form, Key};

    const GIGABIT: SimPort = SimPort::physical(LineRate::from_gbps(1));
    const VIRTUAL: SimPort = SimPort::nominal(LineRate::from_gbps(10));

    fn trial_of(schedule: Schedule, len_bytes: usize) -> Trial {
        let stream = Stream {
            id: StreamId(1),
            name: "forward".into(),
            role: Role::Test,
            from: PortId(0),
            expect: Expectation::Ports(vec![PortId(1)]),
            frames: vec![StreamFrame { bytes: vec![0x5a; len_bytes], form: Some(Form::Full) }],
            fingerprint: None,
            given_up: vec![],
            bad_fcs: false,
            grows_by_bytes: 0,
        };
        Trial {
            label: "test".into(),
            key: Key::from_seed(7),
            streams: vec![stream],
            loads: vec![PortLoad {
                port: PortId(0),
                schedule,
                order: vec![StreamId(1)],
                insertions: vec![],
            }],
            prelude: vec![],
            waits: Waits::fixed(Duration::from_secs(1), Duration::ZERO),
            tagging: None,
            count_flows: false,
            verify_payload: false,
            action: None,
            captures: vec![],
            limits: ValidityLimits::default(),
        }
    }

    fn constant(fps: u64, ms: u64) -> Schedule {
        Schedule::constant(FrameRate::from_fps(fps), Duration::from_ms(ms))
    }

    fn run(ports: [SimPort; 2], device: impl DeviceUnderTest, trial: &Trial) -> TrialResult {
        SimTester::new(&ports, device).run(trial).unwrap()
    }

    #[test]
    fn latency_through_a_patch_is_the_time_on_the_links() {
        let us = Duration::from_us(1);
        let trial = trial_of(constant(1_000, 100), 60);
        let result =
            run([GIGABIT.propagation(us), GIGABIT.propagation(us)], Patch::default(), &trial);
        assert!(result.is_valid(), "{:?}", result.validity);
        assert_eq!((result.offered_frames(), result.lost_frames()), (100, 0));
        // 64 bytes at 1 Gb/s take 512 ns; twice over, and 1 us each way.
        let latency = result.latency().unwrap();
        assert_eq!(latency.min(), Some(Duration::from_ns(3_024)));
        assert_eq!(latency.max(), Some(Duration::from_ns(3_024)));
    }

    #[test]
    fn a_physical_line_offers_its_maximum_exactly_and_no_more() {
        let line = LineRate::from_gbps(1);
        let maximum = line.max_frame_rate(units::FrameSize::MIN_ETHERNET);
        let at_maximum = trial_of(Schedule::constant(maximum, Duration::from_ms(10)), 60);
        let result = run([GIGABIT; 2], Patch::default(), &at_maximum);
        assert!(result.is_valid(), "{:?}", result.validity);
        assert_eq!(result.lost_frames(), 0);
        let too_fast = Schedule::constant(maximum.scaled(1.01), Duration::from_ms(10));
        let result = run([GIGABIT; 2], Patch::default(), &trial_of(too_fast, 60));
        assert!(!result.is_valid());
        assert_eq!(result.lost_frames(), 0);
    }

    /// A source that needs 11.42 us between frames at 10 Mb/s: 57.6 us for a frame of 64 bytes and
    /// its preamble, so 14,488.6 a second instead of 14,880.
    #[test]
    fn a_source_with_a_long_gap_offers_less_than_the_medium_takes() {
        let port = SimPort::physical(LineRate::from_mbps(10)).min_gap(Duration::from_ns(11_420));
        let maximum = LineRate::from_mbps(10).max_frame_rate(units::FrameSize::MIN_ETHERNET);
        let trial = trial_of(Schedule::constant(maximum, Duration::from_ms(500)), 60);
        let result = run([port; 2], Patch::default(), &trial);
        assert_eq!(result.lost_frames(), 0);
        let offered = result.sent[0].report.sent_rate().unwrap().fps();
        assert!((offered - 1e6 / 69.02).abs() < 0.01, "{offered}");
        assert!(format!("{:?}", result.invalid_reasons()).contains("Shortfall"));
    }

    /// The tester cannot see that its clock is fast; the device can: 200 ppm above the line rate
    /// fill a queue of 4 frames before an output at line rate in some 25,000 frames.
    #[test]
    fn a_fast_clock_overruns_a_device_at_line_rate() {
        let maximum = LineRate::from_gbps(1).max_frame_rate(units::FrameSize::MIN_ETHERNET);
        let offer = |error_ppm| {
            let limits = Limits { clock_error_ppm: error_ppm, ..Limits::default() };
            let device = StoreAndForward::with_capacity(maximum, QueueLimit::Frames(4));
            let mut tester = SimTester::new(&[GIGABIT; 2], device).limits(limits);
            let trial = trial_of(Schedule::constant(maximum, Duration::from_ms(40)), 60);
            (tester.run(&trial).unwrap(), tester.device().dropped())
        };
        let (result, dropped) = offer(200);
        assert!(result.is_valid(), "{:?}", result.validity);
        let rate = result.sent[0].report.sent_rate().unwrap().fps();
        assert!((rate / maximum.fps() - 1.0).abs() < 1e-6, "as far as it can tell: {rate}");
        // 59,524 frames x 0.0002 are 11.9 too many; 4 wait, and one is in service.
        assert!((5..=8).contains(&dropped), "{dropped}");
        assert_eq!(result.lost_frames(), dropped);
        assert_eq!(offer(0).1 + offer(-200).1, 0);
    }

    #[test]
    fn a_coarse_clock_shows_whole_ticks() {
        let us = Duration::from_us(1);
        let limits = Limits { timestamp_resolution: us, ..Limits::default() };
        let mut tester = SimTester::new(&[GIGABIT; 2], Patch::default()).limits(limits);
        assert_eq!(tester.describe().tick, us);
        let result = tester.run(&trial_of(constant(19_000, 100), 1_000)).unwrap();
        let latency = result.latency().unwrap();
        // 1,004 bytes at 1 Gb/s, twice: 16.064 us are 16 or, from 0.936 us past a tick, 17 ticks.
        assert_eq!(latency.min(), Some(us * 16));
        assert_eq!(latency.max(), Some(us * 17));
    }

    /// A repeater passes damaged frames on; what is received of them is no frame.
    #[test]
    fn a_bad_fcs_is_seen_by_the_device_and_by_the_receiver() {
        let mut trial = trial_of(constant(1_000, 100), 60);
        trial.streams[0].bad_fcs = true;
        let result = run([GIGABIT; 2], Patch::default(), &trial);
        assert!(result.is_valid(), "{:?}", result.validity);
        assert_eq!((result.offered_frames(), result.lost_frames()), (100, 100));
        assert_eq!(result.counters[1].bad_fcs, Some(100));
        let router: Description = toml::from_str("bridge = true").unwrap();
        let device = router.device(&Addresses::plan(2)).unwrap();
        let mut tester = SimTester::new(&[GIGABIT; 2], device);
        let result = tester.run(&trial).unwrap();
        assert_eq!(result.counters[1].bad_fcs, Some(0));
        let counts = result.device.iter().filter(|count| count.count > 0);
        let counts: Vec<_> = counts.map(|count| (count.port, count.counted, count.count)).collect();
        assert_eq!(counts, [(Some(PortId(0)), trial::Counted::CrcErrors, 100)]);
    }

    /// Frames in both directions at once: what the device forwards finds the other port's medium
    /// taken, and waits for 67.2 us from the start of the frame on it.
    #[test]
    fn a_shared_medium_is_waited_for() {
        let port = SimPort::physical(LineRate::from_mbps(10));
        let mut trial = trial_of(constant(3_000, 1_000), 60);
        let back = Stream {
            id: StreamId(2),
            from: PortId(1),
            expect: Expectation::Ports(vec![PortId(0)]),
            ..trial.streams[0].clone()
        };
        trial.streams.push(back);
        let load = PortLoad { port: PortId(1), order: vec![StreamId(2)], ..trial.loads[0].clone() };
        trial.loads.push(load);
        let result = run([port.half_duplex(); 2], Patch::default(), &trial);
        assert_eq!((result.offered_frames(), result.lost_frames()), (6_000, 0));
        let free = run([port; 2], Patch::default(), &trial);
        assert_eq!(free.latency().unwrap().max(), Some(Duration::from_ns(102_400)));
        let shared = Some(Duration::from_ns(67_200 + 51_200));
        let latency = result.latency().unwrap();
        assert_eq!((latency.min(), latency.max()), (shared, shared));
    }

    /// Every port of 64 at once at line rate, in pairs.
    #[test]
    fn any_number_of_ports() {
        let maximum = LineRate::from_gbps(1).max_frame_rate(units::FrameSize::MIN_ETHERNET);
        let one = trial_of(Schedule::constant(maximum, Duration::from_us(100)), 60);
        let mut trial = one.clone();
        trial.streams.clear();
        trial.loads.clear();
        for port in 0..64 {
            trial.streams.push(Stream {
                id: StreamId(port),
                from: PortId(port),
                expect: Expectation::Ports(vec![PortId(port ^ 1)]),
                ..one.streams[0].clone()
            });
            let order = vec![StreamId(port)];
            trial.loads.push(PortLoad { port: PortId(port), order, ..one.loads[0].clone() });
        }
        let result = SimTester::new(&[GIGABIT; 64], Patch::default()).run(&trial).unwrap();
        assert!(result.is_valid(), "{:?}", result.validity);
        assert_eq!((result.offered_frames(), result.lost_frames()), (64 * 149, 0));
        trial.loads.push(trial.loads[0].clone());
        let twice = SimTester::new(&[GIGABIT; 64], Patch::default()).run(&trial);
        assert!(twice.unwrap_err().to_string().contains("port 0 has two loads"));
    }

    /// Frame k arrives at k x t and finds the server busy with frame floor(k x t / s): it is
    /// dropped when more than the queue's length lie between.
    #[test]
    fn loss_of_a_burst_is_that_of_the_queue() {
        let queue = 50;
        let device = || {
            let capacity = FrameRate::from_fps(50_000);
            StoreAndForward::with_capacity(capacity, QueueLimit::Frames(queue))
        };
        let burst = |frames| {
            let segment = Segment::constant(FrameRate::from_fps(200_000), frames);
            trial_of(Schedule { segments: vec![segment] }, 60)
        };
        // Arrivals every 5 us, service 20 us: at frame k, floor(k/4) are served (k/4 whole: the
        // one that ends at this very moment counts as served), one is in service.
        let longest = (1u64..).find(|k| k - k / 4 > queue).unwrap();
        let lossless = run([VIRTUAL; 2], device(), &burst(longest));
        assert_eq!(lossless.lost_frames(), 0);
        assert_eq!(run([VIRTUAL; 2], device(), &burst(longest + 1)).lost_frames(), 1);
    }

    #[test]
    fn one_in_n_is_exact_to_the_frame() {
        let device = Impaired::new(Patch::default(), EveryNth::new(100, Fate::Drop));
        let result = run([VIRTUAL; 2], device, &trial_of(constant(10_000, 1_000), 60));
        assert_eq!((result.offered_frames(), result.lost_frames()), (10_000, 100));
    }

    #[test]
    fn each_fate_is_accounted_for_under_its_name() {
        let stream_of = |fate| {
            let device = Impaired::new(Patch::default(), EveryNth::new(10, fate));
            run([VIRTUAL; 2], device, &trial_of(constant(1_000, 1_000), 60)).streams[0].clone()
        };
        assert_eq!(stream_of(Fate::Duplicate).duplicates, 100);
        let delayed = stream_of(Fate::Delay(Duration::from_us(1_500)));
        assert_eq!((delayed.reordered, delayed.lost), (99, 0), "nothing follows the last one");
        let flipped = stream_of(Fate::FlipBit { bytes_from_end: 1 });
        assert_eq!(flipped.lost, 100);
    }

    #[test]
    fn a_slow_tester_falls_short_and_a_stalling_one_slips() {
        let limited = |limits, device| {
            let mut tester = SimTester::new(&[VIRTUAL; 2], device).limits(limits);
            tester.run(&trial_of(constant(100_000, 200), 60)).unwrap()
        };
        let capacity = FrameRate::from_fps(110_000);
        let device = || StoreAndForward::with_capacity(capacity, QueueLimit::Frames(64));
        assert!(limited(Limits::default(), device()).is_valid());

        let max_rate = Some(FrameRate::from_fps(60_000));
        let slow = limited(Limits { max_rate, ..Limits::default() }, device());
        let reasons = format!("{:?}", slow.invalid_reasons());
        assert!(reasons.contains("Shortfall"), "{reasons}");

        // 100 ms in, 1 ms of standing still: of the 100 frames that are late then, the 10 of the credit
        // follow at once, which the queue takes; the others come 900 us later than intended.
        let stall = Stall { every: Duration::from_ms(100), lasts: Duration::from_ms(1) };
        let late = limited(Limits { stall: Some(stall), ..Limits::default() }, device());
        let slips = late.sent[0].report.slips;
        assert_eq!((late.lost_frames(), slips.times), (0, 1));
        assert_eq!(slips.total, Duration::from_us(900));
        assert_eq!(late.offered_frames(), 20_000);

        let lossy = limited(Limits { loses_every: Some(1_000), ..Limits::default() }, device());
        assert_eq!(lossy.tester_drops(), 20);
        assert!(!lossy.is_valid());
    }

    #[test]
    fn an_action_takes_the_device_out_of_service() {
        let outage = Outage::new(Duration::from_ms(250), Duration::ZERO);
        let mut trial = trial_of(constant(1_000, 2_000), 60);
        trial.action = Some((Duration::from_ms(500), DeviceAction::SoftwareReset));
        let result = run([VIRTUAL; 2], Impaired::new(Patch::default(), outage), &trial);
        assert_eq!(result.lost_frames(), 250);
        let silence = result.received[1].streams[0].account.longest_silence.unwrap();
        assert_eq!(silence.duration(), Duration::from_ms(251));
        let (began, ended) = result.action.unwrap();
        assert_eq!(ended.since(began), Duration::from_ms(250));
    }

    #[test]
    fn the_same_seed_gives_the_same_result() {
        let noisy = |seed| {
            let rule = crate::Noise::new(0.01, Fate::Drop, seed);
            let device = Impaired::new(Patch::default(), rule);
            run([VIRTUAL; 2], device, &trial_of(constant(10_000, 500), 60))
        };
        assert_eq!(noisy(1), noisy(1));
        assert_ne!(noisy(1).streams, noisy(2).streams);
    }

    #[test]
    fn a_straggler_of_one_trial_is_no_frame_of_the_next_and_makes_it_invalid() {
        let delay = Duration::from_secs(2);
        let capacity = FrameRate::from_fps(1_000);
        let device = StoreAndForward::with_capacity(capacity, QueueLimit::Frames(9)).delay(delay);
        let mut tester = SimTester::new(&[VIRTUAL; 2], device);
        let mut trial = trial_of(constant(100, 50), 60);
        let first = tester.run(&trial).unwrap();
        assert_eq!(first.lost_frames(), 5, "not back within the drain time of 1 s");
        trial.key = trial.key.later(1);
        trial.waits.drain = Duration::from_secs(3);
        let second = tester.run(&trial).unwrap();
        let port = &second.received[1];
        assert_eq!((second.lost_frames(), port.foreign, port.corrupted), (0, 0, 0));
        assert_eq!(port.leftovers.frames, [5, 0, 0, 0]);
        let [reason] = second.invalid_reasons() else { panic!("{:?}", second.validity) };
        assert!(reason.to_string().contains("5 frames of trial 0 were still"), "{reason}");
        // The one after it meets nothing more.
        trial.key = trial.key.later(1);
        assert!(tester.run(&trial).unwrap().is_valid());
    }
}
