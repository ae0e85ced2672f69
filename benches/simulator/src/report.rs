//! The results as tables, which are Markdown and read well on a terminal too.

use crate::{NS3_FRAMES, OUR_FRAMES, ROUNDS, Scenario, ns3};
use std::fmt::Write;

/// What the simulator is to reach on one core.
const TARGET_FPS: f64 = 5e6;

/// One scenario on both sides, frames a second of processor time, round by round.
pub struct Case {
    /// Which.
    pub scenario: Scenario,
    /// netanvil.
    pub ours_fps: Vec<f64>,
    /// ns-3; empty where it could not be measured.
    pub theirs_fps: Vec<f64>,
}

/// Everything that was measured.
pub struct Results {
    /// In the order of [`Scenario::ALL`].
    pub cases: Vec<Case>,
    /// What could not be measured, and why.
    pub failures: Vec<String>,
    machine: String,
}

impl Results {
    /// Nothing measured yet, on this machine.
    pub fn new() -> Results {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let cpu = read("/proc/cpuinfo");
        let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
        let cpu = cpu.trim_start_matches([' ', '\t', ':']);
        let kernel = read("/proc/sys/kernel/osrelease");
        Results {
            cases: vec![],
            failures: vec![],
            machine: format!("Linux {}; {cpu}", kernel.trim()),
        }
    }
}

/// Whether every scenario is as fast as it should be.
pub fn target_is_met(results: &Results) -> bool {
    results.cases.iter().all(|case| median(&case.ours_fps) >= TARGET_FPS)
}

/// What `make bench` leaves in the repository.
pub fn markdown(results: &Results) -> String {
    let mut text = format!(
        "# The simulator, measured beside ns-3\n\nWritten by `make bench`; do not edit.\n\n{}, one core. \
         Rates drift from run to run on a shared machine: read them as ratios.\n\n\
         * Medians of {ROUNDS} rounds in which both took turns, lowest and highest in brackets; {OUR_FRAMES} \
         frames of 64 bytes a round here, {NS3_FRAMES} there; frames for each second of processor time.\n\
         * The scenario: frames at line rate over a link of 10 Gb/s into the device, and over a second one \
         to the receiver; none is lost. *node* stores and forwards; *router* looks up routes and neighbours \
         of IPv4, checks the header and rewrites it.\n\
         * netanvil makes every frame with its headers, signature and checksums and accounts for it: \
         sequence, loss, order, latency, gaps. ns-3's packets carry zeros and the time they were sent; it \
         counts them and adds up their latency. Its node has no stack at all, its router no queueing \
         disciplines.\n\n",
        results.machine
    );
    text += "## Targets\n\n| target | measured | verdict |\n| --- | --- | --- |\n";
    for case in &results.cases {
        let ours = median(&case.ours_fps);
        let verdict = if ours >= TARGET_FPS { "PASS" } else { "**FAIL**" };
        let name = case.scenario.name();
        let _ = writeln!(
            text,
            "| simulator, {name}: at least {:.0} M frames/s on one core | {:.2} M frames/s | {verdict} |",
            TARGET_FPS / 1e6,
            ours / 1e6
        );
    }
    text += "\n## Beside ns-3\n\n| scenario | netanvil, M/s | ns-3, M/s | x ns-3 |\n\
             | --- | ---: | ---: | ---: |\n";
    for case in &results.cases {
        let (theirs, ratio) = match case.theirs_fps.is_empty() {
            true => ("-".into(), "-".into()),
            false => {
                let ratio = median(&case.ours_fps) / median(&case.theirs_fps);
                (spread(&case.theirs_fps), format!("{ratio:.1}"))
            }
        };
        let ours = spread(&case.ours_fps);
        let _ = writeln!(text, "| {} | {ours} | {theirs} | {ratio} |", case.scenario.name());
    }
    if !results.failures.is_empty() {
        text += "\n## Not measured because of failures\n\n";
        results.failures.iter().for_each(|failure| text += &format!("* {failure}\n"));
    }
    let _ = writeln!(
        text,
        "\n## Versions\n\n| program | package and version |\n| --- | --- |\n| netanvil | {} |\n| ns-3 | \
         libns3-dev {} |",
        env!("CARGO_PKG_VERSION"),
        ns3::version().unwrap_or_else(|| "not installed".into())
    );
    text
}

fn spread(fps: &[f64]) -> String {
    let lowest = fps.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = fps.iter().copied().fold(0.0, f64::max);
    format!("{:.2} ({:.2} to {:.2})", median(fps) / 1e6, lowest / 1e6, highest / 1e6)
}

/// The middle one.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(ours_fps: f64) -> Results {
        let case =
            |scenario| Case { scenario, ours_fps: vec![ours_fps; 3], theirs_fps: vec![0.5e6; 3] };
        Results { cases: Scenario::ALL.map(case).into(), ..Results::new() }
    }

    #[test]
    fn the_target_decides_and_the_ratio_is_printed() {
        assert!(target_is_met(&results(5e6)) && !target_is_met(&results(4.99e6)));
        let text = markdown(&results(6e6));
        assert!(text.contains("| 6.00 M frames/s | PASS |") && text.contains("| 12.0 |"), "{text}");
        assert!(markdown(&results(4e6)).contains("**FAIL**"));
    }

    #[test]
    fn what_is_not_measured_is_no_zero() {
        let mut results = results(6e6);
        results.cases[0].theirs_fps.clear();
        results.failures.push("cannot run g++".into());
        let text = markdown(&results);
        assert!(text.contains("| - | - |") && text.contains("* cannot run g++"), "{text}");
    }
}
