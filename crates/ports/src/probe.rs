//! Whether a port sends at all: one harmless frame tells.

use crate::{Port, TrialSignals, clock};
use trial::{
    FrameSet, PortId, Schedule, Segment, Stream, StreamFrame, StreamId, TesterError, TransmitPlan,
};
use units::{Duration, FrameRate};
use wire::ethernet::{self, EtherType, MacAddr};
use wire::signature::Key;

/// Sends one frame that no device forwards: to the group address of the nearest bridge
/// (IEEE 802.1Q table 8-1), with the first local experimental EtherType (IEEE 802).
pub(crate) fn send_one(port: &mut dyn Port) -> Result<(), TesterError> {
    let id = port.describe().id;
    let plan = plan(id);
    let transmit = port.halves().transmit;
    transmit.prepare(&plan)?;
    let start = clock::now() + Duration::from_ms(1);
    let stop_at = start + Duration::from_secs(1);
    transmit.transmit(&plan, start, stop_at, &TrialSignals::new([id])).map(drop)
}

fn plan(port: PortId) -> TransmitPlan {
    let dst = MacAddr([0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e]);
    let src = MacAddr([0x02, b'N', b'A', 0, 0, 1]);
    let bytes = ethernet::Repr { dst, src, ether_type: EtherType::EXPERIMENTAL }.frame(&[]);
    let stream = Stream {
        id: StreamId(0),
        name: "probe".into(),
        role: trial::Role::Modifier,
        from: port,
        expect: trial::Expectation::Unchecked,
        frames: vec![StreamFrame { bytes, form: None }],
        fingerprint: None,
        given_up: vec![],
        bad_fcs: false,
        grows_by_bytes: 0,
    };
    TransmitPlan {
        port,
        key: Key::from_seed(0),
        set: FrameSet::new([&stream]),
        order: vec![0],
        insertions: vec![],
        schedule: Schedule { segments: vec![Segment::constant(FrameRate::from_fps(1_000), 1)] },
        late_after: Duration::from_secs(1),
        credit: Duration::MAX,
    }
}
