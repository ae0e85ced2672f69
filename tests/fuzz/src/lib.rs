//! What the fuzzers check: one function a target, from any bytes. `fuzz/` drives them with
//! libFuzzer; the test here drives them for a short time with mutations of the committed seeds, on
//! any toolchain.
//!
//! A finding is a panic. The input that made it becomes a seed, so that it is tried ever after.

mod frames;
mod legacy;
mod messages;
pub mod mutate;
mod texts;
mod tools;
mod views;

/// A target: its name, and what is checked of an input.
pub type Target = (&'static str, fn(&[u8]));

/// Every target. The seeds of each are in `fuzz/seeds/NAME`.
pub const TARGETS: [Target; 21] = [
    ("frame", frames::frame),
    ("headers", frames::headers),
    ("views", views::views),
    ("rip", frames::rip),
    ("snmp", frames::snmp),
    ("groups", frames::groups),
    ("netblt", frames::netblt),
    ("copy", tools::copy),
    ("signature", frames::signature),
    ("fragments", frames::fragments),
    ("bridging", legacy::bridging),
    ("decnet", legacy::decnet),
    ("appletalk", legacy::appletalk),
    ("ipx", legacy::ipx),
    ("template", texts::template),
    ("sizes", texts::sizes),
    ("device", texts::device),
    ("config", texts::config),
    ("capture", tools::capture),
    ("hammer", tools::hammer),
    ("agent", messages::agent),
];

/// The target of this name.
///
/// # Panics
/// If there is none.
pub fn target(name: &str) -> fn(&[u8]) {
    let found = TARGETS.iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("no target is called {name}")).1
}

/// Reads, writes and reads again: the meaning is the same.
macro_rules! same_again {
    ($module:path, $bytes:expr) => {{
        use $module as module;
        if let Ok((repr, rest)) = module::Repr::parse($bytes) {
            let mut written = vec![0; repr.header_len()];
            repr.emit(&mut written);
            written.extend_from_slice(rest);
            let (again, rest_again) = module::Repr::parse(&written).expect("what was written");
            assert_eq!((&again, rest_again), (&repr, rest));
            let _ = repr.to_string();
        }
    }};
}
pub(crate) use same_again;

/// With a good checksum over the first `covered` bytes at `field`: without it hardly an input would
/// come past the checksum.
pub(crate) fn with_good_checksum(bytes: &[u8], covered: usize, field: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if covered >= field + 2 && covered <= bytes.len() {
        bytes[field..field + 2].fill(0);
        let checksum = wire::checksum::checksum(&bytes[..covered]);
        bytes[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
    }
    bytes
}
