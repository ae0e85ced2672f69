//! The suite of 1989 as entries of the registry: each test finds what the tester can offer where that is not
//! known yet, and goes by the max rate of its frame size where it is made of it.

use super::Test1989;
use super::arp_cache::arp_cache;
use super::back_to_back::back_to_back;
use super::counters::counters;
use super::delay::delay;
use super::errors::errors;
use super::filters::{filter_list, filtering};
use super::idle::idle;
use super::management::management;
use super::mixes::{flooded_sizes, length_mix, mixed_protocols};
use super::rates::{self, flood, overload, raw_rate};
use super::result::Harvard1989Result;
use super::routes::{many_routes, no_routes, routing_table};
use super::scene::result_of;
use super::storms::{nfs_bursts, storm};
use crate::bench::Bench;
use crate::harvard::Sources;
use crate::reach::{Reach, reach};
use crate::registry::Known;
use crate::subject::Subject;
use crate::{Outcome, RunError, TestKind};
use traffic::size::SizePattern;
use units::{FrameRate, FrameSize};

/// What the suite of 1989 has of its own.
#[derive(Clone, Copy, Debug)]
pub struct Suite1989;

impl Suite1989 {
    /// The frame sizes of 1989: "Sizes used are 64, 128, 256, 1024 and 1518 bytes, with the size
    /// including the 4 byte crc".
    pub fn frame_sizes() -> Vec<SizePattern> {
        [64, 128, 256, 1024, 1518].map(FrameSize::from_bytes).map(SizePattern::Fixed).to_vec()
    }
}

/// Makes the trials of a test with one frame size, and says what they come to.
pub(crate) fn test(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    known: &mut Known,
    kind: TestKind,
) -> Result<Outcome, RunError> {
    let TestKind::Harvard1989(test) = kind else {
        return Err(RunError::Config(format!("{kind} is no test of 1989")));
    };
    if known.reach.is_none() {
        known.reach = Some(offered(bench, subject, kind)?);
    }
    let subject = &known.reach.as_ref().map_or(*subject, |reach| subject.within(reach));
    let result = match (test, known.max_rate) {
        (Test1989::MaxRate, _) => {
            let (result, rate) = rates::max_rate(bench, subject, test)?;
            known.max_rate = rate;
            result
        }
        (test, None) if test.needs_max_rate() => {
            let why = "not possible: the device has no rate without loss";
            result_of(test, subject).not_possible(why)
        }
        (test, max_rate) => run_one(bench, subject, test, max_rate.unwrap_or(FrameRate::ZERO))?,
    };
    Ok(result.outcome())
}

/// What the tester can offer to the device: by its self-test, or what a source with a long gap offers, to the
/// frame.
pub(super) fn offered(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    test: TestKind,
) -> Result<Reach, RunError> {
    if subject.knows_tester() {
        return reach(bench, subject, test);
    }
    let sources = Sources::find(bench, subject, test)?;
    Ok(Reach { ceiling: sources.ceiling(subject), tried: None, is_lowered: false })
}

fn run_one(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    test: Test1989,
    max_rate: FrameRate,
) -> Result<Harvard1989Result, RunError> {
    if let Some(why) = no_routes(subject).filter(|_| test.needs_routes()) {
        return Ok(result_of(test, subject).not_possible(why));
    }
    match test {
        Test1989::IdleState => idle(bench, subject),
        Test1989::Delay => delay(bench, subject),
        Test1989::MaxRate => Ok(rates::max_rate(bench, subject, test)?.0),
        Test1989::RawRate => raw_rate(bench, subject, max_rate),
        Test1989::Overload25 => overload(bench, subject, max_rate),
        Test1989::Flood => flood(bench, subject, max_rate),
        Test1989::BackToBack => back_to_back(bench, subject),
        Test1989::LengthMix => length_mix(bench, subject),
        Test1989::MixedProtocols => mixed_protocols(bench, subject),
        Test1989::Counters => counters(bench, subject, max_rate),
        Test1989::Filtering => filtering(bench, subject),
        Test1989::ManyRoutes => many_routes(bench, subject),
        Test1989::RoutingTable => routing_table(bench, subject),
        Test1989::ArpCache => arp_cache(bench, subject),
        Test1989::FilterList => filter_list(bench, subject),
        Test1989::Management => management(bench, subject, max_rate),
        Test1989::ArpStorm | Test1989::BroadcastStorm | Test1989::RoutingUpdates => {
            storm(bench, subject, test, max_rate)
        }
        Test1989::NfsBursts => nfs_bursts(bench, subject),
        Test1989::FloodedSizes => flooded_sizes(bench, subject),
        Test1989::CrcErrors | Test1989::Giants | Test1989::Runts => errors(bench, subject, test),
    }
}
