//! Which of the options that were given the run uses; the others are refused.
//!
//! An option belongs to the run as a whole, to the device or the tester's ports ([`device`]), or to
//! tests ([`method::registry`]). An option of tests is used where one of the chosen tests, or a test
//! that must run before it, lists it.

mod chosen;
mod commands;
mod device;

pub use chosen::chosen;
pub use commands::{SELFTEST, TRAFFIC, VERSUS};

use crate::failure::{Failure, Outcome};
use crate::options::{Options, SuiteName};
use crate::setup::Subject;
use method::registry::TestMethod;
use std::collections::BTreeMap;

/// Options of every run: what is run, on what, and what becomes of the results.
const OF_THE_RUN: [&str; 15] = [
    "suite",
    "test",
    "profile",
    "device",
    "sim",
    "ports",
    "address",
    "gateway",
    "line-rate",
    "accept",
    "capture",
    "capture-streams",
    "capture-ports",
    "device-info",
    "out",
];

/// Options, and the keys of sections that say the same.
const SAME: [(&str, &str); 5] = [
    ("test", "harvard_1989.tests"),
    ("duration", "trial.duration_s"),
    ("resolution", "search.resolution_percent"),
    ("loss-tolerance", "throughput.loss_tolerances_percent"),
    ("address-ageing", "chassis.addresses.ageing_s"),
];

/// Keys that tests of many ports had of their own, and those that they share with other tests.
const MOVED: [(&str, &str); 7] = [
    ("chassis.trial", "trial"),
    ("chassis.frame_sizes", "sizes"),
    ("chassis.seed", "seed"),
    ("chassis.resolution_percent", "search.resolution_percent"),
    ("chassis.search_trial_s", "search.trial_duration_s"),
    ("chassis.burst_frames", "burst-frames"),
    ("chassis.tests", "test"),
];

/// What a run is made of, as far as options depend on it.
pub struct Run<'a> {
    /// The suite.
    pub suite: SuiteName,
    /// The chosen tests.
    pub tests: &'a [&'static TestMethod],
    /// What is tested; none where nothing is named yet.
    pub subject: Option<&'a Subject>,
}

/// Why an option is not used.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Unused {
    /// Another device, or other ports, would use it.
    Device(String),
    /// It does nothing without another option.
    Alone(String),
    /// Other tests would use it; none where no test does.
    Tests(String),
}

/// Refuses the options among `given` that the run would not use, and those that contradict each
/// other. `options` are all that are known of the run, what was saved of it too.
pub fn check(given: &Options, options: &Options) -> Outcome<()> {
    let paths = paths(given);
    let subject = [options.device.is_some(), options.ports.is_some(), options.sim.is_some()];
    let subject = subject.contains(&true).then(|| Subject::of(options)).transpose()?;
    let suite = options.suite.unwrap_or_default();
    let run = Run { suite, tests: &chosen::before_all(options)?, subject: subject.as_ref() };
    refuse(paths.iter().map(String::as_str), options, &run)?;
    said_twice(&paths)
}

/// Refuses an option together with the section's key that sets the same value.
fn said_twice(paths: &[String]) -> Outcome<()> {
    let is_given = |path: &str| paths.iter().any(|given| given == path);
    match SAME.iter().find(|(one, other)| is_given(one) && is_given(other)) {
        Some((one, other)) => {
            Err(Failure::new(format!("{} and {other} set the same value", flag(one)))
                .help("leave out one of them"))
        }
        None => Ok(()),
    }
}

/// Refuses the named options that the run would not use.
pub fn refuse<'a>(
    paths: impl IntoIterator<Item = &'a str>,
    effective: &Options,
    run: &Run<'_>,
) -> Outcome<()> {
    let mut unused: BTreeMap<Unused, Vec<String>> = BTreeMap::new();
    for path in paths {
        if let Some(why) = unused_in(path, effective, run) {
            unused.entry(why).or_default().push(flag(path));
        }
    }
    if unused.is_empty() {
        return Ok(());
    }
    let all: Vec<String> = unused.values().flatten().cloned().collect();
    let one = all.len() == 1;
    let message = format!(
        "{} {} no effect on {}",
        all.join(", "),
        if one { "has" } else { "have" },
        run.in_words()
    );
    let leave_out = format!("leave {} out", if one { "it" } else { "them" });
    let failure = Failure::new(message).help(leave_out);
    Err(unused.iter().fold(failure, |failure, (why, flags)| {
        failure.help(format!("{}: {}", flags.join(", "), why.in_words()))
    }))
}

/// The options of a run without those that it does not use: what `config.toml` holds.
pub fn used(options: &Options, run: &Run<'_>) -> Options {
    let mut table = options.as_table();
    for path in paths(options) {
        if unused_in(&path, options, run).is_some() {
            remove(&mut table, &path);
        }
    }
    table.try_into().expect("fewer options are options")
}

impl Run<'_> {
    fn in_words(&self) -> String {
        let all = self.suite.tests().len() == self.tests.len();
        let ids: Vec<&str> = self.tests.iter().map(|test| test.id).collect();
        let tests = match (all, &ids[..]) {
            (true, _) => String::new(),
            (false, ids) => format!(" ({})", ids.join(", ")),
        };
        let subject = match self.subject {
            None => String::new(),
            Some(subject) => format!(" with {}", device::in_words(subject)),
        };
        format!("{}{tests}{subject}", self.suite)
    }
}

impl Unused {
    fn in_words(&self) -> &str {
        match self {
            Unused::Device(why) | Unused::Alone(why) | Unused::Tests(why) => why,
        }
    }
}

fn unused_in(path: &str, effective: &Options, run: &Run<'_>) -> Option<Unused> {
    let alone = || device::does_nothing_alone(path, effective).map(Unused::Alone);
    let by_tests = run.tests.iter().any(|test| test.supports(path));
    if by_tests || is_of_the_run(path, run.suite) {
        return alone();
    }
    match device::users(path) {
        Some(_) if device::uses(path, run.subject) => alone(),
        Some(users) => Some(Unused::Device(format!("used with {users}"))),
        None => Some(Unused::Tests(match run.suite.why_without(path) {
            Some(why) => format!("{why}; {}", tests_with(path)),
            None => tests_with(path),
        })),
    }
}

/// A suite has its list of tests in its own section.
fn is_of_the_run(path: &str, suite: SuiteName) -> bool {
    let list = suite.section_of_tests().map(|section| format!("{section}.tests"));
    OF_THE_RUN.contains(&path) || list.as_deref() == Some(path)
}

/// The tests that use an option, suite by suite, or its present name.
fn tests_with(path: &str) -> String {
    let rest =
        |old: &str| path.strip_prefix(old).filter(|rest| rest.is_empty() || rest.starts_with('.'));
    if let Some((new, rest)) = MOVED.iter().find_map(|(old, new)| Some((new, rest(old)?))) {
        return format!("write {new}{rest}, as for every test");
    }
    let mut parts = vec![];
    for suite in SuiteName::ALL {
        let users: Vec<&str> =
            suite.tests().iter().filter(|test| test.supports(path)).map(|test| test.id).collect();
        match users.len() {
            0 => {}
            count if count == suite.tests().len() => parts.push(suite.to_string()),
            _ => parts.push(format!("{suite} ({})", users.join(", "))),
        }
    }
    match parts.is_empty() {
        true if path.ends_with(".tests") => "it names tests of other suites".into(),
        true => "no test uses it".into(),
        false => format!("used by {}", parts.join(", ")),
    }
}

/// As it is written on the command line.
pub fn flag(path: &str) -> String {
    match path {
        "search.policy" => "--search".into(),
        "search.goals" => "--goal".into(),
        path if path.contains('.') => path.into(),
        path => format!("--{path}"),
    }
}

/// The dotted names of everything that is set.
pub fn paths(options: &Options) -> Vec<String> {
    fn walk(prefix: &str, table: &toml::Table, into: &mut Vec<String>) {
        for (key, value) in table {
            let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
            match value {
                toml::Value::Table(table) => walk(&path, table, into),
                _ => into.push(path),
            }
        }
    }
    let mut paths = vec![];
    walk("", &options.as_table(), &mut paths);
    paths
}

/// Removes what is called so, and the sections that it leaves empty.
fn remove(table: &mut toml::Table, path: &str) {
    let Some((section, rest)) = path.split_once('.') else {
        table.remove(path);
        return;
    };
    let Some(toml::Value::Table(inner)) = table.get_mut(section) else { return };
    remove(inner, rest);
    if inner.is_empty() {
        table.remove(section);
    }
}

#[cfg(test)]
mod tests;
