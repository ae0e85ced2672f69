//! Saved events turned into what people look at: pure functions of events, and a thin writer.
//!
//! * [`run_folder`] keeps a run on disk so that nothing already measured is lost.
//! * [`Report`] folds the events of a run, whole or interrupted, into one value.
//! * [`tables`] says what stands in which table; [`terminal`] and [`html`] print the same ones.
//! * [`csv`] writes the figures of every test's outcome, whatever the test; [`compare`] sets those of
//!   two runs side by side. [`json`] is the whole run for programs.
//! * [`Exporter`] is a format in which a run is saved.
//! * [`history`] is what a page of figures over time shows.
//! * [`versus`] is the same for comparisons, which have events of their own.
//! * [`Publication`] is a review of several runs, to be printed.
//!
//! Counts are kept, ratios derived; a value that only bounds the truth is printed as a bound.
//!
//! # Example
//!
//! A run in virtual time, its terminal report, and a format of one's own:
//!
//! ```
//! use method::{Forwarding, Profile, Suite, SuiteConfig, TestKind, Topology};
//! use report::{Exporter, Report, terminal};
//! use sim::{Patch, SimPort, SimTester};
//! use units::{FrameSize, LineRate};
//! use traffic::size::SizePattern;
//!
//! /// One line an outcome.
//! struct Brief;
//!
//! impl Exporter for Brief {
//!     fn file_name(&self) -> &str {
//!         "brief.txt"
//!     }
//!     fn render(&self, report: &Report) -> String {
//!         let line = |outcome: &method::Outcome| {
//!             format!("{}: {} figures\n", outcome.test, outcome.figures.len())
//!         };
//!         report.outcomes().map(line).collect()
//!     }
//! }
//!
//! let mut config = SuiteConfig::of(Profile::Quick);
//! config.tests = vec![TestKind::Throughput];
//! config.frame_sizes = vec![SizePattern::Fixed(FrameSize::from_bytes(1518))];
//! let suite = Suite {
//!     program: "an example".into(),
//!     device: "a cable".into(),
//!     environment: Default::default(),
//!     config,
//!     topology: Topology::plan(Forwarding::Looped),
//!     self_test: None,
//!     more: &[],
//! };
//! let mut cable = SimTester::new(&[SimPort::physical(LineRate::from_mbps(10)); 2], Patch::default());
//! let mut events = vec![];
//! suite.run(&mut cable, None, &mut events)?;
//!
//! let report = Report::from_events(&events, vec![]);
//! let text = terminal::render(&report, terminal::Style { width: None, colour: false });
//! // The maximum of 10 Mb/s Ethernet with such frames (RFC 2544 appendix B).
//! assert!(text.contains("812"), "{text}");
//! assert!(Brief.render(&report).starts_with("throughput: "));
//! # Ok::<(), method::RunError>(())
//! ```

mod answers;
pub mod compare;
mod composition;
pub mod csv;
mod event_log;
mod export;
pub mod fitted;
pub mod harvard;
pub mod history;
pub mod html;
pub mod json;
mod latencies;
mod model;
mod publication;
pub mod reproduction;
pub mod run_folder;
mod stream_row;
pub mod tables;
pub mod terminal;
mod trial_row;
pub mod versus;

use run_folder::FolderError;
use std::path::Path;

pub use method::outcome::number;

pub use answers::{Answers, Group, Verdict};
pub use composition::{PacketComposition, PacketKind, PacketLength};
pub use event_log::Notice;
pub use export::{EXPORTERS, Exporter, export};
pub use latencies::{LATENCY_BOUNDS, latency_buckets};
pub use model::{Report, Status, TrialCounts};
pub use publication::{Product, Publication};
pub use trial_row::TrialRow;

/// Writes a run in all formats into its folder, each file as a whole.
///
/// # Errors
/// As [`export`].
pub fn save(folder: &Path, report: &Report) -> Result<(), FolderError> {
    export(folder, report, &EXPORTERS)
}
