//! RFC 9971: Multiple Loss Ratio search. Its sections are named by their titles.

use super::{Basis, Clause, Level, Rule, Ruling};
use crate::registry::{self, SuiteName};
use crate::search::mlrsearch::SearchGoal;
use crate::{SearchPolicy, TestKind};

const fn clause(section: &'static str, words: &'static str, rule: Rule) -> Clause {
    Clause::new(("RFC 9971", section), Level::Should, words, searches, rule)
}

/// Tests whose search may be this one.
fn searches(test: TestKind) -> bool {
    let suites =
        [SuiteName::Rfc2544, SuiteName::Rfc2889, SuiteName::Rfc3918, SuiteName::Gigaswitch];
    registry::of_kind(test)
        .is_some_and(|method| suites.contains(&method.suite) && method.searches_by_policy())
}

pub(super) static CLAUSES: &[Clause] = &[
    clause(
        "Goal Final Trial Duration",
        "All goals have the same final trial duration.",
        Rule::Of(|p| {
            of_goals(p, |goals| {
                let first = goals.first().map(|goal| goal.final_duration);
                let differs = goals.iter().any(|goal| Some(goal.final_duration) != first);
                Ruling::met_if(!differs, || "final trial durations differ".into())
            })
        }),
    ),
    clause(
        "Goal Exceed Ratio",
        "The exceed ratio is 50 %; 0 % for the goal that stands for RFC 2544 throughput.",
        Rule::Of(|p| {
            of_goals(p, |goals| {
                let own = |goal: &&SearchGoal| match goal.loss_ratio {
                    0.0 => ![0.0, 0.5].contains(&goal.exceed_ratio),
                    _ => goal.exceed_ratio != 0.5,
                };
                let other = goals.iter().find(own);
                Ruling::met_if(other.is_none(), || {
                    let exceed = other.map_or(0.0, |goal| goal.exceed_ratio * 100.0);
                    let loss = other.map_or(0.0, |goal| goal.loss_ratio * 100.0);
                    format!("exceed ratio of {exceed} % of the goal with a loss of {loss} %")
                })
            })
        }),
    ),
    clause(
        "Goal Width",
        "The width is at least the loss ratio of the goal with the higher loss.",
        Rule::Of(|p| {
            of_goals(p, |goals| {
                let loss = goals.iter().map(|goal| goal.loss_ratio).fold(0.0, f64::max);
                let narrow = goals.iter().map(|goal| goal.width).fold(f64::INFINITY, f64::min);
                Ruling::met_if(narrow >= loss, || {
                    format!(
                        "width of {} % below the loss ratio of {} %",
                        narrow * 100.0,
                        loss * 100.0
                    )
                })
            })
        }),
    ),
];

fn of_goals(p: &Basis<'_>, rule: fn(&[SearchGoal]) -> Ruling) -> Ruling {
    let search = &p.config.search;
    if search.policy != SearchPolicy::Mlrsearch {
        return Ruling::not_applicable(format!("the search is another: {}", search.policy));
    }
    rule(&search.goals(&p.config.throughput.loss_tolerances_percent, p.config.trial.duration_s))
}
