//! Axes: a range, a scale, and ticks that a reader would have chosen.

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use std::ops::Range;
use units::Duration;

/// Width of a character of a label, in units of a chart.
const LABEL_CHARACTER: f64 = 18.0;

/// How values turn into lengths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scale {
    Linear,
    Log,
}

/// One axis of a chart, in the units of its data.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// With the unit.
    pub title: String,
    pub scale: Scale,
    pub from: f64,
    pub to: f64,
    /// Ascending, with what is written beside each.
    pub ticks: Vec<(f64, String)>,
}

impl Axis {
    /// From 0 to a round number at or above `max`.
    pub fn from_zero(title: &str, max: f64) -> Self {
        let step = round_step(max.max(1e-9) / 5.0);
        let steps = (max.max(1e-9) / step - 1e-9).ceil();
        let ticks = (0..=steps as u32).map(|k| f64::from(k) * step);
        Axis {
            title: title.into(),
            scale: Scale::Linear,
            from: 0.0,
            to: steps * step,
            ticks: ticks.map(|value| (value, short(value))).collect(),
        }
    }

    /// From 0 with ticks at these values alone, such as the numbers of ports that were tried.
    pub fn at_each(title: &str, values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let axis = Axis::from_zero(title, values.last().copied().unwrap_or(1.0));
        let to = values.last().filter(|last| **last > 0.0).map_or(axis.to, |last| last * 1.05);
        Axis { ticks: values.into_iter().map(|value| (value, short(value))).collect(), to, ..axis }
    }

    /// Over all `values`, which need not be near 0, with room at both ends.
    pub fn around(
        title: &str,
        values: impl Iterator<Item = f64>,
        label: fn(f64) -> String,
    ) -> Self {
        let (min, max) = extent(values).unwrap_or((0.0, 1.0));
        let room = ((max - min) * 0.05).max(max.abs() * 1e-3).max(1e-9);
        let step = round_step((max - min + 2.0 * room) / 6.0);
        let (from, to) = (((min - room) / step).floor(), ((max + room) / step).ceil());
        let ticks = (0..=(to - from) as u32).map(|k| (from + f64::from(k)) * step);
        Axis {
            title: title.into(),
            scale: Scale::Linear,
            from: from * step,
            to: to * step,
            ticks: ticks.map(|value| (value, label(value))).collect(),
        }
    }

    /// 0 to 100 %, as RFC 2544 section 26.3 wants both axes of a loss curve.
    pub fn percent(title: &str) -> Self {
        let ticks = (0..=10).map(|k| f64::from(k) * 10.0);
        let ticks = ticks.map(|value| (value, format!("{value:.0}")));
        Axis {
            title: title.into(),
            scale: Scale::Linear,
            from: 0.0,
            to: 100.0,
            ticks: ticks.collect(),
        }
    }

    /// Logarithmic, over all `values` above zero, with room at both ends.
    pub fn log(title: &str, values: impl Iterator<Item = f64>, label: fn(f64) -> String) -> Self {
        let (min, max) = extent(values.filter(|value| *value > 0.0)).unwrap_or((1.0, 10.0));
        let (from, to) = (min / 1.25, max * 1.25);
        let decades = (from.log10().floor() as i32)..=(to.log10().ceil() as i32);
        let mantissas: &[f64] = match (to / from).log10() {
            span if span < 0.5 => &[1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0],
            span if span < 1.2 => &[1.0, 2.0, 3.0, 5.0],
            span if span < 3.0 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let ticks = decades.flat_map(|d| mantissas.iter().map(move |m| m * 10f64.powi(d)));
        let ticks = ticks.filter(|value| (from..=to).contains(value));
        Axis {
            title: title.into(),
            scale: Scale::Log,
            from,
            to,
            ticks: ticks.map(|value| (value, label(value))).collect(),
        }
    }

    /// Frame sizes, spread logarithmically and each written; where two are too near each other
    /// for that, the smaller one keeps its tick only.
    pub fn frame_sizes(sizes_bytes: impl Iterator<Item = f64>) -> Self {
        let mut sizes: Vec<f64> = sizes_bytes.collect();
        sizes.sort_by(f64::total_cmp);
        sizes.dedup();
        let (min, max) = extent(sizes.iter().copied()).unwrap_or((64.0, 1518.0));
        let (from, to) = (min / 1.15, max * 1.15);
        let apart = (to / from).powf(0.045);
        let label = |(k, size): (usize, &f64)| match sizes.get(k + 1) {
            Some(next) if next / size < apart => (*size, String::new()),
            _ => (*size, format!("{:.*}", usize::from(size.fract() != 0.0), size)),
        };
        Axis {
            title: "Frame size (bytes, FCS included)".into(),
            scale: Scale::Log,
            from,
            to,
            ticks: sizes.iter().enumerate().map(label).collect(),
        }
    }

    /// The same with labels that do not overlap on so many units of a chart; ticks stay.
    pub fn with_room_for(&self, units: u32) -> Axis {
        let mut axis = self.clone();
        let mut free_from = f64::NEG_INFINITY;
        for (value, label) in &mut axis.ticks {
            let half = label.chars().count() as f64 * LABEL_CHARACTER / 2.0;
            let at = self.position(*value) * f64::from(units);
            match at - half < free_from {
                true => label.clear(),
                false if label.is_empty() => {}
                false => free_from = at + half + LABEL_CHARACTER,
            }
        }
        axis
    }

    /// Where a value lies between the ends, 0 to 1; a value beyond an end lies at it.
    pub fn position(&self, value: f64) -> f64 {
        let value = if value.is_finite() { value.clamp(self.from, self.to) } else { self.from };
        match self.scale {
            Scale::Linear => (value - self.from) / (self.to - self.from),
            Scale::Log => (value / self.from).ln() / (self.to / self.from).ln(),
        }
    }
}

/// How the plotting library sees an axis.
impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (start, end): (i32, i32)) -> i32 {
        start + (self.position(*value) * f64::from(end - start)).round() as i32
    }
    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        match hint.weight().allow_light_points() {
            true => vec![],
            false => self.ticks.iter().map(|(value, _)| *value).collect(),
        }
    }
    fn range(&self) -> Range<f64> {
        self.from..self.to
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        let tick = self.ticks.iter().find(|(tick, _)| tick == value);
        tick.map_or_else(String::new, |(_, label)| label.clone())
    }
}

/// `1.5 M`, `200 k`, `0.25`: for axes, where the tick's place is exact anyway.
pub(crate) fn short(value: f64) -> String {
    let (value, unit) = match value.abs() {
        v if v >= 1e9 => (value / 1e9, " G"),
        v if v >= 1e6 => (value / 1e6, " M"),
        v if v >= 1e3 => (value / 1e3, " k"),
        _ => (value, ""),
    };
    format!("{}{unit}", trimmed(value, 3))
}

/// A span given in seconds: `10 us`.
pub(crate) fn span_of_seconds(seconds: f64) -> String {
    Duration::from_secs_f64(seconds).to_string()
}

fn trimmed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

/// Smallest and largest.
pub(crate) fn extent(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|value| value.is_finite()).fold(None, |extent, value| match extent {
        None => Some((value, value)),
        Some((min, max)) => Some((value.min(min), value.max(max))),
    })
}

/// The least of 1, 2, 5 x 10^n that is at least `at_least`.
fn round_step(at_least: f64) -> f64 {
    let decade = 10f64.powf(at_least.log10().floor());
    let candidates = [1.0, 2.0, 5.0, 10.0].map(|mantissa| mantissa * decade);
    candidates.into_iter().find(|step| *step >= at_least * (1.0 - 1e-9)).unwrap_or(10.0 * decade)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_log_axis_over_little_still_has_ticks() {
        let axis = Axis::log("t", [34.0, 41.0].into_iter(), short);
        assert!(!axis.ticks.is_empty(), "{axis:?}");
    }

    #[test]
    fn sizes_too_near_to_be_written_keep_their_ticks() {
        let axis = Axis::frame_sizes([64.0, 1500.0, 1518.0].into_iter());
        let labels: Vec<&str> = axis.ticks.iter().map(|(_, label)| &label[..]).collect();
        assert_eq!(labels, ["64", "", "1518"]);
    }

    #[test]
    fn on_a_narrow_screen_labels_that_would_overlap_are_left_out() {
        let sizes = [64.0, 128.0, 256.0, 512.0, 1024.0, 1280.0, 1518.0];
        let labels = |axis: &Axis| -> Vec<String> {
            axis.ticks.iter().map(|(_, label)| label.clone()).filter(|it| !it.is_empty()).collect()
        };
        let axis = Axis::frame_sizes(sizes.into_iter());
        assert_eq!(labels(&axis), ["64", "128", "256", "512", "1024", "1280", "1518"]);
        // Four characters are 72 units and want 18 more: 1024 and 1280 are 600 x ln(1.25)/ln(31.4) = 39 apart.
        let narrow = axis.with_room_for(600);
        assert_eq!(labels(&narrow), ["64", "128", "256", "512", "1024"]);
        assert_eq!(narrow.ticks.len(), 7);
        assert_eq!(labels(&axis.with_room_for(6_000)), labels(&axis));
    }

    #[test]
    fn axis_labels_are_short() {
        assert_eq!(short(14_880_952.0), "14.881 M");
        assert_eq!(short(200_000.0), "200 k");
        assert_eq!(short(0.0), "0");
    }

    proptest! {
        #[test]
        fn around_covers_its_data_with_few_ticks(low in -1e6f64..1e6, width in 0f64..1e6) {
            let axis = Axis::around("y", [low, low + width].into_iter(), short);
            prop_assert!(axis.from <= low && axis.to >= low + width, "{axis:?}");
            prop_assert!((2..=12).contains(&axis.ticks.len()), "{:?}", axis.ticks);
        }
        #[test]
        fn from_zero_covers_its_data_with_few_ticks(max in 1e-3f64..1e12) {
            let axis = Axis::from_zero("y", max);
            prop_assert!(axis.to >= max && axis.to <= max * 2.0);
            prop_assert!((2..=7).contains(&axis.ticks.len()), "{:?}", axis.ticks);
        }
    }
}
