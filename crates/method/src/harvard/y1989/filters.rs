//! Filtering: the max rate with packet filters, the last of which permits the test stream; and how
//! many filters the device has room for, found by a search.

use super::Test1989;
use super::growing::{Fit, table_size};
use super::rates::search;
use super::result::{Ending, Harvard1989Result};
use super::scene::{frames, result_of};
use crate::RunError;
use crate::bench::Bench;
use crate::subject::Subject;
use std::net::Ipv4Addr;
use trial::{DeviceSetup, PacketFilter, TesterError};
use units::FrameRate;

/// Filters that permit others, and last the one that permits the test stream; all else is denied.
fn list(subject: &Subject<'_>, filters: u64) -> DeviceSetup {
    let stream = PacketFilter {
        permit: true,
        from: subject.traffic.from(0).host_ipv4,
        to: subject.traffic.to(0).host_ipv4,
    };
    let other = |n: u64| PacketFilter {
        permit: true,
        from: Ipv4Addr::from_bits(0x0a00_0000 | n as u32),
        to: Ipv4Addr::from_bits(0x0a80_0000 | n as u32),
    };
    let others = (0..filters.saturating_sub(1)).map(other);
    DeviceSetup { filters: others.chain((filters > 0).then_some(stream)).collect() }
}

/// Sent through the list.
const FRAMES: u64 = 10;

/// What came of configuring a device.
enum Configured {
    Yes,
    Refused,
    NotPossible(String),
}

fn configure(bench: &mut Bench<'_>, setup: &DeviceSetup) -> Result<Configured, RunError> {
    match bench.configure(setup) {
        Ok(()) => Ok(Configured::Yes),
        Err(TesterError::Refused(_)) => Ok(Configured::Refused),
        Err(error @ TesterError::Unsupported { .. }) => {
            Ok(Configured::NotPossible(error.to_string()))
        }
        Err(error) => Err(error.into()),
    }
}

/// The max rate with each number of filters.
pub(super) fn filtering(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
) -> Result<Harvard1989Result, RunError> {
    let test = Test1989::Filtering;
    let mut result = result_of(test, subject);
    for &filters in &subject.config.harvard_1989.filters {
        let name = format!("max rate, {filters} filters");
        match configure(bench, &list(subject, filters))? {
            Configured::Yes => {
                let found = search(bench, subject, test)?;
                result.put_rate(&name, &found);
            }
            Configured::Refused => {
                result.note(format!("the device has no room for {filters} filters"));
            }
            Configured::NotPossible(why) => return Ok(result.not_possible(why)),
        }
        if result.outcome != Ending::Measured {
            break;
        }
    }
    configure(bench, &DeviceSetup::default())?;
    Ok(result)
}

/// How many filters the device has room for.
pub(super) fn filter_list(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
) -> Result<Harvard1989Result, RunError> {
    let test = Test1989::FilterList;
    let mut result = result_of(test, subject);
    let mut not_possible = None;
    let found = table_size(subject.config.harvard_1989.table_limit, |filters| {
        match configure(bench, &list(subject, filters))? {
            Configured::Yes => works(bench, subject, filters),
            Configured::Refused => Ok(Fit::NotAll),
            Configured::NotPossible(why) => {
                not_possible = Some(why);
                Ok(Fit::Undecided)
            }
        }
    })?;
    if let Some(why) = not_possible {
        return Ok(result.not_possible(why));
    }
    configure(bench, &DeviceSetup::default())?;
    found.put(&mut result, "filters");
    Ok(result)
}

/// Whether the last filter of the list does what it says: the stream, permitted by it alone, passes.
fn works(bench: &mut Bench<'_>, subject: &Subject<'_>, filters: u64) -> Result<Fit, RunError> {
    let rate = FrameRate::from_fps(subject.config.harvard_1989.table_fps.max(1));
    let what = format!("behind {filters} filters");
    let ran = bench.run(frames(Test1989::FilterList, subject, &what, rate, FRAMES))?;
    Ok(Fit::of(&ran, FRAMES))
}
