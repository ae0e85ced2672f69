//! Numbers as people read them: thousands set apart, spans with a unit that suits.

use units::{Duration, FrameRate};

/// `14,880,952`.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 trial`, `2 trials`.
pub fn several(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// `1,234.5`: rounded to `decimals`.
pub fn grouped_f64(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let whole = whole.parse().map_or_else(|_| whole.to_string(), grouped);
    let sign = if value < 0.0 { "-" } else { "" };
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{fraction}")
}

/// Microseconds with three decimals, so that a column can be compared down its length.
pub fn microseconds(span: Duration) -> String {
    grouped_f64(span.as_ps() as f64 / 1e6, 3)
}

/// The same of a number of picoseconds, which may be below zero.
pub fn microseconds_of_ps(ps: i64) -> String {
    grouped_f64(ps as f64 / 1e6, 3)
}

/// Whole frames a second, truncated as RFC 2544 appendix B does, so that no rate is overstated; a slow
/// rate with three decimals.
pub fn fps(rate: FrameRate) -> String {
    match rate.fps() {
        slow if slow > 0.0 && slow < 100.0 => format!("{slow:.3}"),
        _ => grouped(rate.fps_truncated()),
    }
}

/// Percent of a ratio, with as many decimals as keep some loss from reading as none, and almost
/// all from reading as all.
pub fn percent(ratio: f64) -> String {
    let percent = ratio * 100.0;
    // What must not vanish: the distance from none, or from all.
    let distance = percent.abs().min((100.0 - percent).abs());
    let shown = |decimals: &usize| {
        let printed = format!("{distance:.decimals$}").parse().unwrap_or(0.0);
        (distance - printed).abs() <= distance * 0.05
    };
    let decimals = (2..=10).find(shown).unwrap_or(2);
    format!("{percent:.decimals$}")
}

/// Percent of a whole that has been reached: cut off after two decimals, so that no more is
/// claimed than was reached; small shares keep two digits.
pub fn share_of(percent_reached: f64) -> String {
    match percent_reached {
        some if some >= 1.0 => format!("{:.2}", (some * 100.0 + 1e-9).floor() / 100.0),
        little => percent(little / 100.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_loss_of_one_frame_in_a_million_does_not_read_as_none() {
        assert_eq!(percent(1e-6), "0.0001");
        assert_eq!(percent(1e-9), "0.0000001");
        assert_eq!(percent(0.999_999), "99.9999");
        assert_eq!(percent(1.0), "100.00");
        assert_eq!(percent(0.0), "0.00");
        assert_eq!(percent(0.1234), "12.34");
    }

    #[test]
    fn one_is_not_many() {
        let told = [0, 1, 2, 1_000].map(|count| several(count, "trial", "trials"));
        assert_eq!(told, ["0 trials", "1 trial", "2 trials", "1,000 trials"]);
    }

    proptest! {
        #[test]
        fn grouping_changes_no_digit(value: u64) {
            prop_assert_eq!(grouped(value).replace(',', ""), value.to_string());
            prop_assert!(grouped(value).rsplit(',').skip(1).all(|group| group.len() <= 3));
        }
    }
}
