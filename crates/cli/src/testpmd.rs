//! DPDK's testpmd as the device: who starts it, how the tester joins it, reads it and keeps off its processor.

use crate::failure::{Failure, Outcome};
use ports::scheduling::Scheduling;
use ports::{DeviceControl, DeviceCounts, DeviceLink, DeviceThread, Location, PortType};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use testbed::{OwnMemif, TestbedConfig, TestbedError, Testpmd, TestpmdCounters, testpmd_shortfall};
use trial::{Counted, DeviceAction, DeviceCount, DeviceSetup, PortId, TesterError};

/// Processors on which a testpmd of this process polls.
static POLLED: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

/// What of a host with a testpmd must last as long as the tester's ports, and is given back in this order.
pub struct Ground {
    memif: Memif,
    /// Unless the host has but one processor.
    _kept_off: Option<kernel::thread::KeptOff>,
    _polled: Option<Polled>,
}

/// Where the tester's ports have their far ends.
enum Memif {
    Device(Arc<Mutex<Testpmd>>),
    /// At each other.
    Own(OwnMemif),
}

/// Why a testpmd cannot be tested with this program, on this host; none where it can.
pub fn shortfall() -> Option<Failure> {
    if let Err(why) = ports::dpdk::available() {
        return Some(Failure::new(format!("--device testpmd needs dpdk ports: {why}")).help(
            "build netanvil where libdpdk-dev, pkg-config and gcc are (glibc), or test another device",
        ));
    }
    testpmd_shortfall().map(|why| Failure::new(format!("--device testpmd: {why}")))
}

impl Ground {
    /// Starts the device that the configuration describes.
    pub fn start(config: &TestbedConfig, scheduling: Scheduling) -> Outcome<Self> {
        if let Some(failure) = shortfall() {
            return Err(failure);
        }
        let device = Testpmd::start(config, scheduling == Scheduling::Own)?;
        let (cpu, others) = (device.facts().forwarding_cpu, device.facts().main_cpu);
        let (_polled, _kept_off) = (Some(Polled::take(cpu, cpu != others)?), keep_off(cpu)?);
        let memif = Memif::Device(Arc::new(Mutex::new(device)));
        Ok(Ground { memif, _kept_off, _polled })
    }

    /// No device: two ports of the tester's are joined, and have the processors that they have beside one.
    pub fn looped(config: &TestbedConfig) -> Outcome<Self> {
        if let Some(failure) = shortfall() {
            return Err(failure);
        }
        let _kept_off = config.device_cpu.map(keep_off).transpose()?.flatten();
        Ok(Ground { memif: Memif::Own(OwnMemif::new(config)?), _kept_off, _polled: None })
    }

    /// The tester's ports.
    pub fn locations(&self) -> Vec<Location> {
        let location = |device: &String| Location {
            host: None,
            interface: device.clone(),
            port_type: Some(PortType::DPDK),
        };
        match &self.memif {
            Memif::Device(device) => lock(device).near_ends().iter().map(location).collect(),
            Memif::Own(memif) => memif.ends().iter().map(location).collect(),
        }
    }

    /// Its ports could not be opened: because the device has ended, if it has.
    pub fn why_not_joined(&self, failure: Failure) -> Failure {
        match &self.memif {
            Memif::Device(device) => lock(device).check().err().map_or(failure, Failure::from),
            Memif::Own(_) => failure,
        }
    }

    /// The tester has joined: no file is needed any more.
    pub fn joined(&mut self) {
        match &mut self.memif {
            Memif::Device(device) => lock(device).joined(),
            Memif::Own(memif) => memif.joined(),
        }
    }

    /// The way to the device; none where there is none.
    pub fn control(&self) -> Option<Box<dyn DeviceControl>> {
        match &self.memif {
            Memif::Device(device) => Some(Box::new(Control(device.clone()))),
            Memif::Own(_) => None,
        }
    }

    /// The processors of the device's own.
    pub fn device_cores(&self) -> Vec<usize> {
        match &self.memif {
            Memif::Device(device) => vec![lock(device).facts().forwarding_cpu],
            Memif::Own(_) => vec![],
        }
    }

    /// To be dropped before the tester's ports close.
    pub fn freeze(&self) -> Option<Freeze> {
        match &self.memif {
            Memif::Device(device) => Some(Freeze(device.clone())),
            Memif::Own(_) => None,
        }
    }

    /// Title of the device, for the head of a report.
    pub fn in_words(&self, config: &TestbedConfig) -> String {
        match &self.memif {
            Memif::Device(device) => {
                let mode = config.forward_mode.unwrap_or_default();
                let release = lock(device).facts().release.clone();
                format!("{release} testpmd over memif, forward mode {mode}, one forwarding thread")
            }
            Memif::Own(_) => "no device: tester ports back to back, by memif".into(),
        }
    }

    /// Every setting of the device, as RFC 2544 section 7 wants it in the report.
    pub fn settings(&self, config: &TestbedConfig) -> BTreeMap<String, String> {
        let as_text = toml::to_string(config).unwrap_or_default();
        let mut settings = BTreeMap::from([("device configuration".to_owned(), as_text)]);
        let Memif::Device(device) = &self.memif else { return settings };
        let facts = lock(device).facts().clone();
        let memory = match facts.has_huge_pages {
            true => "in huge pages",
            false => "without huge pages",
        };
        let mode = config.forward_mode.unwrap_or_default();
        let program = format!("{} testpmd, forward mode {mode}, {memory}", facts.release);
        let threads = match facts.main_cpu == facts.forwarding_cpu {
            true => format!("all on processor {}, which the tester shares", facts.main_cpu),
            false => format!(
                "forwards on processor {}, which the tester keeps off; commands and events on {}",
                facts.forwarding_cpu, facts.main_cpu
            ),
        };
        let queues =
            format!("rings of {} frames each way at every port", config.input_queue_frames);
        settings.extend([
            ("device program".to_owned(), program),
            ("device command".to_owned(), facts.command),
            ("device threads".to_owned(), threads),
            ("device queues".to_owned(), queues),
            (crate::built::DEVICE_MTU.to_owned(), "none: memif carries any length".to_owned()),
        ]);
        settings
    }

    /// What the scheduling of the run means for it, in words.
    pub fn scheduling(&self, scheduling: Scheduling) -> Option<String> {
        let is_device = matches!(self.memif, Memif::Device(_));
        (is_device && scheduling == Scheduling::Own).then(|| {
            "the device at nice -20, where that is allowed: it polls, and the kernel stops real-time threads that \
             never sleep"
                .into()
        })
    }
}

/// Stops a testpmd where it stands when this is dropped: see [`Testpmd::freeze`].
pub struct Freeze(Arc<Mutex<Testpmd>>);

impl Drop for Freeze {
    fn drop(&mut self) {
        lock(&self.0).freeze();
    }
}

/// A processor that is a testpmd's, until this is dropped.
struct Polled(usize);

impl Polled {
    /// Two programs that poll have half of a processor each, in turns of milliseconds: nobody could measure one.
    /// Where one polls already, the next must have a processor beside it and the tester's (`is_own`).
    fn take(cpu: usize, is_own: bool) -> Outcome<Self> {
        let mut polled = POLLED.lock().unwrap_or_else(PoisonError::into_inner);
        let other = polled.get(&cpu).or(polled.first().filter(|_| !is_own));
        if let Some(other) = other {
            return Err(Failure::new(format!("a testpmd polls on processor {other} already"))
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

/// A testpmd, as the tester reads it.
struct Control(Arc<Mutex<Testpmd>>);

impl DeviceControl for Control {
    fn act(&mut self, action: &DeviceAction) -> Result<(), TesterError> {
        let what = match action {
            DeviceAction::LinkReset { .. } => "to reset a link of testpmd, which ends it for good",
            DeviceAction::SoftwareReset => "to reset testpmd, whose links end with it",
        };
        Err(unsupported(what, "test resets with --device linux-router or linux-bridge"))
    }

    fn check(&mut self) -> Result<(), TesterError> {
        lock(&self.0).check().map_err(gone)
    }

    fn configure(&mut self, _: &DeviceSetup) -> Result<(), TesterError> {
        Err(unsupported("filters in testpmd", "test them with --device linux-router"))
    }

    fn counters(&mut self) -> Result<Vec<DeviceCount>, TesterError> {
        let ports = lock(&self.0).counters().map_err(gone)?;
        Ok(ports
            .iter()
            .zip(0..)
            .flat_map(|(counters, port)| named(PortId(port), counters))
            .collect())
    }

    fn counts(&mut self) -> Result<DeviceCounts, TesterError> {
        let ports = lock(&self.0).counters().map_err(gone)?;
        Ok(DeviceCounts { links: ports.iter().map(link).collect(), ..DeviceCounts::default() })
    }

    fn threads(&mut self) -> Vec<DeviceThread> {
        let threads = lock(&self.0).forwarding_threads();
        threads.into_iter().map(|(id, name)| DeviceThread { id, name }).collect()
    }

    fn untimed(&self) -> Option<String> {
        Some(POLLS.into())
    }
}

/// What no cost of a frame can be found from.
const POLLS: &str = "testpmd polls: it takes all of its processor, whatever it forwards";

/// A frame that testpmd gave up had no room in the tester's queue.
fn link(counters: &TestpmdCounters) -> DeviceLink {
    DeviceLink {
        rx_frames: counters.rx_packets,
        rx_dropped: counters.rx_dropped,
        tx_frames: counters.tx_packets,
        tx_dropped: counters.tx_dropped,
        carrier_changes: 0,
        carrier: true,
    }
}

fn named(port: PortId, counters: &TestpmdCounters) -> [DeviceCount; 4] {
    let TestpmdCounters { rx_packets, rx_dropped, tx_packets, tx_dropped } = *counters;
    [
        ("RX-packets", Counted::FramesIn, rx_packets),
        ("RX-dropped", Counted::DiscardsIn, rx_dropped),
        ("TX-packets", Counted::FramesOut, tx_packets),
        ("TX-dropped", Counted::DiscardsOut, tx_dropped),
    ]
    .map(|(name, counted, count)| DeviceCount {
        source: "testpmd".into(),
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

fn lock(device: &Mutex<Testpmd>) -> MutexGuard<'_, Testpmd> {
    device.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_testpmd_gave_up_is_what_the_tester_had_no_room_for() {
        let counters =
            TestpmdCounters { rx_packets: 9, rx_dropped: 1, tx_packets: 5, tx_dropped: 3 };
        let link = link(&counters);
        assert_eq!((link.rx_frames, link.rx_dropped), (9, 1));
        assert_eq!((link.tx_frames, link.tx_dropped), (5, 3));
        let names = named(PortId(1), &counters).map(|count| (count.name, count.count));
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
