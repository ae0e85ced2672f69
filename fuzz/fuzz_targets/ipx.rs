//! Drives the target `ipx`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::target("ipx")(bytes));
