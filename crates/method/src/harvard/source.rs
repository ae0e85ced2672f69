//! What the tester itself can offer: the `test` columns of 1990, from its shortest gap between
//! frames.

use crate::bench::{self, Bench, Request};
use crate::event::Verdict;
use crate::rfc2544::MaximumOf;
use crate::subject::{Ceiling, Subject};
use crate::traffic::TrialShape;
use crate::{RunError, TestKind};
use trial::Schedule;
use units::{Duration, FrameRate};

/// Long enough to see a pace: a thousandth of a frame in a second.
const LOOK: Duration = Duration::from_ms(500);
/// A source that cannot keep up what it just reached is asked for so much of it next.
const ASKED_AGAIN: f64 = 0.97;
/// How often it is asked for less.
const STEPS_MAX: u32 = 8;
/// Beside busy programs a source falls short of whatever it is asked for by some hundredths: one that offers so much of
/// what it reached before offers what it can.
const KEEPS_UP: f64 = 0.9;
/// A source that offers less than this share of what another does is not slow but kept from its processor.
const STARVED: f64 = 0.1;

/// What each source offers with its shortest gap, in the order of the sending ports.
#[derive(Clone, PartialEq, Debug)]
pub struct Sources(Vec<FrameRate>);

impl Sources {
    /// Asks every sending port for the medium's maximum, and then for what it reached until it
    /// keeps that up, or until one is starved.
    pub(crate) fn find(
        bench: &mut Bench<'_>,
        subject: &Subject<'_>,
        test: TestKind,
    ) -> Result<Sources, RunError> {
        let medium = subject.theoretical_max();
        let mut sources = Sources(vec![medium; subject.traffic.senders().len()]);
        for _ in 0..=STEPS_MAX {
            let intended = sources.clone();
            let shape = TrialShape {
                label: format!("{test}, {}: the shortest gap", subject.size_in_words()),
                ..sources.flood(subject, LOOK)
            };
            let ran = bench.run(Request {
                test,
                traffic: subject.traffic,
                shape,
                intended: intended.slowest(),
                bounds: None,
                judge: &|_| Verdict::Measured,
            })?;
            if !bench::has_shortfall(&ran.result) {
                return Ok(sources);
            }
            let is_first = intended.0.iter().all(|rate| *rate == medium);
            let reached = ran.result.sent.iter().map(|sent| sent.offered_rate());
            let reached = reached.map(|rate| rate.unwrap_or(FrameRate::from_fps(1)));
            let keeps_up = !is_first && !bench::fell_short(&ran.result, KEEPS_UP);
            let goes_down = !is_first && !keeps_up;
            let next = |rate: FrameRate| if goes_down { rate.scaled(ASKED_AGAIN) } else { rate };
            sources = Sources(reached.map(next).collect());
            if keeps_up || sources.starved().is_some() {
                break;
            }
        }
        Ok(sources)
    }

    /// Why nothing can be said of the device with all sources at once, where one of them is kept from its processor.
    pub(crate) fn starved(&self) -> Option<String> {
        let (slowest, fastest) = (self.slowest(), *self.0.iter().max()?);
        let is_starved = slowest.fps() < STARVED * fastest.fps();
        is_starved.then(|| {
            format!(
                "one source offers {slowest:.1} while another offers {fastest:.1}: it is kept from its processor, and \
                 both at once need more processors"
            )
        })
    }

    /// Of each sending port.
    pub fn rates(&self) -> &[FrameRate] {
        &self.0
    }

    /// That of the slowest port.
    pub fn slowest(&self) -> FrameRate {
        self.0.iter().min().copied().unwrap_or(FrameRate::ZERO)
    }

    /// Every source with its shortest gap for so long.
    pub(crate) fn flood(&self, subject: &Subject<'_>, duration: Duration) -> TrialShape {
        let first = self.0.first().copied().unwrap_or(FrameRate::ZERO);
        let second = self.0.get(1).map(|rate| Schedule::constant(*rate, duration));
        TrialShape { beside: second, ..subject.constant(String::new(), first, duration) }
    }

    /// The highest load of a search: what every source reaches.
    pub(crate) fn ceiling(&self, subject: &Subject<'_>) -> Ceiling {
        let rate = self.slowest();
        match rate == subject.theoretical_max() {
            true => Ceiling::of_medium(rate),
            false => Ceiling { rate, of: MaximumOf::Tester, slack_fps: 0.0 },
        }
    }
}
