//! Paths of today, packet by packet in virtual time, and what is sent over them: NETBLT transfers
//! by the very code that moves files, and models of TCP.
//!
//! A [`Path`] has a bottleneck each way: a rate that may change, a queue of so many bytes whose
//! tail is dropped, a delay, and beyond the queue a chance that packets are lost, one by one or in
//! bursts, or overtaken. It may have a policer, the turns of a radio link, handovers, and a receiver that
//! is kept from its processor ([`today`]). Any number of [`Flow`]s share it. A packet costs one event, and of those
//! under way only the next of each flow is in the agenda, so that paths of 100 Gb/s with a million
//! packets in flight remain practicable. Same seed, same run.

mod chance;
mod codel;
mod handover;
mod link;
mod meter;
mod naps;
pub mod neighbourhood;
mod policer;
mod radio;
pub mod study;
mod tcp;
pub mod today;
mod transfer;
mod world;

pub use crate::rfc1030::Dice;
pub use chance::{Bursts, Chance, Loss};
pub use handover::Handovers;
pub use link::{Fate, Link, LinkModel, Overtaking, Stalls};
pub use meter::{FlowMeter, LinkMeter, Meters};
pub use naps::Naps;
pub use policer::Policer;
pub use radio::Turns;
pub use tcp::Algorithm;
pub use transfer::TransferModel;
pub use world::{Flow, Path, Run, run};

#[cfg(test)]
mod l4s_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod today_tests;
