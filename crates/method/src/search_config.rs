//! How a search for a rate is made: which policy, with which numbers, for which goals.

use crate::RunError;
use crate::search::mlrsearch::SearchGoal;
use serde::{Deserialize, Serialize};
use std::fmt;
use units::Duration;

/// Which policy chooses the loads of a throughput test.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchPolicy {
    /// Binary search (ETSI GS NFV-TST 009 section 12.3.2).
    Bisect,
    /// Steps of the gap between frames, as router tests of 1990 took them.
    Step,
    /// Binary search with loss verification (ETSI GS NFV-TST 009 section 12.3.3).
    Tst009,
    /// From what a flooded trial carried, by strides and halves, with loss verification; a trial
    /// without loss proves the load that was offered.
    #[default]
    Adaptive,
    /// Multiple Loss Ratio search (draft-ietf-bmwg-mlrsearch-15).
    Mlrsearch,
}

/// How a search is made.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SearchConfig {
    /// Who chooses the loads.
    pub policy: SearchPolicy,
    /// A search ends when its bounds are this near, in percent of the upper one.
    pub resolution_percent: f64,
    /// The lowest load tried, in percent of the maximum.
    pub lowest_load_percent: f64,
    /// Trials at a load before it counts as failed, the first included: max(r) of ETSI TST009's
    /// binary search with loss verification. 1 for a plain binary search.
    pub max_trials_per_load: u32,
    /// A trial that loses more frames than this fails without verification (z of TST009); left
    /// out for no such bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_verification_above_lost_frames: Option<u64>,
    /// What the adaptive search for throughput does where trials contradict each other. 0, the default: it
    /// estimates between which loads half of the trials lose frames, with a confidence of 90 % if the device
    /// scatters as assumed. From above 0 to below 50: it tests until the chance that the bounds do not hold
    /// that load is this many percent, with nothing assumed, in about twice the trials.
    pub error_percent: f64,
    /// Length of trials while searching, in seconds; the result is always checked with trials of
    /// full length.
    pub trial_duration_s: f64,
    /// One step of the gap between frames, in nanoseconds; left out for the resolution's share
    /// of the shortest interval from frame to frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap_step_ns: Option<f64>,
    /// What MLRsearch searches for; empty for throughput and the rates with tolerated loss.
    pub goals: Vec<GoalConfig>,
}

/// A goal of MLRsearch. What is left out is that of RFC 2544 throughput, with the run's own trial
/// durations and resolution.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GoalConfig {
    /// Loss of a trial that still counts as low, in percent; 0.
    pub loss_percent: f64,
    /// Share of the duration sum that trials of high loss may take at a lower bound, in percent; 0.
    pub exceed_percent: f64,
    /// Length of the first trials, in seconds; `search.trial_duration_s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_trial_s: Option<f64>,
    /// Length of trials that can make a lower bound, in seconds; `trial.duration_s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub final_trial_s: Option<f64>,
    /// Time of such trials that decides a load, in seconds; one trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_sum_s: Option<f64>,
    /// How near the bounds are in the end, in percent of the upper one; `search.resolution_percent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width_percent: Option<f64>,
}

impl Default for SearchConfig {
    fn default() -> Self {
        SearchConfig {
            policy: SearchPolicy::default(),
            resolution_percent: 0.1,
            lowest_load_percent: 0.1,
            max_trials_per_load: 2,
            no_verification_above_lost_frames: None,
            error_percent: 0.0,
            trial_duration_s: 60.0,
            gap_step_ns: None,
            goals: vec![],
        }
    }
}

impl SearchConfig {
    /// The goals of MLRsearch, throughput first, then by loss: those given, or else throughput
    /// and `tolerances_percent`. `trial_duration_s` is that of a full-length trial.
    pub(crate) fn goals(
        &self,
        tolerances_percent: &[f64],
        trial_duration_s: f64,
    ) -> Vec<SearchGoal> {
        let with_loss = |loss_percent| GoalConfig { loss_percent, ..GoalConfig::default() };
        let implied = || [0.0].iter().chain(tolerances_percent).copied().map(with_loss).collect();
        let given = if self.goals.is_empty() { implied() } else { self.goals.clone() };
        let mut goals: Vec<_> =
            given.iter().map(|goal| self.goal(goal, trial_duration_s)).collect();
        goals.sort_by(|a, b| {
            let by_exceed = a.exceed_ratio.total_cmp(&b.exceed_ratio);
            a.loss_ratio.total_cmp(&b.loss_ratio).then(by_exceed)
        });
        goals
    }

    fn goal(&self, given: &GoalConfig, trial_duration_s: f64) -> SearchGoal {
        let final_s = given.final_trial_s.unwrap_or(trial_duration_s);
        let initial_s = given.initial_trial_s.unwrap_or(self.trial_duration_s.min(final_s));
        SearchGoal {
            loss_ratio: given.loss_percent / 100.0,
            exceed_ratio: given.exceed_percent / 100.0,
            initial_duration: Duration::from_secs_f64(initial_s),
            final_duration: Duration::from_secs_f64(final_s),
            duration_sum: Duration::from_secs_f64(given.duration_sum_s.unwrap_or(final_s)),
            width: given.width_percent.unwrap_or(self.resolution_percent) / 100.0,
        }
    }

    /// Refuses goals that cannot be searched for.
    pub(crate) fn check_goals(&self, trial_duration_s: f64) -> Result<(), RunError> {
        let refuse = |why: String| Err(RunError::Config(why));
        if self.gap_step_ns.is_some_and(|step| !(step > 0.0 && step.is_finite())) {
            return refuse("search.gap_step_ns must be above 0".into());
        }
        if !(0.0..50.0).contains(&self.error_percent) {
            return refuse("search.error_percent must be from 0 to below 50".into());
        }
        if self.error_percent > 0.0 && self.policy != SearchPolicy::Adaptive {
            return refuse("search.error_percent belongs to search.policy = \"adaptive\"".into());
        }
        if !self.goals.is_empty() && self.policy != SearchPolicy::Mlrsearch {
            return refuse(
                "search.goals belong to MLRsearch: add search.policy = \"mlrsearch\"".into(),
            );
        }
        for given in &self.goals {
            let seconds = [given.initial_trial_s, given.final_trial_s, given.duration_sum_s];
            if seconds.iter().flatten().any(|s| !(*s > 0.0 && *s < 1e6)) {
                return refuse("search.goals: durations must be above 0 s".into());
            }
            let goal = self.goal(given, trial_duration_s);
            goal.check().map_err(|why| RunError::Config(format!("search.goals: {why}")))?;
        }
        let has_throughput = self.goals.iter().any(|goal| goal.loss_percent == 0.0);
        if !self.goals.is_empty() && !has_throughput {
            return refuse(
                "search.goals: none is without loss; add one with a loss of 0, which is \
                 throughput itself"
                    .into(),
            );
        }
        Ok(())
    }
}

impl fmt::Display for SearchPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            SearchPolicy::Bisect => "binary search",
            SearchPolicy::Step => "steps of the gap between frames",
            SearchPolicy::Tst009 => "binary search with loss verification (ETSI GS NFV-TST 009)",
            SearchPolicy::Adaptive => "adaptive search",
            SearchPolicy::Mlrsearch => "MLRsearch (draft-ietf-bmwg-mlrsearch-15)",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mlrsearch(goals: Vec<GoalConfig>) -> SearchConfig {
        SearchConfig { policy: SearchPolicy::Mlrsearch, goals, ..SearchConfig::default() }
    }

    #[test]
    fn without_goals_it_is_throughput_as_rfc_2544_has_it_and_the_tolerances() {
        let goals = mlrsearch(vec![]).goals(&[0.5], 60.0);
        let tolerant = SearchGoal { loss_ratio: 0.005, ..SearchGoal::RFC2544 };
        assert_eq!(goals, vec![SearchGoal::RFC2544, tolerant]);
    }

    #[test]
    fn what_a_goal_leaves_out_is_the_runs_own() {
        let given = GoalConfig {
            exceed_percent: 50.0,
            duration_sum_s: Some(120.0),
            ..GoalConfig::default()
        };
        assert_eq!(mlrsearch(vec![given]).goals(&[0.5], 60.0), vec![SearchGoal::TST009]);
    }

    #[test]
    fn goals_that_cannot_be_searched_for_are_refused() {
        let goal = GoalConfig::default();
        let refusal = |config: SearchConfig| config.check_goals(60.0).unwrap_err().to_string();
        let lossy = GoalConfig { loss_percent: 0.5, ..goal };
        assert!(refusal(mlrsearch(vec![lossy])).contains("throughput itself"));
        let short = GoalConfig { duration_sum_s: Some(1.0), ..goal };
        assert!(refusal(mlrsearch(vec![short])).contains("duration sum"));
        let negative = GoalConfig { final_trial_s: Some(-1.0), ..goal };
        assert!(refusal(mlrsearch(vec![negative])).contains("durations"));
        let config = SearchConfig { policy: SearchPolicy::Bisect, ..mlrsearch(vec![goal]) };
        assert!(refusal(config).contains("belong to MLRsearch"));
        let sure = SearchConfig { error_percent: 50.0, ..SearchConfig::default() };
        assert!(refusal(sure).contains("error_percent"));
        assert_eq!(mlrsearch(vec![goal, lossy]).check_goals(60.0), Ok(()));
    }
}
