//! What anvil counts: frames, their rate over ten seconds, their lengths, their protocols.

mod average;
mod census;
mod protocols;

pub use average::{Average, TenSeconds};
pub use census::{Census, LENGTH_CLASSES, LengthClass, Share};
pub use protocols::Path;
