//! Derives a model of each product of Bradner's router tests of 1990 (Harvard University) from the
//! published figures, `data/harvard-1990.csv`: a few times that a frame costs, no table of rates.
//!
//! `cargo run --release -p netanvil-sim --example fit_harvard_1990` prints the models and what they do
//! not explain; names or parts of them choose products. With `-- --write` (`make
//! harvard-1990-scores`) it writes the models to `crates/sim/devices/harvard-1990`, and to `data` what
//! they are worth: scores of figures that were held out, an interval of each number, and what a tenth
//! more of it changes.
//!
//! The mechanisms, and how figures follow from them (s is the frame size with FCS, t the rate that
//! the tester reaches with its shortest gap). Each product has a few of them, see `Structure`:
//! * a bus, shared by all streams, for some protocols: `bus` + `bus_byte` x s, and `bus_receive_byte`
//!   x s whenever a frame comes, even if it is then dropped;
//! * a central processor, shared by all streams, or one a port: a frame takes `per_frame` + `per_byte`
//!   x s (perhaps only of its `first_bytes`; perhaps `per_buffer` for each buffer after the first),
//!   filters more, and `receive` + `receive_byte` x s whenever one comes;
//! * the card where it leaves: `output` + `output_byte` x s (the line alone takes 0.8 us a byte),
//!   perhaps in buffers; filters may cost it time, too;
//! * Wellfleet instead has a processor on each card, for frames that come in and that go out.
//!
//! What a stage passes on of a rate x is the smaller of x and (1 - x receive) / service. Max is the
//! smaller of t and what every stage passes whole; flood is what the stages leave of t, one after
//! the other. Two streams share what they share.
//!
//! The fit maximises the likelihood of the printed figures (`likelihood`), from beginnings that a rule
//! takes from them (`start`). How many figures come near plays no part in it.

mod describe;
mod figures;
mod fit;
mod likelihood;
mod model;
mod scores;
mod start;
mod stored;
#[cfg(test)]
mod tests;

use figures::{Cell, Sources, products, published};
use fit::Sample;
use model::Product;
use scores::{Differences, HeldOut, WITHIN, name};
use stored::Fitted;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let write = arguments.iter().any(|argument| argument == "--write");
    let asked: Vec<&String> = arguments.iter().filter(|a| !a.starts_with("--")).collect();
    assert!(!write || asked.is_empty(), "what is written is of all products");
    let figures = published();
    let sources = Sources::of(&figures);
    println!("tester: shortest gaps {:.2} us and {:.2} us", sources.0[0], sources.0[1]);
    let mut products = products(&figures);
    products.retain(|(name, _)| {
        asked.is_empty() || asked.iter().any(|asked| name.contains(&asked[..]))
    });
    let fitted = std::thread::scope(|scope| {
        let fit = |(name, cells): (String, _)| {
            scope.spawn(move || judged(Product::new(&name, sources), cells, write))
        };
        let under_way: Vec<_> = products.into_iter().map(fit).collect();
        under_way.into_iter().map(|one| one.join().expect("a fit")).collect::<Vec<_>>()
    });
    fitted.iter().for_each(report);
    if write {
        for fitted in &fitted {
            let text = fitted.product.describe(&fitted.model);
            std::fs::write(fitted.product.path(), text).expect("a file");
        }
        stored::write(&fitted);
    }
    for (at, what) in HeldOut::all().into_iter().enumerate() {
        let of = |fitted: &Fitted| fitted.held_out.get(at).map(|(_, them)| them.0.clone());
        let all = Differences(fitted.iter().filter_map(of).flatten().collect());
        if !all.0.is_empty() {
            println!("held out: {}: {}", what.name(), in_words(&all));
        }
    }
}

/// Fits a product; scores and intervals take longer, and are asked for.
fn judged(product: Product, cells: Vec<Cell>, whole: bool) -> Fitted {
    let model = product.fit(&Sample::of_all(&cells));
    let splits = HeldOut::all().into_iter().filter(|what| whole || *what == HeldOut::Nothing);
    let of = |what| (what, product.held_out(&cells, what, &model));
    let held_out = splits.map(of).collect();
    let intervals = if whole { product.intervals(&cells, &model) } else { vec![] };
    Fitted { product, cells, model, held_out, intervals }
}

fn in_words(differences: &Differences) -> String {
    let (figures, within) = (differences.0.len(), differences.within());
    format!(
        "{figures} informative figures: median difference {:.2} %, {within} within 5 % ({:.1} %)",
        differences.median_percent(),
        100.0 * within as f64 / figures as f64,
    )
}

/// Prints the numbers, and what they do not explain.
fn report(fitted: &Fitted) {
    let Fitted { product, cells, model, .. } = fitted;
    let likelihood = product.log_likelihood(model, cells, &vec![1.0; cells.len()]);
    let numbers = model.keys.len();
    println!(
        "\n{}: {} figures, {numbers} numbers, log-likelihood {likelihood:.1}",
        product.name,
        cells.len()
    );
    for (of, what) in &model.keys {
        println!("  {} {} {}", name((*of, *what)), model.get(*of, *what), what.unit());
    }
    for cell in cells {
        let difference = product.difference(model, cell);
        if difference.abs() > WITHIN {
            let (published, predicted) = (cell.fps, product.predict(model, cell));
            let percent = 100.0 * difference;
            println!("  outside: {}: {published}, {predicted:.0} ({percent:+.1} %)", cell.name);
        }
    }
}
