//! Going on with an interrupted run: the same configuration, the same ports, the trials so far.

use crate::failure::{Failure, Outcome};
use crate::host::{DEVICE_DESCRIPTION, KERNEL};
use crate::options::{self, Options};
use crate::output;
use crate::test_run::CONFIGURATION;
use method::{Event, RunStarted, SelfTest, TestKind, TrialRecord};
use report::run_folder;
use std::collections::BTreeMap;
use std::path::Path;
use trial::TesterDescription;
use wire::signature::RunKey;

/// The options of a saved run.
pub fn options(folder: &Path) -> Outcome<Options> {
    run_folder::refuse_comparison(folder)?;
    let path = folder.join(CONFIGURATION);
    if !path.exists() {
        return Err(Failure::new(format!("{} is not a run folder", folder.display())).help(
            format!("it has no {CONFIGURATION}; runs are in runs/, unless --out named a folder"),
        ));
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
    /// The key of its test frames; none of a run that had it of its seed.
    pub run_key: Option<RunKey>,
}

impl Saved {
    /// Whether it measured the tester itself.
    pub fn made_self_test(&self) -> bool {
        self.trials.iter().any(|record| record.test == TestKind::SelfTest)
    }
}

/// The run that goes on, as far as it must be that which was saved.
pub struct Now<'a> {
    /// The tester.
    pub tester: &'a TesterDescription,
    /// Name and version of the program.
    pub program: &'a str,
    /// The host and the device.
    pub environment: &'a BTreeMap<String, String>,
}

/// The saved run, if one is resumed; refused if the tester or a simulated device is another one.
pub fn saved(folder: Option<&Path>, now: &Now<'_>) -> Outcome<Option<Saved>> {
    let Some(folder) = folder else { return Ok(None) };
    let (events, _notices) = run_folder::read_events(folder)?;
    // A run that was resumed has told its earlier trials again. Where it made one anew, the later one
    // is what the rest rests on.
    let mut trials = BTreeMap::new();
    let mut self_test = None;
    let mut run_key = None;
    for event in events {
        match event {
            Event::RunStarted(started) => {
                now.check(&started)?;
                let key = started.config.get("run_key").cloned();
                run_key = key.and_then(|key| serde_json::from_value(key).ok());
            }
            Event::TrialFinished(record) => drop(trials.insert(record.number, *record)),
            // It is told again with each size that is measured.
            Event::SelfTestFinished(known) => {
                let known_sizes =
                    |known: &Option<SelfTest>| known.as_ref().map_or(0, |k| k.sizes.len());
                if known.sizes.len() > known_sizes(&self_test) {
                    self_test = Some(*known);
                }
            }
            _ => {}
        }
    }
    Ok(Some(Saved { trials: trials.into_values().collect(), self_test, run_key }))
}

impl Now<'_> {
    fn check(&self, saved: &RunStarted) -> Outcome<()> {
        check_ports(&saved.tester, self.tester)?;
        let differs = |name| {
            let then = saved.environment.get(name)?;
            Some((then, self.environment.get(name)?)).filter(|(then, now)| then != now)
        };
        if differs(DEVICE_DESCRIPTION).is_some() {
            return Err(Failure::new("the simulated device is not that of the saved run")
                .help("undo the changes to its description, or start a new run"));
        }
        let program = Some((&saved.program, self.program)).filter(|(then, now)| then != now);
        let program = program.map(|(then, now)| (then.as_str(), now));
        let kernel = differs(KERNEL).map(|(then, now)| (then.as_str(), now.as_str()));
        for (then, now) in program.into_iter().chain(kernel) {
            output::say(format!("warning: the saved run was made by {then}, it goes on by {now}"));
        }
        Ok(())
    }
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
