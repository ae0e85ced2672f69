//! Counting on an interface.

use super::totals::Totals;
use super::{Anvil, Counted, text};
use crate::failure::{Failure, Outcome};
use crate::{interrupt, output};
use hammer::anvil::Census;
use kernel::InterfaceCounters;
use ports::{FrameListener, clock};
use report::number::grouped;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use trial::TesterError;
use units::{Duration, Instant};

/// How often to show the counts, and to look whether the interface is there.
const LOOK: Duration = Duration::from_ms(1_000);
/// Where nobody watches a line is enough for each averaging period.
const LOOKS_A_LINE: u64 = 10;
/// How long a listener with nothing to do gives its processor away.
const NAP: Duration = Duration::from_us(200);
/// Frames that arrived before the end are handed over by then.
const HANDED_OVER: Duration = Duration::from_ms(20);
/// Offloads that make one frame of several.
const MERGING: [&str; 2] = ["generic-receive-offload", "large-receive-offload"];

/// Counts until it is told to end, or must.
pub fn count(arguments: &Anvil, interface: &str) -> Outcome<Counted> {
    let mut listener = FrameListener::open(interface).map_err(Failure::new)?;
    let stop = interrupt::watch()?;
    let before = listener.state().map_err(Failure::new)?.counters;
    let start = clock::now();
    listener.restart(start).map_err(Failure::new)?;
    if !arguments.quiet {
        output::say(format_args!("counting on {interface}; Ctrl-C stops"));
    }
    let mut counting = Counting {
        census: Census::default(),
        start,
        end: arguments.duration.map_or(Instant::FAR_FUTURE, |span| start + span.0),
        most: arguments.frames.unwrap_or(u64::MAX),
    };
    let ended = counting.run(&mut listener, &stop, arguments.quiet);
    if !arguments.quiet && std::io::stderr().is_terminal() {
        output::say("");
    }
    let elapsed = clock::now().min(counting.end).since(start);
    let mut totals = Totals::new(interface, &counting.census, elapsed);
    let outcome = ended.and_then(|()| conclude(&mut listener, before, &mut totals));
    Ok((counting.census, totals, outcome.map_err(Failure::new)))
}

struct Counting {
    census: Census,
    start: Instant,
    /// What arrives later is not counted.
    end: Instant,
    /// Neither is what would be more.
    most: u64,
}

impl Counting {
    fn run(
        &mut self,
        listener: &mut FrameListener,
        stop: &AtomicBool,
        quiet: bool,
    ) -> Result<(), TesterError> {
        let mut next_look = self.start + LOOK;
        let mut looks = 0;
        loop {
            let taken = self.take(listener)?;
            let now = clock::now();
            if self.census.total().frames == self.most {
                self.end = self.end.min(now);
                return Ok(());
            }
            if stop.load(Ordering::Relaxed) {
                self.end = self.end.min(now);
            }
            if now >= self.end {
                return self.take_the_last(listener);
            }
            if now >= next_look {
                next_look += LOOK;
                looks += 1;
                listener.check()?;
                if !quiet {
                    self.show(now, looks);
                }
            }
            if taken == 0 {
                clock::sleep(NAP);
            }
        }
    }

    fn take(&mut self, listener: &mut FrameListener) -> Result<u64, TesterError> {
        let (census, start, end, most) = (&mut self.census, self.start, self.end, self.most);
        listener.take_waiting(|at, frame| {
            if at <= end && census.total().frames < most {
                census.count(at.since(start), frame, frame.len());
            }
        })
    }

    /// Frames that arrived before the end but have not been handed over.
    fn take_the_last(&mut self, listener: &mut FrameListener) -> Result<(), TesterError> {
        let until = clock::now() + HANDED_OVER;
        while clock::now() < until {
            if self.take(listener)? == 0 {
                clock::sleep(NAP);
            }
        }
        Ok(())
    }

    fn show(&self, now: Instant, looks: u64) {
        let line = text::progress(&self.census, now.since(self.start));
        if std::io::stderr().is_terminal() {
            output::say_over(line);
        } else if looks.is_multiple_of(LOOKS_A_LINE) {
            output::say(line);
        }
    }
}

/// What the kernel knows of frames that were not counted.
fn conclude(
    listener: &mut FrameListener,
    before: InterfaceCounters,
    totals: &mut Totals,
) -> Result<(), TesterError> {
    let lost = listener.dropped()?;
    totals.lost_by_anvil_frames = Some(lost);
    if lost > 0 {
        let lost = grouped(lost);
        totals.notes.push(format!("the counts are too low by {lost}: anvil did not keep up"));
    }
    let counted = listener.state()?.counters.since(&before);
    totals.interface_received_frames = Some(counted.rx_frames);
    let offloads = listener.offloads_on();
    let merging = MERGING.iter().filter(|name| offloads.iter().any(|on| on == *name));
    let merging: Vec<&str> = merging.copied().collect();
    if !merging.is_empty() && counted.rx_frames > totals.total.frames + lost {
        totals.notes.push(format!(
            "{} may have merged frames; ethtool -K turns it off",
            merging.join(" and ")
        ));
    }
    Ok(())
}
