//! What sections 26.1 and 26.3 ask of the report.

use crate::clauses::{Basis, Ruling};
use crate::outcome::Unit;

pub(super) fn throughput_stated(p: &Basis<'_>) -> Ruling {
    let stated = &p.facts.stated;
    match stated.throughput_in {
        None => Ruling::not_checked("there is no throughput to state"),
        Some(Unit::Fps) => Ruling::met_if(stated.lacks.is_empty(), || {
            format!("not stated beside it: {}", stated.lacks.join(", "))
        }),
        Some(unit) => Ruling::departed(format!("throughput is stated in {}", unit.symbol())),
    }
}

pub(super) fn throughput_graph(p: &Basis<'_>) -> Ruling {
    match p.facts.stated.throughput_in {
        None => Ruling::not_checked("there is no throughput to state"),
        Some(_) => Ruling::met_if(p.facts.stated.has_maximum, || {
            "the medium's maximum does not stand beside it".into()
        }),
    }
}

/// The axes of charts in percent are drawn from 0 to 100.
pub(super) fn loss_graph(p: &Basis<'_>) -> Ruling {
    let Some(graph) = &p.facts.stated.loss_graph else {
        return Ruling::not_checked("no load has a loss to draw");
    };
    let (least, most) = graph.extent;
    let wrong = [
        (!graph.is_of_medium, "the load is not in percent of the medium's maximum".to_owned()),
        (!graph.is_in_percent, "an axis is not in percent".into()),
        (
            least < 0.0 || most > 100.0,
            format!("points from {least} to {most} lie beyond 0 to 100 %"),
        ),
    ];
    let wrong: Vec<String> = wrong.into_iter().filter(|(is, _)| *is).map(|(_, how)| how).collect();
    Ruling::met_if(wrong.is_empty(), || wrong.join("; "))
}
