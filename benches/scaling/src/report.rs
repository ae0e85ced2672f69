//! What was measured as Markdown tables with verdicts, and as plots.

use crate::Failure;
use crate::point::{Axis, Point, Reading};
use plotters::prelude::*;
use std::fmt::Write;
use std::path::Path;

/// Of a frame at the far end of a curve, in those at its near end: what still counts as close to flat.
const FLAT: f64 = 2.0;
/// Memory of a process with a million flows.
const MILLION_FLOWS_BYTES: u64 = 1 << 30;
const PLOT: (u32, u32) = (640, 360);

/// All readings of all points, round by round.
type Readings = [(Point, Vec<Reading>)];

/// The middle of several readings of a point.
#[derive(Clone, Copy, Debug)]
struct Median {
    point: Point,
    frame_ns: f64,
    lowest_ns: f64,
    highest_ns: f64,
    fixed_s: f64,
    memory_bytes: u64,
}

impl Median {
    fn of((point, readings): &(Point, Vec<Reading>)) -> Option<Median> {
        let sorted = |value: &dyn Fn(&Reading) -> f64| {
            let mut values: Vec<f64> = readings.iter().map(value).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let costs = sorted(&|reading| reading.frame_ns);
        let fixed = sorted(&|reading| reading.fixed_s);
        Some(Median {
            point: *point,
            frame_ns: *costs.get(costs.len() / 2)?,
            lowest_ns: *costs.first()?,
            highest_ns: *costs.last()?,
            fixed_s: *fixed.get(fixed.len() / 2)?,
            memory_bytes: readings.iter().map(|reading| reading.memory_bytes).max()?,
        })
    }
}

/// A target and what was measured.
struct Verdict {
    target: String,
    measured: String,
    met: bool,
}

/// Writes `SCALING.md` and the plots to a folder, and the former to the terminal; whether all targets are met.
pub fn write(folder: &Path, readings: &Readings) -> Result<bool, Failure> {
    let medians: Vec<Median> = readings.iter().filter_map(Median::of).collect();
    let curves = curves(&medians);
    let verdicts: Vec<Verdict> = curves.iter().flat_map(|curve| verdicts_of(curve)).collect();
    let rounds = readings.iter().map(|(_, of_point)| of_point.len()).max().unwrap_or(0);
    let text = markdown(&curves, &verdicts, rounds);
    println!("{text}");
    std::fs::write(folder.join("SCALING.md"), text)?;
    for axis in [Axis::Ports, Axis::Flows, Axis::Groups] {
        let of_axis: Vec<&[Median]> =
            curves.iter().copied().filter(|curve| curve[0].point.axis == axis).collect();
        if !of_axis.is_empty() {
            plot(&folder.join(plot_name(axis)), axis, &of_axis)?;
        }
    }
    Ok(verdicts.iter().all(|verdict| verdict.met))
}

fn curves(medians: &[Median]) -> Vec<&[Median]> {
    medians.chunk_by(|a, b| (a.point.bed, a.point.axis) == (b.point.bed, b.point.axis)).collect()
}

fn plot_name(axis: Axis) -> String {
    format!("scaling-{}.svg", axis.label())
}

fn verdicts_of(curve: &[Median]) -> Vec<Verdict> {
    let (Some(first), Some(last)) = (curve.first(), curve.last()) else { return vec![] };
    let Point { bed, axis, count } = last.point;
    let mut verdicts = vec![];
    if axis != Axis::LongFlows {
        let times = last.frame_ns / first.frame_ns;
        verdicts.push(Verdict {
            target: format!(
                "{bed}: a frame with {count} {} costs at most {FLAT} times one with {}",
                axis.label(),
                first.point.count
            ),
            measured: format!("{times:.2} times"),
            met: times <= FLAT,
        });
    }
    if axis == Axis::Flows && count == 1_000_000 {
        verdicts.push(Verdict {
            target: format!("{bed}: a million flows in less than 1 GiB"),
            measured: format!("{:.0} MiB", mebibytes(last.memory_bytes)),
            met: last.memory_bytes < MILLION_FLOWS_BYTES,
        });
    }
    verdicts
}

fn markdown(curves: &[&[Median]], verdicts: &[Verdict], rounds: usize) -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
    let mut text = format!(
        "# Many ports, many flows, many groups\n\nWritten by `make bench-scaling`; do not edit.\n\n\
         Linux {}; {}. Medians of {rounds} rounds, lowest and highest in brackets; each point is a process of its own.\n\n\
         * **A frame's cost** is the processor time of all threads that each further frame takes: that of a trial less \
         that of one with a quarter of its frames. Frames have 64 bytes where nothing else is said.\n\
         * **The rest** of a trial's processor time is what no frame is the cause of: laying frames out, learning, joining, accounting.\n\
         * **Memory** is the most that the process ever had, BPF maps included.\n\
         * *Virtual time* has a simulated switch within it, and no kernel: of 2 ports and more, full mesh; of 2 ports with \
         so many destinations behind one; of 5 ports with hosts that joined so many groups at four of them, where a frame \
         sent is four received.\n\
         * *af_packet* and *xdp* are veth pairs, port to port, with nothing between them, as fast as it goes: what the kernel \
         does for a frame is in the figure. `xdp` ports count within the kernel.\n\n",
        read("/proc/sys/kernel/osrelease").trim(),
        cpu.trim_start_matches([' ', '\t', ':'])
    );
    text += "## Targets\n\n| target | measured | verdict |\n| --- | ---: | --- |\n";
    for Verdict { target, measured, met } in verdicts {
        let verdict = if *met { "PASS" } else { "**MISSED**" };
        let _ = writeln!(text, "| {target} | {measured} | {verdict} |");
    }
    for axis in [Axis::Ports, Axis::Flows, Axis::LongFlows, Axis::Groups] {
        let of_axis: Vec<_> = curves.iter().filter(|curve| curve[0].point.axis == axis).collect();
        if of_axis.is_empty() {
            continue;
        }
        let _ = write!(text, "\n## {}\n\n", capital(axis.label()));
        if axis != Axis::LongFlows {
            let _ = write!(text, "![cost of a frame]({})\n\n", plot_name(axis));
        }
        let _ = writeln!(
            text,
            "| | {} | a frame, ns | the rest, ms | memory, MiB |\n| --- | ---: | ---: | ---: | ---: |",
            axis.label()
        );
        for median in of_axis.into_iter().copied().flatten() {
            text += &row(median);
        }
    }
    text
}

fn row(median: &Median) -> String {
    let Median { point, frame_ns, lowest_ns, highest_ns, fixed_s, memory_bytes } = median;
    format!(
        "| {} | {} | {frame_ns:.0} ({lowest_ns:.0} to {highest_ns:.0}) | {:.0} | {:.0} |\n",
        point.bed,
        point.count,
        fixed_s * 1e3,
        mebibytes(*memory_bytes)
    )
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn capital(words: &str) -> String {
    let (first, rest) = words.split_at(1);
    first.to_uppercase() + rest
}

/// Cost over number, the latter as powers.
fn plot(path: &Path, axis: Axis, curves: &[&[Median]]) -> Result<(), Failure> {
    let all = || curves.iter().copied().flatten();
    let most = all().map(|median| median.point.count).max().unwrap_or(1) as f64;
    let least = all().map(|median| median.point.count).min().unwrap_or(1) as f64;
    let highest = all().map(|median| median.frame_ns).fold(1.0, f64::max) * 1.4;
    let root = SVGBackend::new(path, PLOT).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .margin(12)
        .margin_right(36)
        .x_label_area_size(40)
        .y_label_area_size(56)
        .build_cartesian_2d((least..most).log_scale(), 0.0..highest)?;
    chart
        .configure_mesh()
        .x_desc(axis.label())
        .y_desc("processor time of a frame, ns")
        .x_label_formatter(&|count| format!("{count:.0}"))
        .y_label_formatter(&|ns| format!("{ns:.0}"))
        .light_line_style(WHITE)
        .draw()?;
    for (index, curve) in curves.iter().enumerate() {
        let colour = Palette99::pick(index).to_rgba();
        let points = || curve.iter().map(|median| (median.point.count as f64, median.frame_ns));
        chart
            .draw_series(LineSeries::new(points(), colour.stroke_width(2)))?
            .label(curve[0].point.bed.to_string())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)));
        chart.draw_series(points().map(|at| Circle::new(at, 3, colour.filled())))?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK)
        .draw()?;
    root.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::Bed;

    fn at(
        bed: Bed,
        axis: Axis,
        count: u64,
        frame_ns: f64,
        memory_bytes: u64,
    ) -> (Point, Vec<Reading>) {
        let reading =
            |factor: f64| Reading { frame_ns: frame_ns * factor, memory_bytes, fixed_s: 0.1 };
        (Point { bed, axis, count }, [1.5, 1.0, 0.5].map(reading).into())
    }

    #[test]
    fn curves_are_judged_by_their_ends_and_by_their_memory() {
        let folder = tempfile::tempdir().unwrap();
        let mut readings = vec![
            at(Bed::Virtual, Axis::Flows, 1, 100.0, 1 << 20),
            at(Bed::Virtual, Axis::Flows, 1_000, 900.0, 1 << 20),
            at(Bed::Virtual, Axis::Flows, 1_000_000, 199.0, 1 << 29),
        ];
        assert!(write(folder.path(), &readings).unwrap());
        let text = std::fs::read_to_string(folder.path().join("SCALING.md")).unwrap();
        assert!(
            text.contains("| 1.99 times | PASS |") && text.contains("| 512 MiB | PASS |"),
            "{text}"
        );
        assert!(text.contains("| virtual time | 1000 | 900 (450 to 1350) | 100 | 1 |"), "{text}");
        let svg = std::fs::read_to_string(folder.path().join("scaling-flows.svg")).unwrap();
        assert!(svg.contains("virtual time") && svg.contains("<polyline"), "{svg}");

        readings[2] = at(Bed::Virtual, Axis::Flows, 1_000_000, 201.0, 1 << 30);
        assert!(!write(folder.path(), &readings).unwrap());
        let text = std::fs::read_to_string(folder.path().join("SCALING.md")).unwrap();
        assert_eq!(text.matches("**MISSED**").count(), 2, "{text}");
    }
}
