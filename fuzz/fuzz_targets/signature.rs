//! Drives the target `signature`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::target("signature")(bytes));
