//! `hammer` and `anvil`, the frame generator and the frame counter of the router tests of 1989
//! (S. Bradner, "TCP/IP Router Performance"), as far as they need no port: which frames the words
//! of a command line mean, when each of them is due, and what is counted of those that arrive.
//!
//! Pure: bytes in, values out. Reading files, sending and receiving are their callers' business.

pub mod anvil;
pub mod capture;
mod item;
mod schedule;
mod sequence;

pub use item::{Item, ItemError};
pub use schedule::{Pace, Schedule};
pub use sequence::{Ending, PAD_ADDRESS, Sequence, SequenceError, Sources, Wishes};
