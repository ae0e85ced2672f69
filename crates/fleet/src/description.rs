//! A campaign as its author describes it: devices x configurations x tests x sizes x repetitions.

use crate::job::Job;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// What jobs say themselves.
const OURS: [(&str, &str); 3] = [
    ("out", "each job has a folder of its own in that of the campaign"),
    ("test", "write `tests` at the top of the description"),
    ("sizes", "write `sizes` at the top of the description"),
];
/// No campaign of a laboratory is larger; a slip of the pen is.
const JOBS_MAX: usize = 1_000_000;

/// A campaign that cannot be run as described.
#[derive(Debug, thiserror::Error)]
pub enum DescriptionError {
    /// The file cannot be read.
    #[error("cannot read {}: {detail}", file.display())]
    Unreadable {
        /// Which.
        file: PathBuf,
        /// What the system said.
        detail: String,
    },
    /// It is no TOML, or has keys that mean nothing.
    #[error("{0}")]
    Malformed(String),
    /// It is well formed, and impossible.
    #[error("{what}")]
    Impossible {
        /// What is wrong.
        what: String,
        /// What mends it.
        help: String,
    },
}

pub(crate) fn impossible(what: impl Into<String>, help: impl Into<String>) -> DescriptionError {
    DescriptionError::Impossible { what: what.into(), help: help.into() }
}

/// What a job needs of the place where it runs: names and how many of each. `cores` are processors; every other
/// name is one that a host has by `--resource`, or a node of a cluster by its resources.
pub type Needs = BTreeMap<String, u32>;

/// A campaign.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Description {
    /// By which its results are known; alike in all databases.
    pub name: String,
    /// Options of every run, by their names in a configuration file.
    #[serde(default)]
    pub options: Table,
    /// What is tested.
    pub device: Vec<Device>,
    /// How it is set up; in the order in which `bisect` searches. One without options where there is none.
    #[serde(default)]
    pub configuration: Vec<Configuration>,
    /// One job each.
    pub tests: Vec<String>,
    /// Frame sizes, one job each: bytes, or the name of a mix.
    pub sizes: Vec<Value>,
    /// How often each job is done.
    #[serde(default = "one")]
    pub repetitions: u32,
    /// How often a job that failed is tried again.
    #[serde(default = "one")]
    pub retries: u32,
    /// A job that takes longer has failed.
    #[serde(default = "an_hour")]
    pub timeout_s: u64,
    /// What every job needs.
    #[serde(default)]
    pub needs: Needs,
    /// Where files that it names are.
    #[serde(skip)]
    pub base: PathBuf,
}

/// What is tested.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Device {
    /// By which its results are known.
    pub name: String,
    /// Over those of the campaign; among them one of `sim`, `device` and `ports`.
    #[serde(default)]
    pub options: Table,
    /// Beside those of the campaign.
    #[serde(default)]
    pub needs: Needs,
}

/// How it is set up.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Configuration {
    /// By which its results are known.
    pub name: String,
    /// Over those of the device.
    #[serde(default)]
    pub options: Table,
    /// Beside those of the device.
    #[serde(default)]
    pub needs: Needs,
    /// Commands that switch a device to it; only `bisect` has a use for them.
    #[serde(default)]
    pub switch: Vec<String>,
}

fn one() -> u32 {
    1
}
fn an_hour() -> u64 {
    3600
}

impl Description {
    /// Reads a description; files that it names are beside it.
    ///
    /// # Errors
    /// If it cannot be read, or is impossible.
    pub fn read(file: &Path) -> Result<Description, DescriptionError> {
        let unreadable = |error: std::io::Error| DescriptionError::Unreadable {
            file: file.to_owned(),
            detail: error.to_string(),
        };
        let text = std::fs::read_to_string(file).map_err(unreadable)?;
        let whole = std::path::absolute(file).map_err(unreadable)?;
        let base = whole.parent().unwrap_or(Path::new("/"));
        Description::parse(&text, base).map_err(|error| match error {
            DescriptionError::Malformed(why) => {
                DescriptionError::Malformed(format!("{}: {why}", file.display()))
            }
            other => other,
        })
    }

    /// Reads its text; files that it names are in `base`.
    ///
    /// # Errors
    /// If it is malformed or impossible.
    pub fn parse(text: &str, base: &Path) -> Result<Description, DescriptionError> {
        let parsed: Description =
            toml::from_str(text).map_err(|error| DescriptionError::Malformed(error.to_string()))?;
        let mut described = Description { base: base.to_owned(), ..parsed };
        if described.configuration.is_empty() {
            let plain = Configuration { name: "plain".into(), ..Configuration::default() };
            described.configuration.push(plain);
        }
        described.check()?;
        Ok(described)
    }

    fn check(&self) -> Result<(), DescriptionError> {
        let configurations = self.configuration.iter().map(|it| &it.name);
        let sizes: Vec<String> = self.sizes.iter().map(size_name).collect();
        for (what, names) in [
            ("device", self.device.iter().map(|it| &it.name).collect::<Vec<_>>()),
            ("configuration", configurations.collect()),
            ("test", self.tests.iter().collect()),
            ("size", sizes.iter().collect()),
        ] {
            if names.is_empty() {
                return Err(impossible(format!("no {what}"), format!("name one {what} or more")));
            }
            let mut known = BTreeSet::new();
            if let Some(twice) = names.iter().find(|name| !known.insert(**name)) {
                return Err(impossible(format!("the {what} `{twice}` stands twice"), "remove one"));
            }
        }
        if self.name.is_empty() || self.device.iter().any(|device| device.name.is_empty()) {
            return Err(impossible("an empty name", "results are known by names: write one"));
        }
        for (key, count) in
            [("repetitions", self.repetitions.into()), ("timeout-s", self.timeout_s)]
        {
            if count == 0 {
                return Err(impossible(format!("`{key} = 0`"), "write 1 or more"));
            }
        }
        self.check_options()
    }

    fn check_options(&self) -> Result<(), DescriptionError> {
        let tables = [("the campaign", &self.options)].into_iter();
        let tables = tables.chain(self.device.iter().map(|it| (&*it.name, &it.options)));
        let tables = tables.chain(self.configuration.iter().map(|it| (&*it.name, &it.options)));
        for (of, options) in tables {
            if let Some((key, why)) = OURS.iter().find(|(key, _)| options.contains_key(*key)) {
                return Err(impossible(
                    format!("`{key}` stands among the options of {of}"),
                    format!("remove it: {why}"),
                ));
            }
        }
        Ok(())
    }

    /// Every job, in the order of the description: repetitions outermost, so that what changes with time falls on
    /// all configurations alike.
    ///
    /// # Errors
    /// If there are too many, or options make no sense.
    pub fn jobs(&self) -> Result<Vec<Job>, DescriptionError> {
        let counts =
            [self.device.len(), self.configuration.len(), self.tests.len(), self.sizes.len()];
        let count = counts.iter().fold(self.repetitions as usize, |a, b| a.saturating_mul(*b));
        if count > JOBS_MAX {
            return Err(impossible(format!("{count} jobs"), format!("at most are {JOBS_MAX}")));
        }
        let mut jobs = Vec::with_capacity(count);
        for repetition in 1..=self.repetitions {
            for device in &self.device {
                for configuration in &self.configuration {
                    for test in &self.tests {
                        for size in &self.sizes {
                            let of = (device, configuration);
                            jobs.push(self.job(of, test, size, repetition)?);
                        }
                    }
                }
            }
        }
        Ok(jobs)
    }

    fn job(
        &self,
        (device, configuration): (&Device, &Configuration),
        test: &str,
        size: &Value,
        repetition: u32,
    ) -> Result<Job, DescriptionError> {
        let mut options = self.options_of(device, configuration);
        if let Some(seed) = options.get_mut("seed") {
            let first = seed.as_integer().filter(|seed| *seed >= 0);
            let first = first.ok_or_else(|| impossible("`seed` is no whole number", "write 7"))?;
            *seed = Value::Integer(first.saturating_add(i64::from(repetition) - 1));
        }
        let mut needs = self.needs.clone();
        for more in [&device.needs, &configuration.needs] {
            needs.extend(more.iter().map(|(name, count)| (name.clone(), *count)));
        }
        let mut job = Job {
            id: String::new(),
            campaign: self.name.clone(),
            device: device.name.clone(),
            configuration: configuration.name.clone(),
            test: test.to_owned(),
            size: size_name(size),
            repetition,
            is_simulated: options.contains_key("sim"),
            options,
            needs,
            timeout_s: self.timeout_s,
            retries: self.retries,
        };
        job.options.insert("test".into(), Value::Array(vec![test.into()]));
        job.options.insert("sizes".into(), Value::Array(vec![size.clone()]));
        job.id = job.identity(&self.base);
        Ok(job)
    }

    /// Options of a device in a configuration: the later ones win, sections are merged.
    pub fn options_of(&self, device: &Device, configuration: &Configuration) -> Table {
        let mut options = self.options.clone();
        merge(&mut options, &device.options);
        merge(&mut options, &configuration.options);
        options
    }
}

fn merge(under: &mut Table, over: &Table) {
    for (key, value) in over {
        match (under.get_mut(key), value) {
            (Some(Value::Table(under)), Value::Table(over)) => merge(under, over),
            (_, value) => {
                under.insert(key.clone(), value.clone());
            }
        }
    }
}

fn size_name(size: &Value) -> String {
    size.as_str().map_or_else(|| size.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"
        name = "nightly"
        tests = ["throughput", "latency"]
        sizes = [64, "imix"]
        repetitions = 2
        timeout-s = 60
        needs = { cores = 2 }
        [options]
        profile = "quick"
        seed = 7
        search = { policy = "bisect" }
        [[device]]
        name = "router"
        options = { sim = "router" }
        [[device]]
        name = "lab"
        options = { ports = ["eth1", "eth2"], profile = "rfc" }
        needs = { dut-x = 1 }
        [[configuration]]
        name = "plain"
        [[configuration]]
        name = "filters"
        options = { filter = "10", search = { resolution_percent = 1.0 } }
    "#;

    fn parse(text: &str) -> Result<Description, DescriptionError> {
        Description::parse(text, Path::new("/nowhere"))
    }

    #[test]
    fn the_product_of_everything_is_expanded_and_each_job_is_another() {
        let jobs = parse(WHOLE).unwrap().jobs().unwrap();
        // 2 devices x 2 configurations x 2 tests x 2 sizes x 2 repetitions.
        assert_eq!(jobs.len(), 32);
        let ids: BTreeSet<_> = jobs.iter().map(|job| &job.id).collect();
        assert_eq!(ids.len(), 32);
        let last = &jobs[31];
        assert_eq!((&*last.device, &*last.configuration, &*last.size), ("lab", "filters", "imix"));
        assert_eq!(last.options["profile"].as_str(), Some("rfc"));
        assert_eq!(last.options["seed"].as_integer(), Some(8));
        let search = last.options["search"].as_table().unwrap();
        assert_eq!(search.keys().collect::<Vec<_>>(), ["policy", "resolution_percent"]);
        assert_eq!(last.needs, Needs::from([("cores".into(), 2), ("dut-x".into(), 1)]));
        assert!(jobs[0].is_simulated && !last.is_simulated);
    }

    /// So that a campaign to which sizes are added does not begin anew.
    #[test]
    fn an_identity_depends_on_the_job_and_on_nothing_around_it() {
        let ids = |text: &str| -> BTreeSet<String> {
            parse(text).unwrap().jobs().unwrap().into_iter().map(|job| job.id).collect()
        };
        let all = ids(WHOLE);
        assert!(all.is_superset(&ids(&WHOLE.replace("\"throughput\", ", ""))));
        let turned = WHOLE.replace("64, \"imix\"", "\"imix\", 64").replace("s = 60", "s = 90");
        assert_eq!(ids(&turned), all);
        assert!(ids(&WHOLE.replace("filter = \"10\"", "filter = \"11\"")) != all);
        assert!(ids(&WHOLE.replace("seed = 7", "seed = 70")).is_disjoint(&all));
    }

    #[test]
    fn a_simulated_device_in_a_file_is_known_by_what_stands_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("router.toml");
        let first = || {
            let described = Description::parse(
                &WHOLE.replace("sim = \"router\"", "sim = \"router.toml\""),
                folder.path(),
            );
            described.unwrap().jobs().unwrap()[0].id.clone()
        };
        std::fs::write(&file, "delay = \"5us\"\n").unwrap();
        let before = first();
        assert_eq!(first(), before);
        std::fs::write(&file, "delay = \"6us\"\n").unwrap();
        assert_ne!(first(), before);
    }

    #[test]
    fn nothing_is_passed_over() {
        let refusal = |from: &str, to: &str| {
            assert!(WHOLE.contains(from), "{from}");
            let described = parse(&WHOLE.replacen(from, to, 1));
            described.and_then(|it| it.jobs().map(|_| ())).expect_err(to).to_string()
        };
        assert!(refusal("repetitions", "repetition").contains("repetition"));
        assert!(refusal("profile = \"quick\"", "out = \"x\"").contains("`out`"));
        assert!(refusal("\"throughput\", ", "\"latency\", ").contains("stands twice"));
        assert!(refusal("\"throughput\", \"latency\"", "").contains("no test"));
        assert!(refusal("repetitions = 2", "repetitions = 0").contains("repetitions"));
        assert!(refusal("repetitions = 2", "repetitions = 4000000").contains("jobs"));
        assert!(refusal("name = \"lab\"", "name = \"router\"").contains("stands twice"));
        assert!(refusal("seed = 7", "seed = \"x\"").contains("seed"));
    }
}
