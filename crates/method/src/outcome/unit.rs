//! What figures count.

use serde::{Deserialize, Serialize};

/// What a figure counts; serialised as its symbol.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Frames a second.
    Fps,
    /// Frames.
    Frames,
    /// Nanoseconds.
    Ns,
    /// Microseconds, as the tests of 1989 have them.
    Us,
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Hundredths, 0 to 100.
    Percent,
    /// Bytes, FCS included.
    Bytes,
    /// Routes, hosts, filters.
    Entries,
    /// Addresses.
    Addresses,
    /// Addresses a second.
    #[serde(rename = "addresses/s")]
    AddressesPerSecond,
    /// Multicast groups.
    Groups,
    /// A number without a unit.
    Ratio,
    /// Of no figure at all.
    #[serde(rename = "")]
    None,
}

impl Unit {
    /// As columns and files print it.
    pub const fn symbol(self) -> &'static str {
        match self {
            Unit::Fps => "fps",
            Unit::Frames => "frames",
            Unit::Ns => "ns",
            Unit::Us => "us",
            Unit::Seconds => "s",
            Unit::Percent => "percent",
            Unit::Bytes => "bytes",
            Unit::Entries => "entries",
            Unit::Addresses => "addresses",
            Unit::AddressesPerSecond => "addresses/s",
            Unit::Groups => "groups",
            Unit::Ratio => "ratio",
            Unit::None => "",
        }
    }

    /// How many seconds one is, of a time; 1 of anything else.
    pub const fn scale(self) -> f64 {
        match self {
            Unit::Ns => 1e-9,
            Unit::Us => 1e-6,
            _ => 1.0,
        }
    }

    /// Whether values between two whole numbers exist.
    pub const fn is_rate(self) -> bool {
        matches!(self, Unit::Fps | Unit::AddressesPerSecond)
    }
}
