//! Devices that speak BGP: what a configuration asks for as the configuration of a BIRD, the BIRDs themselves, and
//! what they tell.
//!
//! ```text
//! configuration -> plan -> text -> BIRD in a namespace of its own
//!                                    | TAP with the device's address
//!                                  pump: BGP, ARP and neighbour discovery, and nothing else
//!                                    | packet socket beside the port
//!                                  port
//! ```

mod plan;
mod prefixes;
mod pump;
mod routes;
mod speakers;
mod text;
mod told;

pub use plan::{SpeakerPlan, ends, is_near, speakers, warnings};
pub use prefixes::prefixes;
pub use speakers::{Joint, Speakers};
pub use told::{PeerTold, SessionState};
