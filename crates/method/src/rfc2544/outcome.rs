//! The figures of the tests of RFC 2544; one file a test.

mod back_to_back;
mod frame_loss;
mod latency;
mod recovery;
mod reset;
mod throughput;

pub use reset::action_in_words;

/// Why no trial counted; empty where one did, or where none was made.
pub(crate) fn invalid_of<'a>(trials: impl Iterator<Item = &'a Vec<String>>) -> Vec<String> {
    let all: Vec<&Vec<String>> = trials.collect();
    if all.iter().any(|reasons| reasons.is_empty()) {
        return vec![];
    }
    let mut known: Vec<String> = vec![];
    for reason in all.into_iter().flatten() {
        if !known.contains(reason) {
            known.push(reason.clone());
        }
    }
    known
}
