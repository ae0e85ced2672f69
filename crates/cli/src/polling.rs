//! Forwarders of DPDK as devices: who starts one, how the tester joins it, reads it and keeps off its processor.

use crate::failure::{Failure, Outcome};
use ports::scheduling::Scheduling;
use ports::{DeviceControl, DeviceCounts, DeviceLink, DeviceThread, Location, PortType};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use testbed::{DeviceKind, OwnMemif, PollingDevice, PortCounters, TestbedConfig, TestbedError};
use trial::{Counted, DeviceAction, DeviceCount, DeviceSetup, PortId, TesterError};

/// Processors on which devices of this process poll.
static POLLED: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

/// A device that several parts of a run talk to.
type Shared = Arc<Mutex<Box<dyn PollingDevice>>>;

/// What of a host with such a device must last as long as the tester's ports, and is given back in this order.
pub struct Ground {
    /// As `--device` has it.
    name: &'static str,
    ends: FarEnds,
    /// Unless the host has but one processor.
    _kept_off: Option<kernel::thread::KeptOff>,
    _polled: Option<Polled>,
}

/// Where the tester's ports have their far ends.
enum FarEnds {
    Device(Shared),
    /// At each other.
    Own(OwnMemif),
}

/// Why such a device cannot be tested with this program, on this host; none where it can.
pub fn shortfall(kind: DeviceKind) -> Option<Failure> {
    let name = kind.name();
    if let Err(why) = ports::dpdk::available() {
        return Some(Failure::new(format!("--device {name} needs dpdk ports: {why}")).help(
            "build netanvil where libdpdk-dev, pkg-config and gcc are (glibc), or test another device",
        ));
    }
    let why = testbed::polling_shortfall(kind)?;
    Some(Failure::new(format!("--device {name}: {why}")))
}

impl Ground {
    /// Starts the device that the configuration describes.
    pub fn start(config: &TestbedConfig, scheduling: Scheduling) -> Outcome<Self> {
        if let Some(failure) = shortfall(config.device) {
            return Err(failure);
        }
        let device = testbed::start_polling(config, scheduling == Scheduling::Own)?;
        let (cpu, others) = (device.facts().forwarding_cpu, device.facts().main_cpu);
        let (_polled, _kept_off) = (Some(Polled::take(cpu, cpu != others)?), keep_off(cpu)?);
        let name = config.device.name();
        let ends = FarEnds::Device(Arc::new(Mutex::new(device)));
        Ok(Ground { name, ends, _kept_off, _polled })
    }

    /// No device: two ports of the tester's are joined, and have the processors that they have beside one.
    pub fn looped(config: &TestbedConfig) -> Outcome<Self> {
        if let Some(failure) = shortfall(config.device) {
            return Err(failure);
        }
        let _kept_off = config.device_cpu.map(keep_off).transpose()?.flatten();
        let (name, ends) = (config.device.name(), FarEnds::Own(OwnMemif::new(config)?));
        Ok(Ground { name, ends, _kept_off, _polled: None })
    }

    /// The tester's ports.
    pub fn locations(&self) -> Vec<Location> {
        let location = |device: &String| Location {
            host: None,
            interface: device.clone(),
            port_type: Some(PortType::DPDK),
        };
        match &self.ends {
            FarEnds::Device(device) => lock(device).near_ends().iter().map(location).collect(),
            FarEnds::Own(own) => own.ends().iter().map(location).collect(),
        }
    }

    /// Its ports could not be opened: because the device has ended, if it has.
    pub fn why_not_joined(&self, failure: Failure) -> Failure {
        match &self.ends {
            FarEnds::Device(device) => lock(device).check().err().map_or(failure, Failure::from),
            FarEnds::Own(_) => failure,
        }
    }

    /// The tester has joined: no file is needed any more. Returns when the device forwards.
    pub fn joined(&mut self) -> Outcome<()> {
        match &mut self.ends {
            FarEnds::Device(device) => lock(device).joined()?,
            FarEnds::Own(own) => own.joined(),
        }
        Ok(())
    }

    /// The way to the device; none where there is none.
    pub fn control(&self) -> Option<Box<dyn DeviceControl>> {
        match &self.ends {
            FarEnds::Device(device) => {
                Some(Box::new(Control { name: self.name, device: device.clone() }))
            }
            FarEnds::Own(_) => None,
        }
    }

    /// The processors of the device's own.
    pub fn device_cores(&self) -> Vec<usize> {
        match &self.ends {
            FarEnds::Device(device) => vec![lock(device).facts().forwarding_cpu],
            FarEnds::Own(_) => vec![],
        }
    }

    /// To be dropped before the tester's ports close.
    pub fn freeze(&self) -> Option<Freeze> {
        match &self.ends {
            FarEnds::Device(device) => Some(Freeze(device.clone())),
            FarEnds::Own(_) => None,
        }
    }

    /// Title of the device, for the head of a report.
    pub fn in_words(&self) -> String {
        match &self.ends {
            FarEnds::Device(device) => lock(device).facts().title.clone(),
            FarEnds::Own(_) => "no device: tester ports back to back, by memif".into(),
        }
    }

    /// Every setting of the device, as RFC 2544 section 7 wants it in the report.
    pub fn settings(&self, config: &TestbedConfig) -> BTreeMap<String, String> {
        let as_text = toml::to_string(config).unwrap_or_default();
        let mut settings = BTreeMap::from([("device configuration".to_owned(), as_text)]);
        let FarEnds::Device(device) = &self.ends else { return settings };
        let facts = lock(device).facts().clone();
        let threads = match facts.main_cpu == facts.forwarding_cpu {
            true => format!("all on processor {}, which the tester shares", facts.main_cpu),
            false => format!(
                "forwards on processor {}, which the tester keeps off; commands and events on {}",
                facts.forwarding_cpu, facts.main_cpu
            ),
        };
        settings.extend([
            ("device program".to_owned(), facts.program),
            ("device command".to_owned(), facts.command),
            ("device threads".to_owned(), threads),
            ("device queues".to_owned(), facts.queues),
            (crate::built::DEVICE_MTU.to_owned(), facts.mtu),
        ]);
        if !facts.settings.is_empty() {
            settings.insert("device settings".to_owned(), facts.settings);
        }
        settings
    }

    /// What the scheduling of the run means for it, in words.
    pub fn scheduling(&self, scheduling: Scheduling) -> Option<String> {
        let is_device = matches!(self.ends, FarEnds::Device(_));
        (is_device && scheduling == Scheduling::Own).then(|| {
            "the device at nice -20, where that is allowed: it polls, and the kernel stops real-time threads that \
             never sleep"
                .into()
        })
    }
}

/// Tells the device that the tester's ports close when this is dropped: see [`PollingDevice::freeze`].
pub struct Freeze(Shared);

impl Drop for Freeze {
    fn drop(&mut self) {
        lock(&self.0).freeze();
    }
}

/// A processor that is a device's, until this is dropped.
struct Polled(usize);

impl Polled {
    /// Two programs that poll have half of a processor each, in turns of milliseconds: nobody could measure one.
    /// Where one polls already, the next must have a processor beside it and the tester's (`is_own`).
    fn take(cpu: usize, is_own: bool) -> Outcome<Self> {
        let mut polled = POLLED.lock().unwrap_or_else(PoisonError::into_inner);
        let other = polled.get(&cpu).or(polled.first().filter(|_| !is_own));
        if let Some(other) = other {
            return Err(Failure::new(format!("a device polls on processor {other} already"))
                .help("give each one of its own (--device-cpu), or test one after the other"));
        }
        polled.insert(cpu);
        Ok(Polled(cpu))
    }
}

impl Drop for Polled {
    fn drop(&mut self) {
        POLLED.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

fn keep_off(cpu: usize) -> Outcome<Option<kernel::thread::KeptOff>> {
    kernel::thread::KeptOff::begin(cpu)
        .map_err(|error| Failure::new(format!("keep the tester off processor {cpu}: {error}")))
}

/// A device, as the tester reads it.
struct Control {
    /// As `--device` has it.
    name: &'static str,
    device: Shared,
}

impl DeviceControl for Control {
    fn act(&mut self, action: &DeviceAction) -> Result<(), TesterError> {
        let name = &self.name;
        let what = match action {
            DeviceAction::LinkReset { .. } => {
                format!("to reset a link of {name}, which ends it for good")
            }
            DeviceAction::SoftwareReset => format!("to reset {name}, whose links end with it"),
        };
        Err(unsupported(&what, "test resets with --device linux-router or linux-bridge"))
    }

    fn check(&mut self) -> Result<(), TesterError> {
        lock(&self.device).check().map_err(gone)
    }

    fn configure(&mut self, _: &DeviceSetup) -> Result<(), TesterError> {
        Err(unsupported(
            &format!("filters in {}", self.name),
            "test them with --device linux-router",
        ))
    }

    fn counters(&mut self) -> Result<Vec<DeviceCount>, TesterError> {
        let ports = lock(&self.device).counters().map_err(gone)?;
        Ok(ports
            .iter()
            .zip(0..)
            .flat_map(|(counters, port)| named(self.name, PortId(port), counters))
            .collect())
    }

    fn counts(&mut self) -> Result<DeviceCounts, TesterError> {
        let ports = lock(&self.device).counters().map_err(gone)?;
        Ok(DeviceCounts { links: ports.iter().map(link).collect(), ..DeviceCounts::default() })
    }

    fn threads(&mut self) -> Vec<DeviceThread> {
        let threads = lock(&self.device).forwarding_threads();
        threads.into_iter().map(|(id, name)| DeviceThread { id, name }).collect()
    }

    /// No cost of a frame can be found from it.
    fn untimed(&self) -> Option<String> {
        Some(format!("{} polls: it takes all of its processor, whatever it forwards", self.name))
    }
}

/// A frame that the device gave up had no room in the tester's queue.
fn link(counters: &PortCounters) -> DeviceLink {
    DeviceLink {
        rx_frames: counters.rx_packets,
        rx_dropped: counters.rx_dropped,
        tx_frames: counters.tx_packets,
        tx_dropped: counters.tx_dropped,
        carrier_changes: 0,
        carrier: true,
    }
}

fn named(device: &str, port: PortId, counters: &PortCounters) -> [DeviceCount; 4] {
    let PortCounters { rx_packets, rx_dropped, tx_packets, tx_dropped } = *counters;
    [
        ("RX-packets", Counted::FramesIn, rx_packets),
        ("RX-dropped", Counted::DiscardsIn, rx_dropped),
        ("TX-packets", Counted::FramesOut, tx_packets),
        ("TX-dropped", Counted::DiscardsOut, tx_dropped),
    ]
    .map(|(name, counted, count)| DeviceCount {
        source: device.into(),
        port: Some(port),
        name: name.into(),
        counted,
        count,
    })
}

fn unsupported(what: &str, remedy: &str) -> TesterError {
    TesterError::Unsupported { port: "any".into(), what: what.into(), remedy: remedy.into() }
}

/// Whatever it does not answer: it is gone, or as good as gone.
fn gone(error: TestbedError) -> TesterError {
    TesterError::DeviceGone(error.to_string())
}

fn lock(device: &Shared) -> MutexGuard<'_, Box<dyn PollingDevice>> {
    device.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_device_gave_up_is_what_the_tester_had_no_room_for() {
        let counters = PortCounters { rx_packets: 9, rx_dropped: 1, tx_packets: 5, tx_dropped: 3 };
        let link = link(&counters);
        assert_eq!((link.rx_frames, link.rx_dropped), (9, 1));
        assert_eq!((link.tx_frames, link.tx_dropped), (5, 3));
        let names = named("testpmd", PortId(1), &counters).map(|count| (count.name, count.count));
        let expected = [("RX-packets", 9), ("RX-dropped", 1), ("TX-packets", 5), ("TX-dropped", 3)];
        assert_eq!(names, expected.map(|(name, count)| (name.to_owned(), count)));
    }

    #[test]
    fn two_programs_that_poll_never_share_a_processor() {
        let held = Polled::take(9_001, true).expect("free");
        let error = Polled::take(9_001, true).err().expect("taken").to_string();
        assert!(error.contains("processor 9001"), "{error}");
        drop(Polled::take(9_002, true).expect("another one"));
        let error = Polled::take(9_002, false).err().expect("the tester's").to_string();
        assert!(error.contains("processor 9001"), "{error}");
        drop(held);
        drop(Polled::take(9_001, false).expect("one alone may share the tester's"));
    }
}
