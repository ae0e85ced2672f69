//! What the text of 1989 found of all routers together, asked of our models: a finding that they do not show withholds
//! the verdict, though each statement of a product is reproduced.

use super::reproduce_1989::Found;
use method::harvard::y1989::{Harvard1989Result, Test1989};
use std::collections::BTreeMap;

/// Rates that lie so near are "about the same".
const ABOUT: f64 = 0.05;
/// A product on a path between its ports, by what the document calls it.
pub(super) type Products = BTreeMap<(String, String), String>;

/// A finding.
pub(super) struct Finding {
    /// In the words of the text, shortened.
    finding: &'static str,
    /// Whether our models show it.
    pub is_met: bool,
    /// How many do, or which.
    seen: String,
}

impl Finding {
    /// One line.
    pub fn in_words(&self) -> String {
        let mark = if self.is_met { "met" } else { "NOT MET" };
        format!("{mark:<8} {}: {}", self.finding, self.seen)
    }
}

/// A product with what was measured of its model.
struct Product<'a> {
    name: &'a str,
    path: &'a str,
    results: Vec<&'a Harvard1989Result>,
}

impl Product<'_> {
    /// A figure of a test by packet length.
    fn figures(&self, test: Test1989, figure: &str) -> BTreeMap<String, f64> {
        let of_test = self.results.iter().filter(|result| result.test == test);
        let value = |result: &&Harvard1989Result| {
            Some((result.conditions.frame_size.clone(), result.figure(figure)?))
        };
        of_test.filter_map(value).collect()
    }

    /// A figure over the max rate, by packet length.
    fn over_max(&self, test: Test1989, figure: &str) -> Vec<f64> {
        let max = self.figures(Test1989::MaxRate, "max rate");
        let share = |(size, rate): (String, f64)| Some(rate / max.get(&size)?);
        self.figures(test, figure).into_iter().filter_map(share).collect()
    }

    fn is_about_max(&self, test: Test1989) -> bool {
        let shares = self.over_max(test, "forwarded");
        !shares.is_empty() && shares.iter().all(|share| (share - 1.0).abs() <= ABOUT)
    }

    /// Ten filters lower its rate at some length.
    fn suffers_from_filters(&self) -> bool {
        let shares = self.over_max(Test1989::Filtering, "max rate, 10 filters");
        shares.iter().any(|share| *share < 1.0 - ABOUT)
    }

    /// It carried all that the test equipment could send, at every length.
    fn outruns_the_source(&self) -> bool {
        let tester = self.figures(Test1989::MaxRate, "tester");
        let max = self.figures(Test1989::MaxRate, "max rate");
        !max.is_empty() && max.iter().all(|(size, rate)| rate >= &(tester[size] * 0.99))
    }

    /// Of a burst of the source it took a larger share, by a third, than of its steady stream.
    fn is_better_in_bursts(&self) -> bool {
        let whole = self.figures(Test1989::BackToBack, "theoretical");
        let tester = self.figures(Test1989::MaxRate, "tester");
        let max = self.figures(Test1989::MaxRate, "max rate");
        let better = |(size, frames): (&String, &f64)| {
            let steady = max.get(size)? / tester.get(size)?;
            Some(frames / whole.get(size)? > steady * 4.0 / 3.0)
        };
        let taken = self.figures(Test1989::BackToBack, "back to back");
        taken.iter().filter_map(better).any(|is_better| is_better)
    }
}

fn count<'a>(products: &[Product<'a>], is_one: impl Fn(&Product<'a>) -> bool) -> (usize, String) {
    let some = products.iter().filter(|product| is_one(product)).count();
    (some, format!("{some} of {} here", products.len()))
}

fn names<'a>(products: &[Product<'a>], is_one: impl Fn(&Product<'a>) -> bool) -> Vec<String> {
    let some = products.iter().filter(|product| is_one(product));
    some.map(|product| product.name.to_owned()).collect()
}

/// The fastest between interfaces with the shortest packets.
fn fastest_between<'a>(products: &'a [Product<'_>]) -> Option<&'a str> {
    let between = products.iter().filter(|product| product.path == "between");
    let rate = |product: &Product<'_>| {
        product.figures(Test1989::MaxRate, "max rate").get("64").copied().unwrap_or(0.0)
    };
    between.max_by(|a, b| rate(a).total_cmp(&rate(b))).map(|product| product.name)
}

/// All of them. `statements` has the bursts, `rates` the tests by packet length.
pub(super) fn findings<'a>(
    names_of: &'a Products,
    statements: &'a Found,
    rates: &'a Found,
) -> Vec<Finding> {
    let product = |key: &'a (String, String), name: &'a String| {
        let all = [rates.get(key), statements.get(key)];
        Product { name, path: &key.1, results: all.into_iter().flatten().flatten().collect() }
    };
    let products: Vec<Product<'_>> =
        names_of.iter().map(|(key, name)| product(key, name)).collect();
    let most = |finding, (some, seen): (usize, String)| Finding {
        finding,
        is_met: 2 * some > products.len(),
        seen,
    };
    let any = |finding, some: Vec<String>| Finding {
        finding,
        is_met: !some.is_empty(),
        seen: if some.is_empty() { "none here".into() } else { some.join(", ") },
    };
    let fastest = fastest_between(&products).unwrap_or("none");
    vec![
        any(
            "the best were faster than the test equipment",
            names(&products, Product::outruns_the_source),
        ),
        most(
            "25 % more than the max rate: for most about as much comes out",
            count(&products, |product| product.is_about_max(Test1989::Overload25)),
        ),
        most(
            "flood: for most about as much comes out as at the max rate",
            count(&products, |product| product.is_about_max(Test1989::Flood)),
        ),
        most(
            "filters lower the throughput of most",
            count(&products, Product::suffers_from_filters),
        ),
        any(
            "one does much better back to back than under a continuous load",
            names(&products, Product::is_better_in_bursts),
        ),
        Finding {
            finding: "Wellfleet is the fastest between interfaces",
            is_met: fastest.starts_with("Wellfleet"),
            seen: format!("{fastest} here"),
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::super::{graphs_1989, reproduce_1989::take_again};
    use super::*;

    /// The tables of 1990 have the T20 slower with ten filters than with none; the text of 1989 tells no such cost of
    /// the P4200, which carries about as much when it is flooded.
    #[test]
    fn a_cost_of_filters_is_seen_where_there_is_one() {
        let config = graphs_1989::configuration();
        let findings_of = |model: &str, path: &str| {
            let key = (model.to_owned(), path.to_owned());
            let rates = Found::from([(key.clone(), take_again(model, path, &config).unwrap())]);
            findings(&Products::from([(key, "it".into())]), &Found::new(), &rates)
        };
        let met = |findings: &[Finding], words: &str| {
            let finding = findings.iter().find(|finding| finding.finding.contains(words));
            finding.expect("is asked").is_met
        };
        let p4200 = findings_of("1989/p4200", "between");
        assert!(!met(&p4200, "filters") && met(&p4200, "flood") && !met(&p4200, "faster than"));
        assert!(met(&findings_of("1990/t20", "within"), "filters"));
    }
}
