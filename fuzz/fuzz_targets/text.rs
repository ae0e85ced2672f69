//! Any text of a configuration file: reading never panics, and what is read prints so that it
//! reads back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::distribution::Distribution;
use wire::ethernet::MacAddr;
use wire::size::SizePattern;

fuzz_target!(|text: &str| {
    if let Ok(pattern) = text.parse::<SizePattern>() {
        let _ = (pattern.to_string(), pattern.size_at(u64::MAX), pattern.average_bytes());
        assert_eq!(String::from(pattern.clone()).parse(), Ok(pattern));
    }
    let _ = Distribution::from_csv(text);
    if let Ok(address) = text.parse::<MacAddr>() {
        assert_eq!(address.to_string().parse(), Ok(address));
    }
});
