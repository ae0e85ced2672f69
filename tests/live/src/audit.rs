//! An auditor between test and tester: after every valid trial the tester's account must agree,
//! to the frame, with what the kernel counted at both ends of each link and within the device.

use crate::Bed;
use kernel::InterfaceCounters;
use std::collections::BTreeMap;
use testbed::{DeviceCounters, DeviceKind};
use trial::{PortId, Tester, TesterDescription, TesterError, Trial, TrialResult};
use units::Duration;

/// Wraps a tester; see the module. It assumes that nobody sends into the device but the tester.
pub struct Audited<'a, T> {
    tester: T,
    bed: &'a Bed,
    /// Valid trials audited so far.
    audited: u32,
}

/// Everything the kernel counts of a test bed.
struct Readings {
    tester: BTreeMap<String, InterfaceCounters>,
    device: Option<DeviceCounters>,
}

impl<'a, T: Tester> Audited<'a, T> {
    /// A tester on this test bed.
    pub fn new(tester: T, bed: &'a Bed) -> Self {
        Audited { tester, bed, audited: 0 }
    }

    /// Valid trials audited so far: a test must see that there were any.
    pub fn audited(&self) -> u32 {
        self.audited
    }

    fn read(&self) -> Readings {
        let device = self.bed.device().map(|device| device.counters().expect("device counters"));
        Readings { tester: self.bed.tester_counters().expect("tester counters"), device }
    }

    fn audit(&self, trial: &Trial, result: &TrialResult, before: &Readings, after: &Readings) {
        let label = &trial.label;
        for port in self.bed.ports() {
            let id = PortId(port.port as u16);
            let name = &port.interface;
            let wire = after.tester[name].since(&before.tester[name]);
            let sent = sent(result, id) + prelude_frames(trial, id);
            assert_eq!(wire.tx_frames + wire.tx_dropped, sent, "{label}: {name} sent");
            let arrived = arrivals(result, id);
            match self.bed.config().device {
                // The router speaks for itself now and then, also between trials.
                DeviceKind::LinuxRouter => assert!(wire.rx_frames >= arrived, "{label}: {name}"),
                _ => assert_eq!(wire.rx_frames, arrived, "{label}: {name} received"),
            }
            if let (Some(before), Some(after)) = (&before.device, &after.device) {
                let counted = after.since(before);
                let device = self.bed.device().expect("a device");
                let far = &counted.interfaces[&device.connector(port.port)];
                assert_eq!(far.rx_frames, wire.tx_frames, "{label}: far end of {name} received");
                assert_eq!(far.tx_frames, wire.rx_frames, "{label}: far end of {name} sent");
            }
        }
        if let (Some(before), Some(after)) = (&before.device, &after.device) {
            self.audit_forwarding(label, result, &after.since(before));
        }
    }

    /// What came out is what the device says it forwarded.
    fn audit_forwarding(&self, label: &str, result: &TrialResult, counted: &DeviceCounters) {
        let received: u64 = result.streams.iter().map(|stream| stream.received).sum();
        if self.bed.config().device == DeviceKind::LinuxRouter {
            let forwarded = counted.ip["IpForwDatagrams"] + counted.ip["Ip6OutForwDatagrams"];
            assert_eq!(received, forwarded, "{label}: datagrams forwarded");
        } else {
            let ports = 0..self.bed.ports().len();
            let sent: u64 = ports.map(|p| counted.interfaces[&format!("dut{p}")].tx_frames).sum();
            assert_eq!(received, sent, "{label}: frames forwarded");
        }
    }
}

impl<T: Tester> Tester for Audited<'_, T> {
    fn describe(&self) -> &TesterDescription {
        self.tester.describe()
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
        let before = self.read();
        let result = self.tester.run(trial)?;
        if result.is_valid() {
            self.audit(trial, &result, &before, &self.read());
            self.audited += 1;
        }
        Ok(result)
    }

    fn pause(&mut self, span: Duration) -> Result<(), TesterError> {
        self.tester.pause(span)
    }
}

fn sent(result: &TrialResult, port: PortId) -> u64 {
    let of_port = result.sent.iter().filter(|sent| sent.report.port == port);
    of_port.map(|sent| sent.report.sent_frames).sum()
}

fn arrivals(result: &TrialResult, port: PortId) -> u64 {
    let of_port = result.received.iter().filter(|received| received.port == port);
    of_port.map(|received| received.arrivals()).sum()
}

fn prelude_frames(trial: &Trial, port: PortId) -> u64 {
    let of_port = trial.prelude.iter().filter(|prelude| prelude.port == port);
    of_port.map(|prelude| prelude.frames.len() as u64).sum()
}
