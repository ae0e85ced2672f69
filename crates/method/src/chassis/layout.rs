//! What the tables of tests of many ports have in common.

use super::{ChassisConditions, Throughput};
use crate::Finding;
use crate::outcome::number::grouped_f64;
use crate::outcome::{Cell, Layout, capitalised};

impl ChassisConditions {
    /// An empty table under test and section, in the layout of RFC 2889 section 5.x.5.
    pub(crate) fn layout(&self, columns: &[&str]) -> Layout {
        let heading = format!("{} ({})", capitalised(&self.test.to_string()), self.test.section());
        let mut about = vec![format!("{}; {}", self.medium(), self.describe())];
        about.extend(self.format_in_words());
        Layout::new(heading, about, columns)
    }

    /// "frame format: ...", where it is known.
    pub(crate) fn format_in_words(&self) -> Option<String> {
        (!self.frame_format.is_empty()).then(|| format!("frame format: {}", self.frame_format))
    }

    /// The medium that theoretical maxima are computed from.
    pub(crate) fn medium(&self) -> String {
        match self.line_rate_is_physical {
            true => format!("Ethernet at {}", self.line_rate),
            false => format!("virtual Ethernet, nominally {}", self.line_rate),
        }
    }

    /// The frame size as its table's first cell.
    pub(crate) fn size(&self) -> Cell {
        self.frame_size.to_string().into()
    }
}

impl Throughput {
    /// The load in percent of the medium, as a bound where it is one.
    pub(crate) fn load_cell(&self) -> Cell {
        let percent = |value| Cell::number(value, 2);
        match (&self.finding, self.load_percent) {
            (Finding::Invalid { .. }, _) => "invalid".into(),
            (Finding::AtLeast { .. }, Some(load)) => percent(load).at_least_if(true),
            (Finding::Between { .. }, Some(load)) => {
                let upper = self.upper_percent.map_or_else(|| "".into(), percent);
                Cell::Between(Box::new(percent(load)), Box::new(upper))
            }
            (_, Some(load)) => percent(load),
            (_, None) => "none".into(),
        }
    }

    /// The same as a rate of each sending port.
    pub(crate) fn rate_cell(&self) -> Cell {
        let is_bound = matches!(self.finding, Finding::AtLeast { .. });
        Cell::optional(self.rate, |rate| Cell::Fps(rate).at_least_if(is_bound))
    }
}

/// Percent with two decimals, for sentences.
pub(crate) fn percent(value: f64) -> String {
    grouped_f64(value, 2)
}
