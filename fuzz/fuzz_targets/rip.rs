//! Drives the target `rip`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::target("rip")(bytes));
