//! Two runs side by side.

use super::{Table, optional};
use crate::compare::{Comparison, Difference, Verdict};
use crate::number::grouped_f64;
use method::outcome::{Basis, Relation, Unit};

pub(crate) fn comparison(about: Vec<String>, comparison: &Comparison) -> Table {
    let columns = ["<test", "frame size", "<quantity", "a", "b", "b - a", "between", "<verdict"];
    let mut table = Table::new("Comparison", about, &columns);
    table.notes = comparison.warnings.iter().map(|text| format!("WARNING: {text}")).collect();
    let both = comparison.differences.iter().filter(|d| d.verdict != Verdict::OnlyOne);
    table.rows = both.map(row).collect();
    let only_one = comparison.differences.len() - table.rows.len();
    if only_one > 0 {
        table.notes.push(format!("{only_one} quantities were measured by one of the runs only"));
    }
    table.notes.push(
        "between: what the difference may be, from the resolution of both searches or from the \
         95 % confidence intervals of repeated measures; what a device does differently from one \
         run to the next is known only from repeated runs"
            .into(),
    );
    table
}

fn row(difference: &Difference) -> Vec<String> {
    vec![
        difference.test.to_string(),
        difference.frame_size.clone(),
        with_unit(&difference.quantity, difference.unit),
        value((difference.a, difference.a_high), difference.a_relation, difference.unit),
        value((difference.b, difference.b_high), difference.b_relation, difference.unit),
        optional(difference.difference, |value| signed(value, difference.unit)),
        between(difference),
        verdict(difference.verdict).into(),
    ]
}

/// `throughput, fps`: a column that is never left out where the values are shown.
fn with_unit(quantity: &str, unit: Unit) -> String {
    match unit.symbol() {
        "" => quantity.to_owned(),
        symbol => format!("{quantity}, {symbol}"),
    }
}

fn value((value, upper_end): (Option<f64>, Option<f64>), relation: Relation, unit: Unit) -> String {
    let decimals = match unit {
        Unit::Percent | Unit::Seconds => 4,
        Unit::Ns | Unit::Fps => 0,
        _ => 1,
    };
    let sign = match relation {
        Relation::AtLeast => ">= ",
        Relation::Below => "< ",
        Relation::Equal | Relation::Between | Relation::Unknown => "",
    };
    // Rates are cut off here as everywhere, so that the same run reads the same.
    let shown = |value: f64| if unit == Unit::Fps { value.floor() } else { value };
    let number = |value: f64| grouped_f64(shown(value), decimals);
    let upper_end = upper_end.map(|high| format!(" .. {}", number(high))).unwrap_or_default();
    optional(value, |value| format!("{sign}{}{upper_end}", number(value)))
}

/// In percent, or in percentage points.
fn signed(value: f64, unit: Unit) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    let measure = if unit == Unit::Percent { "points" } else { "%" };
    format!("{sign}{} {measure}", grouped_f64(value, 2))
}

fn between(difference: &Difference) -> String {
    let end = |value: Option<f64>| {
        optional(value, |value| {
            let sign = if value > 0.0 { "+" } else { "" };
            format!("{sign}{}", grouped_f64(value, 2))
        })
    };
    match (difference.low, difference.high, difference.basis) {
        (None, None, _) | (_, _, Basis::None) => "unknown".into(),
        (low, high, _) => format!("{}..{}", end(low), end(high)),
    }
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Same => "same",
        Verdict::Different => "different",
        Verdict::CannotTell => "cannot tell",
        Verdict::OnlyOne => "one run only",
    }
}
