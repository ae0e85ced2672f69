//! A simulated run, saved, read back and rendered; every number is counted again from the saved
//! events by code that shares nothing with the renderers.

mod browser;
mod comparison;
mod full_disk;
mod numbers;
#[path = "../sample/mod.rs"]
mod sample;
mod widths;

use method::Event;
use report::Report;
use sample::Sample;
use std::sync::LazyLock;

/// All tests with a size that the router limits and one that the medium does.
static EVENTS: LazyLock<Vec<Event>> =
    LazyLock::new(|| Sample { sizes: vec![64, 1518], ..Sample::default() }.events());

fn report() -> Report {
    Report::from_events(&EVENTS, vec![])
}
