//! What people write: templates, sizes, devices, configurations.

use sim::{Addresses, Description};
use traffic::distribution::Distribution;
use traffic::size::SizePattern;
use traffic::template::FrameTemplate;
use trial::{PortId, Prelude, Tester, Trial, ValidityLimits, Waits};
use units::{Duration, FrameSize};
use wire::ethernet::MacAddr;
use wire::signature::{self, Key};

/// Two bytes of size, one of the frame's number, and any JSON as a template: building refuses it or
/// gives a frame of the size asked for, whose signature is there.
pub(crate) fn template(bytes: &[u8]) {
    let Some(([high, low, index], json)) = bytes.split_first_chunk() else { return };
    let size = FrameSize::from_bytes(u16::from_be_bytes([*high, *low]).into());
    let Ok(template) = serde_json::from_slice::<FrameTemplate>(json) else { return };
    let minimum = template.min_size();
    let _ = (template.period(), template.given_up(size), template.to_string());
    let Ok(frame) = template.build(u64::from(*index) << 32, size, Some((Key::from_seed(7), 1)))
    else {
        return;
    };
    assert!(size >= minimum);
    assert_eq!(frame.len(), size.bytes_without_fcs());
    let form = template.form_for(size).expect("a size that was built has a form");
    let stamp = signature::read(form, Key::from_seed(7), &frame).expect("our own signature");
    assert_eq!((stamp.stream, stamp.sequence), (1, 0));
}

/// Any text as frame sizes, a table of them, or an address: what is read prints so that it reads
/// back.
pub(crate) fn sizes(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(pattern) = text.parse::<SizePattern>() {
        let _ = (pattern.to_string(), pattern.size_at(u64::MAX), pattern.average_bytes());
        assert_eq!(String::from(pattern.clone()).parse(), Ok(pattern));
    }
    let _ = Distribution::from_csv(text);
    if let Ok(address) = text.parse::<MacAddr>() {
        assert_eq!(address.to_string().parse(), Ok(address));
    }
}

/// Any text of a device's description, up to a byte 0: what is read can be written and read again,
/// and the device that it describes takes any frames: what follows.
pub(crate) fn device(bytes: &[u8]) {
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    let text = parts.next().and_then(|text| std::str::from_utf8(text).ok());
    let Some(Ok(description)) = text.map(Description::from_toml) else { return };
    let written = toml::to_string(&description).expect("what was read can be written");
    assert_eq!(Description::from_toml(&written), Ok(description.clone()));

    let mut tester =
        description.tester(&Addresses::plan(description.ports)).expect("what was checked is built");
    let frames = parts.next().unwrap_or_default();
    let preludes = frames.chunks(97).take(64).enumerate().map(|(index, frame)| Prelude {
        port: PortId((index % description.ports) as u16),
        frames: vec![frame.to_vec()],
        wait: Duration::from_us(100),
    });
    let _ = tester.run(&Trial {
        label: "fuzz".into(),
        key: Key::from_seed(1),
        streams: vec![],
        loads: vec![],
        prelude: preludes.collect(),
        waits: Waits::fixed(Duration::from_ms(1), Duration::ZERO),
        tagging: None,
        count_flows: false,
        verify_payload: false,
        action: None,
        captures: vec![],
        limits: ValidityLimits::default(),
    });
}

/// Any text as the configuration of a suite: what is read can be written and read again.
pub(crate) fn config(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(config) = toml::from_str::<method::SuiteConfig>(text) else { return };
    let written = toml::to_string(&config).expect("what was read can be written");
    assert_eq!(toml::from_str::<method::SuiteConfig>(&written).as_ref(), Ok(&config));
}
