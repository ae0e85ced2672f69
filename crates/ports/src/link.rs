//! What a port stands on: an interface of the kernel, or a device that a program drives itself.

use crate::{DeviceThread, Interface};
use kernel::InterfaceState;
use trial::TesterError;

/// The link of a port: its state and its own counters.
pub trait Link: Send + Sync {
    /// What users call it.
    fn name(&self) -> &str;

    /// A number that no other open link of this process has; for an interface that of the kernel.
    fn index(&self) -> u32;

    /// Its state and counters now.
    ///
    /// # Errors
    /// If they cannot be read.
    fn state(&self) -> Result<InterfaceState, TesterError>;

    /// The same, or an error if it cannot carry frames.
    ///
    /// # Errors
    /// As [`state`](Self::state), and if it is gone or down.
    fn state_if_up(&self) -> Result<InterfaceState, TesterError>;

    /// The kernel's interface, where there is one.
    fn interface(&self) -> Option<&Interface> {
        None
    }

    /// Waits for its far end, if that can be there later than the port. Where several ports of a tester are
    /// opened, it is called when all are open: they may be each other's far ends.
    ///
    /// # Errors
    /// If nobody is there after some seconds, with a remedy.
    fn await_far_end(&self) -> Result<(), TesterError> {
        Ok(())
    }

    /// Threads of the program at its far end, where that is on this host and can be told. Whoever the kernel forwards for
    /// has none.
    fn far_threads(&self) -> Vec<DeviceThread> {
        vec![]
    }

    /// Whether frames that it has no room for were lost at the far end: what it sends goes into the queue of
    /// whoever is there.
    fn sends_into_far_queue(&self, state: &InterfaceState) -> bool {
        state.kind.as_deref() == Some("veth")
    }
}

impl Link for Interface {
    fn name(&self) -> &str {
        self.name()
    }
    fn index(&self) -> u32 {
        self.index()
    }
    fn state(&self) -> Result<InterfaceState, TesterError> {
        self.state()
    }
    fn state_if_up(&self) -> Result<InterfaceState, TesterError> {
        self.state_if_up()
    }
    fn interface(&self) -> Option<&Interface> {
        Some(self)
    }
}
