//! Any text of a device's description: reading never panics, what is read can be written and read
//! again, and the device that it describes takes any frames.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sim::{Addresses, Description};
use trial::{PortId, Tester, Trial};
use units::Duration;

/// A description, and bytes for its ports.
fuzz_target!(|input: (&str, &[u8])| {
    let (text, bytes) = input;
    let Ok(description) = Description::from_toml(text) else { return };
    let written = toml::to_string(&description).expect("what was read can be written");
    assert_eq!(Description::from_toml(&written), Ok(description.clone()));

    let mut tester =
        description.tester(&Addresses::plan(description.ports)).expect("what was checked is built");
    let preludes = bytes.chunks(97).take(64).enumerate().map(|(index, frame)| trial::Prelude {
        port: PortId((index % description.ports) as u16),
        frames: vec![frame.to_vec()],
        wait: Duration::from_us(100),
    });
    let trial = Trial {
        label: "fuzz".into(),
        key: wire::signature::Key(1),
        streams: vec![],
        loads: vec![],
        prelude: preludes.collect(),
        waits: trial::Waits { drain: Duration::from_ms(1), settle: Duration::ZERO },
        tagging: None,
        verify_payload: false,
        action: None,
        captures: vec![],
        limits: trial::ValidityLimits::default(),
    };
    let _ = tester.run(&trial);
});
