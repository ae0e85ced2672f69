//! The burden of RFC 3918 section 8: fully meshed unicast between ports that take no part in the test.

use super::mixed::unicast_frames;
use crate::RunError;
use crate::chassis::{Draft, Pattern, TestSetup};
use serde::{Deserialize, Serialize};
use trial::{Schedule, TrialResult};
use units::{Duration, FrameRate};

/// What other ports did meanwhile.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Burden {
    /// How many.
    pub ports: usize,
    /// Of each, in percent of its medium.
    pub load_percent: f64,
    /// Offered by all of them together, as measured.
    pub offered: FrameRate,
    /// Of their frames, lost.
    pub lost_frames: u64,
    /// Of their frames, at other ports than those that they were for: unicast addresses were not
    /// learned.
    pub flood_count: u64,
}

/// Which ports listen in a burdened test, and which are the burden: two at least, the second half.
pub(super) fn split(rack: &TestSetup<'_>) -> Result<(Vec<usize>, Vec<usize>), RunError> {
    let burden = (rack.ports / 2).max(2);
    if rack.ports < burden + 2 {
        return Err(RunError::Config("a burdened test needs 4 ports or more".into()));
    }
    let first = rack.ports - burden;
    Ok(((1..first).collect(), (first..rack.ports).collect()))
}

/// Adds the burden to a trial.
pub(super) fn add(
    draft: &mut Draft,
    rack: &TestSetup<'_>,
    ports: &[usize],
    duration: Duration,
) -> Result<(), RunError> {
    let percent = rack.config.chassis.multicast.burden_percent;
    for turn in Pattern::FullMesh.turns(ports.len()) {
        let from = ports[turn.from];
        let mut order = vec![];
        for to in turn.to.iter().map(|to| ports[to[0]]) {
            let frames = unicast_frames(rack, (from, to), (draft.key(), draft.next_id()))?;
            order.push(draft.stream(rack, from, &[to], frames));
            // What is lost of the burden is no loss of the test.
            draft.as_modifier();
        }
        let rate = rack.described(from).line_rate.max_frame_rate(rack.size);
        draft.send(from, Schedule::constant(rate.scaled(percent / 100.0), duration), order);
    }
    Ok(())
}

/// What the burden was.
pub(super) fn measured(rack: &TestSetup<'_>, ports: &[usize], result: &TrialResult) -> Burden {
    let ids: Vec<_> = ports.iter().map(|port| rack.port(*port).port).collect();
    let sent = result.sent.iter().filter(|sent| ids.contains(&sent.report.port));
    let rates = sent.filter_map(|sent| sent.report.sent_rate()).map(FrameRate::fps);
    let streams = || result.streams.iter().filter(|stream| ids.contains(&stream.from));
    Burden {
        ports: ports.len(),
        load_percent: rack.config.chassis.multicast.burden_percent,
        offered: FrameRate::from_fps_f64(rates.sum()),
        lost_frames: streams().map(|stream| stream.lost).sum(),
        flood_count: streams().map(|stream| stream.misdirected).sum(),
    }
}

/// How far the load of the source with the burden is from that without it, as a share of the smaller one; of the
/// pair of trials that are furthest apart. `None` where one of them is missing.
pub(super) fn ingress_apart(sets: impl Iterator<Item = (bool, Option<FrameRate>)>) -> Option<f64> {
    let (mut burdened, mut baseline) = (vec![], vec![]);
    for (is_burdened, ingress) in sets {
        let rates = if is_burdened { &mut burdened } else { &mut baseline };
        rates.push(ingress?.fps());
    }
    let apart = |one: f64, other: f64| (one - other).abs() / one.min(other).max(1e-9);
    let all = burdened.iter().flat_map(|one| baseline.iter().map(move |other| apart(*one, *other)));
    all.reduce(f64::max)
}
