//! What the Harvard tests have found, and where it belongs in the tables.

use super::{DelayResult, Filters, MaxRateResult, Mode, Path, RawRateResult, SetUp};
use crate::{Conditions, TestKind};
use serde::{Deserialize, Serialize};

/// Which table a result belongs to, and which columns.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Setting {
    /// What the device forwards.
    pub mode: Mode,
    /// Between which ports.
    pub path: Path,
    /// What it permits.
    pub filters: Filters,
    /// Streams at once.
    pub streams: usize,
}

impl Setting {
    /// The heading of its table: "TCP/IP - between interface cards".
    pub fn heading(&self) -> String {
        match self.streams {
            1 => format!("{} - {}", self.mode, self.path),
            _ => format!("Dual IP Streams - {}", self.path),
        }
    }

    /// Name of a column of the tables of 1990, `kind` being `max` or `fld`; of the first stream or
    /// the second, where there are two.
    pub fn column(&self, kind: &str, stream: usize) -> String {
        match self.filters.column() {
            _ if self.streams > 1 => format!("d{}_{kind}", stream + 1),
            Some(filters) => format!("{filters}_{kind}"),
            None => format!("{}_{kind}", self.mode.column()),
        }
    }
}

impl From<&SetUp> for Setting {
    fn from(set_up: &SetUp) -> Self {
        let SetUp { mode, path, filters, streams } = *set_up;
        Setting { mode, path, filters, streams }
    }
}

/// The result of one of the Harvard tests for one frame size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HarvardResult {
    /// Time through the device.
    Delay(DelayResult),
    /// Of one stream, or of two.
    MaxRate(MaxRateResult),
    /// Of one stream, or of two.
    RawRate(RawRateResult),
}

impl HarvardResult {
    /// Which test.
    pub fn kind(&self) -> TestKind {
        let is_dual = |setting: &Setting| setting.streams > 1;
        match self {
            HarvardResult::Delay(_) => TestKind::Delay,
            HarvardResult::MaxRate(result) if is_dual(&result.setting) => TestKind::DualMaxRate,
            HarvardResult::MaxRate(_) => TestKind::MaxRate,
            HarvardResult::RawRate(result) if is_dual(&result.setting) => TestKind::DualStream,
            HarvardResult::RawRate(_) => TestKind::RawRate,
        }
    }
    /// Under which conditions.
    pub fn conditions(&self) -> &Conditions {
        match self {
            HarvardResult::Delay(result) => &result.conditions,
            HarvardResult::MaxRate(result) => &result.conditions,
            HarvardResult::RawRate(result) => &result.conditions,
        }
    }
    /// The same, to put into them what was judged at the end.
    pub(crate) fn conditions_mut(&mut self) -> &mut Conditions {
        match self {
            HarvardResult::Delay(result) => &mut result.conditions,
            HarvardResult::MaxRate(result) => &mut result.conditions,
            HarvardResult::RawRate(result) => &mut result.conditions,
        }
    }
    /// Where it belongs in the tables.
    pub fn setting(&self) -> Setting {
        match self {
            HarvardResult::Delay(result) => result.setting,
            HarvardResult::MaxRate(result) => result.setting,
            HarvardResult::RawRate(result) => result.setting,
        }
    }
}
