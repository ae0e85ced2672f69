//! Where a result of the Harvard tests of 1990 belongs in their tables.

use super::{Filters, Mode, Path, SetUp};
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
