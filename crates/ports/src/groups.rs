//! Which halves of ports each thread of a trial serves, and its work.

use crate::watch::{Place, Received};
use crate::{ReceiveHalf, Transmission, TransmitHalf, TrialSignals, turns};
use std::sync::mpsc;
use trial::{PortReceived, ReceivePlan, TesterError, TransmitPlan};
use units::Instant;

/// The halves that each thread is to serve, with their plans.
pub(crate) struct Groups<'a, H>(pub Vec<(Place<'a>, Vec<H>)>);

impl<H> Default for Groups<'_, H> {
    fn default() -> Self {
        Groups(vec![])
    }
}

impl<'a, H> Groups<'a, H> {
    /// Those that take turns share a thread where they are at the same place.
    pub fn add(&mut self, place: Place<'a>, half: H) {
        match self.0.iter_mut().find(|(there, _)| there.is_shared_with(&place)) {
            Some((_, group)) => group.push(half),
            None => self.0.push((place, vec![half])),
        }
    }
}

type Sender<'a> = (&'a TransmitPlan, &'a mut dyn TransmitHalf);
type Receiver<'a> = (&'a ReceivePlan, &'a mut dyn ReceiveHalf);
type Senders<'a> = Vec<Sender<'a>>;
type Receivers<'a> = Vec<Receiver<'a>>;

/// Takes out what one thread is to serve both ways: receivers that join the sender on their core.
pub(crate) fn join_senders<'a>(
    transmitters: &mut Groups<'a, Sender<'a>>,
    receivers: &mut Groups<'a, Receiver<'a>>,
) -> Vec<(Place<'a>, Senders<'a>, Receivers<'a>)> {
    let mut both = vec![];
    for (place, senders) in std::mem::take(&mut transmitters.0) {
        let joins = |(there, group): &(Place<'_>, Receivers<'_>)| {
            there.is_shared_with(&place) && group.iter().all(|(_, half)| half.joins_sender())
        };
        match receivers.0.iter().position(joins) {
            Some(at) => {
                let (there, group) = receivers.0.swap_remove(at);
                let name = format!("{} and {}", place.name, there.name);
                both.push((Place { name, ..place }, senders, group));
            }
            None => transmitters.0.push((place, senders)),
        }
    }
    both
}

/// The work of a thread that sends and receives.
pub(crate) fn exchange(
    mut senders: Senders<'_>,
    mut receivers: Receivers<'_>,
    (start, stop_at): (Instant, Instant),
    signals: &TrialSignals,
    sent: mpsc::Sender<Vec<Transmission>>,
) -> Result<Vec<Received>, TesterError> {
    let sending = senders.iter_mut().filter_map(|(plan, half)| half.turns(plan, start).transpose());
    let sending = sending.collect::<Result<Vec<_>, _>>()?;
    let listening = receivers.iter_mut().filter_map(|(plan, half)| half.turns(plan)).collect();
    // Nobody asks any more where the trial has failed.
    let tell = |all| sent.send(all).unwrap_or_default();
    let accounts = turns::exchange(sending, listening, stop_at, signals, tell)?;
    what_was_received(accounts, receivers)
}

/// A receive thread's work, and then what its ports say of the trial.
pub(crate) fn receive(
    mut group: Receivers<'_>,
    signals: &TrialSignals,
) -> Result<Vec<Received>, TesterError> {
    let accounts = match &mut group[..] {
        [(plan, half)] => vec![half.receive(plan, signals)?],
        several => {
            let ports = several.iter_mut().filter_map(|(plan, half)| half.turns(plan));
            turns::receive(ports.collect(), signals)?
        }
    };
    what_was_received(accounts, group)
}

/// Accounts with what their ports say of the trial.
fn what_was_received(
    accounts: Vec<PortReceived>,
    group: Receivers<'_>,
) -> Result<Vec<Received>, TesterError> {
    let received = accounts.into_iter().zip(group).map(|(account, (_, half))| {
        let (drops, perhaps_full) = (half.drops()?, half.perhaps_full());
        Ok(Received { account, drops, perhaps_full, notes: half.notes() })
    });
    received.collect()
}

/// A transmit thread's work.
pub(crate) fn transmit(
    mut group: Senders<'_>,
    start: Instant,
    stop_at: Instant,
    signals: &TrialSignals,
) -> Result<Vec<Transmission>, TesterError> {
    if let [(plan, half)] = &mut group[..] {
        return Ok(vec![half.transmit(plan, start, stop_at, signals)?]);
    }
    let ports = group.iter_mut().filter_map(|(plan, half)| half.turns(plan, start).transpose());
    turns::transmit(ports.collect::<Result<_, _>>()?, stop_at, signals)
}
