//! The networks over which NETBLT was tested in 1987, built from the mechanisms that RFC 1030
//! describes, and its campaign run over them.
//!
//! The protocol is [`netblt`] itself, the same code that moves files today; what is modelled is
//! around it: hosts that do one thing at a time ([`HostModel`]), adapters with one buffer
//! ([`Adapter`]), a LAN with other people's traffic ([`Lan`]), a satellite channel divided into
//! frames ([`Wideband`]).

mod campaign;
mod host;
mod parameters;
mod path;
mod planned;
mod told;
mod world;

pub use campaign::{Constants, Network, Row, reproduce, reproduce_with, rows};
pub use host::{Adapter, Cost, HostModel};
pub use parameters::{PARAMETERS, Parameter};
pub use path::{
    Dice, Lan, Noise, Path, Queue, WIDEBAND_FRAME, WIDEBAND_FRAME_BITS, Wideband, WidebandModel,
};
pub use planned::{PlannedRun, Purpose, plans};
pub use told::{
    Alone, Control, Dropped, LOCK_UP_PACKETS, LongerInterval, alone, control, control_in_lock_step,
    dropped, dropped_on_a_quiet_ethernet, first_phase, longer_interval, overflowed,
    through_the_gateway,
};
pub use world::{Bed, Measured, Together, Transfer, run, run_together};

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_told;
