//! What anvil counts: frames, their rate over ten seconds, their lengths, their protocols.

mod average;
mod census;
mod composition;
mod protocols;

pub use average::{Average, TenSeconds};
pub use census::{Census, LENGTH_CLASSES, LengthClass, Share};
pub use composition::{Cast, Composition, Lane};
pub use protocols::Path;
