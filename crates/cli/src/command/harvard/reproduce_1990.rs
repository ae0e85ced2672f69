//! `netanvil harvard reproduce-1990`: every table of 1990 taken again on the models of its products.

use super::Reproduce1990;
use super::published::{self, Published};
use super::remarks::{self, Remark};
use crate::failure::{Exit, Failure, Outcome};
use crate::options::Span;
use crate::{laboratory, output, parallel, simulated};
use method::harvard::{Ready, SetUp, SetUpError, Suite1990};
use method::{Event, EventSink, Outcome as TestOutcome, SinkError, SuiteConfig};
use report::harvard::{RateTable, rate_tables};
use report::reproduction::{FigurePair, Summary, TablePair, WITHIN};
use sim::Description;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use trial::{Tester, TesterDescription};

pub fn run(arguments: &Reproduce1990) -> Outcome {
    let mut published = published::tables()?;
    if let Some(product) = &arguments.product {
        published.retain(|table| table.model == product || table.device == *product);
        if published.is_empty() {
            return Err(Failure::new(format!("nothing was published of `{product}`"))
                .help("`netanvil devices` lists the products of 1990"));
        }
    }
    let config = configuration(arguments.duration);
    let pairs = all(&published, &config, arguments.quiet)?;
    let summary = Summary::of(&pairs);
    let mut fit = published::fit()?;
    if let (Some(_), Some(only)) = (&arguments.product, published.first()) {
        fit.retain(&only.device);
    }
    let outside = outside(&pairs, &remarks::all()?);
    let mut text: String = pairs.iter().map(|pair| pair.print() + "\n").collect();
    text += &outside;
    let _ = writeln!(text, "{}\n{}", fit.print(), summary.print());
    let _ = writeln!(text, "{}\n{}", summary.in_words(), fit.in_words());
    output::print(&text)?;
    if let Some(path) = &arguments.html {
        let page = report::html::reproduction(TITLE, ABOUT, &pairs, &summary, &fit, &outside);
        std::fs::write(path, page)
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))?;
    }
    Ok(if summary.is_met() { Exit::Done } else { Exit::NotAccepted })
}

const TITLE: &str = "The router tests of 1990, repeated";
const ABOUT: &str = "Scott Bradner, Harvard University, tested routers in 1990 and published 43 \
    tables of frame rates. Here the same tests run in virtual time on models of the products: what \
    a frame costs each processor on its way, fitted to the published figures, with far fewer \
    numbers than figures. Lines are ours; marks are the published figures.";

/// The numbers of 1990; in virtual time every wait is free, and short ones do.
fn configuration(duration: Option<Span>) -> SuiteConfig {
    let mut config = SuiteConfig {
        tests: Suite1990::TESTS.to_vec(),
        frame_sizes: Suite1990::frame_sizes(),
        ..SuiteConfig::default()
    };
    if let Some(Span(duration)) = duration {
        let seconds = duration.as_secs_f64();
        config.harvard.max_rate_stream_s = seconds;
        config.harvard.raw_rate_stream_s = seconds;
    }
    config
}

/// Every table, shared out to the processors.
fn all(published: &[Published], config: &SuiteConfig, quiet: bool) -> Outcome<Vec<TablePair>> {
    let ours = parallel::map(published, |table| {
        let ours = reproduce(table, config);
        if !quiet {
            output::say(format!("{} - {}", table.device, table.table.heading));
        }
        ours
    });
    let pair = |(published, ours): (&Published, Outcome<RateTable>)| {
        Ok(TablePair {
            device: published.device.clone(),
            published: published.table.clone(),
            ours: ours?,
        })
    };
    published.iter().zip(ours).map(pair).collect()
}

/// One table, taken again.
fn reproduce(published: &Published, config: &SuiteConfig) -> Outcome<RateTable> {
    let suite = Suite1990 {
        program: "netanvil".into(),
        device: published.device.clone(),
        environment: BTreeMap::new(),
        config: config.clone(),
        set_ups: published.set_ups(),
    };
    let mut model = Model(simulated::read(published.model)?);
    let mut results = Results::default();
    let finished = suite.run(&mut model, &mut results).map_err(Failure::new)?;
    let (device, heading) = (&published.device, &published.table.heading);
    for warning in results.warnings {
        output::say(format!("{device} - {heading}: {warning}"));
    }
    for test in finished.invalid_tests {
        output::say(format!("{device} - {heading}: invalid: {test}"));
    }
    let mut tables = rate_tables(&results.outcomes);
    match tables.pop() {
        Some(table) if tables.is_empty() => Ok(table),
        _ => Err(Failure::new(format!("{device} - {heading}: the model gave no such table"))),
    }
}

/// The model of a product in the laboratory.
struct Model(Description);

impl method::harvard::Laboratory for Model {
    fn describe(&self) -> TesterDescription {
        let tester = self.0.tester(&simulated::addresses(self.0.ports));
        tester.map_or_else(
            |error| TesterDescription {
                name: error.to_string(),
                ports: vec![],
                tick: units::Duration::ZERO,
                notes: vec![],
            },
            |tester| tester.describe().clone(),
        )
    }

    fn set_up(&mut self, set_up: &SetUp) -> Result<Ready<'_>, SetUpError> {
        let (tester, streams) = laboratory::simulate(&self.0, set_up)?;
        let filters = set_up.filters.in_words().into();
        Ok(Ready { tester: Box::new(tester), streams, filters })
    }
}

/// Keeps outcomes and warnings alone.
#[derive(Default)]
struct Results {
    outcomes: Vec<TestOutcome>,
    warnings: Vec<String>,
}

impl EventSink for Results {
    fn emit(&mut self, event: &Event) -> Result<(), SinkError> {
        match event {
            Event::TestFinished(outcome) => self.outcomes.push((**outcome).clone()),
            Event::ConsistencyChecked(found) => found.revise(&mut self.outcomes),
            Event::Warning(warning) => self.warnings.push(warning.clone()),
            _ => {}
        }
        Ok(())
    }
}

/// The figures that are further off, each with the reason as far as it is known. A remark is a reason only where
/// the published figures bear it out.
fn outside(pairs: &[TablePair], remarks: &[Remark]) -> String {
    let figures = pairs.iter().flat_map(TablePair::figures);
    let far: Vec<FigurePair<'_>> =
        figures.filter(|figure| figure.difference().abs() > WITHIN).collect();
    if far.is_empty() {
        return String::new();
    }
    let of_device = |device: &str| {
        let device = device.to_owned();
        pairs.iter().filter(move |pair| pair.device == device).map(|pair| &pair.published)
    };
    let percent = 100.0 * WITHIN;
    let mut text = format!("Further off than {percent} %, and explained by no mechanism:\n");
    for figure in far {
        let FigurePair { table, frame_size, column, published, ours, .. } = figure;
        let beside: Vec<&RateTable> = of_device(&table.device).collect();
        let holds = |remark: &&Remark| {
            remark.is_about(&table.device, &table.published.heading, column, frame_size)
                && remark.holds(&beside, &table.published, column, frame_size)
        };
        let reason = remarks.iter().find(holds).map(|remark| &remark.reason[..]);
        let ours = ours.map_or("nothing".into(), |ours| format!("{ours:.0}"));
        let _ = writeln!(
            text,
            "  {} {frame_size} {column}: {published}, here {ours} ({:+.1} %): {}",
            table.heading(),
            100.0 * figure.difference(),
            reason.unwrap_or("the model's own error"),
        );
    }
    text + "\n"
}
