//! The live tester: a [`Tester`] made of real ports.

use crate::clock;
use crate::cores::{self, CorePlan};
use crate::interface::Interface;
use crate::live_trial::LiveTrial;
use crate::open::{ETHERNET_OVERHEAD_BYTES, OpenPort, settle_process};
use crate::pressure::DeviceThread;
use kernel::thread;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use trial::{
    DeviceAction, DeviceCount, DeviceSetup, Observer, PortId, Prelude, Tester, TesterDescription,
    TesterError, Trial, TrialResult, Unobserved, counted_between, queues_used,
};
use units::{Duration, Instant};
use wire::ethernet::{self, EtherType};
use wire::vlan;

/// What the tester can have done to the device, and ask of it.
pub trait DeviceControl: Send {
    /// Whether it can carry out actions; they are left out where it cannot.
    fn acts(&self) -> bool {
        true
    }
    /// Carries out an action and returns when it is over.
    fn act(&mut self, action: &DeviceAction) -> Result<(), TesterError>;
    /// An error if the device is known to be gone.
    fn check(&mut self) -> Result<(), TesterError>;
    /// Configures the device, as [`Tester::configure`].
    fn configure(&mut self, setup: &DeviceSetup) -> Result<(), TesterError>;
    /// The device's own counters as they stand now, by every way in which they can be read; asked
    /// for before and after each trial where [`LiveOptions::reads_counters`].
    fn counters(&mut self) -> Result<Vec<DeviceCount>, TesterError>;
    /// The device's ends of the links to the tester's ports, in the order of those. Empty where nobody
    /// can say.
    fn counts(&mut self) -> Result<DeviceCounts, TesterError> {
        Ok(DeviceCounts::default())
    }
    /// Whether [`counts`](Self::counts) may be those of a moment before.
    fn is_rough(&self) -> bool {
        false
    }
    /// The threads that forward in the device. Empty where nobody can say.
    fn threads(&mut self) -> Vec<DeviceThread> {
        vec![]
    }
    /// Why the processor time of the device cannot be told, or says nothing of a frame's cost, where that is so.
    fn untimed(&self) -> Option<String> {
        None
    }
}

/// What a device has counted up to now: everything there is, read at once, since the time between trials
/// is precious. Empty where nobody can say.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct DeviceCounts {
    /// Its end of the link to each port, in the ports' order.
    pub links: Vec<DeviceLink>,
    /// Places within it where frames are dropped or wait, read before `links`.
    pub places: Vec<PlaceCount>,
    /// Why something could not be read, in words.
    pub notes: Vec<String>,
}

/// What a place within the device has counted up to now.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct PlaceCount {
    /// Its name, which no other place has.
    pub name: String,
    /// Frames dropped there.
    pub dropped: u64,
    /// Frames waiting there now.
    pub waiting: u64,
    /// The counter is the whole machine's.
    pub of_machine: bool,
}

/// The device's end of a link, as the kernel counts there.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct DeviceLink {
    /// Frames received from the tester.
    pub rx_frames: u64,
    /// Frames received and dropped.
    pub rx_dropped: u64,
    /// Frames sent to the tester.
    pub tx_frames: u64,
    /// Frames that could not be handed over since the tester had no room for them: the tester's loss,
    /// which only this end of a veth counts.
    pub tx_dropped: u64,
    /// How often the link has lost or gained its carrier.
    pub carrier_changes: u64,
    /// Whether it has one.
    pub carrier: bool,
}

/// Which threads of the tester run with real-time priority (SCHED_FIFO), and with which.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RealTime {
    /// Transmitters. They spin: the kernel stops them for a while each second (sched(7),
    /// `sched_rt_runtime_us`).
    pub transmit: Option<i32>,
    /// Receivers.
    pub receive: Option<i32>,
    /// The thread that runs the trial: it starts and ends the others.
    pub control: Option<i32>,
}

/// How a live tester is to behave.
#[derive(Default)]
pub struct LiveOptions {
    /// Cores to which the device's own threads are pinned, if it is a device of this machine.
    pub device_cores: Vec<usize>,
    /// Real-time priority of the tester's threads; none by default.
    pub real_time: RealTime,
    /// Way to the device, if there is one.
    pub device: Option<Box<dyn DeviceControl>>,
    /// Whether the device's own counters are read around each trial.
    pub reads_counters: bool,
    /// Set by whoever wants the tester to stop, such as a signal handler.
    pub stop: Arc<AtomicBool>,
}

/// Real ports as one tester.
pub struct LiveTester {
    pub(crate) ports: Vec<OpenPort>,
    pub(crate) options: LiveOptions,
    description: TesterDescription,
    cores: Vec<usize>,
    /// Whether its ports are such as devices that poll have.
    polled: bool,
}

impl LiveTester {
    /// A tester of these ports, numbered in their order.
    pub fn new(mut ports: Vec<OpenPort>, options: LiveOptions) -> Result<Self, TesterError> {
        for (index, port) in ports.iter().enumerate() {
            if port.describe().id != PortId(index as u16) {
                let what = format!("{} is not number {index}", port.describe().name);
                return Err(TesterError::BadTrial(what));
            }
        }
        let mut notes = settle_process();
        notes.extend(ports.iter().flat_map(|port| port.notes.clone()));
        let cores = thread::allowed_cores();
        let all: Vec<PortId> = ports.iter_mut().flat_map(receivers_of).collect();
        let queues = |port: &mut OpenPort| vec![port.describe().id; port.halves_for(None).queues()];
        let transmitting: Vec<PortId> = ports.iter_mut().flat_map(queues).collect();
        let polled = ports.iter_mut().any(|port| port.halves_for(None).receive.joins_sender());
        let plan =
            cores::plan_beside(&cores, &transmitting, &all, (&options.device_cores[..], polled));
        notes.extend(plan.notes.iter().map(|note| format!("when all ports transmit, {note}")));
        let description = TesterDescription {
            name: tester_name(&ports),
            ports: ports.iter().map(|port| port.describe().clone()).collect(),
            tick: clock::TICK,
            notes,
        };
        Ok(LiveTester { ports, options, description, cores, polled })
    }

    /// The ports, for whoever wants to look at interfaces.
    pub fn ports(&self) -> &[OpenPort] {
        &self.ports
    }

    fn core_plan(&mut self, trial: &Trial) -> CorePlan {
        let transmitting: Vec<PortId> =
            trial.loads.iter().flat_map(|load| self.queues_of(load.port, trial)).collect();
        // Ports where nothing is expected come last: their receivers have little to do.
        let all: Vec<PortId> = self.ports.iter_mut().flat_map(receivers_of).collect();
        let all = || all.iter().copied();
        let expected = |port: &PortId| trial.streams.iter().any(|s| s.expect.includes(*port));
        let receiving: Vec<PortId> =
            all().filter(expected).chain(all().filter(|port| !expected(port))).collect();
        let device = (&self.options.device_cores[..], self.polled);
        cores::plan_beside(&self.cores, &transmitting, &receiving, device)
    }

    /// The port, once for each queue by which it sends in the trial.
    fn queues_of(&mut self, port: PortId, trial: &Trial) -> Vec<PortId> {
        let streams = trial.streams.iter().filter(|stream| stream.from == port);
        let slots: usize = streams.map(|stream| stream.frames.len()).sum();
        let queues = self.ports[usize::from(port.0)].halves_for(None).queues();
        vec![port; queues_used(queues, slots)]
    }

    fn check_fits(&mut self, trial: &Trial) -> Result<(), TesterError> {
        let known = |port: PortId| {
            let port = self.ports.get(usize::from(port.0));
            port.ok_or_else(|| TesterError::BadTrial("it names a port there is not".into()))
        };
        for load in &trial.loads {
            known(load.port)?;
        }
        for stream in &trial.streams {
            let port = known(stream.from)?;
            let longest = stream.frames.iter().map(|frame| bytes_against_mtu(&frame.bytes)).max();
            let size_bytes = longest.unwrap_or(0) as u32 + 4;
            if size_bytes > port.describe().max_frame_size_bytes {
                return Err(too_long(port, size_bytes));
            }
        }
        let bad = trial.streams.iter().filter(|stream| stream.bad_fcs);
        let ports: BTreeSet<usize> = bad.map(|stream| usize::from(stream.from.0)).collect();
        ports.into_iter().try_for_each(|port| self.ports[port].open_own_fcs())
    }

    fn run_fitting(
        &mut self,
        trial: &Trial,
        observer: &mut dyn Observer,
    ) -> Result<TrialResult, TesterError> {
        self.send_prelude(&trial.prelude)?;
        let plan = self.core_plan(trial);
        LiveTrial::new(trial, &plan, &mut self.ports, &mut self.options)?.run(observer)
    }

    /// A call that failed on a port or device that is gone failed because of that.
    fn cause_of(&mut self, error: TesterError) -> TesterError {
        if error == TesterError::Interrupted {
            return error;
        }
        let is_gone = |error: &TesterError| {
            matches!(error, TesterError::DeviceGone(_) | TesterError::PortGone { .. })
        };
        let ports = self.ports.iter().filter_map(|port| port.link.state_if_up().err());
        let port = Some(error.clone()).into_iter().chain(ports).find(is_gone);
        let looks = if port.is_some() { LOOKS_FOR_THE_END } else { 1 };
        let device = self.options.device.as_mut().and_then(|device| end_of(&mut **device, looks));
        device.filter(is_gone).or(port).unwrap_or(error)
    }

    fn device_counts(&mut self) -> Result<Vec<DeviceCount>, TesterError> {
        match &mut self.options.device {
            Some(device) if self.options.reads_counters => device.counters(),
            _ => Ok(vec![]),
        }
    }

    /// Sends the prelude's frames, each group with its wait.
    fn send_prelude(&mut self, prelude: &[Prelude]) -> Result<(), TesterError> {
        for step in prelude {
            let port = self.ports.get(usize::from(step.port.0));
            let port = port.ok_or_else(|| {
                TesterError::BadTrial("the prelude names a port there is not".into())
            })?;
            port.send_now(&step.frames)?;
            self.pause(step.wait)?;
        }
        Ok(())
    }
}

impl Tester for LiveTester {
    fn describe(&self) -> &TesterDescription {
        &self.description
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
        self.run_observed(trial, &mut Unobserved)
    }

    fn run_observed(
        &mut self,
        trial: &Trial,
        observer: &mut dyn Observer,
    ) -> Result<TrialResult, TesterError> {
        self.check_fits(trial)?;
        self.pause(Duration::ZERO)?;
        let _in_front = self.options.real_time.control.map(thread::RealTimeTurn::begin);
        let before = self.device_counts()?;
        let mut result = self.run_fitting(trial, observer).map_err(|error| self.cause_of(error))?;
        match self.pause(trial.waits.settle) {
            // The result is there and is not to be lost; the next call says that it is over.
            Ok(()) | Err(TesterError::Interrupted) => {}
            Err(error) => return Err(error),
        }
        result.device = counted_between(&before, &self.device_counts()?);
        Ok(result)
    }

    fn pause(&mut self, span: Duration) -> Result<(), TesterError> {
        wait_unless(clock::now() + span, &self.options.stop)
    }

    fn configure(&mut self, setup: &DeviceSetup) -> Result<(), TesterError> {
        match &mut self.options.device {
            Some(device) => device.configure(setup),
            None => Err(TesterError::Unsupported {
                port: "any".into(),
                what: "to configure a device that was not built here".into(),
                remedy: "configure it by hand and repeat the run".into(),
            }),
        }
    }
}

/// How long, in looks each millisecond, a device whose port is gone may take to end: a program closes its sockets first.
const LOOKS_FOR_THE_END: u32 = 1_000;

/// Why a device is gone, of so many looks; none if it is there at the last of them.
fn end_of(device: &mut dyn DeviceControl, looks: u32) -> Option<TesterError> {
    for look in 1..=looks {
        match device.check() {
            Err(error) => return Some(error),
            Ok(()) if look < looks => clock::sleep(Duration::from_ms(1)),
            Ok(()) => {}
        }
    }
    None
}

/// Waits until `until`, or fails as soon as `stop` is set.
fn wait_unless(until: Instant, stop: &AtomicBool) -> Result<(), TesterError> {
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(TesterError::Interrupted);
        }
        let left = until.since(clock::now());
        if left == Duration::ZERO {
            return Ok(());
        }
        clock::sleep(left.min(Duration::from_ms(10)));
    }
}

/// The port, once for each queue from which it receives.
pub(crate) fn receivers_of(port: &mut OpenPort) -> Vec<PortId> {
    vec![port.describe().id; port.halves_for(None).receivers()]
}

fn tester_name(ports: &[OpenPort]) -> String {
    let mut types: Vec<&str> = ports.iter().map(|p| p.describe().port_type.as_str()).collect();
    types.dedup();
    format!("netanvil {}, {} ports", env!("CARGO_PKG_VERSION"), types.join(" and "))
}

/// Length of a frame (without FCS) that counts against the MTU: Linux lets one 802.1Q tag come on
/// top of it, but no second one and no service tag.
fn bytes_against_mtu(frame: &[u8]) -> usize {
    let header = ethernet::View::peek(frame);
    let tagged = header.is_some_and(|header| header.ether_type() == EtherType::VLAN);
    frame.len() - if tagged { vlan::HEADER_LEN } else { 0 }
}

/// A frame that a port does not send: its interface needs another MTU, or the port has to be of another kind.
fn too_long(port: &OpenPort, size_bytes: u32) -> TesterError {
    let described = port.describe();
    let (name, most) = (&described.name, described.max_frame_size_bytes);
    let mtu = |frame_bytes: u32| frame_bytes.saturating_sub(ETHERNET_OVERHEAD_BYTES);
    let raise =
        format!("ip link set {name} mtu {}, likewise on the device's side", mtu(size_bytes));
    let limited_by_mtu = format!("frames of {size_bytes} bytes with an MTU of {} bytes", mtu(most));
    let (what, remedy) = match port.interface().map(Interface::state) {
        None => (
            limited_by_mtu,
            "open the port for frames of that size: name it among the sizes of the run".into(),
        ),
        Some(Ok(state)) if mtu(most) < state.mtu_bytes => {
            let kind = &described.port_type;
            let other = "use --port-type af_xdp or --port-type af_packet";
            let remedy = match mtu(size_bytes) <= state.mtu_bytes {
                true => other.into(),
                false => format!("{other}, and {raise}"),
            };
            (format!("frames of {size_bytes} bytes; {kind} ports send at most {most}"), remedy)
        }
        Some(_) => (limited_by_mtu, format!("{raise}, and start again")),
    };
    TesterError::Unsupported { port: name.clone(), what, remedy }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device that ends at a look.
    struct Ending(u32);

    impl DeviceControl for Ending {
        fn act(&mut self, _: &DeviceAction) -> Result<(), TesterError> {
            Ok(())
        }
        fn check(&mut self) -> Result<(), TesterError> {
            self.0 -= 1;
            match self.0 {
                0 => Err(TesterError::DeviceGone("ended".into())),
                _ => Ok(()),
            }
        }
        fn configure(&mut self, _: &DeviceSetup) -> Result<(), TesterError> {
            Ok(())
        }
        fn counters(&mut self) -> Result<Vec<DeviceCount>, TesterError> {
            Ok(vec![])
        }
    }

    #[test]
    fn a_device_may_end_after_its_port_has_gone() {
        let gone = Some(TesterError::DeviceGone("ended".into()));
        assert_eq!(end_of(&mut Ending(3), 3), gone);
        assert_eq!(end_of(&mut Ending(3), 2), None);
    }

    #[test]
    fn one_vlan_tag_does_not_count_against_the_mtu() {
        let mut frame = vec![0; 1522];
        assert_eq!(bytes_against_mtu(&frame), 1522);
        frame[12..14].copy_from_slice(&[0x81, 0x00]);
        assert_eq!(bytes_against_mtu(&frame), 1518);
        frame[16..18].copy_from_slice(&[0x81, 0x00]);
        assert_eq!(bytes_against_mtu(&frame), 1518);
        frame[12..14].copy_from_slice(&[0x88, 0xa8]);
        assert_eq!(bytes_against_mtu(&frame), 1522);
        assert_eq!(bytes_against_mtu(&[0; 5]), 5);
    }
}
