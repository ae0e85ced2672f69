//! Every option, with every test: it alters the test's trials, or it is refused.
//!
//! Each pair is tried with the program itself before a simulated device: two runs that differ in the
//! option alone, or one that ends with 2 and names the option and a remedy.

mod commands;
mod conformance;
mod limits;
mod samples;
pub(super) mod stage;
mod trials;

use crate::common::Scratch;
use method::registry::{SuiteName, TestMethod};
use samples::Sample;
use serde_json::{Value, json};
use stage::Device;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use trials::Trial;

/// What became of an option with a test.
#[derive(PartialEq, Debug)]
enum Came {
    /// The trials differ from those without it.
    Differs,
    /// The run ended with 2, and said why and what to do.
    Refused,
    /// Neither, which no option may be.
    Wrong(String),
}

struct Lab {
    scratch: Scratch,
    folders: AtomicUsize,
}

impl Lab {
    fn new() -> Self {
        let scratch = Scratch::new();
        stage::devices(&scratch);
        Lab { scratch, folders: AtomicUsize::new(0) }
    }

    /// Exit code, trials, and what was said.
    fn run(&self, test: &TestMethod, device: Device, more: &[&str]) -> (i32, Vec<Trial>, String) {
        let folder = format!("run{}", self.folders.fetch_add(1, Ordering::SeqCst));
        let output = stage::run(&self.scratch, &stage::arguments(test, device, more), &folder);
        let path = self.scratch.path().join(&folder);
        let self_test = more.iter().any(|word| word.contains("self"));
        let trials = trials::of_folder(&path, self_test);
        let _ = std::fs::remove_dir_all(path);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code().unwrap_or(-1), trials, said)
    }

    /// Options that the test does not heed, all in one run, which has to name each of them. What it does not name,
    /// since another error came first, is tried by itself.
    fn refused_together(&self, test: &TestMethod) -> BTreeSet<&'static str> {
        let mut all: BTreeMap<String, Vec<&Sample>> = BTreeMap::new();
        for sample in samples::of(test.suite).filter(|sample| !is_listed(test, sample)) {
            let of_device = all.entry(format!("{:?}", sample.device)).or_default();
            if of_device.iter().all(|other| other.name != sample.name) {
                of_device.push(sample);
            }
        }
        let mut refused = BTreeSet::new();
        for together in all.values() {
            let given: Vec<&str> =
                together.iter().flat_map(|sample| sample.given).copied().collect();
            let (code, _, said) = self.run(test, together[0].device, &given);
            let error = said.lines().next().unwrap_or_default();
            if code != 2
                || !error.contains("no effect on")
                || !said.contains("help: leave them out")
            {
                continue;
            }
            let named: BTreeSet<&str> = error.split([' ', ',']).collect();
            let are_named = together.iter().filter(|sample| named.contains(&*in_words(sample)));
            refused.extend(are_named.map(|sample| sample.name));
        }
        refused
    }

    fn came(&self, test: &TestMethod, sample: &Sample, known: &mut Without) -> Came {
        let with = context(test, sample);
        let given: Vec<&str> = with.iter().chain(sample.given).copied().collect();
        let (code, trials, said) = self.run(test, sample.device, &given);
        if code == 2 {
            return refused(sample, &said);
        }
        let asks_for_self_test = given.iter().any(|word| word.contains("self"));
        let without = known.get(self, test, (sample.device, &with, asks_for_self_test));
        match trials::differ(&without, &trials) {
            true if trials.is_empty() => Came::Wrong(format!("exit {code}, and no trials")),
            true => Came::Differs,
            false => Came::Wrong(format!("exit {code}, and the same {} trials", trials.len())),
        }
    }
}

/// Context that the test itself would refuse is no context.
fn context(test: &TestMethod, sample: &Sample) -> Vec<&'static str> {
    let mut with = vec![];
    for given in sample.with.chunk_by(|_, next| !next.starts_with("--")) {
        let name = match given {
            ["--set", setting] => name_of(setting),
            ["--search", _] => "search.policy",
            [flag, ..] => flag.trim_start_matches("--"),
            [] => continue,
        };
        if test.supports(name) {
            with.extend_from_slice(given);
        }
    }
    with
}

/// Whether the registry says that the test heeds the option.
fn is_listed(test: &TestMethod, sample: &Sample) -> bool {
    test.supports(sample.name) || sample.name == "line-rate"
}

/// An option as a refusal names it.
fn in_words(sample: &Sample) -> String {
    match sample.name {
        "search.policy" => "--search".into(),
        "search.goals" => "--goal".into(),
        name if name.contains('.') => name.to_owned(),
        name => format!("--{name}"),
    }
}

fn refused(sample: &Sample, said: &str) -> Came {
    let name = in_words(sample);
    let is_named = said.lines().next().is_some_and(|line| line.contains(&name));
    match is_named && said.contains("no effect on") && said.contains("help: leave it out") {
        true => Came::Refused,
        false => Came::Wrong(format!("exit 2, but said {said}")),
    }
}

type Key = (String, Vec<&'static str>, bool);

/// Trials of a test without the option.
#[derive(Default)]
struct Without(BTreeMap<Key, Vec<Trial>>);

impl Without {
    fn get(
        &mut self,
        lab: &Lab,
        test: &TestMethod,
        (device, with, self_test): (Device, &[&'static str], bool),
    ) -> Vec<Trial> {
        let key = (format!("{device:?}"), with.to_vec(), self_test);
        let made = self.0.entry(key).or_insert_with(|| {
            let mut more = with.to_vec();
            if self_test {
                more.push("--fresh-selftest");
            }
            let (code, trials, said) = lab.run(test, device, &more);
            assert!(code == 0 || code == 3, "{} {} {more:?}: {code} {said}", test.suite, test.id);
            assert!(!trials.is_empty(), "{} {}: no trials to compare", test.suite, test.id);
            trials
        });
        made.clone()
    }
}

/// Every option with a test; what is wrong, in words.
fn wrong_with(lab: &Lab, test: &TestMethod) -> Vec<String> {
    let mut without = Without::default();
    let mut wrong = vec![];
    let again = without.get(lab, test, (Device::Usual, &[], false));
    let (_, once_more, _) = lab.run(test, Device::Usual, &[]);
    if trials::differ(&again, &once_more) {
        wrong.push(format!("{} {}: two equal runs differ", test.suite, test.id));
    }
    let refused = lab.refused_together(test);
    for sample in samples::of(test.suite) {
        // Requests of the ARP server test are far apart on either medium.
        if (sample.name, test.id) == ("line-rate", "arp-server") {
            continue;
        }
        let listed = is_listed(test, sample);
        let expected = if listed { Came::Differs } else { Came::Refused };
        let came = match !listed && refused.contains(sample.name) {
            true => Came::Refused,
            false => lab.came(test, sample, &mut without),
        };
        if came != expected {
            wrong.push(format!(
                "{} {}, {}: {expected:?} is expected, it came to {came:?}",
                test.suite, test.id, sample.name
            ));
        }
    }
    let hidden = samples::NOT_SHOWN.iter().filter(|sample| !test.supports(sample.name));
    for sample in hidden {
        let came = lab.came(test, sample, &mut without);
        if came != Came::Refused {
            wrong.push(format!("{} {}, {}: {came:?}", test.suite, test.id, sample.name));
        }
    }
    wrong
}

/// The dotted names of everything in an object.
fn leaves(prefix: &str, value: &Value, into: &mut Vec<String>) {
    match value.as_object() {
        Some(object) => object.iter().for_each(|(key, value)| {
            let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
            leaves(&path, value, into);
        }),
        None => into.push(prefix.to_owned()),
    }
}

/// Flags of a run and keys of its configuration, but for those that say what is tested and what becomes of it.
fn all_options() -> Vec<String> {
    let help = Scratch::new().run("run --help").expect(0).stdout;
    let flags = help.split_whitespace().filter_map(|word| word.strip_prefix("--"));
    let name = |flag: &str| {
        let end = flag.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
        flag[..end.unwrap_or(flag.len())].trim_end_matches('-').to_owned()
    };
    let mut names: Vec<String> = flags.map(name).filter(|name| !name.is_empty()).collect();
    let sections = |value: Value, into: &mut Vec<String>| {
        let mut all = vec![];
        leaves("", &value, &mut all);
        into.extend(all.into_iter().filter(|name| name.contains('.')));
    };
    let mut config = method::SuiteConfig::default();
    // Keys that are left out where nothing is said of them.
    config.search.gap_step_ns = Some(1.0);
    config.search.no_verification_above_lost_frames = Some(1);
    config.chassis.multicast.load_percent = Some(1.0);
    sections(json!(config), &mut names);
    // What is sent has flags of its own.
    names.retain(|name| !name.starts_with("traffic."));
    // What a run is, and the lists of tests are no settings of their own.
    let last = |name: &String| name.rsplit('.').next().unwrap_or(name).to_owned();
    names.retain(|name| !samples::OF_THE_RUN.contains(&last(name).as_str()));
    names.sort();
    names.dedup();
    names
}

/// An option that is added later is tried, too, or this fails.
#[test]
fn no_option_is_left_out() {
    let names = all_options();
    let sampled: Vec<&str> = SuiteName::ALL
        .into_iter()
        .flat_map(samples::of)
        .chain(samples::NOT_SHOWN)
        .map(|sample| sample.name)
        .collect();
    let unknown = |name: &&String| !sampled.contains(&name.as_str());
    let left_out: Vec<&String> = names.iter().filter(unknown).collect();
    assert!(names.len() > 150, "{} options were found", names.len());
    assert!(left_out.is_empty(), "without a sample: {left_out:?}");
}

/// A run by its own `config.toml` is the same run: nothing in it is refused, and nothing is missing.
#[test]
fn config_toml_holds_what_the_run_did() {
    let lab = Lab::new();
    for test in SuiteName::ALL.into_iter().flat_map(SuiteName::tests).step_by(5) {
        let first = stage::arguments(test, Device::Usual, &[]);
        let output = stage::run(&lab.scratch, &first, "first");
        assert!(matches!(output.status.code(), Some(0 | 3)), "{}", test.id);
        let again = ["run", "--quiet", "--config", "first/config.toml"].map(String::from);
        let output = stage::run(&lab.scratch, &again, "again");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}: {said}", test.suite, test.id);
        let [one, other] = ["first", "again"]
            .map(|folder| trials::of_folder(&lab.scratch.path().join(folder), true));
        assert!(!one.is_empty() && !trials::differ(&one, &other), "{} {}", test.suite, test.id);
        let saved = std::fs::read_to_string(lab.scratch.path().join("first/config.toml")).unwrap();
        let saved: toml::Table = toml::from_str(&saved).expect("a configuration");
        let mut names = vec![];
        leaves("", &json!(saved), &mut names);
        let is_used = |name: &String| {
            let of_the_run = samples::OF_THE_RUN.contains(&name.rsplit('.').next().unwrap_or(name));
            of_the_run || test.supports(name)
        };
        let unused: Vec<&String> = names.iter().filter(|name| !is_used(name)).collect();
        assert!(unused.is_empty(), "{} {}: {unused:?}", test.suite, test.id);
        for folder in ["first", "again", "first-cache", "again-cache"] {
            let _ = std::fs::remove_dir_all(lab.scratch.path().join(folder));
        }
    }
}

/// Two at a time: there is no more to be had of a small machine.
fn check(suites: &[SuiteName]) {
    let lab = Lab::new();
    let tests: Vec<&TestMethod> = suites.iter().flat_map(|suite| suite.tests()).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut wrong = vec![];
        while let Some(test) = tests.get(next.fetch_add(1, Ordering::SeqCst)) {
            wrong.extend(wrong_with(&lab, test));
        }
        wrong
    };
    let wrong = std::thread::scope(|scope| {
        let halves = [scope.spawn(work), scope.spawn(work)];
        halves.map(|half| half.join().expect("no panic")).concat()
    });
    assert!(wrong.is_empty(), "{} of the pairs:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn rfc2544_uses_or_refuses_every_option() {
    check(&[SuiteName::Rfc2544]);
}

#[test]
fn rfc2889_and_gigaswitch_use_or_refuse_every_option() {
    check(&[SuiteName::Rfc2889, SuiteName::Gigaswitch]);
}

#[test]
fn rfc3918_and_tolly_use_or_refuse_every_option() {
    check(&[SuiteName::Rfc3918, SuiteName::Tolly]);
}

#[test]
fn the_harvard_suites_use_or_refuse_every_option() {
    check(&[SuiteName::Harvard1989, SuiteName::Harvard1990]);
}

fn name_of(setting: &str) -> &str {
    let setting = setting.trim_start_matches('-');
    setting.split_once('=').map_or(setting, |(name, _)| name)
}
