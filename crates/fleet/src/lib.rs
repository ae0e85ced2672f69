//! Campaigns of many runs, the place where their figures are kept, and what became of a figure over time.
//!
//! ```text
//! Description (TOML) --> Job, Job, ...        description, job
//!                          |  netanvil run, a child each          local
//!                          v
//!                     run folders  --> RunRecord --> Store (SQLite | PostgreSQL)     record, store
//!                                                      |
//!                                    Trend, Change  <--+             history, change
//! ```
//!
//! There is no engine here: a job is a run of this program with a configuration file, and everything that is kept
//! is read from its run folder. What a campaign has done stands in its folder and its store, so one that was
//! killed goes on where it was.
//!
//! # Example
//!
//! ```
//! let description = fleet::Description::parse(
//!     r#"
//!     name = "nightly"
//!     tests = ["throughput"]
//!     sizes = [64, 1518]
//!     repetitions = 3
//!     [[device]]
//!     name = "router"
//!     options = { sim = "router", profile = "quick" }
//!     "#,
//!     std::path::Path::new("."),
//! )?;
//! assert_eq!(description.jobs()?.len(), 6);
//!
//! // A rate that falls by 3 %: the first of the lower values has the index 20.
//! let noise = |run: usize| [-0.3, 0.1, 0.4, -0.1, 0.2, -0.2, 0.0][run % 7];
//! let rates: Vec<f64> = (0..40).map(|run| if run < 20 { 100.0 } else { 97.0 } + noise(run)).collect();
//! let changes = fleet::change::find(&rates);
//! assert_eq!(changes.iter().map(|change| change.at).collect::<Vec<_>>(), [20]);
//! # Ok::<(), fleet::DescriptionError>(())
//! ```
//!
//! This crate is an edge: it starts programs, waits for them and for databases.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod bisect;
pub mod change;
mod description;
pub mod digest;
mod folder;
pub mod history;
mod job;
pub mod local;
mod record;
pub mod store;
pub mod sweep;

pub use description::{Configuration, Description, DescriptionError, Device};
pub use folder::{CampaignFolder, STORE};
pub use job::Job;
pub use record::{FigureRecord, Origin, RecordError, RunRecord};
pub use store::{Ingested, Store, StoreError};
pub use sweep::Sweep;

/// The first 16 hexadecimal digits of a BLAKE3 digest: 64 bits, of which a million collide with a chance of 3e-8.
pub(crate) fn short_digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..16].to_owned()
}
