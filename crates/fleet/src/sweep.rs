//! A sweep: thousands of simulated devices, each drawn at random from one description.
//!
//! What is drawn for a device depends on the seed, its number and the key alone: neither on the order in which devices
//! are run nor on how many processors there are.

use crate::description::{DescriptionError, impossible};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use toml::{Table, Value};

/// Devices at most.
const DEVICES_MAX: u64 = 10_000_000;
/// What a sweep says itself.
const OURS: [&str; 8] =
    ["out", "test", "sizes", "sim", "device", "ports", "skip-selftest", "fresh-selftest"];

/// A sweep.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Sweep {
    /// By which its results are known.
    pub name: String,
    /// How many.
    pub devices: u64,
    /// Of everything that is drawn.
    #[serde(default)]
    pub seed: u64,
    /// Tests of every device.
    pub tests: Vec<String>,
    /// Frame sizes: bytes, or the name of a mix.
    pub sizes: Vec<Value>,
    /// Options of every run, by their names in a configuration file.
    #[serde(default)]
    pub options: Table,
    /// What all devices have, as in a file of `--sim`.
    pub device: Table,
    /// What is drawn for each, by the dotted key of the description.
    pub vary: BTreeMap<String, Range>,
    /// Of the text that it was read from.
    #[serde(skip)]
    pub digest: String,
}

/// From what a value is drawn.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Range {
    /// One of these.
    Choices(Vec<Value>),
    /// Between two numbers, or two texts of a number and the same unit (`"2us"`, `"50us"`).
    Between(Between),
}

/// Two ends, both included.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Between {
    /// The least.
    pub from: Value,
    /// The most.
    pub to: Value,
    /// How values are spread.
    #[serde(default)]
    pub scale: Scale,
}

/// How values are spread between two ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Evenly.
    #[default]
    Linear,
    /// Their logarithms evenly.
    Log,
}

/// A number with its unit.
struct Quantity {
    number: f64,
    unit: String,
    is_whole: bool,
}

impl Quantity {
    fn of(value: &Value) -> Option<Quantity> {
        let (number, unit, is_whole) = match value {
            Value::Integer(number) => (*number as f64, String::new(), true),
            Value::Float(number) => (*number, String::new(), false),
            Value::String(text) => {
                let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
                (text[..end].parse().ok()?, text[end..].to_owned(), false)
            }
            _ => return None,
        };
        (number.is_finite() && number >= 0.0).then_some(Quantity { number, unit, is_whole })
    }
}

impl Between {
    /// The value at this share, 0 to 1, of the way.
    fn at(&self, share: f64) -> Option<Value> {
        let (from, to) = (Quantity::of(&self.from)?, Quantity::of(&self.to)?);
        if from.unit != to.unit || from.number > to.number || from.is_whole != to.is_whole {
            return None;
        }
        let number = match self.scale {
            Scale::Linear if from.is_whole => {
                // Each whole number is as likely as any other.
                (from.number + (share * (to.number - from.number + 1.0)).floor()).min(to.number)
            }
            Scale::Linear => from.number + share * (to.number - from.number),
            Scale::Log if from.number <= 0.0 => return None,
            Scale::Log => from.number * (to.number / from.number).powf(share),
        };
        Some(match (from.is_whole, from.unit.is_empty()) {
            (true, _) => Value::Integer(number.round() as i64),
            (false, true) => Value::Float(number),
            // As many places as keep neighbours apart, and no more than a picosecond needs.
            (false, false) => Value::String(format!("{}{}", short(number), from.unit)),
        })
    }
}

/// Six significant digits.
fn short(number: f64) -> String {
    let digits = 5 - number.abs().max(1e-9).log10().floor() as i32;
    let text = format!("{number:.*}", digits.clamp(0, 9) as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

impl Sweep {
    /// Reads a sweep.
    ///
    /// # Errors
    /// If it cannot be read, is malformed, or impossible.
    pub fn read(file: &Path) -> Result<Sweep, DescriptionError> {
        let text = std::fs::read_to_string(file).map_err(|error| DescriptionError::Unreadable {
            file: file.to_owned(),
            detail: error.to_string(),
        })?;
        Sweep::parse(&text).map_err(|error| match error {
            DescriptionError::Malformed(why) => {
                DescriptionError::Malformed(format!("{}: {why}", file.display()))
            }
            other => other,
        })
    }

    /// Reads its text.
    ///
    /// # Errors
    /// If it is malformed or impossible.
    pub fn parse(text: &str) -> Result<Sweep, DescriptionError> {
        let parsed: Sweep =
            toml::from_str(text).map_err(|error| DescriptionError::Malformed(error.to_string()))?;
        parsed.check()?;
        Ok(Sweep { digest: crate::short_digest(text.as_bytes()), ..parsed })
    }

    fn check(&self) -> Result<(), DescriptionError> {
        if self.devices == 0 || self.devices > DEVICES_MAX {
            let help = format!("write 1 to {DEVICES_MAX}");
            return Err(impossible(format!("`devices = {}`", self.devices), help));
        }
        if self.tests.is_empty() || self.sizes.is_empty() {
            return Err(impossible("no test, or no size", "name one of each or more"));
        }
        if let Some(key) = OURS.iter().find(|key| self.options.contains_key(**key)) {
            return Err(impossible(
                format!("`{key}` stands among the options"),
                "remove it: a sweep has `tests`, `sizes` and simulated devices, whose tester is known",
            ));
        }
        for (key, range) in &self.vary {
            let is_possible = match range {
                Range::Choices(values) => !values.is_empty(),
                Range::Between(between) => between.at(0.0).is_some(),
            };
            if !is_possible {
                return Err(impossible(
                    format!("nothing can be drawn for `{key}`"),
                    "write a list, or `from` and `to`: numbers of 0 or more, or texts of a number and the same \
                     unit, the smaller first; a logarithmic scale begins above 0",
                ));
            }
        }
        Ok(())
    }

    /// What is drawn for a device, by key.
    pub fn drawn(&self, device: u64) -> BTreeMap<String, Value> {
        let value = |(key, range): (&String, &Range)| {
            let share = share(self.seed, device, key);
            let value = match range {
                Range::Choices(values) => {
                    let index = (share * values.len() as f64) as usize;
                    values.get(index.min(values.len() - 1)).cloned()
                }
                Range::Between(between) => between.at(share),
            };
            (key.clone(), value.expect("checked"))
        };
        self.vary.iter().map(value).collect()
    }

    /// The whole description of a device.
    ///
    /// # Errors
    /// If a key stands below one that is no section.
    pub fn device(&self, device: u64) -> Result<Table, DescriptionError> {
        let mut whole = self.device.clone();
        for (key, value) in self.drawn(device) {
            insert(&mut whole, &key, value).ok_or_else(|| {
                impossible(format!("`{key}` is no key"), "docs/devices.md lists all")
            })?;
        }
        Ok(whole)
    }

    /// Options of every run.
    pub fn options(&self) -> Table {
        let mut options = self.options.clone();
        let tests = self.tests.iter().map(|test| test.as_str().into()).collect();
        options.insert("test".into(), Value::Array(tests));
        options.insert("sizes".into(), Value::Array(self.sizes.clone()));
        options
    }
}

fn insert(table: &mut Table, key: &str, value: Value) -> Option<()> {
    match key.split_once('.') {
        None => {
            table.insert(key.to_owned(), value);
        }
        Some((section, rest)) => {
            let inner = table.entry(section).or_insert_with(|| Value::Table(Table::new()));
            insert(inner.as_table_mut()?, rest, value)?;
        }
    }
    Some(())
}

/// From 0, below 1: 53 bits of a digest.
fn share(seed: u64, device: u64, key: &str) -> f64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes()).update(&device.to_le_bytes()).update(key.as_bytes());
    let bytes: [u8; 8] = hasher.finalize().as_bytes()[..8].try_into().expect("8 bytes");
    (u64::from_le_bytes(bytes) >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"
        name = "routers"
        devices = 1000
        tests = ["throughput"]
        sizes = [64]
        [device]
        route = ["ipv4"]
        [vary]
        "cpu.cost.per-frame" = { from = "2us", to = "50us", scale = "log" }
        "input.frames" = { from = 10, to = 12 }
        delay = ["0s", "1ms"]
    "#;

    #[test]
    fn a_device_depends_on_its_number_and_the_seed_alone() {
        let sweep = Sweep::parse(WHOLE).unwrap();
        assert_eq!(sweep.device(7).unwrap(), sweep.device(7).unwrap());
        assert_ne!(sweep.device(7).unwrap(), sweep.device(8).unwrap());
        let seeded = Sweep::parse(&WHOLE.replace("devices", "seed = 1\ndevices")).unwrap();
        assert_ne!(sweep.device(7).unwrap(), seeded.device(7).unwrap());
        // What else is drawn does not alter it.
        let fewer = Sweep::parse(&WHOLE.replace("delay = [", "propagation = [")).unwrap();
        assert_eq!(fewer.drawn(7)["input.frames"], sweep.drawn(7)["input.frames"]);
    }

    #[test]
    fn values_fill_their_range_and_nothing_beyond_it() {
        let sweep = Sweep::parse(WHOLE).unwrap();
        let (mut below_10us, mut frames, mut delays) = (0, [0; 3], [0; 2]);
        for device in 0..1000 {
            let drawn = sweep.drawn(device);
            let text = drawn["cpu.cost.per-frame"].as_str().unwrap();
            let us: f64 = text.strip_suffix("us").unwrap().parse().unwrap();
            assert!((2.0..=50.0).contains(&us), "{us}");
            below_10us += u32::from(us < 10.0);
            frames[drawn["input.frames"].as_integer().unwrap() as usize - 10] += 1;
            delays[usize::from(drawn["delay"].as_str() == Some("1ms"))] += 1;
        }
        // Evenly in the logarithm: ln 5 / ln 25 is a half. Six standard deviations of 1,000 throws are 95.
        assert!((405..=595).contains(&below_10us), "{below_10us}");
        assert!(frames.iter().all(|count| (244..=423).contains(count)), "{frames:?}");
        assert!(delays.iter().all(|count| (405..=595).contains(count)), "{delays:?}");
    }

    #[test]
    fn a_drawn_value_has_its_place_in_the_description() {
        let table = Sweep::parse(WHOLE).unwrap().device(0).unwrap();
        assert!(table["cpu"]["cost"]["per-frame"].as_str().unwrap().ends_with("us"));
        assert_eq!(table["route"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn nothing_is_passed_over() {
        let refusal = |from: &str, to: &str| {
            assert!(WHOLE.contains(from), "{from}");
            Sweep::parse(&WHOLE.replacen(from, to, 1)).expect_err(to).to_string()
        };
        assert!(refusal("devices = 1000", "devices = 0").contains("devices"));
        assert!(refusal("devices", "device-count").contains("device-count"));
        assert!(refusal("\"50us\"", "\"50ms\"").contains("cpu.cost.per-frame"));
        assert!(refusal("from = \"2us\"", "from = \"0us\"").contains("cpu.cost.per-frame"));
        assert!(refusal("from = 10", "from = 20").contains("input.frames"));
        assert!(refusal("from = 10", "from = 1.5").contains("input.frames"));
        assert!(refusal("[\"0s\", \"1ms\"]", "[]").contains("delay"));
        assert!(refusal("[device]", "[options]\nsim = \"x\"\n[device]").contains("`sim`"));
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!((short(2.0), short(1.234_567_89)), ("2".into(), "1.23457".into()));
        assert_eq!((short(123_456_789.0), short(0.001)), ("123456789".into(), "0.001".into()));
    }
}
