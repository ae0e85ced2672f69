//! Throughput: theoretical, tester, device side by side.

use super::{
    Table, about, fps, optional, percent_cell, resolution_cell, seconds, share_cell, trials_cell,
};
use crate::model::Group;
use crate::number;
use method::{Conditions, Finding, RateFound};

/// RFC 2544 section 26.1.
pub(super) fn table(group: &Group<'_>) -> Option<Table> {
    let first = group.throughput.first()?;
    let mut table = Table::new(
        "Throughput (RFC 2544 section 26.1)",
        about(group, &first.conditions),
        &[
            "frame size",
            "theoretical fps",
            "tester fps",
            "device fps",
            "% of theoretical",
            "resolution fps",
            "trials",
            "test time s",
            "<verdict",
        ],
    );
    for result in &group.throughput {
        let (conditions, found) = (&result.conditions, &result.throughput);
        table.rows.push(vec![
            conditions.frame_size.clone(),
            fps(conditions.theoretical_max),
            optional(conditions.tester_max, fps),
            rate_cell(found),
            share_cell(found.percent_of_theoretical),
            resolution_cell(found),
            trials_cell(found.trials, found.invalid_trials),
            seconds(found.test_time),
            verdict(found).into(),
        ]);
        table.note(&conditions.frame_size, limits(found));
        table.note(&conditions.frame_size, reach(conditions));
        table.note(&conditions.frame_size, conditions.given_up.iter().cloned());
        table.note(&conditions.frame_size, result.notes.iter().cloned());
    }
    table.notes.push(format!("search: {}", first.throughput.search));
    Some(table)
}

/// What the tester could offer to this device, where that is less than it reaches alone.
fn reach(conditions: &Conditions) -> Option<String> {
    let reach = fps(conditions.tester_reach?);
    Some(format!(
        "to this device the tester could offer at most {reach} fps: device and tester share \
         processors"
    ))
}

/// Rates with some loss allowed, which are no throughput.
pub(super) fn with_tolerance(group: &Group<'_>) -> Option<Table> {
    let first = group.throughput.iter().find(|result| !result.with_tolerance.is_empty())?;
    let mut table = Table::new(
        "Rates with some loss allowed (NOT RFC 2544 throughput)",
        about(group, &first.conditions),
        &[
            "frame size",
            "loss allowed %",
            "device fps",
            "loss measured %",
            "% of theoretical",
            "resolution fps",
            "further trials",
            "further time s",
            "<verdict",
        ],
    );
    for result in &group.throughput {
        for found in &result.with_tolerance {
            table.rows.push(vec![
                result.conditions.frame_size.clone(),
                number::percent(found.loss_tolerance_percent / 100.0),
                rate_cell(found),
                percent_cell(found.loss_percent),
                share_cell(found.percent_of_theoretical),
                resolution_cell(found),
                trials_cell(found.trials, found.invalid_trials),
                seconds(found.test_time),
                verdict(found).into(),
            ]);
            table.note(&result.conditions.frame_size, notes(found));
        }
    }
    Some(table)
}

/// The rate found, as far as it was found.
pub(crate) fn rate_cell(found: &RateFound) -> String {
    let rate = || optional(found.rate, fps);
    match &found.finding {
        Finding::Measured | Finding::AtTheoreticalMaximum => rate(),
        Finding::AtLeast { .. } => format!(">= {}", rate()),
        Finding::Between { .. } => format!("{} .. {}", rate(), optional(found.upper, fps)),
        Finding::NothingPassed { lowest, .. } => format!("< {}", fps(*lowest)),
        Finding::Invalid { .. } => "invalid".into(),
    }
}

pub(super) fn verdict(found: &RateFound) -> &'static str {
    match found.finding {
        Finding::Measured => "measured",
        Finding::AtTheoreticalMaximum => "the medium's maximum",
        Finding::AtLeast { .. } => ">= tester",
        Finding::Between { .. } => "between",
        Finding::NothingPassed { .. } => "no load passed",
        Finding::Invalid { .. } => "INVALID",
    }
}

/// What kept a search from finding the device's own limit.
pub(super) fn limits(found: &RateFound) -> Option<String> {
    match &found.finding {
        Finding::AtLeast { why } => Some(format!("the tester was the limit: {why}")),
        Finding::Between { why } if found.buffered.is_some() => Some(why.clone()),
        Finding::Between { why } => Some(format!(
            "carried at the lower rate, lost at the higher; between them the tester could not \
             decide: {why}"
        )),
        Finding::Invalid { reasons } => {
            Some(format!("no valid trial, nothing is known of the device: {}", reasons.join("; ")))
        }
        Finding::Measured | Finding::AtTheoreticalMaximum | Finding::NothingPassed { .. } => None,
    }
}

/// The same, and what the rate found is worth.
pub(super) fn notes(found: &RateFound) -> Vec<String> {
    let mut notes: Vec<String> = limits(found).into_iter().collect();
    if let Finding::NothingPassed { lowest, loss_percent } = &found.finding {
        let loss = number::percent(loss_percent / 100.0);
        notes.push(format!("even {lowest} lost {loss} % of the frames"));
    }
    if found.failed_trials_at_rate > 0 {
        notes.push(format!(
            "{} of {} trials at the rate found lost more than allowed and passed on repetition",
            found.failed_trials_at_rate, found.trials_at_rate
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use units::{Duration, FrameRate};

    fn found(finding: Finding, rate: Option<FrameRate>) -> RateFound {
        RateFound {
            loss_tolerance_percent: 0.0,
            finding,
            rate,
            confidence: None,
            buffered: None,
            conditional_throughput: None,
            percent_of_theoretical: None,
            offered: rate,
            loss_percent: Some(0.0),
            upper: None,
            resolution_fps: None,
            resolution_percent_of_theoretical: None,
            trial_duration: Duration::from_secs(60),
            trials: 1,
            invalid_trials: 0,
            test_time: Duration::from_secs(60),
            trials_at_rate: 1,
            failed_trials_at_rate: 0,
            policy: method::SearchPolicy::default(),
            search: String::new(),
        }
    }

    proptest! {
        #[test]
        fn a_printed_rate_is_never_more_than_was_found(millifps in 1u64..1_000_000_000_000) {
            let rate = FrameRate::new(millifps, 1_000);
            let printed = rate_cell(&found(Finding::Measured, Some(rate)));
            let value: f64 = printed.replace(',', "").parse().unwrap();
            prop_assert!(value <= rate.fps() + 1e-9, "{} for {:?}", printed, rate);
            prop_assert!(value > rate.fps() * 0.99 - 1e-9, "{} for {:?}", printed, rate);
            let bound = rate_cell(&found(Finding::AtLeast { why: "x".into() }, Some(rate)));
            prop_assert_eq!(bound, format!(">= {printed}"));
        }
    }

    /// A bracket a third of its rate wide is no number.
    #[test]
    fn a_bracket_is_an_interval_and_not_its_lower_end() {
        let bracket = Finding::Between { why: "the tester was held up".into() };
        let upper = Some(FrameRate::from_fps(675_041));
        let found = RateFound { upper, ..found(bracket, Some(FrameRate::from_fps(478_154))) };
        assert_eq!(found.relation().0, method::outcome::Relation::Between);
        assert_eq!(rate_cell(&found), "478,154 .. 675,041");
    }

    #[test]
    fn what_is_not_known_is_not_printed_as_a_number() {
        let lowest = FrameRate::from_fps(1_488);
        let nothing = Finding::NothingPassed { lowest, loss_percent: 3.0 };
        assert_eq!(rate_cell(&found(nothing, None)), "< 1,488");
        let invalid = Finding::Invalid { reasons: vec!["too slow".into()] };
        assert_eq!(rate_cell(&found(invalid.clone(), None)), "invalid");
        assert!(limits(&found(invalid, None)).unwrap().contains("too slow"));
    }
}
