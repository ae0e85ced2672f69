use super::*;
use crate::CaptureRequest;
use std::net::Ipv4Addr;
use traffic::template::FrameTemplate;
use units::FrameSize;
use wire::{ethernet::MacAddr, signature::Key};

fn trial() -> Trial {
    let end = |n| (MacAddr([2, 0, 0, 0, 0, n]), Ipv4Addr::new(198, 18, n, 2));
    let frames = FrameTemplate::udp_ipv4(end(0), end(1));
    let (key, size) = (Key::from_seed(1), FrameSize::from_bytes(128));
    let stream = Stream::new(StreamId(1), (PortId(0), PortId(1)), &frames, size, key);
    let schedule = Schedule::constant(FrameRate::from_fps(500), Duration::from_secs(2));
    let mut trial = Trial::new("a trial", key).sending(stream.expect("it fits"), schedule);
    trial.prelude =
        vec![Prelude { port: PortId(1), frames: vec![vec![1, 2]], wait: Duration::from_ms(10) }];
    trial.loads[0].insertions =
        vec![Insertion { stream: StreamId(1), trigger: Trigger::Frames { first: 1, every: 9 } }];
    trial
}

type Change = (&'static str, fn(&mut Trial));

/// One change of every member that makes another trial.
const CHANGES: [Change; 36] = [
    ("label", |t| t.label.push('!')),
    ("number of a stream", |t| t.streams[0].id = StreamId(2)),
    ("role", |t| t.streams[0].role = Role::Modifier),
    ("where a stream enters", |t| t.streams[0].from = PortId(2)),
    ("where it comes out", |t| t.streams[0].expect = Expectation::Ports(vec![PortId(2)])),
    ("nowhere", |t| t.streams[0].expect = Expectation::Ports(vec![])),
    ("anywhere", |t| t.streams[0].expect = Expectation::Unchecked),
    ("a byte of a frame", |t| t.streams[0].frames[0].bytes[40] ^= 1),
    ("the form of a signature", |t| t.streams[0].frames[0].form = None),
    ("a second frame", |t| {
        let again = t.streams[0].frames[0].clone();
        t.streams[0].frames.push(again);
    }),
    ("bad FCS", |t| t.streams[0].bad_fcs = true),
    ("longer on arrival", |t| t.streams[0].grows_by_bytes = -4),
    ("fingerprint", |t| {
        t.streams[0].fingerprint = Some(Fingerprint { offset_bytes: 0, value: 0, mask: 0 });
    }),
    ("a stream twice", |t| t.streams.push(t.streams[0].clone())),
    ("port of a load", |t| t.loads[0].port = PortId(3)),
    ("rate", |t| t.loads[0].schedule.segments[0].rate = FrameRate::from_fps(501)),
    ("frames", |t| t.loads[0].schedule.segments[0].frames += 1),
    ("bursts", |t| t.loads[0].schedule.segments[0].bursts = Some((4, Duration::from_ms(8)))),
    ("by length", |t| t.loads[0].schedule.segments[0].by_length = Some(Cycle::new(vec![84, 84]))),
    ("turns", |t| t.loads[0].order.push(StreamId(1))),
    ("no insertion", |t| t.loads[0].insertions.clear()),
    ("another trigger", |t| {
        let every = Duration::from_ps(9);
        t.loads[0].insertions[0].trigger = Trigger::Interval { first: Duration::from_ps(1), every };
    }),
    ("no prelude", |t| t.prelude.clear()),
    ("port of the prelude", |t| t.prelude[0].port = PortId(0)),
    ("frame of the prelude", |t| t.prelude[0].frames[0][1] = 3),
    ("frames of the prelude cut elsewhere", |t| t.prelude[0].frames = vec![vec![1], vec![2]]),
    ("wait of the prelude", |t| t.prelude[0].wait = Duration::from_ms(11)),
    ("drain", |t| t.waits.drain += Duration::from_ps(1)),
    ("longest drain", |t| t.waits.drain_max += Duration::from_ps(1)),
    ("nothing yet", |t| t.waits.nothing_yet += Duration::from_ps(1)),
    ("settle", |t| t.waits.settle += Duration::from_ps(1)),
    ("tags", |t| {
        t.tagging = Some(Tagging { stream: StreamId(1), first: 0, every: 1, count: 1 });
    }),
    ("flows", |t| t.count_flows = !t.count_flows),
    ("payload", |t| t.verify_payload = !t.verify_payload),
    ("reset", |t| t.action = Some((Duration::from_ms(1), DeviceAction::SoftwareReset))),
    ("credit", |t| t.limits.credit_frames += 1),
];

#[test]
fn every_change_of_what_is_sent_or_looked_at_makes_another_identity() {
    let mut all = std::collections::BTreeMap::from([(trial().identity(), "unchanged")]);
    for (what, change) in CHANGES {
        let mut other = trial();
        change(&mut other);
        assert_eq!(all.insert(other.identity(), what), None, "{what} alters nothing");
    }
    assert_eq!(all.len(), CHANGES.len() + 1);
}

#[test]
fn attempts_captures_and_names_are_no_other_trial() {
    let mut other = trial();
    other.key = Key::from_seed(2);
    other.streams[0].name.push('!');
    other.streams[0].given_up.push("nothing".into());
    other.captures.push(CaptureRequest {
        port: PortId(0),
        sent: true,
        received: true,
        streams: vec![],
        max_frames: 1,
        path: "a.pcapng".into(),
    });
    assert_eq!(other.identity(), trial().identity());
}

/// Written out by hand: form, label, no streams, no loads, no prelude, the waits, no tags, no flows, no payload,
/// no action, the limits.
#[test]
fn it_is_the_digest_of_bytes_that_any_program_can_write() {
    let mut bare = Trial::new("a", Key::from_seed(1));
    bare.waits = Waits {
        drain: Duration::from_ps(2),
        drain_max: Duration::from_ps(3),
        nothing_yet: Duration::from_ps(4),
        settle: Duration::from_ps(5),
    };
    (bare.count_flows, bare.verify_payload) = (false, true);
    bare.limits = ValidityLimits {
        shortfall: 0.5,
        late_after_us: 6,
        late_intervals: 7,
        credit_us: 8,
        credit_frames: 9,
        unwanted: 0.25,
    };
    let mut bytes = vec![];
    let mut put = |number: u64| bytes.extend(number.to_le_bytes());
    [1, 1].into_iter().for_each(&mut put);
    bytes.push(b'a');
    let mut put = |number: u64| bytes.extend(number.to_le_bytes());
    [0, 0, 0, 2, 3, 4, 5, 0, 0, 1, 0].into_iter().for_each(&mut put);
    // 0.5 and 0.25 as IEEE 754 has them.
    [0x3fe0_0000_0000_0000, 0x3fd0_0000_0000_0000, 6, 7, 8, 9].into_iter().for_each(&mut put);
    let digest = blake3::hash(&bytes).to_hex();
    assert_eq!(bare.identity().to_string(), digest[..32]);
}

#[test]
fn it_is_saved_as_text_and_nothing_else_is_read() {
    let identity = trial().identity();
    let saved = serde_json::to_string(&identity).expect("text");
    assert_eq!(saved, format!("\"{identity}\""));
    assert_eq!(serde_json::from_str::<TrialIdentity>(&saved).ok(), Some(identity));
    for other in ["\"\"", "\"0123456789abcdef\"", "\"+123456789abcdef0123456789abcdef\"", "5"] {
        assert!(serde_json::from_str::<TrialIdentity>(other).is_err(), "{other}");
    }
}
