//! The search for the size of a table: as many entries as still all work.

use super::result::{Harvard1989Result, Unit};
use super::scene::all_sent;
use crate::FigureName;
use crate::RunError;
use crate::bench::Ran;

/// Whether so many entries all work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fit {
    /// They do.
    All,
    /// They do not.
    NotAll,
    /// The tester could not tell.
    Undecided,
}

impl Fit {
    /// Of a trial with a frame to each entry. What came out came out, however late it was sent;
    /// what did not may be the tester's fault where it did not keep up.
    pub(super) fn of(ran: &Ran, entries: u64) -> Fit {
        let decides = ran.result.is_valid() && all_sent(&ran.result);
        match (ran.result.forwarded_frames() == entries, decides) {
            (true, _) => Fit::All,
            (false, true) => Fit::NotAll,
            (false, false) => Fit::Undecided,
        }
    }
}

/// What came of the search for a table's size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TableSize {
    /// The most entries that all worked; 0 where not even one did.
    pub entries: u64,
    /// Why no more of them did: `NotAll` where one more did not work, `All` where the test went no
    /// further.
    pub beyond: Fit,
}

impl TableSize {
    /// Puts it among the figures.
    pub(super) fn put(self, result: &mut Harvard1989Result, name: &str) {
        let entries = self.entries as f64;
        match self.beyond {
            Fit::NotAll => {
                result.put(name, entries, Unit::Entries);
                result.failed_at(entries + 1.0);
            }
            Fit::All => result.put_at_least(name, entries, Unit::Entries),
            Fit::Undecided => {
                result.put_at_least(name, entries, Unit::Entries);
                result.note("the tester did not keep up with trials of more: they decide nothing");
            }
        }
        result.call_last(FigureName::Entries);
    }
}

/// Doubles the number of entries until they do not `fit` all, then halves the interval. A number is held
/// against the device only when it failed twice: a frame may be lost once for other reasons.
pub(super) fn table_size(
    limit: u64,
    mut fits: impl FnMut(u64) -> Result<Fit, RunError>,
) -> Result<TableSize, RunError> {
    let mut fits = |entries| match fits(entries)? {
        Fit::All => Ok(Fit::All),
        _ => fits(entries),
    };
    let (mut lower, mut upper) = (0, None);
    let mut next = 1.min(limit);
    while upper.is_none_or(|upper| upper - lower > 1) && lower < limit {
        match fits(next)? {
            Fit::All => lower = next,
            Fit::NotAll => upper = Some(next),
            Fit::Undecided => {
                return Ok(TableSize { entries: lower, beyond: Fit::Undecided });
            }
        }
        next = match upper {
            Some(upper) => lower + (upper - lower) / 2,
            None => (2 * lower).clamp(1, limit),
        };
    }
    let beyond = if upper.is_some() { Fit::NotAll } else { Fit::All };
    Ok(TableSize { entries: lower, beyond })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_is_found_exactly() {
        for size in 0..=40 {
            let mut asked = vec![];
            let found = table_size(32, |entries| {
                asked.push(entries);
                Ok(if entries <= size { Fit::All } else { Fit::NotAll })
            });
            let beyond = if size < 32 { Fit::NotAll } else { Fit::All };
            let expected = TableSize { entries: size.min(32), beyond };
            assert_eq!(found.unwrap(), expected, "{size}: {asked:?}");
            assert!(asked.len() <= 18, "{asked:?}");
        }
    }

    #[test]
    fn a_failure_that_does_not_repeat_is_none() {
        let mut failed_once = std::collections::BTreeSet::new();
        let found = table_size(32, |entries| {
            let fails = entries > 20 || failed_once.insert(entries);
            Ok(if fails { Fit::NotAll } else { Fit::All })
        });
        assert_eq!(found.unwrap(), TableSize { entries: 20, beyond: Fit::NotAll });
    }

    #[test]
    fn what_the_tester_cannot_tell_ends_the_search() {
        let found =
            table_size(32, |entries| Ok(if entries <= 5 { Fit::All } else { Fit::Undecided }));
        assert_eq!(found.unwrap(), TableSize { entries: 4, beyond: Fit::Undecided });
    }
}
