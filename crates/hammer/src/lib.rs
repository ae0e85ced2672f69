//! `hammer` and `anvil`, the frame generator and the frame counter of the router tests of 1989
//! (S. Bradner, "TCP/IP Router Performance"), as far as they need no port: which frames the words
//! of a command line mean, when each of them is due, and what is counted of those that arrive.
//!
//! Pure: bytes in, values out. Reading files, sending and receiving are their callers' business.
//!
//! # Example
//!
//! `hammer -s# +64 +128`: two frames made by hammer, a turn of them every 10 ms, and what `anvil` counts:
//!
//! ```
//! use hammer::{Item, Pace, Schedule, Sequence, Sources, Wishes, anvil::Census};
//! use units::Duration;
//!
//! let items = ["+64", "+128"].map(|word| word.parse::<Item>().expect("a size"));
//! let sequence = Sequence::new(&items, &Sources::new(), &Wishes::default())?;
//! let pace = Pace::Slow { turn: Duration::from_ms(10) };
//! let schedule = Schedule { pace, turn_frames: sequence.len(), frames: Some(6) };
//!
//! let mut census = Census::default();
//! for k in 0.. {
//!     let Some(due) = schedule.due(k) else { break };
//!     let frame = sequence.frame(k);
//!     census.count(due, frame, frame.len());
//! }
//! assert_eq!(census.total().frames, 6);
//! assert_eq!(census.span(), Some((Duration::ZERO, Duration::from_ms(20))));
//! assert_eq!(census.size_pattern().as_deref(), Some("dist:64*3,128*3"));
//! # Ok::<(), hammer::SequenceError>(())
//! ```

pub mod anvil;
pub mod capture;
mod item;
mod schedule;
mod sequence;

pub use item::{Item, ItemError};
pub use schedule::{Pace, Schedule};
pub use sequence::{Ending, PAD_ADDRESS, Sequence, SequenceError, Sources, Wishes};
