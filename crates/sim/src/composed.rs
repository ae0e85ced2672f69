//! Devices composed of a few mechanisms with physical meaning, one a file: queues with limited
//! room, processors that frames cost time (on cards, on the bus, in the middle), tables with
//! limits, counters, misbehaviours. They really speak: a frame is looked at, and rewritten, as a
//! router or a bridge does it.

mod addresses;
mod arp_server;
mod bridge;
mod buffer;
mod build;
mod counters;
mod crossbar;
mod description;
mod device;
mod filter;
mod flow_control;
mod forwarding;
mod misbehaviour;
mod multicast;
mod neighbours;
mod output;
mod pipeline;
mod router;
mod server;
#[cfg(test)]
mod tests;

pub use addresses::{Addresses, Interface, StaticRoute};
pub use build::{BUILT_IN, BuiltIn};
pub use counters::Counter;
pub use description::{
    Arbitration, ArpServer, Card, Cost, Cpu, Description, DescriptionError, Fabric, Filter,
    FilterBy, FlowControl, Impair, Learning, Misbehaviour, Multicast, PORTS_MAX, Pauses, Processor,
    Protocol, Queue, Reset, RingTimes, Routes, Servers as CpuServers, Table, TesterLimits,
};
pub use device::Composed;
pub use filter::{FilterAction, FilterRule};
