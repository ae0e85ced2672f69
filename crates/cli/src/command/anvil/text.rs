//! What anvil came to, for people.

use super::totals::Totals;
use crate::composition::in_words;
use hammer::anvil::{Census, LENGTH_CLASSES};
use report::number::{grouped, grouped_f64, percent};
use std::fmt::Write;
use units::Duration;

/// As many different sizes are shown one by one.
const SIZES_SHOWN: usize = 12;

/// One line while it goes on.
pub fn progress(census: &Census, now: Duration) -> String {
    let average = match census.average(now) {
        Some(average) => format!("{} frames/s", grouped_f64(average.fps(), 1)),
        None => "-".into(),
    };
    let frames = grouped(census.total().frames);
    format!("{:>8.0} s   {frames:>15} frames   10 s average {average:>18}", now.as_secs_f64())
}

/// Everything, at the end.
pub fn totals(census: &Census, totals: &Totals) -> String {
    let mut text = format!("anvil on {}\n", totals.counted_on);
    let total = totals.total;
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<16}{value}");
    };
    line(
        "frames",
        format!("{:>15}   {} bytes with FCS", grouped(total.frames), grouped(total.bytes)),
    );
    line("time", format!("{:>15} s", grouped_f64(totals.seconds, 3)));
    if let Some(rates) = &totals.average {
        let seconds = rates.average.seconds;
        let mbps = grouped_f64(rates.bits_per_second / 1e6, 3);
        let fps = grouped_f64(rates.rate_fps, 1);
        line(&format!("{seconds} s average"), format!("{fps:>15} frames/s   {mbps} Mbit/s"));
    }
    if total.faulty_frames > 0 {
        let faulty = grouped(total.faulty_frames);
        line(
            "faulty",
            format!("{faulty:>15}   with a header that contradicts itself or a bad checksum"),
        );
    }
    if let Some(lost) = totals.lost_by_anvil_frames {
        line("lost by anvil", format!("{:>15}", grouped(lost)));
    }
    if let Some(frames) = totals.interface_received_frames {
        line("interface says", format!("{:>15}", grouped(frames)));
    }
    totals.notes.iter().for_each(|note| line("note:", note.clone()));
    if total.frames > 0 {
        text += &lengths(census);
        text += &composition(census);
    }
    text
}

fn lengths(census: &Census) -> String {
    let total = census.total().frames;
    let mut text = "\npacket length           frames      share\n".to_string();
    let mut line = |name: String, frames: u64| {
        let _ = writeln!(text, "  {name:<12}{:>16} {:>8} %", grouped(frames), share(frames, total));
    };
    if census.lengths().len() <= SIZES_SHOWN {
        census.lengths().iter().for_each(|(size, frames)| line(size.to_string(), *frames));
    } else {
        let classes = LENGTH_CLASSES.iter().zip(census.length_classes());
        classes.for_each(|(class, frames)| line(in_words(class), frames));
    }
    text
}

fn composition(census: &Census) -> String {
    let all = census.total();
    let shares = census.composition();
    let names = shares.iter().map(|(path, share)| (path.to_string(), *share));
    let width = names.clone().map(|(name, _)| name.len()).max().unwrap_or(0).max(22);
    let mut text = format!(
        "\n{:<width$}{:>16} {:>10}{:>20} {:>10}\n",
        "composition", "frames", "share", "bytes", "share"
    );
    for (name, share_of) in names {
        let frames = share(share_of.frames, all.frames);
        let bytes = share(share_of.bytes, all.bytes);
        let _ = writeln!(
            text,
            "  {name:<width$}{:>14} {frames:>8} %{:>20} {bytes:>8} %",
            grouped(share_of.frames),
            grouped(share_of.bytes)
        );
    }
    text
}

fn share(part: u64, whole: u64) -> String {
    percent(part as f64 / whole as f64)
}
