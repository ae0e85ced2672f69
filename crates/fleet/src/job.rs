//! One job of a campaign: one test of one device at one frame size, once.

use crate::description::Needs;
use crate::short_digest;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use toml::{Table, Value};

/// Grows when the same job would get another identity.
const IDENTITY_VERSION: u32 = 1;

/// A job.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Job {
    /// By which it is known wherever it runs: 16 hexadecimal digits, of everything here that says what is measured.
    pub id: String,
    /// Of which campaign.
    pub campaign: String,
    /// The device by its name in the description.
    pub device: String,
    /// The configuration by its name.
    pub configuration: String,
    /// Which test.
    pub test: String,
    /// Which frame size.
    pub size: String,
    /// Which repetition, from 1.
    pub repetition: u32,
    /// Whether it runs in virtual time, so that it may share its processors.
    pub is_simulated: bool,
    /// Options of the run, test and size among them.
    pub options: Table,
    /// What it needs of the place where it runs.
    pub needs: Needs,
    /// It has failed when it takes longer.
    pub timeout_s: u64,
    /// How often it is tried again.
    pub retries: u32,
}

impl Job {
    /// Of what is measured, and of nothing that says how the job is run: no timeout, no retries, no needs.
    pub(crate) fn identity(&self, base: &Path) -> String {
        let sim = self.options.get("sim").and_then(Value::as_str);
        let device_file = sim.and_then(|sim| std::fs::read(base.join(sim)).ok());
        let told = serde_json::json!({
            "version": IDENTITY_VERSION,
            "campaign": self.campaign,
            "device": self.device,
            "configuration": self.configuration,
            "test": self.test,
            "size": self.size,
            "repetition": self.repetition,
            "options": sorted(&Value::Table(self.options.clone())),
            "device_file": device_file.map(|bytes| short_digest(&bytes)),
        });
        short_digest(told.to_string().as_bytes())
    }

    /// Its configuration file.
    pub fn config(&self) -> String {
        self.options.to_string()
    }

    /// In words, for progress and errors.
    pub fn in_words(&self) -> String {
        let Job { device, configuration, test, size, repetition, .. } = self;
        format!("{device}, {configuration}: {test}, {size} bytes, repetition {repetition}")
    }
}

/// As JSON with the keys of tables in order, whatever features the TOML library was built with.
fn sorted(value: &Value) -> serde_json::Value {
    match value {
        Value::Table(table) => {
            let sorted: BTreeMap<&String, _> =
                table.iter().map(|(key, value)| (key, sorted(value))).collect();
            serde_json::json!(sorted)
        }
        Value::Array(values) => values.iter().map(sorted).collect(),
        Value::String(text) => text.as_str().into(),
        Value::Integer(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::Boolean(is_true) => (*is_true).into(),
        Value::Datetime(time) => time.to_string().into(),
    }
}
