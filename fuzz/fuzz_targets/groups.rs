//! Drives the target `groups`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::target("groups")(bytes));
