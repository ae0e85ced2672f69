//! A run that takes longer than a break begins only when somebody agrees.

use crate::failure::{Failure, Outcome};
use crate::output;
use crate::progress::in_words;
use std::io::IsTerminal;
use units::Duration;

/// Longer runs are told before they begin.
const WITHOUT_ASKING: Duration = Duration::from_secs(600);

/// Asks before a run of `estimate`, unless `yes` answers already. `remedy` names what would shorten this very
/// run, beside what shortens any.
pub fn check(estimate: Duration, yes: bool, remedy: Option<&str>) -> Outcome<()> {
    if estimate <= WITHOUT_ASKING || yes {
        return Ok(());
    }
    let told = format!("this run takes about {}", in_words(estimate));
    if !std::io::stdin().is_terminal() {
        let failure = Failure::new(format!("{told}; no frame was sent"))
            .help("begin it with --yes")
            .help("or choose a shorter one: --profile minutes, --profile quick, fewer --test or --sizes");
        return Err(remedy.into_iter().fold(failure, |failure, remedy| failure.help(remedy)));
    }
    match output::ask(&told) {
        true => Ok(()),
        false => Err(Failure::new("not confirmed; no frame was sent")),
    }
}
