//! A device that was built here, as the tester acts upon it and reads it.

use crate::agent::{self, Agent};
use kernel::{InterfaceState, KernelError};
use ports::{DeviceControl, DeviceCounts, DeviceLink, DeviceThread, PlaceCount};
use std::sync::Arc;
use testbed::{Device, DeviceReadings, DeviceThreads, FilterEntry, PlaceCounters, TestbedError};
use trial::{DeviceAction, DeviceCount, DeviceSetup, PacketFilter, TesterError};

/// A device that was built here, as the tester acts upon it.
pub struct Built {
    device: Arc<Device>,
    /// Started when its counters are first asked for.
    agent: Option<Agent>,
}

impl Built {
    /// The device of a test bed.
    pub fn new(device: Arc<Device>) -> Self {
        Built { device, agent: None }
    }
}

impl DeviceControl for Built {
    fn act(&mut self, action: &DeviceAction) -> Result<(), TesterError> {
        let done = match action {
            DeviceAction::LinkReset { port, down_for } => {
                self.device.link_reset(usize::from(port.0), *down_for)
            }
            DeviceAction::SoftwareReset => self.device.software_reset(),
        };
        done.map(|_times| ()).map_err(gone)
    }

    fn check(&mut self) -> Result<(), TesterError> {
        self.device.counters().map(|_counters| ()).map_err(gone)
    }

    fn configure(&mut self, setup: &DeviceSetup) -> Result<(), TesterError> {
        let entry = |filter: &PacketFilter| {
            let PacketFilter { permit, from, to } = *filter;
            FilterEntry { permit, from, to }
        };
        let filters: Vec<FilterEntry> = setup.filters.iter().map(entry).collect();
        self.device.set_filters(&filters).map_err(|error| match error {
            TestbedError::Configuration(what) => TesterError::Unsupported {
                port: "any".into(),
                what,
                remedy: "test it with --device linux-router".into(),
            },
            TestbedError::Program { message, .. } => TesterError::Refused(message),
            other => gone(other),
        })
    }

    fn counts(&mut self) -> Result<DeviceCounts, TesterError> {
        self.device.readings().map(counts).map_err(gone)
    }

    fn threads(&mut self) -> Vec<DeviceThread> {
        let threads = self.device.forwarding_threads();
        threads.into_iter().map(|(id, name)| DeviceThread { id, name }).collect()
    }

    fn untimed(&self) -> Option<String> {
        (self.device.config().threads == DeviceThreads::Inline).then(|| {
            "the device forwards within the tester's system calls (--device-threads inline)".into()
        })
    }

    fn counters(&mut self) -> Result<Vec<DeviceCount>, TesterError> {
        let failed =
            |detail| TesterError::System { what: "read the device's counters".into(), detail };
        let mut counts = agent::by_netlink(&self.device).map_err(failed)?;
        if self.agent.is_none() {
            self.agent = Some(Agent::start(&self.device).map_err(failed)?);
        }
        if let Some(agent) = &self.agent {
            counts.extend(agent.counts().map_err(failed)?);
        }
        Ok(counts)
    }
}

/// Counters as the test bed reads them, as the tester takes them.
pub fn counts(readings: DeviceReadings) -> DeviceCounts {
    let DeviceReadings { links, places } = readings;
    let link = |link: InterfaceState| DeviceLink {
        rx_frames: link.counters.rx_frames,
        rx_dropped: link.counters.rx_dropped,
        tx_frames: link.counters.tx_frames,
        tx_dropped: link.counters.tx_dropped,
        carrier_changes: link.carrier_changes,
        carrier: link.carrier,
    };
    let place = |place: PlaceCounters| {
        let PlaceCounters { name, dropped, waiting, of_machine } = place;
        PlaceCount { name, dropped, waiting, of_machine }
    };
    DeviceCounts {
        links: links.into_iter().map(link).collect(),
        places: places.into_iter().map(place).collect(),
        notes: vec![],
    }
}

/// What it means for a run that a test bed cannot do something to its device, or read it.
pub fn gone(error: TestbedError) -> TesterError {
    match error {
        TestbedError::Kernel(
            KernelError::NamespaceGone { .. } | KernelError::NoSuchInterface { .. },
        ) => TesterError::DeviceGone(error.to_string()),
        other => {
            TesterError::System { what: "act on the device".into(), detail: other.to_string() }
        }
    }
}
