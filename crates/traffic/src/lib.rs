//! What a stream is made of: the frame template with its field modifiers, frame sizes, mixes and distributions,
//! frames out of captures, fragments and damaged frames.
//!
//! Pure: no clock, no socket, no randomness without a seed. A [`template::FrameTemplate`] is a stack of headers of
//! [`wire`]; prepared for a size and a signature it gives frame `n` of its stream as bytes, the same each time.
//!
//! # Example
//!
//! A 128-byte test frame, stamped as it leaves, and known again as it arrives:
//!
//! ```
//! use std::net::Ipv4Addr;
//! use units::FrameSize;
//! use wire::ethernet::MacAddr;
//! use wire::signature::{self, Key, Stamp};
//! use traffic::template::FrameTemplate;
//!
//! let tester = (MacAddr([2, 0, 0, 0, 0, 2]), Ipv4Addr::new(198, 18, 1, 2));
//! let router = (MacAddr([2, 0, 0, 0, 0, 1]), Ipv4Addr::new(198, 19, 1, 2));
//! let (key, stream) = (Key::from_seed(1), 7);
//! let template = FrameTemplate::udp_ipv4(tester, router);
//! let prepared = template.prepare(FrameSize::from_bytes(128), Some((key, stream)))?;
//!
//! let mut frame = prepared.frame(0);
//! assert_eq!(frame.len(), 124, "without FCS");
//! let form = prepared.form().expect("a frame with a signature");
//! let stamp = Stamp { stream, sequence: 41, transmit_ticks: 1_000 };
//! signature::write(form, key, stamp, &mut frame);
//! let read = signature::read(form, key, &frame).expect("it is ours");
//! assert_eq!(read, stamp);
//! // Another trial's key does not know it.
//! assert!(signature::read(form, Key::from_seed(2), &frame).is_none());
//! # Ok::<(), traffic::template::BuildError>(())
//! ```

pub mod distribution;
pub mod error_frame;
pub mod fragment;
pub mod imix;
pub mod modifier;
pub mod replay;
pub mod size;
pub mod template;
pub mod test_frame;
