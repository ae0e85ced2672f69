//! Drives the target `views`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::target("views")(bytes));
