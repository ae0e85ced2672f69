//! Bars in groups: a picture of numbers that a document has for each of several things, with what was measured
//! beside.

use super::Cell;
use serde::{Deserialize, Serialize};

/// A picture of bars from zero. Pictures of several outcomes that have the same title are one: each adds its groups.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Bars {
    /// Which picture of which document, and what it shows.
    pub chart: String,
    /// What the groups differ in, with the unit.
    pub grouped_by: String,
    /// Title of the axis of values, which names the unit; and the unit of every value.
    pub quantity: (String, String),
    /// Who published which of them where, and how the others were measured.
    pub source: String,
    /// In the order of the document.
    pub groups: Vec<BarGroup>,
}

/// Bars of one thing.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BarGroup {
    /// Which: a number of ports, a packet size.
    pub label: String,
    /// In the order in which they are drawn.
    pub bars: Vec<Bar>,
}

/// One value.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Bar {
    /// Of what. Bars of several groups that have the same name are drawn alike.
    pub name: String,
    /// Who says so.
    pub origin: Origin,
    /// The value as it is printed; words where there is none, which say why.
    pub value: Cell,
}

/// Where the value of a bar comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A document states it.
    Published,
    /// This run measured it.
    Measured,
}

impl Origin {
    /// As a legend says it.
    pub fn in_words(self) -> &'static str {
        match self {
            Origin::Published => "published",
            Origin::Measured => "measured here",
        }
    }
}

impl Bar {
    /// What was published, and what was measured of the same thing.
    pub fn pair(name: &str, published: Cell, measured: Cell) -> [Bar; 2] {
        let bar = |origin, value| Bar { name: name.into(), origin, value };
        [bar(Origin::Published, published), bar(Origin::Measured, measured)]
    }
}

impl Bars {
    /// A picture without bars yet.
    pub fn new(
        chart: impl Into<String>,
        grouped_by: &str,
        (quantity, unit): (&str, &str),
        source: impl Into<String>,
    ) -> Bars {
        Bars {
            chart: chart.into(),
            grouped_by: grouped_by.into(),
            quantity: (quantity.into(), unit.into()),
            source: source.into(),
            groups: vec![],
        }
    }

    /// With one group more, each pair a published and a measured value.
    pub fn group(
        mut self,
        label: impl Into<String>,
        pairs: impl IntoIterator<Item = [Bar; 2]>,
    ) -> Bars {
        let bars = pairs.into_iter().flatten().collect();
        self.groups.push(BarGroup { label: label.into(), bars });
        self
    }

    /// Every bar, group by group.
    pub fn bars(&self) -> impl Iterator<Item = &Bar> {
        self.groups.iter().flat_map(|group| &group.bars)
    }
}
