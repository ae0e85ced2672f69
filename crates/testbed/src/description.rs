//! What was built, for the report: RFC 2544 section 7 wants the exact configuration of the device.

use crate::config::TestbedConfig;
use crate::test_port::TestPort;
use crate::testbed::Testbed;
use crate::threads::PortThreads;
use kernel::{Privilege, read_file};
use serde::Serialize;

/// A test bed as it stands, with what was asked for and could not be had.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestbedDescription {
    /// What was asked for.
    pub config: TestbedConfig,
    /// Release of the kernel, which is the device's software version.
    pub kernel: String,
    /// Under which rights it was built.
    pub privilege: Privilege,
    /// Namespace of the tester's ports.
    pub tester_namespace: String,
    /// Namespace of the device; none in a loopback.
    pub device_namespace: Option<String>,
    /// The tester's ports.
    pub ports: Vec<TestPort>,
    /// The nftables rules loaded, in nft's own language (RFC 2544 section 11.4).
    pub rule_set: Option<String>,
    /// Who does the device's receive work.
    pub threads: Vec<PortThreads>,
    /// What was asked for and could not be had, a sentence each; empty when all is as asked.
    pub shortfalls: Vec<String>,
}

impl Testbed {
    /// Describes the test bed as it stands now.
    pub fn describe(&self) -> TestbedDescription {
        let device = self.device();
        let threads = device.as_ref().map(|d| d.threads()).unwrap_or_default();
        let of_threads = threads
            .iter()
            .filter_map(|port| Some(format!("{}: {}", port.interface, port.shortfall.as_ref()?)));
        let of_queues = device.as_ref().map(|d| d.input_queues.shortfalls()).unwrap_or_default();
        TestbedDescription {
            config: self.config().clone(),
            kernel: read_file("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
            privilege: Privilege::current(),
            tester_namespace: self.tester().name().to_owned(),
            device_namespace: device.as_ref().map(|d| d.namespace().name().to_owned()),
            ports: self.ports().to_vec(),
            rule_set: device.as_ref().and_then(|d| d.rule_set()),
            shortfalls: of_threads.chain(of_queues).collect(),
            threads,
        }
    }
}
