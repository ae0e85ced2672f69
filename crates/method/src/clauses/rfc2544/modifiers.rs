//! What section 11 asks of frames that take the place of test frames, and of filters, by what left and what the
//! device carried.

use crate::clauses::{Basis, Ruling};

fn none_mixed_in(what: &str) -> Ruling {
    Ruling::not_applicable(format!("no {what} are mixed in"))
}

pub(super) fn broadcast(p: &Basis<'_>) -> Ruling {
    match &p.facts.evidence.broadcast {
        None => none_mixed_in("broadcast frames"),
        Some(share) if share.frames == 0 => {
            Ruling::not_checked("every trial has fewer than 100 frames of a port")
        }
        Some(share) => Ruling::met_if(share.off == 0, || {
            format!("{:.3} % of the frames are broadcast instead of 1 %", share.percent())
        }),
    }
}

pub(super) fn queries(p: &Basis<'_>) -> Ruling {
    match &p.facts.evidence.management {
        None => none_mixed_in("management frames"),
        Some(queries) => Ruling::met_if(queries.sent >= queries.due, || {
            format!("{} queries in {} s", queries.sent, queries.due)
        }),
    }
}

pub(super) fn answers(p: &Basis<'_>) -> Ruling {
    let Some(queries) = &p.facts.evidence.management else {
        return none_mixed_in("management frames");
    };
    match queries.answered {
        None => Ruling::not_checked("these ports do not look for answers"),
        Some(0) => Ruling::not_possible("nobody answers: the device has no agent at this address"),
        Some(answered) => Ruling::met_if(answered >= queries.sent, || {
            format!("it answered {answered} of {}", queries.sent)
        }),
    }
}

pub(super) fn updates(p: &Basis<'_>) -> Ruling {
    match &p.facts.evidence.routing_updates {
        None => none_mixed_in("routing update frames"),
        Some(updates) => Ruling::met_if(updates.sent >= updates.due, || {
            format!("{} updates instead of {}", updates.sent, updates.due)
        }),
    }
}

/// Trials of a search may be too short for both (section 24); all of a result's are not.
pub(super) fn states(p: &Basis<'_>) -> Ruling {
    match &p.facts.evidence.routing_updates {
        None => none_mixed_in("routing update frames"),
        Some(updates) => Ruling::met_if(updates.of_one_state < updates.streams, || {
            format!(
                "{} of {} streams are so short that they have one update, of state A",
                updates.of_one_state, updates.streams
            )
        }),
    }
}

pub(super) fn filters(p: &Basis<'_>, rules: u32) -> Ruling {
    let here = p.facts.filter_rules;
    Ruling::met_if(here == rules, || match here {
        0 => "no filter is known of".into(),
        _ => format!("a filter of {here} rules"),
    })
}

pub(super) fn filter_rules(p: &Basis<'_>) -> Ruling {
    match p.facts.filter_rules {
        0 => Ruling::not_applicable("no filter is known of"),
        1 | 25 => Ruling::met(),
        rules => Ruling::departed(format!("a filter of {rules} rules instead of 1 or 25")),
    }
}
