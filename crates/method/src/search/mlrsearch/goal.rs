//! A search goal: which losses are allowed, and how much evidence decides (MLRsearch, "Search
//! Goal").

use units::Duration;

/// A search goal.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SearchGoal {
    /// Goal Loss Ratio, 0 up to but not including 1: a trial that loses more is a high-loss trial.
    pub loss_ratio: f64,
    /// Goal Exceed Ratio, 0 up to but not including 1: the share of the duration sum that
    /// high-loss trials may take at a load that still counts as a lower bound.
    pub exceed_ratio: f64,
    /// Goal Initial Trial Duration: length of the first, exploring trials.
    pub initial_duration: Duration,
    /// Goal Final Trial Duration: only trials at least this long can make a load a lower bound.
    pub final_duration: Duration,
    /// Goal Duration Sum: so much time of full-length trials at one load always decides it.
    pub duration_sum: Duration,
    /// Goal Width: the search ends when the relevant bounds are no further apart than this share
    /// of the upper one, above 0 and below 1.
    pub width: f64,
}

impl SearchGoal {
    /// RFC 2544 throughput: no loss in a trial of 60 s (MLRsearch, "RFC 2544 Goal").
    pub const RFC2544: SearchGoal = SearchGoal {
        loss_ratio: 0.0,
        exceed_ratio: 0.0,
        initial_duration: Duration::from_secs(60),
        final_duration: Duration::from_secs(60),
        duration_sum: Duration::from_secs(60),
        width: 0.001,
    };

    /// Binary search with loss verification, at most two trials a load (MLRsearch, "TST009 Goal").
    pub const TST009: SearchGoal = SearchGoal {
        exceed_ratio: 0.5,
        duration_sum: Duration::from_secs(120),
        ..SearchGoal::RFC2544
    };

    /// Refuses what the definitions of the attributes exclude; says which one.
    pub fn check(&self) -> Result<(), String> {
        let is_ratio = |ratio: f64| (0.0..1.0).contains(&ratio);
        let rules = [
            (is_ratio(self.loss_ratio), "loss ratio must be at least 0 and below 1"),
            (is_ratio(self.exceed_ratio), "exceed ratio must be at least 0 and below 1"),
            (is_ratio(self.width) && self.width > 0.0, "width must lie between 0 and 1"),
            (self.initial_duration > Duration::ZERO, "initial trial duration must be above 0"),
            (
                self.initial_duration <= self.final_duration,
                "initial trial duration must not be above the final one",
            ),
            (
                self.final_duration <= self.duration_sum,
                "duration sum must not be below the final trial duration",
            ),
        ];
        match rules.iter().find(|(holds, _)| !holds) {
            Some((_, rule)) => Err((*rule).to_string()),
            None => Ok(()),
        }
    }

    /// Whether bounds are as near as the goal wants them, or neighbours.
    pub(super) fn is_within_width(&self, lower: u64, upper: u64) -> bool {
        (upper - lower) as f64 <= (upper as f64 * self.width).max(1.0)
    }
}
