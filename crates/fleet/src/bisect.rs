//! Which of an ordered list of configurations is the first bad one, with a judge that may be unsure.

use serde::Serialize;

/// What a judge says of a configuration beside the first one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// As good as the first.
    Good,
    /// Worse than the first.
    Bad,
    /// The judge cannot tell.
    Unsure,
}

/// What a search came to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "found", rename_all = "snake_case")]
pub enum Found {
    /// The change lies between these neighbours.
    First {
        /// The last good one.
        good: usize,
        /// The first bad one.
        bad: usize,
    },
    /// It lies after the good one and not after the bad one; of those between, the judge was unsure.
    Between {
        /// The last good one.
        good: usize,
        /// The first one known to be bad.
        bad: usize,
    },
    /// The last configuration is as good as the first.
    NoDifference,
    /// The judge could not tell the last one from the first.
    Undecided,
}

/// Searches `count` configurations, of which the first is good. `judge` is asked once of each at most; one of
/// which it is unsure is passed over, as `git bisect skip` does.
///
/// # Errors
/// Those of the judge.
pub fn search<E>(
    count: usize,
    mut judge: impl FnMut(usize) -> Result<Verdict, E>,
) -> Result<Found, E> {
    let (mut good, mut bad) = (0, count.saturating_sub(1));
    match if bad == 0 { Verdict::Good } else { judge(bad)? } {
        Verdict::Good => return Ok(Found::NoDifference),
        Verdict::Unsure => return Ok(Found::Undecided),
        Verdict::Bad => {}
    }
    let mut unsure: Vec<usize> = vec![];
    loop {
        let middle = good + (bad - good) / 2;
        let open = (good + 1..bad).filter(|at| !unsure.contains(at));
        let Some(next) = open.min_by_key(|at| at.abs_diff(middle)) else {
            return Ok(match bad - good {
                1 => Found::First { good, bad },
                _ => Found::Between { good, bad },
            });
        };
        match judge(next)? {
            Verdict::Good => good = next,
            Verdict::Bad => bad = next,
            Verdict::Unsure => unsure.push(next),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn searched(count: usize, first_bad: usize, unsure: &[usize]) -> (Found, usize) {
        let mut asked = 0;
        let found = search(count, |at| -> Result<_, ()> {
            asked += 1;
            Ok(match at {
                at if unsure.contains(&at) => Verdict::Unsure,
                at if at < first_bad => Verdict::Good,
                _ => Verdict::Bad,
            })
        });
        (found.unwrap(), asked)
    }

    #[test]
    fn every_first_bad_one_is_found_in_as_few_steps_as_it_takes() {
        for count in 2..70 {
            for first in 1..count {
                let (found, asked) = searched(count, first, &[]);
                assert_eq!(found, Found::First { good: first - 1, bad: first });
                // The last one, then log2 of the others.
                let most = 1 + (count as f64 - 1.0).log2().ceil() as usize;
                assert!(asked <= most, "{count} {first}: {asked} of {most}");
            }
            assert_eq!(searched(count, count, &[]), (Found::NoDifference, 1));
        }
    }

    #[test]
    fn one_that_nobody_can_judge_widens_the_answer_and_never_makes_it_wrong() {
        assert_eq!(searched(9, 4, &[4]).0, Found::Between { good: 3, bad: 5 });
        assert_eq!(searched(9, 4, &[5, 6]).0, Found::First { good: 3, bad: 4 });
        assert_eq!(searched(3, 2, &[1]).0, Found::Between { good: 0, bad: 2 });
        assert_eq!(searched(9, 4, &[8]).0, Found::Undecided);
        for unsure in 1..8 {
            for first in 1..8 {
                let (Found::First { good, bad } | Found::Between { good, bad }) =
                    searched(9, first, &[unsure]).0
                else {
                    panic!("nothing found")
                };
                assert!(good < first && first <= bad, "{first} {unsure}");
            }
        }
    }

    #[test]
    fn a_list_of_one_has_no_difference() {
        assert_eq!(searched(1, 1, &[]), (Found::NoDifference, 0));
    }
}
