//! `netanvil anvil`: counts frames on an interface or in a capture file.

mod live;
mod text;
mod totals;

use crate::failure::{Exit, Failure, Outcome};
use crate::{composition, output};
use clap::Args;
use hammer::anvil::Census;
use hammer::capture::{Capture, CaptureError};
use std::path::{Path, PathBuf};
use totals::Totals;
use units::Duration;
use units::text::Span;

#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("where").required(true).args(["interface", "file"]))]
pub struct Anvil {
    /// Count the frames that arrive on this interface
    #[arg(short, long, value_name = "IF")]
    interface: Option<String>,
    /// Count the frames in this pcap or pcapng file
    file: Option<PathBuf>,
    /// End after this time
    #[arg(long, value_name = "TIME", conflicts_with = "file")]
    duration: Option<Span>,
    /// End after this number of frames
    #[arg(long, value_name = "#", value_parser = clap::value_parser!(u64).range(1..))]
    frames: Option<u64>,
    /// Write the distribution of frame sizes to this CSV file
    #[arg(long, value_name = "FILE.csv")]
    lengths: Option<PathBuf>,
    /// Write the composition of the capture to this HTML page
    #[arg(long, value_name = "FILE.html", requires = "file")]
    html: Option<PathBuf>,
    /// Print JSON on standard output
    #[arg(long)]
    json: bool,
    /// Do not print progress on standard error
    #[arg(long)]
    quiet: bool,
}

pub fn run(arguments: &Anvil) -> Outcome {
    let (census, totals, outcome) = match (&arguments.interface, &arguments.file) {
        (Some(interface), _) => live::count(arguments, interface)?,
        (_, Some(file)) => count_file(file, arguments.frames)?,
        _ => return Err(Failure::new("name an interface (-i) or a file")),
    };
    // What was counted is told, whatever has ended it.
    if arguments.json {
        output::print_json(&totals)?;
    } else {
        output::print(&text::totals(&census, &totals))?;
    }
    if let Some(path) = &arguments.lengths {
        write(path, &census.lengths_csv())?;
    }
    if let (Some(page), Some(file)) = (&arguments.html, &arguments.file) {
        write(page, &report::html::composition(&composition::of_file(file)?))?;
    }
    outcome.map(|()| Exit::Done)
}

fn write(path: &Path, text: &str) -> Outcome<()> {
    std::fs::write(path, text)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))
}

/// What was counted, and what ended it.
type Counted = (Census, Totals, Outcome<()>);

/// No capture is longer: so much time a [`Duration`] holds.
const LONGEST: Duration = Duration::MAX;
const SECONDS_A_DAY: u64 = 86_400;

/// Times of a capture since its first frame.
#[derive(Default)]
struct CaptureClock {
    first_ns: Option<u64>,
    latest: Duration,
}

impl CaptureClock {
    /// When a frame of this time was captured: at no earlier time than the first, and together with the one before it
    /// where it has none. `None` where it is later by more than is held.
    fn since_first(&mut self, time_ns: Option<u64>) -> Option<Duration> {
        if let Some(time_ns) = time_ns {
            let since_ns = time_ns.saturating_sub(*self.first_ns.get_or_insert(time_ns));
            self.latest =
                Some(since_ns).filter(|ns| *ns <= LONGEST.as_ns()).map(Duration::from_ns)?;
        }
        Some(self.latest)
    }
}

fn count_file(path: &Path, most: Option<u64>) -> Outcome<Counted> {
    let name = path.display();
    let bytes = std::fs::read(path)
        .map_err(|error| Failure::new(format!("cannot read {name}: {error}")))?;
    let failed = |error: CaptureError| Failure::new(format!("{name}: {error}"));
    let mut census = Census::default();
    let mut clock = CaptureClock::default();
    let mut ended = Ok(());
    let frames = Capture::open(&bytes).map_err(failed)?;
    let most = most.unwrap_or(u64::MAX).try_into().unwrap_or(usize::MAX);
    for (number, frame) in (1..).zip(frames.take(most)) {
        let frame = match frame {
            Ok(frame) => frame,
            Err(error) => {
                ended = Err(failed(error));
                break;
            }
        };
        let Some(since) = clock.since_first(frame.time_ns) else {
            let days = LONGEST.as_secs_f64() as u64 / SECONDS_A_DAY;
            let why =
                format!("{name}: frame {number} is later than the first by more than {days} days");
            ended = Err(Failure::new(why).help("cut the file by time: editcap -A, -B"));
            break;
        };
        census.count(since, &frame.bytes, frame.len_bytes);
    }
    let elapsed = census.span().map_or(Duration::ZERO, |(_, last)| last);
    let totals = Totals::new(&name.to_string(), &census, elapsed);
    Ok((census, totals, ended))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_capture_are_since_its_first_frame() {
        let mut clock = CaptureClock::default();
        let s = |seconds: u64| Some(seconds * 1_000_000_000);
        assert_eq!(clock.since_first(None), Some(Duration::ZERO));
        assert_eq!(clock.since_first(s(1_700_000_000)), Some(Duration::ZERO));
        assert_eq!(clock.since_first(s(1_700_000_002)), Some(Duration::from_secs(2)));
        assert_eq!(clock.since_first(None), Some(Duration::from_secs(2)), "as the one before");
        assert_eq!(
            clock.since_first(s(1_600_000_000)),
            Some(Duration::ZERO),
            "a clock that went back"
        );
        assert_eq!(clock.since_first(s(1_700_000_000 + 365 * 86_400)), None);
        assert_eq!(clock.since_first(Some(u64::MAX)), None);
    }
}
