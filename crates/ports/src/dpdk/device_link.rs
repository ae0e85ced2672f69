//! The link of a device of DPDK: its state and counters in the form that those of interfaces have.

use super::device::Device;
use super::far_program;
use crate::{DeviceThread, Link, clock, sys};
use kernel::{InterfaceCounters, InterfaceState};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use trial::TesterError;
use units::{Duration, Instant};

/// Above the numbers that a kernel gives to interfaces (from 1 on) on any machine.
const FIRST_INDEX: u32 = 0x4000_0000;
/// How long a far end is waited for.
const LINK_WITHIN: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_ms(20);
/// Counters of frames that arrived damaged, which drivers of network cards have under these names.
const DAMAGED: [&str; 4] =
    ["rx_crc_errors", "rx_fcs_errors", "rx_undersize_errors", "rx_fragmented_errors"];

/// Where devices of this process meet their far ends, by number.
static OPEN: Mutex<Vec<(u32, String)>> = Mutex::new(vec![]);

pub(super) struct DeviceLink {
    device: Arc<Device>,
    /// As the user wrote it.
    whole: String,
    index: u32,
    place: Option<String>,
    mac: [u8; 6],
    started: Mutex<Started>,
}

/// Whether it runs; if not, what DPDK said when it was tried last.
enum Started {
    Yes,
    NotYet(String),
}

impl DeviceLink {
    /// Starts a device. Where its far end is not there yet, it is tried again later.
    pub fn start(device: Arc<Device>, mac: [u8; 6]) -> (Self, Option<bool>) {
        let (started, is_promiscuous) = match device.run() {
            Ok(is_promiscuous) => (Started::Yes, Some(is_promiscuous)),
            Err(said) => (Started::NotYet(said), None),
        };
        let index = FIRST_INDEX + u32::from(device.attached.port);
        let place = device.arguments.meeting_place();
        if let Some(place) = &place {
            open().push((index, place.clone()));
        }
        let whole = device.arguments.whole.clone();
        let started = Mutex::new(started);
        (DeviceLink { device, whole, index, place, mac, started }, is_promiscuous)
    }

    /// The other port of this process that it meets; itself where it meets no other and is a ring.
    fn peer(&self) -> Option<u32> {
        let place = self.place.as_ref()?;
        let open = open();
        let there = open.iter().filter(|(_, other)| other == place).map(|(index, _)| *index);
        let others: Vec<u32> = there.filter(|index| *index != self.index).collect();
        match others[..] {
            [] if place.starts_with("ring ") => Some(self.index),
            [other, ..] => Some(other),
            [] => None,
        }
    }

    fn is_started(&self) -> Result<(), String> {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        if let Started::NotYet(_) = *started {
            match self.device.run() {
                Ok(_) => *started = Started::Yes,
                Err(said) => *started = Started::NotYet(said),
            }
        }
        match &*started {
            Started::Yes => Ok(()),
            Started::NotYet(said) => Err(said.clone()),
        }
    }

    fn await_until(&self, give_up: Instant) -> Result<(), TesterError> {
        loop {
            let started = self.is_started();
            let (is_up, _) =
                self.device.link().map_err(|error| self.failed("read its link", &error))?;
            if started.is_ok() && is_up {
                return Ok(());
            }
            if clock::now() >= give_up {
                let why = self.device.arguments.why_no_link();
                let said = started.err().filter(|said| !said.is_empty());
                return Err(TesterError::System {
                    what: format!("open port dpdk:{}", self.whole),
                    detail: match said {
                        Some(said) => format!("{why} ({said})"),
                        None => why,
                    },
                });
            }
            clock::sleep(LOOK);
        }
    }

    fn failed(&self, what: &str, error: &io::Error) -> TesterError {
        sys::port_error(&self.device.arguments.name, what, error)
    }

    fn counters(&self) -> io::Result<InterfaceCounters> {
        let stats = self.device.stats()?;
        let damaged = match stats.ierrors {
            0 => 0,
            errors => self.damaged().min(errors),
        };
        Ok(InterfaceCounters {
            rx_frames: stats.ipackets,
            rx_bytes: stats.ibytes,
            // Missed frames and those without a buffer are the port's own drops, by name.
            rx_dropped: 0,
            rx_missed: 0,
            rx_errors: stats.ierrors,
            rx_damaged: damaged,
            tx_frames: stats.opackets,
            tx_bytes: stats.obytes,
            tx_dropped: self.device.refused(),
            tx_errors: stats.oerrors,
        })
    }

    fn damaged(&self) -> u64 {
        let extra = self.device.extra_stats();
        let known = extra.iter().filter(|(name, _)| DAMAGED.contains(&name.as_str()));
        known.map(|(_, frames)| frames).sum()
    }
}

impl Link for DeviceLink {
    fn name(&self) -> &str {
        &self.device.arguments.name
    }

    fn index(&self) -> u32 {
        self.index
    }

    fn state(&self) -> Result<InterfaceState, TesterError> {
        let (carrier, carrier_changes) =
            self.device.link().map_err(|error| self.failed("read its link", &error))?;
        let counters = self.counters().map_err(|error| self.failed("read its counters", &error))?;
        Ok(InterfaceState {
            up: true,
            carrier,
            carrier_changes,
            mtu_bytes: self.device.attached.mtu_bytes,
            mac: self.mac,
            peer: None,
            peer_here: self.peer(),
            kind: None,
            counters,
        })
    }

    /// A virtual device whose far end is gone has lost its queues with it. A network card without a carrier
    /// says so in its state, as an interface does.
    fn state_if_up(&self) -> Result<InterfaceState, TesterError> {
        let state = self.state()?;
        if !state.carrier && !self.device.arguments.is_pci {
            return Err(TesterError::PortGone {
                port: self.name().into(),
                detail: format!(
                    "its far end has closed the link; {}",
                    self.device.arguments.why_no_link()
                ),
            });
        }
        Ok(state)
    }

    fn await_far_end(&self) -> Result<(), TesterError> {
        self.await_until(clock::now() + LINK_WITHIN)
    }

    /// A far end that connected to us has no name: it is not known.
    fn far_threads(&self) -> Vec<DeviceThread> {
        let socket = self.device.arguments.socket();
        let holders = socket.map(far_program::holders).unwrap_or_default();
        holders.into_iter().flat_map(far_program::threads).collect()
    }

    fn sends_into_far_queue(&self, _: &InterfaceState) -> bool {
        self.device.arguments.sends_into_far_queue()
    }
}

impl Drop for DeviceLink {
    fn drop(&mut self) {
        open().retain(|(index, _)| *index != self.index);
    }
}

fn open() -> std::sync::MutexGuard<'static, Vec<(u32, String)>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}
