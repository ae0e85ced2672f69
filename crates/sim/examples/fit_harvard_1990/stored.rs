//! What the fit found, as files that `netanvil harvard reproduce-1990` prints.

use crate::figures::{Cell, Of};
use crate::model::{Key, Model, Product, What};
use crate::scores::{Differences, HeldOut, SAMPLES};
use std::fmt::Write as _;

/// Each number of each model, with its interval and what it changes.
pub const NUMBERS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/harvard-1990-numbers.csv");
/// The scores of what was held out.
pub const HOLD_OUTS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/harvard-1990-hold-outs.csv");

/// A product, fitted and judged.
pub struct Fitted {
    pub product: Product,
    pub cells: Vec<Cell>,
    pub model: Model,
    pub held_out: Vec<(HeldOut, Differences)>,
    pub intervals: Vec<(Key, f64, f64)>,
}

/// The lines of a product in [`NUMBERS`].
pub fn numbers(fitted: &Fitted) -> String {
    let mut text = String::new();
    for (key, low, high) in &fitted.intervals {
        let (of, what) = *key;
        let changes = fitted.product.perturbed(&fitted.cells, &fitted.model, *key);
        let changes = changes.map(|percent| percent_of(percent, 2)).join(",");
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{},{changes}",
            fitted.product.name,
            of.name(),
            what.name(),
            what.unit(),
            fitted.model.get(of, what),
            crate::fit::rounded(*low),
            crate::fit::rounded(*high),
        );
    }
    text
}

/// Without a minus before nothing.
fn percent_of(percent: f64, digits: usize) -> String {
    let text = format!("{percent:.digits$}");
    if text.trim_matches(['-', '0', '.']).is_empty() { "0".into() } else { text }
}

/// A line of [`HOLD_OUTS`].
pub fn hold_out(what: HeldOut, product: &str, differences: &Differences) -> String {
    format!(
        "{},{product},{},{:.2},{}\n",
        what.name(),
        differences.0.len(),
        differences.median_percent(),
        differences.within(),
    )
}

/// Both files.
pub fn write(products: &[Fitted]) {
    let head = "# Written by `make harvard-1990-scores` (crates/sim/examples/fit_harvard_1990), not by hand.\n";
    let mut text = format!(
        "{head}# Between low and high lie 95 % of the fits to {SAMPLES} samples of the figures, drawn with repetition; low is\n\
         # 0 where the figures bound a number from above alone. The last four: by how many percent the informative\n\
         # figures of a class change, on average, if the number is 10 % greater.\n\
         product,of,number,unit,value,low,high,max_rate,flood,filters,two_streams\n"
    );
    products.iter().for_each(|fitted| text += &numbers(fitted));
    std::fs::write(NUMBERS, text).expect("a file for the numbers");
    let mut text = format!(
        "{head}# Informative figures that were held out of the fit, by what was held out.\n\
         held_out,product,figures,median_percent,within_5_percent\n"
    );
    for (at, what) in HeldOut::all().into_iter().enumerate() {
        let mut all = Differences::default();
        for fitted in products {
            let (_, differences) = &fitted.held_out[at];
            if !differences.0.is_empty() {
                text += &hold_out(what, &fitted.product.name, differences);
                all.0.extend(&differences.0);
            }
        }
        text += &hold_out(what, "all", &all);
    }
    std::fs::write(HOLD_OUTS, text).expect("a file for the scores");
}

/// The model of a product, as it was written.
#[cfg_attr(not(test), expect(dead_code, reason = "for the tests"))]
pub fn model(product: &str) -> Model {
    let mut reader =
        csv::ReaderBuilder::new().comment(Some(b'#')).from_path(NUMBERS).expect("numbers");
    let mut model = Model::new();
    for row in reader.records() {
        let row = row.expect("a number");
        if &row[0] == product {
            let of = Of::ALL.into_iter().find(|of| of.name() == &row[1]).expect("whose");
            let what = What::ALL.into_iter().find(|what| what.name() == &row[2]).expect("which");
            model.set((of, what), row[4].parse().expect("a value"));
        }
    }
    model
}
