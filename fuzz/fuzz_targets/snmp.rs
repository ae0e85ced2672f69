//! Drives the target `snmp`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::target("snmp")(bytes));
