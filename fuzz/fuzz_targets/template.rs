//! Any JSON as a template: building refuses it or gives a frame of the size asked for, whose
//! signature is there; it never panics.
#![no_main]

use libfuzzer_sys::fuzz_target;
use units::FrameSize;
use wire::signature::{self, Key};
use wire::template::FrameTemplate;

fuzz_target!(|input: (u16, u64, &[u8])| {
    let (size, index, json) = (FrameSize::from_bytes(input.0.into()), input.1, input.2);
    let Ok(template) = serde_json::from_slice::<FrameTemplate>(json) else { return };
    let minimum = template.min_size();
    let _ = (template.period(), template.given_up(size), template.to_string());
    match template.build(index, size, Some((Key(7), 1))) {
        Err(_) => {}
        Ok(frame) => {
            assert!(size >= minimum);
            assert_eq!(frame.len(), size.bytes_without_fcs());
            let form = template.form_for(size).expect("a size that was built has a form");
            let stamp = signature::read(form, Key(7), &frame).expect("our own signature");
            assert_eq!((stamp.stream, stamp.sequence), (1, 0));
        }
    }
});
