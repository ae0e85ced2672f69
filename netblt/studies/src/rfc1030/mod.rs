//! The networks over which NETBLT was tested in 1987, built from the mechanisms that RFC 1030
//! describes, and its campaign run over them.
//!
//! The protocol is [`netblt`] itself, the same code that moves files today; what is modelled is
//! around it: hosts that do one thing at a time ([`HostModel`]), adapters with one buffer
//! ([`Adapter`]), a LAN with other people's traffic ([`Lan`]), a satellite channel divided into
//! frames ([`Wideband`]).

mod campaign;
mod host;
mod path;
mod planned;
mod world;

pub use campaign::{Constants, Network, Row, reproduce, reproduce_with, rows};
pub use host::{Adapter, Cost, HostModel};
pub use path::{
    Dice, Lan, Noise, Path, Queue, WIDEBAND_FRAME, WIDEBAND_FRAME_BITS, Wideband, WidebandModel,
};
pub use planned::{PlannedRun, Purpose, plans};
pub use world::{Bed, Measured, Together, Transfer, run, run_together};

#[cfg(test)]
mod tests;
