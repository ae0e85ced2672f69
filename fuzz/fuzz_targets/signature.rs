//! Any bytes as the end of a received frame: reading never panics, and what is read as ours is
//! written the same way.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::signature::{Form, Key, read, write};

fuzz_target!(|input: (u16, &[u8])| {
    let (key, frame) = (Key(input.0), input.1);
    for form in [Form::Full, Form::Short, Form::Compact] {
        if let Some(stamp) = read(form, key, frame) {
            let mut written = frame.to_vec();
            write(form, key, stamp, &mut written);
            assert_eq!(read(form, key, &written), Some(stamp));
        }
    }
});
