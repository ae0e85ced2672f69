//! Drives the target `appletalk`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::target("appletalk")(bytes));
