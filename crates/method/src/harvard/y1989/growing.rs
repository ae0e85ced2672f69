//! The search for the size of a table: as many entries as still all work.

use crate::RunError;

/// What came of the search for a table's size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TableSize {
    /// The most entries that all worked; 0 where not even one did.
    pub entries: u64,
    /// Whether one more did not work; otherwise the test went no further.
    pub is_limit: bool,
}

/// Doubles the number of entries until they do not `fit` all, then halves the interval.
pub(super) fn table_size(
    limit: u64,
    mut fits: impl FnMut(u64) -> Result<bool, RunError>,
) -> Result<TableSize, RunError> {
    let (mut lower, mut upper) = (0, None);
    let mut next = 1.min(limit);
    while upper.is_none_or(|upper| upper - lower > 1) && lower < limit {
        match fits(next)? {
            true => lower = next,
            false => upper = Some(next),
        }
        next = match upper {
            Some(upper) => lower + (upper - lower) / 2,
            None => (2 * lower).clamp(1, limit),
        };
    }
    Ok(TableSize { entries: lower, is_limit: upper.is_some() })
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
                Ok(entries <= size)
            });
            let expected = TableSize { entries: size.min(32), is_limit: size < 32 };
            assert_eq!(found.unwrap(), expected, "{size}: {asked:?}");
            assert!(asked.len() <= 12, "{asked:?}");
        }
    }
}
