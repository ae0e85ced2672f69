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

fn count_file(path: &Path, most: Option<u64>) -> Outcome<Counted> {
    let name = path.display();
    let bytes = std::fs::read(path)
        .map_err(|error| Failure::new(format!("cannot read {name}: {error}")))?;
    let failed = |error: CaptureError| Failure::new(format!("{name}: {error}"));
    let mut census = Census::default();
    let mut first_ns = None;
    let mut ended = Ok(());
    let frames = Capture::open(&bytes).map_err(failed)?;
    for frame in frames.take(most.unwrap_or(u64::MAX).try_into().unwrap_or(usize::MAX)) {
        match frame {
            Ok(frame) => {
                let time_ns = frame.time_ns.unwrap_or(0);
                let since_ns = time_ns.saturating_sub(*first_ns.get_or_insert(time_ns));
                census.count(Duration::from_ns(since_ns), &frame.bytes, frame.len_bytes);
            }
            Err(error) => ended = Err(failed(error)),
        }
    }
    let elapsed = census.span().map_or(Duration::ZERO, |(_, last)| last);
    let totals = Totals::new(&name.to_string(), &census, elapsed);
    Ok((census, totals, ended))
}
