//! Every method against simulated devices whose truth is known: the answer must be the analytic
//! one within the stated resolution, and a failing tester must never pass for a failing device.

mod back_to_back;
pub mod bed;
mod besides;
mod bursts;
mod clauses;
mod composed;
mod consistency;
mod cost;
mod course;
mod foretold;
mod frame_loss;
mod harvard;
mod harvard_1989;
mod harvard_random;
mod ipv6_prefixes;
mod latency;
mod leftovers;
mod modifiers;
mod pairs;
mod pipelines;
mod policers;
mod policies;
mod recovery;
mod reset;
mod resume;
mod routing_updates;
mod selftest;
pub(crate) mod shapers;
mod side_by_side;
mod suite;
mod tandem;
mod throughput;
mod time_left;
mod traffic;
mod tunnels;
mod variation;
