//! Frames without a trial: sent one after the other, or heard, on an interface.

use crate::af_packet::{ReceiveRing, TransmitRing};
use crate::interface::open_ethtool;
use crate::pump::{FrameSink, FrameSource};
use crate::{Interface, PortLock, clock, own_fcs, sys};
use kernel::InterfaceState;
use std::io;
use std::os::fd::OwnedFd;
use trial::TesterError;
use units::{Duration, Instant};

/// Ethernet header and two VLAN tags: what a frame has beyond its packet.
const HEADERS_BYTES: usize = 14 + 8;
/// How long to wait at the end for frames that the interface still holds.
const COMPLETION_TIMEOUT: Duration = Duration::from_ms(1_000);

/// Sends single frames.
pub struct FrameSender {
    interface: Interface,
    way: Way,
    _lock: PortLock,
}

enum Way {
    Ring(Box<TransmitRing>),
    /// A socket whose frames come with their FCS.
    OwnFcs(OwnedFd),
}

impl FrameSender {
    /// Opens an interface of the calling thread's network namespace, which must be up. With
    /// `own_fcs` every frame is given with its FCS, and the interface adds none.
    pub fn open(name: &str, own_fcs: bool) -> Result<Self, TesterError> {
        let interface = Interface::open(name)?;
        let state = interface.state_if_up()?;
        let lock = PortLock::take(name, interface.index())?;
        let way = if own_fcs {
            own_fcs::socket(interface.index()).map(Way::OwnFcs)
        } else {
            let longest_bytes = state.mtu_bytes as usize + HEADERS_BYTES;
            let ethtool = open_ethtool(name)?;
            TransmitRing::open(interface.index(), ethtool, longest_bytes, 1)
                .map(|ring| Way::Ring(Box::new(ring)))
        };
        let way = way.map_err(|error| opening(name, &error))?;
        Ok(FrameSender { interface, way, _lock: lock })
    }

    /// The interface's state and counters now.
    pub fn state(&self) -> Result<InterfaceState, TesterError> {
        self.interface.state()
    }

    /// Takes a frame; `false` while there is no room.
    ///
    /// # Panics
    /// If it is longer than the interface's MTU allows.
    #[inline]
    pub fn send(&mut self, frame: &[u8]) -> Result<bool, TesterError> {
        match &mut self.way {
            Way::Ring(ring) => {
                let Some(slot) = ring.slot() else { return Ok(false) };
                slot[..frame.len()].copy_from_slice(frame);
                ring.commit(frame.len());
                Ok(true)
            }
            Way::OwnFcs(socket) => match sys::send(socket, frame, libc::MSG_DONTWAIT) {
                Ok(()) => Ok(true),
                Err(error)
                    if matches!(error.raw_os_error(), Some(libc::ENOBUFS | libc::EAGAIN)) =>
                {
                    Ok(false)
                }
                Err(error) if error.raw_os_error() == Some(libc::EPROTONOSUPPORT) => {
                    Err(TesterError::Unsupported {
                        port: self.interface.name().into(),
                        what: "a bad FCS".into(),
                        remedy: format!(
                            "its driver ({}) makes the FCS itself; use an interface whose driver \
                             takes frames with FCS (e1000, e1000e, igb, ixgbe, ...)",
                            self.interface.ethtool().driver()
                        ),
                    })
                }
                Err(error) => Err(self.sending(&error)),
            },
        }
    }

    /// Tells the system to send what it was given.
    pub fn flush(&mut self) -> Result<(), TesterError> {
        let outcome = match &mut self.way {
            Way::Ring(ring) => ring.flush(),
            Way::OwnFcs(_) => Ok(()),
        };
        outcome.map_err(|error| self.sending(&error))
    }

    /// Waits for the interface to be done with every frame; gives how many it never was done with.
    pub fn finish(&mut self) -> Result<u64, TesterError> {
        let give_up = clock::now() + COMPLETION_TIMEOUT;
        loop {
            let pending = match &mut self.way {
                Way::Ring(ring) => ring.pending(),
                Way::OwnFcs(_) => 0,
            };
            if pending == 0 || clock::now() > give_up {
                return Ok(pending as u64);
            }
            self.flush()?;
            clock::sleep(Duration::from_us(20));
        }
    }

    fn sending(&self, error: &io::Error) -> TesterError {
        sys::port_error(self.interface.name(), "send frames", error)
    }
}

/// Hears every frame that arrives, whoever it is for.
pub struct FrameListener {
    interface: Interface,
    ring: ReceiveRing,
}

impl FrameListener {
    /// Opens an interface of the calling thread's network namespace, which must be up.
    pub fn open(name: &str) -> Result<Self, TesterError> {
        let interface = Interface::open(name)?;
        interface.state_if_up()?;
        let ring = ReceiveRing::open(interface.index(), ReceiveRing::DEFAULT_BLOCKS, 1)
            .map_err(|error| opening(name, &error))?;
        Ok(FrameListener { interface, ring: ring.with_control_frames() })
    }

    /// The interface's state and counters now.
    pub fn state(&self) -> Result<InterfaceState, TesterError> {
        self.interface.state()
    }

    /// An error if it is down or gone.
    pub fn check(&self) -> Result<(), TesterError> {
        self.interface.state_if_up().map(drop)
    }

    /// Offloads that are on: with generic or large receive offload several segments arrive as one
    /// frame.
    pub fn offloads_on(&self) -> Vec<String> {
        self.interface.ethtool().offloads_on()
    }

    /// Forgets what arrived before `now`.
    pub fn restart(&mut self, now: Instant) -> Result<(), TesterError> {
        self.ring.restart(now).map_err(|error| self.hearing(&error))
    }

    /// Passes on frames that wait (without FCS) with the times at which they arrived; gives their
    /// number.
    pub fn take_waiting(&mut self, take: impl FnMut(Instant, &[u8])) -> Result<u64, TesterError> {
        self.ring.take_waiting(0, take).map_err(|error| self.hearing(&error))
    }

    /// Frames that arrived since [`restart`](Self::restart) and found no room in the ring.
    pub fn dropped(&mut self) -> Result<u64, TesterError> {
        self.ring.dropped().map_err(|error| self.hearing(&error))
    }

    fn hearing(&self, error: &io::Error) -> TesterError {
        sys::port_error(self.interface.name(), "receive frames", error)
    }
}

/// Why a socket did not open.
fn opening(name: &str, error: &io::Error) -> TesterError {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => TesterError::System {
            what: format!("no permission for frames on {name}"),
            detail: "run as root, or inside a user namespace that owns the interface \
                     (unshare -Urn)"
                .into(),
        },
        _ => sys::port_error(name, "open a packet socket", error),
    }
}
