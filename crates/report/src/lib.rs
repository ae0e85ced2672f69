//! Saved events turned into what people look at.
//!
//! [`run_folder`] keeps a run on disk so that nothing already measured is lost.

mod event_log;
pub mod run_folder;

pub use event_log::Notice;
