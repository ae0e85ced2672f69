//! Fits the constants that RFC 1030 does not give to its tables: coordinate descent from the
//! committed ones. Prints what it finds; takes some minutes.
//!
//! cargo run --release -p netanvil-netblt-studies --example fit_netblt

use netblt_studies::rfc1030::{
    Constants, Measured, PARAMETERS, Parameter, Row, reproduce_with, rows,
};

/// Runs of each row, to average chance out.
const RUNS: u64 = 3;

/// How far a row is off: the speed first; the losses in their order of magnitude.
fn error(ours: &Measured, row: &Row) -> f64 {
    let speed = (ours.steady_state_mbps / row.steady_state_mbps).ln().abs().min(0.5);
    let magnitude = |a: u64, b: u64| ((a as f64 + 5.0) / (b as f64 + 5.0)).ln().abs();
    let lost = magnitude(ours.packets_lost, row.packets_lost);
    let again = magnitude(ours.packets_retransmitted, row.packets_retransmitted);
    speed + 0.03 * (lost + again)
}

/// Rows with the same parameters are compared with the same runs.
fn total(constants: &Constants, rows: &[Row]) -> f64 {
    let mut sum = 0.0;
    for (index, row) in rows.iter().enumerate() {
        let alike = |other: &&Row| (other.network, other.transfer) == (row.network, row.transfer);
        if rows[..index].iter().any(|other| alike(&other)) {
            continue;
        }
        for seed in 0..RUNS {
            let ours = reproduce_with(constants, row, seed);
            let one = |row: &Row| ours.as_ref().map_or(3.0, |ours| error(ours, row));
            sum += rows.iter().filter(alike).map(one).sum::<f64>();
        }
    }
    sum / RUNS as f64
}

/// Those that are not guessed.
fn fitted() -> impl Iterator<Item = Parameter> {
    PARAMETERS.into_iter().filter(|parameter| !parameter.chosen_by.starts_with("a guess"))
}

fn main() {
    let rows = rows();
    let mut best = Constants::FITTED;
    let mut least = total(&best, &rows);
    let mut step = 0.5;
    while step > 0.02 {
        let before = least;
        for Parameter { name, of, range: (low, high), .. } in fitted() {
            for factor in [1.0 + step, 1.0 / (1.0 + step)] {
                let mut tried = best;
                let value = of(&mut tried);
                *value = (value.max(1e-4) * factor).clamp(low, high);
                let sum = total(&tried, &rows);
                if sum < least {
                    (best, least) = (tried, sum);
                    println!("{least:.3} {name} {:.4}", of(&mut best));
                }
            }
        }
        if before - least < 0.05 {
            step /= 2.0;
        }
    }
    println!("{best:#?}");
}
