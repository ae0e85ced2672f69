//! A run folder as rows: every figure with its conditions, its interval, its validity, and where it comes from.

use crate::job::Job;
use crate::short_digest;
use method::outcome::{Basis, Figure, Relation};
use method::{Outcome, RunStarted};
use report::Report;
use report::run_folder::{self, EVENTS, FolderError};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What a run says of its environment, by these names.
const DATE: &str = "date";
const HOST: &str = "host";
const KERNEL: &str = "kernel";
/// Everything of the device begins so.
const OF_DEVICE: &str = "device";

/// A run folder that cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// It cannot be read.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// It has not come to its end: its figures may still become more.
    #[error("{} holds a run that is not complete ({why})", folder.display())]
    Incomplete {
        /// Which.
        folder: PathBuf,
        /// How far it came.
        why: String,
    },
    /// What a history needs is not there.
    #[error("{} does not say {what}", folder.display())]
    Untold {
        /// Which.
        folder: PathBuf,
        /// What is missing.
        what: &'static str,
    },
}

/// Where a run comes from, beside what it says itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Origin {
    /// The campaign and the job.
    pub job: Option<(String, String)>,
    /// Name of the device; that of the run where there is none.
    pub device: Option<String>,
    /// Name of its configuration; empty where it has none.
    pub configuration: String,
    /// Which repetition, from 1.
    pub repetition: u32,
}

impl From<&Job> for Origin {
    fn from(job: &Job) -> Self {
        Origin {
            job: Some((job.campaign.clone(), job.id.clone())),
            device: Some(job.device.clone()),
            configuration: job.configuration.clone(),
            repetition: job.repetition,
        }
    }
}

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunRecord {
    /// BLAKE3 of its events: the run's identity, wherever its folder is.
    pub digest: String,
    /// Of which campaign; `None` for a run that was started by hand.
    pub campaign: Option<String>,
    /// Which job of it.
    pub job: Option<String>,
    /// Which repetition.
    pub repetition: u32,
    /// The device by its name.
    pub device: String,
    /// The device in the words of the run.
    pub device_in_words: String,
    /// How it was set up, by its name.
    pub configuration: String,
    /// Program and version.
    pub program: String,
    /// Which host.
    pub host: String,
    /// Which kernel.
    pub kernel: String,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// The same in seconds since 1970.
    pub started_unix_s: i64,
    /// Digest of the configuration of the methods, less its seed: other digests, other methods.
    pub method_digest: String,
    /// Digest of everything that the run says of the device and its set-up.
    pub device_digest: String,
    /// Everything that the run says of host and device, as JSON.
    pub environment: String,
    /// Where it was read.
    pub folder: String,
    /// What was wrong with its saved events; empty where nothing was.
    pub notices: String,
    /// Every figure, in the order of the tests.
    pub figures: Vec<FigureRecord>,
}

/// A figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureRecord {
    /// Digest of what makes figures of several runs comparable: device, configuration, test, size, conditions,
    /// name and unit.
    pub series: String,
    /// Which test.
    pub test: String,
    /// As it was asked for.
    pub frame_size: String,
    /// Everything else in which it may differ from others of this test, in words.
    pub conditions: String,
    /// Its name.
    pub name: String,
    /// Of its value and bounds.
    pub unit: String,
    /// The number, where there is one.
    pub value: Option<f64>,
    /// What it says of the truth.
    pub relation: String,
    /// The truth is no less.
    pub low: Option<f64>,
    /// The truth is no more.
    pub high: Option<f64>,
    /// Where the bounds come from.
    pub basis: String,
    /// Why the truth is not known better.
    pub reason: String,
    /// Why the tester kept the test from a result; empty where it is valid.
    pub invalid: String,
    /// Where the test departs from its document.
    pub deviations: String,
    /// The medium's maximum.
    pub theoretical_fps: f64,
    /// What the tester reaches by itself, where it was measured.
    pub tester_fps: Option<f64>,
}

impl RunRecord {
    /// Reads a run folder.
    ///
    /// # Errors
    /// If it cannot be read, is not complete, or does not say when and where it was made.
    pub fn read(folder: &Path, origin: &Origin) -> Result<RunRecord, RecordError> {
        let (events, notices) = run_folder::read_events(folder)?;
        let path = folder.join(EVENTS);
        let bytes = std::fs::read(&path).map_err(|error| FolderError::Io {
            action: "read",
            path,
            detail: error.to_string(),
        })?;
        let report = Report::from_events(&events, notices);
        let incomplete =
            |why: &str| RecordError::Incomplete { folder: folder.to_owned(), why: why.into() };
        match report.status() {
            report::Status::Complete => {}
            report::Status::Stopped(why) => return Err(incomplete(why)),
            report::Status::CutOff => return Err(incomplete("cut off, or still running")),
        }
        let untold = |what| RecordError::Untold { folder: folder.to_owned(), what };
        let started = report.started.as_ref().ok_or_else(|| untold("how it began"))?;
        let when = environment(started, DATE).ok_or_else(|| untold("when it began"))?;
        let time: jiff::Timestamp = when.parse().map_err(|_| untold("when it began"))?;
        let device = origin.device.clone().unwrap_or_else(|| started.device.clone());
        let (campaign, job) = origin.job.clone().unzip();
        let of = (&*device, &*origin.configuration);
        let figures = report.outcomes().flat_map(|outcome| {
            outcome.figures.iter().map(move |figure| FigureRecord::of(of, outcome, figure))
        });
        let figures = figures.collect();
        let in_words: Vec<String> = report.notices.iter().map(ToString::to_string).collect();
        let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        Ok(RunRecord {
            digest: blake3::hash(&bytes).to_hex().to_string(),
            campaign,
            job,
            repetition: origin.repetition,
            device_in_words: started.device.clone(),
            configuration: origin.configuration.clone(),
            program: started.program.clone(),
            host: environment(started, HOST).ok_or_else(|| untold("on which host"))?.to_owned(),
            kernel: environment(started, KERNEL)
                .ok_or_else(|| untold("on which kernel"))?
                .to_owned(),
            started: when.to_owned(),
            started_unix_s: time.as_second(),
            method_digest: method_digest(started),
            device_digest: device_digest(started),
            environment: serde_json::to_string(&started.environment).unwrap_or_default(),
            folder: whole.display().to_string(),
            notices: in_words.join("; "),
            device,
            figures,
        })
    }
}

fn environment<'a>(started: &'a RunStarted, name: &str) -> Option<&'a str> {
    started.environment.get(name).map(String::as_str).filter(|text| !text.is_empty())
}

/// Of the methods' configuration; runs that differ in their seed alone are alike.
fn method_digest(started: &RunStarted) -> String {
    let mut config = started.config.clone();
    if let Some(table) = config.as_object_mut() {
        for random in ["seed", "run_key"] {
            table.remove(random);
        }
    }
    short_digest(config.to_string().as_bytes())
}

fn device_digest(started: &RunStarted) -> String {
    let of_device = started.environment.iter().filter(|(name, _)| name.starts_with(OF_DEVICE));
    let mut told = started.device.clone();
    of_device.for_each(|(name, text)| told.push_str(&format!("\n{name}={text}")));
    short_digest(told.as_bytes())
}

/// The name by which a value of these types is saved.
fn word(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().map(str::to_owned).unwrap_or_default()
}

impl FigureRecord {
    fn of((device, configuration): (&str, &str), outcome: &Outcome, figure: &Figure) -> Self {
        let conditions = &outcome.conditions;
        let (relation, basis): (Relation, Basis) = (figure.relation, figure.basis);
        let (test, unit) = (word(&outcome.test), figure.unit.symbol().to_owned());
        let (size, in_words) = (&conditions.frame_size, &conditions.in_words);
        let key = [device, configuration, &test, size, in_words, &figure.name, &unit];
        FigureRecord {
            series: short_digest(serde_json::json!(key).to_string().as_bytes()),
            frame_size: size.clone(),
            conditions: in_words.clone(),
            name: figure.name.clone(),
            // Of an interval no single value is true; its ends are below.
            value: figure.value.filter(|_| relation != Relation::Between),
            relation: word(&relation),
            low: figure.low,
            high: figure.high,
            basis: word(&basis),
            reason: if figure.is_revised() { &figure.revised } else { &figure.reason }.clone(),
            invalid: outcome.invalid.join("; "),
            deviations: conditions.deviations.join("; "),
            theoretical_fps: conditions.theoretical_max.fps(),
            tester_fps: conditions.tester_max.map(|rate| rate.fps()),
            test,
            unit,
        }
    }
}
