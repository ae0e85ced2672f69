//! Measurements of the same thing, and how far they lie apart.

use std::fmt;
use std::fmt::Write;
use units::Duration;

/// What one measurement came to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measurement {
    /// Frames a second.
    pub found: Found,
    /// How long it took, with everything that it needs.
    pub took: Duration,
}

/// A rate, or less than that.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Found {
    /// The highest rate without loss.
    Rate(f64),
    /// A bound: what measured could send no more.
    AtLeast(f64),
    /// Nothing.
    Undecided,
}

impl fmt::Display for Measurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let took = self.took.as_secs_f64();
        match self.found {
            Found::Rate(fps) => write!(f, "{fps:.0} frames/s, {took:.1} s"),
            Found::AtLeast(fps) => write!(f, ">= {fps:.0} frames/s, {took:.1} s"),
            Found::Undecided => write!(f, "undecided, {took:.1} s"),
        }
    }
}

/// Rates that are known, ascending.
fn rates(measured: &[Measurement]) -> Vec<f64> {
    let rate = |one: &Measurement| match one.found {
        Found::Rate(fps) => Some(fps),
        _ => None,
    };
    let mut rates: Vec<f64> = measured.iter().filter_map(rate).collect();
    rates.sort_by(f64::total_cmp);
    rates
}

/// By linear interpolation between the two nearest values (type 7 of Hyndman and Fan, 1996).
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let place = (sorted.len().checked_sub(1)?) as f64 * share;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    Some(below + (above - below) * place.fract())
}

/// Interquartile range over median; `None` where fewer than half of the measurements have a rate: what
/// decides nothing does not spread either.
pub fn relative_spread(measured: &[Measurement]) -> Option<f64> {
    let rates = rates(measured);
    if rates.len() * 2 < measured.len() {
        return None;
    }
    let median = quantile(&rates, 0.5)?;
    Some((quantile(&rates, 0.75)? - quantile(&rates, 0.25)?) / median)
}

/// One line each.
pub fn table(rows: &[(&str, &[Measurement])]) -> String {
    let mut text = format!(
        "| {:<25} | {:>10} | {:>10} | {:>10} | {:>11} | {:>9} | {:>9} |\n",
        "64-byte frames, router",
        "median fps",
        "lowest",
        "highest",
        "IQR, %",
        "undecided",
        "time, s"
    );
    let _ = writeln!(
        text,
        "| {:-<25} | {:->9}: | {:->9}: | {:->9}: | {:->10}: | {:->8}: | {:->8}: |",
        "", "", "", "", "", "", ""
    );
    for (name, measured) in rows {
        let rates = rates(measured);
        let fps = |share| quantile(&rates, share).map_or("-".into(), |fps| format!("{fps:.0}"));
        let spread = relative_spread(measured);
        let spread = spread.map_or("-".into(), |spread| format!("{:.2}", spread * 100.0));
        let mut times: Vec<f64> = measured.iter().map(|one| one.took.as_secs_f64()).collect();
        times.sort_by(f64::total_cmp);
        let time = quantile(&times, 0.5).unwrap_or(0.0);
        let undecided = format!("{} of {}", measured.len() - rates.len(), measured.len());
        let _ = writeln!(
            text,
            "| {name:<25} | {:>10} | {:>10} | {:>10} | {spread:>11} | {undecided:>9} | {time:>9.1} |",
            fps(0.5),
            fps(0.0),
            fps(1.0),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(found: &[Found]) -> Vec<Measurement> {
        found
            .iter()
            .map(|found| Measurement { found: *found, took: Duration::from_secs(1) })
            .collect()
    }

    /// Of 1 to 5 the quartiles are 2 and 4 and the median is 3.
    #[test]
    fn the_spread_is_the_interquartile_range_over_the_median() {
        let all: Vec<Found> = [5.0, 1.0, 4.0, 2.0, 3.0].map(Found::Rate).to_vec();
        assert_eq!(relative_spread(&measured(&all)), Some(2.0 / 3.0));
        let rates = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(quantile(&rates, 0.5), Some(2.5));
        assert_eq!(quantile(&rates, 0.25), Some(1.75));
    }

    #[test]
    fn what_decides_nothing_has_no_spread() {
        let undecided = [Found::Undecided, Found::AtLeast(7.0), Found::Rate(1.0)];
        assert_eq!(relative_spread(&measured(&undecided)), None);
        assert_eq!(relative_spread(&[]), None);
        let text = table(&[("x", &measured(&undecided))]);
        assert!(text.contains("2 of 3"), "{text}");
    }
}
