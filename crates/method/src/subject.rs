//! What a test is about: the traffic of one frame size, and how much of it can be offered.

use crate::bench::{Request, measured};
use crate::burst;
use crate::reach::Reach;
use crate::rfc2544::MaximumOf;
use crate::traffic::{Traffic, TrialShape};
use crate::{Conditions, Finding, RunError, SelfTestSize, SuiteConfig, TestKind};
use serde::de::DeserializeOwned;
use trial::{TesterDescription, TrialResult};
use units::{Duration, FrameRate, LineRate};

/// The subject of a test: one frame size through one device.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    pub(crate) config: &'a SuiteConfig,
    pub(crate) traffic: &'a Traffic,
    pub(crate) ceiling: Ceiling,
    pub(crate) tester_floor: Option<Duration>,
    line_rate: LineRate,
    line_rate_is_physical: bool,
    /// Of the port that receives the forward direction.
    receiving_line_rate: LineRate,
    tester_max: Option<FrameRate>,
    tester_reach: Option<FrameRate>,
    /// A valid trial at the ceiling, and its length: a search need not make it again.
    pub(crate) at_ceiling: Option<&'a (Duration, TrialResult)>,
}

/// The highest load that can be offered, of each direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ceiling {
    pub rate: FrameRate,
    pub of: MaximumOf,
    /// How far below the tester's true maximum `rate` may be, in frames a second: the resolution
    /// of the self-test.
    pub slack_fps: f64,
}

impl<'a> Subject<'a> {
    /// `traffic` between the ports of a tester that knows itself from `self_test`. An error where
    /// the tester cannot carry such traffic even by itself.
    pub fn new(
        config: &'a SuiteConfig,
        traffic: &'a Traffic,
        tester: &TesterDescription,
        self_test: Option<&SelfTestSize>,
    ) -> Result<Self, String> {
        let port = |id| tester.ports.iter().find(|port| port.id == id);
        let senders = traffic.senders().into_iter().filter_map(|sender| port(sender.port));
        let slowest = senders.min_by_key(|port| port.line_rate);
        let receivers = traffic.receivers().into_iter().filter_map(|to| port(to.port));
        let receiver = receivers.min_by_key(|port| port.line_rate);
        let (slowest, receiver) = slowest.zip(receiver).ok_or("the tester has no such port")?;
        let theoretical = traffic.theoretical_max(slowest.line_rate);
        let (ceiling, tester_max) = match self_test {
            Some(known) => ceiling_of(theoretical, known)?,
            None => (Ceiling::of_medium(theoretical), None),
        };
        let floor = self_test.and_then(|known| known.floor_low.as_ref());
        Ok(Subject {
            config,
            traffic,
            ceiling,
            tester_floor: floor.map(|floor| floor.min),
            line_rate: slowest.line_rate,
            line_rate_is_physical: slowest.line_rate_is_physical && receiver.line_rate_is_physical,
            receiving_line_rate: receiver.line_rate,
            tester_max,
            tester_reach: None,
            at_ceiling: None,
        })
    }

    /// The same with other traffic of the same sizes.
    pub(crate) fn with_traffic(mut self, traffic: &'a Traffic) -> Self {
        self.traffic = traffic;
        self.at_ceiling = None;
        self
    }

    /// The same with another ceiling.
    pub(crate) fn with_ceiling(mut self, ceiling: Ceiling) -> Self {
        self.ceiling = ceiling;
        self
    }

    /// What the tester reaches by itself with frames of this size, where it has measured that.
    pub(crate) fn tester_max(&self) -> Option<FrameRate> {
        self.tester_max
    }

    /// Whether the tester has measured itself.
    pub(crate) fn knows_tester(&self) -> bool {
        self.tester_max.is_some()
    }

    /// The same up to what the medium carries, whatever the tester was found to reach: what it can
    /// offer, trials show.
    pub(crate) fn uncapped(self) -> Self {
        let ceiling = Ceiling::of_medium(self.theoretical_max());
        Subject { ceiling, at_ceiling: None, ..self }
    }

    /// The same with what the tester reaches by itself.
    pub(crate) fn with_tester_max(mut self, rate: FrameRate) -> Self {
        self.tester_max = Some(rate);
        self
    }

    /// The same with what the tester can offer to this device.
    pub(crate) fn within(mut self, reach: &'a Reach) -> Self {
        self.ceiling = reach.ceiling;
        self.at_ceiling = reach.tried.as_ref();
        self.tester_reach = reach.is_lowered.then_some(reach.ceiling.rate);
        self
    }

    /// The medium's maximum, in one direction.
    pub fn theoretical_max(&self) -> FrameRate {
        self.traffic.theoretical_max(self.line_rate)
    }
    pub(crate) fn line_rate(&self) -> LineRate {
        self.line_rate
    }
    pub(crate) fn receiving_line_rate(&self) -> LineRate {
        self.receiving_line_rate
    }
    /// The slower of the two.
    pub(crate) fn slowest_line_rate(&self) -> LineRate {
        self.line_rate.min(self.receiving_line_rate)
    }
    pub(crate) fn line_rate_is_physical(&self) -> bool {
        self.line_rate_is_physical
    }
    pub(crate) fn percent_of_theoretical(&self, rate: FrameRate) -> f64 {
        rate.fps() / self.theoretical_max().fps() * 100.0
    }

    /// What every result says beside its numbers; the clauses that it meets are judged at its end.
    pub fn conditions(&self) -> Conditions {
        Conditions {
            frame_size: self.traffic.frame_size(),
            mean_frame_size_bytes: self.traffic.size().average_bytes(),
            direction: self.traffic.direction(),
            pattern: self.traffic.pattern(),
            transmitting_ports: self.traffic.senders().len(),
            modifier: self.traffic.modifier(),
            traffic: std::iter::once(self.traffic.describe())
                .chain(self.bursts_in_words())
                .collect::<Vec<_>>()
                .join(", "),
            frame_formats: self.traffic.formats(),
            filters: self.traffic.filters().to_string(),
            line_rate: self.line_rate,
            line_rate_is_physical: self.line_rate_is_physical,
            theoretical_max: self.theoretical_max(),
            tester_max: self.tester_max,
            tester_reach: self.tester_reach,
            given_up: self.traffic.given_up(),
        }
    }

    /// The rate of frames within a burst: the medium's maximum or, where the tester does not reach
    /// that, its own.
    pub(crate) fn within_bursts(&self) -> FrameRate {
        let theoretical = self.theoretical_max();
        self.tester_max.map_or(theoretical, |most| most.min(theoretical))
    }

    fn bursts_in_words(&self) -> Option<String> {
        let burst = self.config.burst_frames;
        let within = self.within_bursts();
        let gap = match within < self.theoretical_max() {
            true => format!("{within:.0}, the most that the tester reaches"),
            false => "the minimum gap".into(),
        };
        (burst > 1).then(|| format!("bursts of {burst} frames at {gap}"))
    }

    /// A trial at a constant load, or at bursts of it.
    pub(crate) fn constant(
        &self,
        label: String,
        rate: FrameRate,
        duration: Duration,
    ) -> TrialShape {
        TrialShape {
            label,
            schedule: burst::schedule(
                self.config.burst_frames,
                self.within_bursts(),
                rate,
                duration,
            ),
            waits: self.config.waits(),
            tags: None,
            action: None,
            beside: None,
        }
    }

    /// Asks for a measurement at a constant load; what is special to a test replaces a field.
    pub fn request(
        &self,
        test: TestKind,
        label: String,
        rate: FrameRate,
        duration: Duration,
    ) -> Request<'a> {
        Request {
            test,
            traffic: self.traffic,
            shape: self.constant(label, rate, duration),
            intended: rate,
            bounds: None,
            judge: &measured,
        }
    }

    /// The section `own.ID` of the configuration; what it leaves out is that of the type's default.
    ///
    /// # Errors
    /// If the section is none of this type.
    pub fn own_config<T: DeserializeOwned + Default>(&self, id: &str) -> Result<T, RunError> {
        let Some(section) = self.config.own.get(id) else { return Ok(T::default()) };
        T::deserialize(section).map_err(|error| RunError::Config(format!("own.{id}: {error}")))
    }

    /// `64 bytes`, or the name of a mix, and the filters that the device has.
    pub(crate) fn size_in_words(&self) -> String {
        let size = self.traffic.frame_size();
        let size = if size.parse::<u32>().is_ok() { format!("{size} bytes") } else { size };
        match self.traffic.filters() {
            "" => size,
            filters => format!("{size}, {filters}"),
        }
    }
}

impl Ceiling {
    pub(crate) fn of_medium(rate: FrameRate) -> Self {
        Ceiling { rate, of: MaximumOf::Medium, slack_fps: 0.0 }
    }
}

/// The medium's maximum where the tester reaches it, else the tester's own.
pub(crate) fn ceiling_of(
    theoretical: FrameRate,
    known: &SelfTestSize,
) -> Result<(Ceiling, Option<FrameRate>), String> {
    let maximum = &known.maximum;
    match (&maximum.finding, maximum.rate) {
        (Finding::AtTheoreticalMaximum, Some(rate)) if rate >= theoretical => {
            Ok((Ceiling::of_medium(theoretical), Some(rate)))
        }
        (_, Some(rate)) => {
            let slack_fps = maximum.resolution_fps.unwrap_or(0.0);
            let rate = rate.min(theoretical);
            // The best that it reached, so that a tester that was held up in half of its trials bounds
            // nothing.
            let best =
                known.reached.filter(|_| slack_fps > 0.0).map_or(rate, |reached| reached.p90);
            let best = best.max(rate).min(theoretical);
            Ok((Ceiling { rate: best, of: MaximumOf::Tester, slack_fps }, Some(best)))
        }
        (finding, None) => {
            let why = match finding {
                Finding::Invalid { reasons } => format!(" ({})", reasons.join("; ")),
                _ => String::new(),
            };
            Err(format!(
                "the self-test found no load that the tester carries without loss of its own{why}; \
                 repeat it, or choose another port type"
            ))
        }
    }
}
