//! Where the frames of each trial went, in numbers: what the pictures of the page show.

use super::Table;
use crate::model::Report;
use crate::number::grouped;
use method::TrialRecord;
use trial::{Balance, Fate, Station};

/// One row for each trial: the frames counted at each place, then what became of those that are missing.
pub(super) fn every(report: &Report) -> Table {
    let about = "frames over all ports; -: nobody read that place; unknown: missing, and named by no \
                 counter; besides: more came out than had gone in (copies, answers, frames of others)";
    let mut table = Table::new(
        "Where the frames of every trial went",
        vec![about.into()],
        &[
            "no.",
            "sent",
            "tester's interfaces out",
            "device in",
            "device out",
            "tester's interfaces in",
            "taken in",
            "dropped by the device",
            "not yet out",
            "dropped by the tester",
            "late",
            "unknown",
            "besides",
        ],
    );
    table.rows = report.trials.iter().map(row).collect();
    table
}

fn row(record: &TrialRecord) -> Vec<String> {
    let balance = Balance::of(&record.result);
    let counted = Station::ALL.map(|station| balance.at(station).map_or("-".into(), grouped));
    let fates = [Fate::Dropped, Fate::NotYetOut, Fate::TesterDropped];
    let fates = fates.map(|fate| grouped(balance.frames(fate)));
    let rest = [balance.taken_in.late, balance.unknown(), balance.surplus()].map(grouped);
    let number = [record.number.to_string()];
    number.into_iter().chain(counted).chain(fates).chain(rest).collect()
}
