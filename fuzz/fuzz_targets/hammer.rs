//! Drives the target `hammer`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::target("hammer")(bytes));
