//! Streams that are sent together through the same ports, each with its share of the frames.

use crate::traffic::TrialShape;
use crate::{Attachment, RunError, Traffic};
use trial::{StreamId, Trial};
use units::{FrameRate, LineRate};
use wire::signature::Key;

/// Streams that there can be: numbers from 100 on are those of keep-alives.
const STREAMS_MAX: usize = 40;
/// Turns before all shares have had theirs.
const TURNS_MAX: u64 = 10_000;

/// Streams that are sent together.
#[derive(Clone, Debug)]
pub struct Mix {
    streams: Vec<Share>,
}

/// One of them.
#[derive(Clone, Debug)]
struct Share {
    name: String,
    traffic: Traffic,
    weight: u64,
}

impl Mix {
    /// One stream alone.
    pub fn one(traffic: Traffic) -> Mix {
        Mix { streams: vec![Share { name: String::new(), traffic, weight: 1 }] }
    }

    /// Several, each by its name and its weight: of so many frames in a round.
    ///
    /// # Errors
    /// Where there are none or too many, a name comes twice, or a weight is 0 or too large.
    pub fn new(streams: Vec<(String, Traffic, u64)>) -> Result<Mix, RunError> {
        let refuse = |what: String| Err(RunError::Config(what));
        if streams.is_empty() || streams.len() > STREAMS_MAX {
            return refuse(format!("{} streams: there can be 1 to {STREAMS_MAX}", streams.len()));
        }
        for (index, (name, _, weight)) in streams.iter().enumerate() {
            if streams[..index].iter().any(|(before, ..)| before == name) {
                return refuse(format!("two streams are called `{name}`: give each its own name"));
            }
            if *weight == 0 {
                return refuse(format!(
                    "stream {name}: a weight of 0 sends nothing: write 1 or more"
                ));
            }
        }
        let turns = streams.iter().fold(0u64, |sum, (.., weight)| sum.saturating_add(*weight));
        if turns > TURNS_MAX {
            return refuse(format!(
                "the weights add up to {turns}: at most {TURNS_MAX} are possible"
            ));
        }
        let mut first = 1;
        let streams = streams.into_iter().map(|(name, traffic, weight)| {
            let numbered = traffic.numbered(StreamId(first));
            first += numbered.senders().len() as u16;
            Share { name, traffic: numbered, weight }
        });
        Ok(Mix { streams: streams.collect() })
    }

    /// The sending ports.
    pub fn senders(&self) -> Vec<&Attachment> {
        self.streams[0].traffic.senders()
    }
    /// Streams, each once for both directions.
    pub fn len(&self) -> usize {
        self.streams.len()
    }
    /// Never.
    pub fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }
    /// The traffic of each stream, with its name (none where there is one alone) and its weight.
    pub fn streams(&self) -> impl Iterator<Item = (&str, &Traffic, u64)> {
        self.streams.iter().map(|share| (share.name.as_str(), &share.traffic, share.weight))
    }
    /// Flows of a stream by its number in the trial, where flows were asked for.
    pub(super) fn flows(&self, stream: StreamId) -> Option<u64> {
        self.share_of(stream)?.traffic.flows()
    }
    /// The name of a stream by its number in the trial.
    pub(super) fn name(&self, stream: StreamId) -> Option<&str> {
        self.share_of(stream).map(|share| share.name.as_str())
    }
    fn share_of(&self, stream: StreamId) -> Option<&Share> {
        let senders = self.senders().len() as u16;
        self.streams.get(usize::from(stream.0.checked_sub(1)? / senders))
    }

    /// What a medium takes of all streams together, in frames a second.
    pub fn theoretical_max(&self, line: LineRate) -> FrameRate {
        if let [only] = &self.streams[..] {
            return only.traffic.theoretical_max(line);
        }
        let seconds =
            |share: &Share| share.weight as f64 / share.traffic.theoretical_max(line).fps();
        let turns: u64 = self.streams.iter().map(|share| share.weight).sum();
        FrameRate::from_fps_f64(turns as f64 / self.streams.iter().map(seconds).sum::<f64>())
    }

    /// Which share of the frames is left with these streams switched off.
    pub(super) fn share_without(&self, off: &[bool]) -> f64 {
        let on = self.on(off).map(|(_, share)| share.weight).sum::<u64>();
        let all = self.streams.iter().map(|share| share.weight).sum::<u64>();
        on as f64 / all as f64
    }

    fn on<'a>(&'a self, off: &'a [bool]) -> impl Iterator<Item = (usize, &'a Share)> {
        let all = self.streams.iter().enumerate();
        all.filter(|(index, _)| !off.get(*index).copied().unwrap_or(false))
    }

    /// A trial of all streams but those that are `off`, which take turns by their weights.
    pub(super) fn trial(
        &self,
        key: Key,
        shape: &TrialShape,
        off: &[bool],
    ) -> Result<Trial, RunError> {
        let mut joined: Option<Trial> = None;
        let mut orders: Vec<(Vec<StreamId>, u64)> = vec![];
        for (_, share) in self.on(off) {
            let trial = share.traffic.trial(key, shape)?;
            let senders = self.senders().len();
            let own = trial.loads[..senders].iter().flat_map(|load| load.order.clone());
            orders.push((own.collect(), share.weight));
            joined = Some(match joined {
                None => trial,
                Some(mut all) => {
                    let tested = trial.streams.into_iter().filter(|s| s.role == trial::Role::Test);
                    all.streams.extend(tested);
                    all.verify_payload &= trial.verify_payload;
                    // Each protocol has learning frames of its own; one wait does for all.
                    for mut step in trial.prelude {
                        if !all.prelude.iter().any(|known| known.frames == step.frames) {
                            step.wait = units::Duration::ZERO;
                            all.prelude.insert(0, step);
                        }
                    }
                    all
                }
            });
        }
        let mut trial = joined.ok_or_else(|| RunError::Config("no stream is on".into()))?;
        let turns = turns(&orders.iter().map(|(_, weight)| *weight).collect::<Vec<_>>());
        for (port, load) in trial.loads[..self.senders().len()].iter_mut().enumerate() {
            load.order = turns.iter().map(|stream| orders[*stream].0[port]).collect();
        }
        Ok(trial)
    }
}

/// A round in which each has as many turns as its weight, spread as evenly as can be: always the one whose
/// turn is the longest overdue.
fn turns(weights: &[u64]) -> Vec<usize> {
    let gcd = weights.iter().copied().fold(0, |mut a, mut b| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    });
    let weights: Vec<i64> = weights.iter().map(|weight| (weight / gcd.max(1)) as i64).collect();
    let all: i64 = weights.iter().sum();
    let mut overdue = vec![0; weights.len()];
    (0..all)
        .map(|_| {
            overdue.iter_mut().zip(&weights).for_each(|(due, weight)| *due += weight);
            let most = *overdue.iter().max().unwrap_or(&0);
            let next = overdue.iter().position(|due| *due == most).unwrap_or(0);
            overdue[next] -= all;
            next
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_spread_by_weight() {
        assert_eq!(turns(&[1]), [0]);
        assert_eq!(turns(&[5, 5]), [0, 1]);
        assert_eq!(turns(&[3, 1]), [0, 0, 1, 0]);
        let many = turns(&[7, 2, 1]);
        let of = |stream| many.iter().filter(|turn| **turn == stream).count();
        assert_eq!((many.len(), of(0), of(1), of(2)), (10, 7, 2, 1));
    }
}
