//! Going on with an interrupted run: the same configuration, the same ports, the trials so far.

use crate::failure::{Failure, Outcome};
use crate::options::{self, Options};
use crate::session::CONFIGURATION;
use method::{Event, SelfTest, TestKind, TrialRecord};
use report::run_folder;
use std::collections::BTreeMap;
use std::path::Path;
use trial::TesterDescription;

/// The options of a saved run.
pub fn options(folder: &Path) -> Outcome<Options> {
    let path = folder.join(CONFIGURATION);
    if !path.exists() {
        return Err(Failure::new(format!("{} is not a run folder", folder.display()))
            .help(format!("it has no {CONFIGURATION}")));
    }
    options::read_options(&path)
}

/// Refuses options that would make another run of it.
pub fn check_same(saved: &Options, now: &Options) -> Outcome<()> {
    let (saved, now) = (saved.as_table(), now.as_table());
    let keys = saved.keys().chain(now.keys()).filter(|key| *key != "out");
    let mut failure: Option<Failure> = None;
    let mut told = vec![];
    for key in keys {
        if saved.get(key) == now.get(key) || told.contains(&key) {
            continue;
        }
        told.push(key);
        let value =
            |table: &toml::Table| table.get(key).map_or("not set".into(), toml::Value::to_string);
        let line = format!("{key}: {} in the saved run, {} now", value(&saved), value(&now));
        let so_far = failure.take().unwrap_or_else(|| {
            Failure::new(
                "the saved run had another configuration; its results cannot be gone on with",
            )
        });
        failure = Some(so_far.help(line));
    }
    match failure {
        Some(failure) => Err(failure.help("resume without these options, or start a new run")),
        None => Ok(()),
    }
}

/// What a saved run holds for the run that goes on.
pub struct Saved {
    /// Its trials, in their order.
    pub trials: Vec<TrialRecord>,
    /// The self-test that it went by: another would lead it to ask for other trials than those that it
    /// has.
    pub self_test: Option<SelfTest>,
}

impl Saved {
    /// Whether it measured the tester itself.
    pub fn made_self_test(&self) -> bool {
        self.trials.iter().any(|record| record.test == TestKind::SelfTest)
    }
}

/// The saved run, if one is resumed; refused if the tester is another one.
pub fn saved(folder: Option<&Path>, tester: &TesterDescription) -> Outcome<Option<Saved>> {
    let Some(folder) = folder else { return Ok(None) };
    let (events, _notices) = run_folder::read_events(folder)?;
    // A run that was resumed has told its earlier trials again. Where it made one anew, the later one
    // is what the rest rests on.
    let mut trials = BTreeMap::new();
    let mut self_test = None;
    for event in events {
        match event {
            Event::RunStarted(started) => check_ports(&started.tester, tester)?,
            Event::TrialFinished(record) => drop(trials.insert(record.number, *record)),
            Event::SelfTestFinished(first) => {
                self_test.get_or_insert(*first);
            }
            _ => {}
        }
    }
    Ok(Some(Saved { trials: trials.into_values().collect(), self_test }))
}

fn check_ports(saved: &TesterDescription, now: &TesterDescription) -> Outcome<()> {
    if saved.ports == now.ports {
        return Ok(());
    }
    Err(Failure::new("the ports are not those of the saved run")
        .help(format!("saved: {}", ports_in_words(saved)))
        .help(format!("now:   {}", ports_in_words(now))))
}

fn ports_in_words(tester: &TesterDescription) -> String {
    let ports = tester.ports.iter().map(|port| {
        let (name, kind, rate) = (&port.name, &port.port_type, port.line_rate);
        format!("{name} ({kind}, {rate}, {})", port.mac)
    });
    ports.collect::<Vec<_>>().join(", ")
}
