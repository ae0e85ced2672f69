//! The fit finds what is true, and what is stored is what it finds.

use super::*;
use crate::figures::Of;
use crate::fit::rounded;
use crate::model::{Key, Model, What};

/// Products whose whole fit takes a moment.
const QUICK: [&str; 4] = ["3com NETBuilder", "BBN T20", "cisco AGS+", "Timeplex TIME/LAN 100"];

fn all() -> Vec<(Product, Vec<Cell>)> {
    let figures = published();
    let sources = Sources::of(&figures);
    let of = |(name, cells): (String, Vec<Cell>)| (Product::new(&name, sources), cells);
    products(&figures).into_iter().map(of).collect()
}

/// Counted in the published tables apart from this code.
#[test]
fn the_informative_figures_are_337_of_706() {
    let cells: Vec<Cell> = all().into_iter().flat_map(|(_, cells)| cells).collect();
    let informative = cells.iter().filter(|cell| cell.is_informative()).count();
    assert_eq!((cells.len(), informative), (706, 337));
}

/// A device of known truth whose figures are printed in whole frames: the fit, which begins from a
/// rule, finds them within 1 %, and its numbers within 10 % (five of twelve figures: each can make up
/// for some of another).
#[test]
fn numbers_of_a_known_device_are_found() {
    let of = |(product, _): &(Product, Vec<Cell>)| product.name.starts_with("Timeplex");
    let (product, mut cells) = all().into_iter().find(of).expect("the product");
    let truth: [(Key, f64); 5] = [
        ((Of::Ipv4, What::PerFrame), 120.0),
        ((Of::Ipv4, What::PerByte), 0.3),
        ((Of::All, What::ReceiveByte), 0.1),
        ((Of::All, What::Output), 50.0),
        ((Of::All, What::OutputByte), 0.95),
    ];
    let mut known = Model::new();
    truth.iter().for_each(|(key, value)| known.set(*key, *value));
    for cell in &mut cells {
        cell.fps = product.predict(&known, cell).round();
    }
    // By hand, at 64 bytes: max 1e6 / (120 + 64 x 0.4) = 6868; flood of 14,489 x 6.4 us received leave
    // 907,270 us for frames of 139.2 us: 6518.
    let at_64: Vec<f64> =
        cells.iter().filter(|cell| cell.size == 64).map(|cell| cell.fps).collect();
    assert!((at_64[0] - 6_868.0).abs() <= 1.0 && (at_64[1] - 6_518.0).abs() <= 2.0, "{at_64:?}");
    let found = product.fit(&Sample::of_all(&cells));
    for cell in &cells {
        let difference = product.difference(&found, cell);
        assert!(difference.abs() < 0.01, "{}: {difference}", cell.name);
    }
    for ((of, what), value) in truth {
        let found = found.get(of, what);
        assert!((found / value - 1.0).abs() < 0.1, "{of:?} {what:?}: {found}, not {value}");
    }
}

/// The devices are what the stored numbers say.
#[test]
fn devices_have_the_stored_numbers() {
    for (product, _) in all() {
        let text = std::fs::read_to_string(product.path()).expect("a description");
        assert_eq!(text, product.describe(&stored::model(&product.name)), "{}", product.name);
    }
}

/// The stored numbers are the likeliest: one percent more or less of any is no likelier, but for what
/// three digits lose.
#[test]
fn stored_numbers_are_the_likeliest() {
    for (product, cells) in all() {
        let sample = Sample::of_all(&cells);
        let likelihood = |model: &Model| product.log_likelihood(model, &cells, &sample.weights);
        let model = stored::model(&product.name);
        let best = likelihood(&model);
        for (of, what) in model.keys.clone() {
            for factor in [0.99, 1.01] {
                let mut other = model.clone();
                other.put((of, what), factor * model.get(of, what));
                let gain = likelihood(&other) - best;
                assert!(gain < 0.5, "{}: {of:?} {what:?} x {factor}: {gain}", product.name);
            }
        }
    }
}

/// What stands in the files, recomputed: fits, splits and samples of the quick products, and for every
/// product what follows from its stored numbers.
#[test]
fn stored_scores_are_what_the_fit_finds() {
    let numbers = std::fs::read_to_string(stored::NUMBERS).expect("numbers");
    let scores = std::fs::read_to_string(stored::HOLD_OUTS).expect("scores");
    for (product, cells) in all() {
        let name = product.name.clone();
        let model = stored::model(&name);
        let nothing = product.held_out(&cells, HeldOut::Nothing, &model);
        assert!(scores.contains(&stored::hold_out(HeldOut::Nothing, &name, &nothing)), "{name}");
        if !QUICK.contains(&&*name) {
            continue;
        }
        let fitted = judged(product, cells, true);
        assert_eq!(fitted.model, model, "{name}");
        let own: String = numbers
            .lines()
            .filter(|line| line.starts_with(&format!("{name},")))
            .map(|line| format!("{line}\n"))
            .collect();
        assert_eq!(own, stored::numbers(&fitted));
        for (what, differences) in fitted.held_out.iter().filter(|(_, them)| !them.0.is_empty()) {
            let line = stored::hold_out(*what, &name, differences);
            assert!(scores.contains(&line), "{line}");
        }
    }
}

/// A tenth more of a number changes what it should: a filter's only figures with filters, a protocol's
/// only those of the protocol; and a cost makes no max rate greater.
#[test]
fn a_number_changes_what_it_should() {
    let numbers = std::fs::read_to_string(stored::NUMBERS).expect("numbers");
    for (product, cells) in all() {
        let model = stored::model(&product.name);
        for key in model.keys.clone() {
            let (of, what) = key;
            let mut greater = model.clone();
            greater.put(key, 1.1 * model.get(of, what));
            for cell in &cells {
                let (before, after) =
                    (product.predict(&model, cell), product.predict(&greater, cell));
                let concerns = match of {
                    Of::Filter => cell.rules > 0.0,
                    Of::All => what != What::Error,
                    protocol => cell.protocol == protocol,
                };
                assert!(concerns || before == after, "{} {}", name(key), cell.name);
                // A longer buffer means fewer of them; more bytes that count are a cost.
                let is_cost = !matches!(what, What::BufferBytes | What::OutputBufferBytes);
                // A flood may grow: a slower stage spares the next one the reception of frames.
                let is_no_more = cell.is_flood || after <= before * (1.0 + 1e-12);
                assert!(!is_cost || is_no_more, "{} {}", name(key), cell.name);
            }
            // Recomputed for every product.
            let changes = product.perturbed(&cells, &model, key);
            let line = format!("{},{},{},", product.name, of.name(), what.name());
            let line = numbers.lines().find(|it| it.starts_with(&line)).expect("a line");
            let stored: Vec<f64> =
                line.split(',').skip(7).map(|percent| percent.parse().expect("percent")).collect();
            for (stored, change) in stored.iter().zip(changes) {
                assert!((stored - change).abs() < 0.006, "{line}: {change}");
            }
            assert_eq!(rounded(model.get(of, what)), model.get(of, what), "{line}");
        }
    }
}
