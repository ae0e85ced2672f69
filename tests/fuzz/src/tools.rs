//! Capture files, and what hammer and anvil make of them; the stream of a copy.

use hammer::anvil::Census;
use hammer::capture::Capture;
use hammer::{Ending, Item, Sequence, Sources, Wishes};
use units::Duration;

/// Any bytes as a capture file: every frame of it is counted, and none is longer than the file.
pub(crate) fn capture(bytes: &[u8]) {
    let Ok(frames) = Capture::open(bytes) else { return };
    let mut census = Census::default();
    let mut whole = 0;
    for frame in frames {
        let Ok(frame) = frame else { break };
        assert!(frame.bytes.len() <= bytes.len() && frame.bytes.len() <= frame.len_bytes);
        let at = Duration::from_ns(frame.time_ns.unwrap_or(0).min(1 << 50));
        census.count(at, &frame.bytes, frame.len_bytes);
        whole += 1;
    }
    assert_eq!(census.total().frames, whole);
    assert_eq!(census.length_classes().iter().sum::<u64>(), whole);
    let composed: u64 = census.composition().iter().map(|(_, share)| share.frames).sum();
    assert_eq!(composed, whole);
}

/// Words, each up to a byte 0, the last one as the file that all of them name: the loop has the
/// frames that it says.
pub(crate) fn hammer(bytes: &[u8]) {
    let mut parts: Vec<&[u8]> = bytes.splitn(4, |byte| *byte == 0).collect();
    let file = parts.pop().unwrap_or_default().to_vec();
    let words = parts.iter().filter_map(|word| std::str::from_utf8(word).ok());
    let items: Vec<Item> = words.filter_map(|word| word.parse().ok()).collect();
    let few = |item: &Item| !matches!(item, Item::File { times, .. } if *times > 1_000);
    let items: Vec<Item> = items.into_iter().filter(few).collect();
    let named = items.iter().filter_map(|item| match item {
        Item::File { path, .. } => Some((path.clone(), file.clone())),
        Item::Pad(_) => None,
    });
    let sources: Sources = named.collect();
    let wishes = Wishes { readdressed: Some(2), ending: Ending::Take, ..Default::default() };
    let Ok(sequence) = Sequence::new(&items, &sources, &wishes) else { return };
    let sizes = (0..sequence.len()).map(|k| u64::from(sequence.size(k).bytes()));
    assert_eq!(sequence.bytes(sequence.len()), sizes.sum::<u64>());
}

/// Any bytes as a buffer of a copy's stream, and as a line of its channel: what is read is written the same way,
/// and no name leads out.
pub(crate) fn copy(bytes: &[u8]) {
    use netblt_io::copy::control::understand;
    use netblt_io::copy::format::{Record, Writer, records};
    let read: Vec<_> = records(bytes).map_while(Result::ok).collect();
    let mut written = vec![0xff; bytes.len()];
    let mut writer = Writer::new(&mut written);
    for record in &read {
        // Reasons and names of what is refused are for people, and may be cut.
        assert!(writer.put(record), "no longer than it was");
        if let Record::Directory { name, .. } | Record::File { name, .. } = record {
            let path = std::path::Path::new(str::from_utf8(name.bytes()).unwrap_or("a"));
            let down = |part| matches!(part, std::path::Component::Normal(_));
            assert!(path.components().all(down), "{name}");
        }
    }
    writer.finish();
    assert_eq!(records(&written).filter(Result::is_ok).count(), read.len());
    if let Ok(message) = understand(bytes) {
        let line = serde_json::to_vec(&message).expect("a message");
        assert_eq!(understand(&line).expect("what was written"), message);
    }
}
