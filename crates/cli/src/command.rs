//! One file a subcommand.

pub mod agent;
pub mod anvil;
pub mod campaign;
pub mod clean;
pub mod compare;
pub mod completions;
pub mod devices;
pub mod doctor;
pub mod fit;
pub mod hammer;
pub mod harvard;
pub mod history;
pub mod link;
pub mod man;
pub mod netblt;
pub mod otg;
pub mod page;
pub mod publish;
pub mod report;
pub mod run;
pub mod selftest;
pub mod serve;
pub mod tests;
pub mod traffic;
pub mod versus;
