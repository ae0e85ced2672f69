//! A tester that moves every frame of a trial through virtual time.

use crate::link::Link;
use crate::sender::Sender;
use crate::{DeviceUnderTest, Limits};
use trial::{
    PortCounters, PortDescription, PortId, ReceivePlan, Receiver, Tester, TesterDescription,
    TesterError, TransmitPlan, Transmitter, Trial, TrialResult,
};
use units::{Duration, Instant, LineRate};

/// The simulator's clock tells picoseconds apart.
const TICK: Duration = Duration::from_ps(1);

/// A port of the simulated tester and the link behind it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SimPort {
    /// Nominal rate of the link.
    pub line_rate: LineRate,
    /// Whether frames take their time at that rate; false for a virtual link.
    pub line_rate_is_physical: bool,
    /// One way, between tester and device.
    pub propagation: Duration,
}

impl SimPort {
    /// A link on which frames take their time.
    pub const fn physical(line_rate: LineRate) -> Self {
        SimPort { line_rate, line_rate_is_physical: true, propagation: Duration::ZERO }
    }
    /// A link whose rate is only a name, as with a veth.
    pub const fn nominal(line_rate: LineRate) -> Self {
        SimPort { line_rate, line_rate_is_physical: false, propagation: Duration::ZERO }
    }
    /// The same with a propagation delay.
    pub const fn propagation(mut self, propagation: Duration) -> Self {
        self.propagation = propagation;
        self
    }

    fn describe(&self, id: PortId) -> PortDescription {
        PortDescription {
            id,
            name: format!("sim{}", id.0),
            port_type: "simulated".into(),
            reason: "virtual time".into(),
            line_rate: self.line_rate,
            line_rate_is_physical: self.line_rate_is_physical,
            max_frame_size_bytes: 65_535,
            mac: format!("02:00:00:00:00:{:02x}", id.0),
            driver: "none".into(),
        }
    }

    fn link(&self) -> Link {
        Link::new(self.line_rate_is_physical.then_some(self.line_rate), self.propagation)
    }
}

/// Runs trials on a simulated device, frame by frame, with the same [`Transmitter`] and
/// [`Receiver`] as the live ports.
///
/// The stamp in a frame is the moment its first bit leaves; its arrival is the moment its last
/// bit is in. The device and what is under way outlive a trial, as in reality.
pub struct SimTester<D> {
    description: TesterDescription,
    limits: Limits,
    device: D,
    now: Instant,
    to_device: Vec<Link>,
    to_tester: Vec<Link>,
}

impl<D: DeviceUnderTest> SimTester<D> {
    /// A tester with these ports in front of `device`.
    pub fn new(ports: &[SimPort], device: D) -> Self {
        let id = |index: usize| PortId(index as u16);
        let described = ports.iter().enumerate().map(|(i, port)| port.describe(id(i))).collect();
        SimTester {
            description: TesterDescription {
                name: concat!("netanvil ", env!("CARGO_PKG_VERSION"), ", simulated ports").into(),
                ports: described,
                tick: TICK,
                notes: vec![],
            },
            limits: Limits::default(),
            device,
            now: Instant::ZERO,
            to_device: ports.iter().map(SimPort::link).collect(),
            to_tester: ports.iter().map(SimPort::link).collect(),
        }
    }
    /// Limits the tester itself.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
    /// Virtual time passed so far.
    pub fn now(&self) -> Instant {
        self.now
    }
    /// The device, to ask it what it knows.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// Checks that the trial's ports exist.
    fn check(&self, trial: &Trial) -> Result<(), TesterError> {
        let used = trial.loads.iter().map(|load| load.port);
        let used = used.chain(trial.prelude.iter().map(|prelude| prelude.port));
        match used.into_iter().find(|port| usize::from(port.0) >= self.to_device.len()) {
            Some(port) => Err(TesterError::BadTrial(format!("there is no {port}"))),
            None => Ok(()),
        }
    }

    /// Moves frames with nobody sending or counting until `end`.
    fn idle_until(&mut self, end: Instant) {
        while let Some(at) = self.next_event().filter(|at| *at <= end) {
            self.now = at;
            self.forward();
            for link in &mut self.to_tester {
                while link.receive(at).is_some() {}
            }
        }
        self.now = self.now.max(end);
    }

    /// When something happens next on a link or in the device.
    fn next_event(&self) -> Option<Instant> {
        let links = self.to_device.iter().chain(&self.to_tester).filter_map(Link::next_arrival);
        links.chain(self.device.poll_timeout()).min()
    }

    /// Hands the device what has arrived, and its output to the links.
    fn forward(&mut self) {
        for (index, link) in self.to_device.iter_mut().enumerate() {
            while let Some(frame) = link.receive(self.now) {
                self.device.handle_frame(self.now, PortId(index as u16), frame);
            }
        }
        while let Some(departing) = self.device.poll_output(self.now) {
            if let Some(link) = self.to_tester.get_mut(usize::from(departing.port.0)) {
                link.send(self.now, departing.frame);
            }
        }
    }
}

impl<D: DeviceUnderTest> Tester for SimTester<D> {
    fn describe(&self) -> &TesterDescription {
        &self.description
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
        self.check(trial)?;
        for prelude in &trial.prelude {
            let link = &mut self.to_device[usize::from(prelude.port.0)];
            prelude.frames.iter().for_each(|frame| link.send(self.now, frame.clone()));
            self.idle_until(self.now + prelude.wait);
        }
        let transmit = trial.transmit_plans()?;
        let ports = self.description.ports.iter();
        let receive: Vec<ReceivePlan> = ports.map(|port| trial.receive_plan(port.id)).collect();
        Ok(Running::new(self, trial, &transmit, &receive).run())
    }

    fn pause(&mut self, span: Duration) -> Result<(), TesterError> {
        self.idle_until(self.now + span);
        Ok(())
    }
}

/// A trial under way.
struct Running<'a, D> {
    tester: &'a mut SimTester<D>,
    trial: &'a Trial,
    start: Instant,
    sending: Vec<Sending<'a>>,
    receiving: Vec<Receiving<'a>>,
    buffer: Vec<u8>,
    action: Option<(Instant, Instant)>,
}

struct Sending<'a> {
    port: PortId,
    transmitter: Transmitter<'a>,
    sender: Sender,
    /// When the next frame leaves.
    next: Option<Instant>,
}

struct Receiving<'a> {
    receiver: Receiver<'a>,
    arrived: u64,
    lost_by_tester: u64,
}

impl<'a, D: DeviceUnderTest> Running<'a, D> {
    fn new(
        tester: &'a mut SimTester<D>,
        trial: &'a Trial,
        transmit: &'a [TransmitPlan],
        receive: &'a [ReceivePlan],
    ) -> Self {
        let start = tester.now;
        let sending = transmit.iter().map(|plan| Sending {
            port: plan.port,
            transmitter: Transmitter::new(plan, start, TICK),
            sender: Sender::new(tester.limits, start),
            next: None,
        });
        let receiving = receive.iter().map(|plan| Receiving {
            receiver: Receiver::new(plan, start, TICK),
            arrived: 0,
            lost_by_tester: 0,
        });
        let longest = transmit.iter().map(|plan| plan.set.longest_bytes()).max();
        let mut running = Running {
            trial,
            start,
            sending: sending.collect(),
            receiving: receiving.collect(),
            buffer: vec![0; longest.unwrap_or(0)],
            action: None,
            tester,
        };
        (0..running.sending.len()).for_each(|index| running.plan_next(index));
        running
    }

    fn run(mut self) -> TrialResult {
        while let Some(next) = self.next_departure() {
            let event = self.tester.next_event().unwrap_or(Instant::FAR_FUTURE);
            self.step(next.min(event));
        }
        let drained = self.tester.now + self.trial.waits.drain;
        self.receiving.iter_mut().for_each(|port| port.receiver.set_deadline(drained));
        let end = drained + self.trial.waits.settle;
        while let Some(at) = self.tester.next_event().filter(|at| *at <= end) {
            self.step(at);
        }
        self.act_if_due(end);
        self.tester.now = end;
        self.conclude()
    }

    fn next_departure(&self) -> Option<Instant> {
        self.sending.iter().filter_map(|sending| sending.next).min()
    }

    /// Everything that happens at `now`.
    fn step(&mut self, now: Instant) {
        self.act_if_due(now);
        self.tester.now = now;
        for index in 0..self.sending.len() {
            while self.sending[index].next.is_some_and(|next| next <= now) {
                self.send(index);
                self.plan_next(index);
            }
        }
        self.tester.forward();
        self.receive();
    }

    fn act_if_due(&mut self, now: Instant) {
        let Some((after, action)) = &self.trial.action else { return };
        let due = self.start + *after;
        if self.action.is_none() && due <= now {
            let end = self.tester.device.act(due, action).unwrap_or(due);
            self.action = Some((due, end));
        }
    }

    fn plan_next(&mut self, index: usize) {
        let sending = &mut self.sending[index];
        let link = &self.tester.to_device[usize::from(sending.port.0)];
        let due = sending.transmitter.next_due();
        sending.next = due.map(|due| sending.sender.departure(due.max(link.free_at())));
    }

    fn send(&mut self, index: usize) {
        let now = self.tester.now;
        let sending = &mut self.sending[index];
        let emitted = sending.transmitter.emit(now, &mut self.buffer);
        sending.sender.has_sent(now);
        let link = &mut self.tester.to_device[usize::from(sending.port.0)];
        link.send(now, self.buffer[..emitted.len_bytes].to_vec());
    }

    fn receive(&mut self) {
        let now = self.tester.now;
        for (link, port) in self.tester.to_tester.iter_mut().zip(&mut self.receiving) {
            while let Some(frame) = link.receive(now) {
                port.arrived += 1;
                let loses = self.tester.limits.loses_every;
                if loses.is_some_and(|every| port.arrived.is_multiple_of(every)) {
                    port.lost_by_tester += 1;
                } else {
                    port.receiver.absorb(now, &frame);
                }
            }
        }
    }

    fn conclude(self) -> TrialResult {
        let reports: Vec<_> =
            self.sending.into_iter().map(|s| (s.transmitter.into_report(), 0)).collect();
        let sent_of = |stream| {
            let counts = reports.iter().flat_map(|(report, _)| &report.sent_of_stream);
            counts.filter(|(id, _)| *id == stream).map(|(_, count)| count).sum()
        };
        let sent_by = |port| {
            let report = reports.iter().find(|(report, _)| report.port == port);
            report.map_or(0, |(report, _)| report.sent_frames)
        };
        let mut received = vec![];
        let mut counters = vec![];
        for port in self.receiving {
            let account = port.receiver.into_received(sent_of);
            counters.push(PortCounters {
                port: account.port,
                interface_sent: Some(sent_by(account.port)),
                interface_received: Some(port.arrived),
                tester_drops: vec![("simulated ring full".into(), port.lost_by_tester)],
                control_frames: 0,
            });
            received.push(account);
        }
        let mut result = self.trial.conclude(self.start, reports, received, counters);
        result.action = self.action;
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EveryNth, Fate, Impaired, Outage, Patch, QueueLimit, Stall, StoreAndForward};
    use trial::{
        DeviceAction, Expectation, PortLoad, Role, Schedule, Segment, Stream, StreamFrame,
        StreamId, ValidityLimits, Waits,
    };
    use units::FrameRate;
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
        };
        Trial {
            label: "test".into(),
            key: Key(7),
            streams: vec![stream],
            loads: vec![PortLoad {
                port: PortId(0),
                schedule,
                order: vec![StreamId(1)],
                insertions: vec![],
            }],
            prelude: vec![],
            waits: Waits { drain: Duration::from_secs(1), settle: Duration::ZERO },
            tagging: None,
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
    fn a_slow_tester_falls_short_and_a_stalling_one_is_late() {
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

        // 100 ms in, 1 ms of standing still, then 100 frames at once: the queue overflows, but
        // the tester has itself to blame.
        let stall = Stall { every: Duration::from_ms(100), lasts: Duration::from_ms(1) };
        let late = limited(Limits { stall: Some(stall), ..Limits::default() }, device());
        assert!(late.lost_frames() > 0);
        let reasons = format!("{:?}", late.invalid_reasons());
        assert!(reasons.contains("LossWithinLateness"), "{reasons}");

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
    fn a_straggler_of_one_trial_is_foreign_to_the_next() {
        let delay = Duration::from_secs(2);
        let capacity = FrameRate::from_fps(1_000);
        let device = StoreAndForward::with_capacity(capacity, QueueLimit::Frames(9)).delay(delay);
        let mut tester = SimTester::new(&[VIRTUAL; 2], device);
        let mut trial = trial_of(constant(100, 50), 60);
        let first = tester.run(&trial).unwrap();
        assert_eq!(first.lost_frames(), 5, "not back within the drain time of 1 s");
        trial.key = Key(8);
        trial.waits.drain = Duration::from_secs(3);
        let second = tester.run(&trial).unwrap();
        assert_eq!((second.lost_frames(), second.received[1].foreign), (0, 5));
    }
}
