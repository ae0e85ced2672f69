//! Frames as bytes: one file a protocol, the frame template with its field modifiers, and the
//! signature by which the tester knows its own frames again.

pub mod signature;
pub mod verify;
