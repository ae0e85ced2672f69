//! The results as Markdown.

use crate::bench::{Load, One, Point, name_of};
use crate::device::{DEPTHS, HEADROOM};
use crate::{Options, Result};
use std::fmt::Write as _;

/// When, on what and how it was measured.
pub fn head(options: &Options, priority: &str) -> Result<String> {
    let read = |path: &str| std::fs::read_to_string(path);
    let cpuinfo = read("/proc/cpuinfo")?;
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let busy = match options.load {
        Load::Idle => "idle machine",
        Load::Busy => "a program spins on each processor",
    };
    Ok(format!(
        "{}, Linux {}, {} processors ({}); {} port, {busy}; scheduling: {priority}; {} trials of {} ms \
         each; devices served at {HEADROOM} x the intended rate",
        jiff::Zoned::now().strftime("%Y-%m-%d %H:%M %:z"),
        read("/proc/sys/kernel/osrelease")?.trim(),
        std::thread::available_parallelism()?,
        model.map_or("unknown", |(_, name)| name.trim()),
        name_of(options.port_type),
        options.trials,
        options.trial_ms,
    ))
}

/// A row for each rate and credit.
pub fn of(points: &[Point]) -> String {
    let mut text = String::from(
        "| intended fps | credit | frames | offered, median (least) | lateness p99, max | slipped | \
         trials with loss, queue of 16, 64, 256, 1024 | the same by stamps |\n\
         |--:|--:|--:|--:|--:|--:|:--|:--|\n",
    );
    for point in points {
        let of = |value: fn(&One) -> f64| point.trials.iter().map(value).collect::<Vec<f64>>();
        let offered = of(|one| one.offered_fps);
        let percent = |fps: f64| 100.0 * fps / point.intended_fps;
        let credit = match point.credit_us {
            -1 => "no bound".into(),
            us => format!("{us} us"),
        };
        let frames = match point.credit_us {
            -1 => "-".into(),
            _ => format!("{:.0}", point.credit_frames),
        };
        let least = offered.iter().copied().fold(f64::INFINITY, f64::min);
        writeln!(
            text,
            "| {:.0}{} | {credit} | {frames} | {:.2} % ({:.2} %) | {:.0}, {:.0} us | {:.2} ms | {} | {} |",
            point.intended_fps,
            if point.is_maximum { " (maximum)" } else { "" },
            percent(median(offered)),
            percent(least),
            median(of(|one| one.late_p99_us)),
            of(|one| one.late_max_us).into_iter().fold(0.0, f64::max),
            median(of(|one| one.slipped_us)) / 1e3,
            losses(point, |one| &one.refused.arrived),
            losses(point, |one| &one.refused.stamped),
        )
        .expect("memory");
    }
    text
}

/// How many trials lost frames, by depth of the queue.
fn losses(point: &Point, refused: fn(&One) -> &[u64; DEPTHS.len()]) -> String {
    let lost = |depth: usize| point.trials.iter().filter(|one| refused(one)[depth] > 0).count();
    (0..DEPTHS.len()).map(|depth| lost(depth).to_string()).collect::<Vec<_>>().join(", ")
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Refused;

    #[test]
    fn a_trial_counts_once_for_each_queue_that_lost_frames() {
        let one = |arrived| One {
            offered_fps: 99.0,
            unsent_frames: 0,
            slipped_us: 0.0,
            late_p99_us: 1.0,
            late_max_us: 2.0,
            refused: Refused { arrived, stamped: [0; 4], offered: 100 },
        };
        let point = Point {
            intended_fps: 100.0,
            is_maximum: false,
            credit_us: 100,
            credit_frames: 10.0,
            trials: vec![one([9, 1, 0, 0]), one([4, 0, 0, 0]), one([0; 4])],
        };
        let row = of(&[point]);
        let row = row.lines().last().unwrap();
        assert!(row.contains("| 99.00 % (99.00 %) |") && row.contains("| 2, 1, 0, 0 |"), "{row}");
    }
}
