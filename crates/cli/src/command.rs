//! One file a subcommand.

pub mod clean;
pub mod completions;
pub mod devices;
pub mod doctor;
pub mod man;
pub mod run;
