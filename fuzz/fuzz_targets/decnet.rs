//! Drives the target `decnet`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::target("decnet")(bytes));
