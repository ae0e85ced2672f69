//! A session with an agent, as the tester has it: calls and their answers, and the agent's clock.

use crate::Certificates;
use crate::clock_bounds::{self, DRIFT, Exchange, Fit, PULLED_MAX_PPB};
use crate::connection::{address_of, conduct};
use crate::host_time::HostTime;
use crate::message::{Answer, Command, PortCommand, Reply, Request, VERSION};
use crate::ntp_bounds::{self, Observation, Source, Verdict};
use ports::clock::{self, Mapping};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration as Span;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use trial::{PortId, TesterError};
use units::Duration;

/// An answer that takes longer than this does not come: the connection is checked more often.
const ANSWERS_WITHIN: Span = Span::from_secs(10);
/// To open a port or to lay a trial out takes longer.
const PREPARES_WITHIN: Span = Span::from_secs(120);
/// Exchanges before a trial, and after it.
const EXCHANGES: usize = 24;
/// What a conversion is fitted to is no older.
const FITTED_NS: u64 = 10_000_000_000;
/// Ports of one agent are prepared for a trial within this time.
const FRESH_NS: u64 = 500_000_000;

/// A session with an agent: ends when it and all ports that were borrowed through it are dropped.
pub struct Session {
    host: String,
    shared: Arc<Shared>,
    next: AtomicU64,
    clock: Mutex<AgentClock>,
    time: HostTime,
    /// `None` while it ends.
    to_agent: Option<UnboundedSender<Request>>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread of the connection knows, too.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: HashMap<u64, Sender<(Reply, u64)>>,
    heard: BTreeMap<PortId, Sender<Vec<u8>>>,
    /// Why it has ended.
    ended: Option<String>,
}

/// What is known of the agent's clock.
#[derive(Default)]
struct AgentClock {
    /// Of the last seconds before the trial, for the next conversion.
    history: Vec<Observation>,
    /// From before the trial on.
    trial: Vec<Observation>,
    /// What this host or the agent's claims of its time of day was found to be wrong: it counts no more.
    claim_is_wrong: bool,
    /// A kernel pulled its clocks further than the bounds allow for, since the conversion was made.
    is_pulled: bool,
    mapping: Mapping,
    error_ns: u64,
    round_trip_ns: u64,
    /// When the conversion was made, until a trial begins.
    fresh_since_ns: Option<u64>,
    /// What came of the trial, once that was asked for.
    outcome: Option<Verdict>,
}

impl AgentClock {
    fn take(&mut self, seen: Observation, pulled_ppb: [i64; 2]) {
        self.is_pulled |= pulled_ppb.iter().any(|ppb| ppb.unsigned_abs() > PULLED_MAX_PPB);
        let by_ntp = seen.by_ntp.filter(|_| !self.claim_is_wrong);
        self.trial.push(Observation { by_ntp, ..seen });
    }

    /// Claims count no more, whether before or after now.
    fn doubt_claims(&mut self) {
        self.claim_is_wrong = true;
        self.history.iter_mut().chain(&mut self.trial).for_each(|one| one.by_ntp = None);
    }

    /// A conversion of all that is known.
    fn fit(&mut self) -> Option<Fit> {
        let known: Vec<_> = self.history.iter().chain(&self.trial).copied().collect();
        let alone = clock_bounds::fit(&ntp_bounds::exchanges(&known))?;
        let verdict = ntp_bounds::judge(&alone.mapping, &known);
        if verdict.claim_is_wrong {
            self.doubt_claims();
        }
        // Where exchanges alone contradict each other, claims cannot be held against them.
        let counts = verdict.error_ns.is_some() && !verdict.claim_is_wrong;
        let narrowed = ntp_bounds::narrowed(&known).filter(|_| counts);
        narrowed.map_or(Some(alone), |narrowed| clock_bounds::fit(&narrowed))
    }

    /// What the trial says of the conversion.
    fn judge(&mut self) -> Verdict {
        let mut verdict = ntp_bounds::judge(&self.mapping, &self.trial);
        if verdict.claim_is_wrong {
            self.doubt_claims();
        }
        verdict.claim_is_wrong = self.claim_is_wrong;
        verdict.error_ns = verdict.error_ns.filter(|_| !self.is_pulled);
        self.outcome = Some(verdict);
        verdict
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, reply: Reply, received_ns: u64) {
        let mut state = self.state();
        if let Ok(Answer::Heard(port, frame)) = reply.answer {
            let gone = state.heard.get(&port).is_some_and(|to| to.send(frame).is_err());
            if gone {
                state.heard.remove(&port);
            }
            return;
        }
        if let Some(waits) = state.waiting.remove(&reply.id) {
            let _ = waits.send((reply, received_ns));
        }
    }

    fn end(&self, why: String) {
        let mut state = self.state();
        state.ended = Some(why);
        state.waiting.clear();
        state.heard.clear();
    }
}

impl Session {
    /// Connects to the agent on a host (`lab-b`, `lab-b:9000`), and takes its clock.
    ///
    /// # Errors
    /// If nobody is there, or not one with such certificates, or of another version, or one that is in use.
    pub fn begin(host: &str, certificates: &Certificates) -> Result<Arc<Self>, TesterError> {
        Self::begin_with(host, certificates, HostTime::of_this_host())
    }

    /// The same with another time of day than this host's.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub fn begin_with(
        host: &str,
        certificates: &Certificates,
        time: HostTime,
    ) -> Result<Arc<Self>, TesterError> {
        let address = address_of(host);
        let shared = Arc::new(Shared::default());
        let (to_agent, requests) = unbounded_channel();
        let (begun, has_begun) = channel();
        let (of_thread, certificates) = (shared.clone(), certificates.clone());
        let thread = std::thread::spawn(move || {
            let take = |reply, at| of_thread.take(reply, at);
            let why = conduct(&address, &certificates, requests, &begun, take);
            of_thread.end(why);
        });
        let session = Session {
            host: host.into(),
            shared,
            next: AtomicU64::new(1),
            clock: Mutex::default(),
            time,
            to_agent: Some(to_agent),
            thread: Some(thread),
        };
        let failed =
            |why: String| TesterError::System { what: format!("use ports of {host}"), detail: why };
        has_begun.recv().unwrap_or_else(|_| Err("the connection ended".into())).map_err(failed)?;
        match session.call(Command::Hello { version: VERSION.into() }) {
            Ok(Answer::Welcome) => {}
            Ok(_) => return Err(session.surprised()),
            // The agent's own words tell more than that a port is gone.
            Err(TesterError::PortGone { detail, .. }) => return Err(failed(detail)),
            Err(error) => return Err(error),
        }
        session.follow()?;
        Ok(Arc::new(session))
    }

    /// What the user calls the host.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// A reading of the agent's clock on this host's, as the agent converts it now.
    pub fn converted_ns(&self, agent_ns: u64) -> u64 {
        self.clock().mapping.apply(agent_ns)
    }

    /// Has the agent carry out a command.
    pub(crate) fn call(&self, command: Command) -> Result<Answer, TesterError> {
        let within = match &command {
            Command::Lend(_) => PREPARES_WITHIN,
            Command::ToPort(_, command) => match **command {
                PortCommand::PrepareTransmit(_) | PortCommand::PrepareReceive(_) => PREPARES_WITHIN,
                _ => ANSWERS_WITHIN,
            },
            _ => ANSWERS_WITHIN,
        };
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (waits, answered) = channel();
        {
            let mut state = self.shared.state();
            if let Some(why) = &state.ended {
                return Err(self.gone(why));
            }
            state.waiting.insert(id, waits);
        }
        let utc = self.time.read();
        let sent_ns = clock::now().as_ns();
        let sent = self.to_agent.as_ref().map(|to_agent| to_agent.send(Request { id, command }));
        if !matches!(sent, Some(Ok(()))) {
            return Err(self.gone("the connection has ended"));
        }
        let (reply, received_ns) = answered.recv_timeout(within).map_err(|error| match error {
            RecvTimeoutError::Timeout => self.gone("its agent does not answer"),
            RecvTimeoutError::Disconnected => {
                let ended = self.shared.state().ended.clone();
                self.gone(&ended.unwrap_or_else(|| "the connection has ended".into()))
            }
        })?;
        let exchange = Exchange { sent_ns, agent_ns: reply.agent_ns, received_ns };
        let by_ntp = |own, theirs| ntp_bounds::by_ntp(&own, &theirs, received_ns);
        let theirs = reply.utc.filter(|theirs| theirs.before_ns == reply.agent_ns);
        let by_ntp = utc.zip(theirs).and_then(|(own, theirs)| by_ntp(own, theirs));
        let pulled_ppb = [self.time.pulled_ppb(), reply.pulled_ppb];
        self.clock().take(Observation { exchange, by_ntp }, pulled_ppb);
        reply.answer.map_err(|error| self.of_host(error))
    }

    /// The same of a port.
    pub(crate) fn call_port(
        &self,
        port: PortId,
        command: PortCommand,
    ) -> Result<Answer, TesterError> {
        if matches!(command, PortCommand::Receive) {
            self.clock().fresh_since_ns = None;
        }
        self.call(Command::ToPort(port, Box::new(command)))
    }

    /// Frames of the control side that arrive at a port from now on.
    pub(crate) fn hear(&self, port: PortId) -> Receiver<Vec<u8>> {
        let (heard, hears) = channel();
        self.shared.state().heard.insert(port, heard);
        hears
    }

    /// Converts the agent's clock anew, for the trial to come: once for all ports of the agent.
    pub(crate) fn follow(&self) -> Result<(), TesterError> {
        let now = clock::now().as_ns();
        {
            let mut clock = self.clock();
            if clock.fresh_since_ns.is_some_and(|since| now.saturating_sub(since) < FRESH_NS) {
                return Ok(());
            }
            let AgentClock { history, trial, is_pulled, .. } = &mut *clock;
            history.append(trial);
            // What was seen of clocks that were pulled says nothing of their rates now.
            let was_pulled = std::mem::take(is_pulled);
            history.retain(|one| !was_pulled && one.exchange.received_ns + FITTED_NS > now);
        }
        self.exchange()?;
        let fit = {
            let mut clock = self.clock();
            let Some(fit) = clock.fit() else { return Err(self.surprised()) };
            let round_trips = clock.trial.iter().map(|one| one.exchange.round_trip_ns());
            clock.round_trip_ns = round_trips.max().unwrap_or(0);
            fit
        };
        let Fit { mapping, error_ns } = fit;
        self.call(Command::MapClock(mapping))?;
        let mut clock = self.clock();
        (clock.mapping, clock.error_ns) = (mapping, error_ns);
        clock.fresh_since_ns = Some(clock::now().as_ns());
        clock.outcome = None;
        Ok(())
    }

    /// By how much the agent's times may be wrong in a trial that ends after `span`: what is known now, and the drift
    /// over all of it.
    pub(crate) fn error_in(&self, span: Duration) -> Duration {
        let drift = Duration::from_secs_f64(span.as_secs_f64() * DRIFT);
        Duration::from_ns(self.clock().error_ns) + drift
    }

    /// By how much they were wrong in the trial, at most, and how that is known.
    pub(crate) fn verdict_of_trial(&self) -> Verdict {
        if let Some(known) = self.clock().outcome {
            return known;
        }
        if self.exchange().is_err() {
            // Without them the end of the trial would not be bounded; then nothing is known.
            let claim_is_wrong = self.clock().claim_is_wrong;
            return Verdict { error_ns: None, source: Source::Exchanges, claim_is_wrong };
        }
        self.clock().judge()
    }

    /// The longest that a message and its answer took lately.
    pub(crate) fn round_trip(&self) -> Duration {
        Duration::from_ns(self.clock().round_trip_ns)
    }

    fn exchange(&self) -> Result<(), TesterError> {
        self.time.ask();
        self.call(Command::AskTime)?;
        (0..EXCHANGES).try_for_each(|_| self.call(Command::Exchange).map(drop))
    }

    fn clock(&self) -> MutexGuard<'_, AgentClock> {
        self.clock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn gone(&self, why: &str) -> TesterError {
        TesterError::PortGone {
            port: format!("of {}", self.host),
            detail: format!(
                "{why}; check that `netanvil agent` runs on {} and can be reached",
                self.host
            ),
        }
    }

    pub(crate) fn surprised(&self) -> TesterError {
        TesterError::System {
            what: format!("use ports of {}", self.host),
            detail:
                "its agent gave an answer to another question; install the same version on both"
                    .into(),
        }
    }

    /// An error of the agent's, with its host.
    fn of_host(&self, error: TesterError) -> TesterError {
        let host = &self.host;
        match error {
            TesterError::PortGone { port, detail } => {
                TesterError::PortGone { port: format!("{host}:{port}"), detail }
            }
            TesterError::Unsupported { port, what, remedy } => {
                TesterError::Unsupported { port: format!("{host}:{port}"), what, remedy }
            }
            TesterError::System { what, detail } => {
                TesterError::System { what: format!("{host}: {what}"), detail }
            }
            TesterError::BadTrial(what) => TesterError::BadTrial(format!("{host}: {what}")),
            other => other,
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.to_agent = None;
        if let Some(thread) = self.thread.take() {
            // A panic was told already, by the thread itself.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line through its exchanges, which a clock at another rate would not have.
    fn judged(pulled_ppb: [i64; 2]) -> Option<u64> {
        let mut clock = AgentClock::default();
        for sent_ns in (0..5).map(|n| n * 1_000_000) {
            let exchange =
                Exchange { sent_ns, agent_ns: sent_ns + 500, received_ns: sent_ns + 1_000 };
            clock.take(Observation { exchange, by_ntp: None }, pulled_ppb);
        }
        clock.judge().error_ns
    }

    #[test]
    fn no_bound_is_stated_of_clocks_that_are_pulled_too_far() {
        let known = judged([500_000, -500_000]);
        assert!(known.is_some_and(|error_ns| error_ns < 5_000), "{known:?}");
        assert_eq!(judged([500_001, 0]), None);
        assert_eq!(judged([0, -2_000_000]), None);
    }
}
