//! Going on with an interrupted run: the same configuration, the same ports, the trials so far.

use crate::failure::{Failure, Outcome};
use crate::options::{self, Options};
use crate::session::CONFIGURATION;
use method::{Event, SelfTest, TrialRecord};
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

/// The trials of the saved run, if one is resumed; refused if the tester is another one.
pub fn recorded(
    folder: Option<&Path>,
    tester: &TesterDescription,
) -> Outcome<Option<Vec<TrialRecord>>> {
    let Some(folder) = folder else { return Ok(None) };
    let (events, _notices) = run_folder::read_events(folder)?;
    let started = events.iter().find_map(|event| match event {
        Event::RunStarted(started) => Some(started),
        _ => None,
    });
    if let Some(started) = started
        && started.tester.ports != tester.ports
    {
        return Err(Failure::new("the ports are not those of the saved run")
            .help(format!("saved: {}", ports_in_words(&started.tester)))
            .help(format!("now:   {}", ports_in_words(tester))));
    }
    let trials = events.into_iter().filter_map(|event| match event {
        Event::TrialFinished(record) => Some((record.number, *record)),
        _ => None,
    });
    // A run that was resumed has told its earlier trials again. Where it made one anew, the later one
    // is what the rest rests on.
    Ok(Some(trials.collect::<BTreeMap<_, _>>().into_values().collect()))
}

/// The self-test that the saved run went by, if one is resumed: another would lead it to ask for other
/// trials than those that it has.
pub fn self_test(folder: Option<&Path>) -> Outcome<Option<SelfTest>> {
    let Some(folder) = folder else { return Ok(None) };
    let (events, _notices) = run_folder::read_events(folder)?;
    Ok(events.into_iter().find_map(|event| match event {
        Event::SelfTestFinished(self_test) => Some(*self_test),
        _ => None,
    }))
}

fn ports_in_words(tester: &TesterDescription) -> String {
    let ports = tester.ports.iter().map(|port| {
        let (name, kind, rate) = (&port.name, &port.port_type, port.line_rate);
        format!("{name} ({kind}, {rate}, {})", port.mac)
    });
    ports.collect::<Vec<_>>().join(", ")
}
