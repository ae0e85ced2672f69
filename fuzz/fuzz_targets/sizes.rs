//! Drives the target `sizes`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::target("sizes")(bytes));
