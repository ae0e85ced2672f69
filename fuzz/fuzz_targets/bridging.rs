//! Drives the target `bridging`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::target("bridging")(bytes));
