//! The filters of 1990: which traffic a device is told to permit.

use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// How many conditions the device looks at; the last one permits the test stream.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Filters {
    /// None: everything passes.
    #[default]
    None,
    /// "permit traffic from ip address 192.32.100.1 to 192.32.200.1".
    One,
    /// The same behind nine that the test stream does not match: 192.32.100.11 to 192.32.200.11,
    /// and so on up to 19.
    Ten,
}

impl Filters {
    /// In the order of the tables.
    pub const ALL: [Filters; 3] = [Filters::None, Filters::One, Filters::Ten];
    /// Source and destination of the test stream.
    pub const STREAM: (Ipv4Addr, Ipv4Addr) =
        (Ipv4Addr::new(192, 32, 100, 1), Ipv4Addr::new(192, 32, 200, 1));

    /// Source and destination of what is permitted, in the order of the list; everything else is
    /// not. Empty for no filters at all.
    pub fn permitted(self) -> Vec<(Ipv4Addr, Ipv4Addr)> {
        let pair = |n| (Ipv4Addr::new(192, 32, 100, n), Ipv4Addr::new(192, 32, 200, n));
        match self {
            Filters::None => vec![],
            Filters::One => vec![Self::STREAM],
            Filters::Ten => (11..=19).map(pair).chain([Self::STREAM]).collect(),
        }
    }

    /// In words, as on the tables of 1990; empty for none.
    pub const fn in_words(self) -> &'static str {
        match self {
            Filters::None => "",
            Filters::One => "one filter",
            Filters::Ten => "ten filters",
        }
    }

    /// The beginning of a column's name: `1f`, `10f`.
    pub(super) const fn column(self) -> Option<&'static str> {
        match self {
            Filters::None => None,
            Filters::One => Some("1f"),
            Filters::Ten => Some("10f"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_stream_meets_every_condition_and_matches_the_last() {
        for (filters, count) in [(Filters::None, 0), (Filters::One, 1), (Filters::Ten, 10)] {
            let permitted = filters.permitted();
            assert_eq!(permitted.len(), count);
            let at = permitted.iter().position(|pair| *pair == Filters::STREAM);
            assert_eq!(at, count.checked_sub(1));
        }
    }
}
