//! How steadily a tester gets its processors: a thread spins on each of them for a second, at the
//! priority of a run, and measures its absences.

use super::Check;
use ports::scheduling::Priority;
use ports::witness::{Absences, watch_cores};
use serde_json::json;
use units::Duration;

/// Time for which the processors are watched.
const WATCHED: Duration = Duration::from_ms(1_000);
/// With a larger share of absence the offered load falls short by more than the resolution of any
/// search.
const AWAY_SHARE: f64 = 0.01;
/// The absence that a queue of 256 frames, as in a small device, bridges at 100,000 frames/s.
const LONG: Duration = Duration::from_us(2_560);
/// Queue lengths of a small device, and of a device built here, in frames.
const QUEUES: [u32; 2] = [256, 16_384];

const MEND: &str =
    "stop other programs (`top` lists them), or use a machine with more cores of its own";

/// One check per processor, and one of the frame rates that follow from them.
pub fn examine() -> Vec<Check> {
    let priority = Priority::raise();
    let watched = watch_cores(WATCHED);
    drop(priority);
    match watched {
        Ok(cores) => cores.iter().map(of_core).chain(rates(&cores)).collect(),
        Err(error) => vec![Check::warn("absences", error.to_string(), "run netanvil as root")],
    }
}

fn of_core(absences: &Absences) -> Check {
    let quantile = |percent| absences.lengths.percentile(percent).unwrap_or(Duration::ZERO);
    let found = match absences.lengths.count() {
        0 => format!("processor {}: no absence in {}", absences.core, absences.watched),
        count => format!(
            "processor {}: away for {:.2} % of {}, {count} times; absences: median {}, 99 % up to {}, \
             longest {}",
            absences.core,
            absences.share() * 100.0,
            absences.watched,
            quantile(50.0),
            quantile(99.0),
            absences.longest()
        ),
    };
    let measured = json!({
        "processor": absences.core,
        "watched_ns": absences.watched.as_ns(),
        "away_ns": absences.away.as_ns(),
        "absences": absences.lengths.count(),
        "p50_ns": quantile(50.0).as_ns(),
        "p99_ns": quantile(99.0).as_ns(),
        "longest_ns": absences.longest().as_ns(),
    });
    let is_quiet = absences.share() <= AWAY_SHARE && absences.longest() <= LONG;
    let check = match is_quiet {
        true => Check::ok("absences", found),
        false => Check::warn("absences", found, MEND),
    };
    Check { measured: Some(measured), ..check }
}

/// Frame rates that can be measured, from the processor with the longest absence.
fn rates(cores: &[Absences]) -> Option<Check> {
    let worst = cores.iter().max_by_key(|absences| absences.longest())?;
    let share = cores.iter().map(Absences::share).fold(0.0, f64::max);
    let rate = |queue: u32| worst.rate_within(queue).map(|rate| rate.fps().floor());
    let in_words = |queue: u32| match rate(queue) {
        Some(fps) => format!("{fps:.0} frames/s with a device queue of {queue} frames"),
        None => format!("any rate with a device queue of {queue} frames"),
    };
    let found = format!(
        "the longest absence loses no frame up to {}, or {}; best resolution of a rate: {:.2} %",
        in_words(QUEUES[0]),
        in_words(QUEUES[1]),
        share * 100.0
    );
    let by_queue = QUEUES.map(|queue| json!({ "queue_frames": queue, "fps": rate(queue) }));
    let measured = json!({ "away_share": share, "rate_by_queue": by_queue });
    Some(Check { measured: Some(measured), ..Check::ok("rates to decide", found) })
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;
    use trial::Histogram;

    /// A second with this number of absences of this length.
    fn absences(core: usize, count: u64, length: Duration) -> Absences {
        let mut lengths = Histogram::new(Duration::from_ns(1));
        (0..count).for_each(|_| lengths.record(length.as_ns()));
        let away = Duration::from_ns(count * length.as_ns());
        Absences { core, watched: Duration::from_ms(1_000), lengths, away }
    }

    #[test]
    fn a_core_that_is_taken_away_is_a_shortfall_with_its_figures() {
        let quiet = of_core(&absences(0, 10, Duration::from_us(100)));
        assert_eq!(quiet.state, State::Ok);
        let busy = of_core(&absences(1, 20, Duration::from_ms(4)));
        assert_eq!(busy.state, State::Warn);
        assert!(busy.found.contains("away for 8.00 % of 1 s, 20 times"), "{}", busy.found);
        let measured = busy.measured.expect("figures");
        assert_eq!(measured["away_ns"], 80_000_000);
        assert_eq!(measured["longest_ns"], 4_000_000);
    }

    /// 256 frames in 4 ms are 64,000 a second.
    #[test]
    fn the_worst_core_bounds_the_rates() {
        let cores = [absences(0, 1, Duration::from_us(100)), absences(1, 20, Duration::from_ms(4))];
        let check = rates(&cores).expect("cores");
        assert!(
            check.found.contains("64000 frames/s with a device queue of 256"),
            "{}",
            check.found
        );
        assert!(check.found.contains("best resolution of a rate: 8.00 %"), "{}", check.found);
        let measured = check.measured.expect("figures");
        assert_eq!(measured["rate_by_queue"][1]["fps"], 4_096_000.0);
    }
}
