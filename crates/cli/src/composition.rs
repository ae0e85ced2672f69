//! Of which packets captures are composed: capture files counted as anvil counts, for reports.

use crate::failure::{Failure, Outcome};
use hammer::anvil::{Composition, LENGTH_CLASSES, LengthClass};
use hammer::capture::{Capture, CaptureError, Direction};
use report::{PacketComposition, PacketKind, PacketLength};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// As many different sizes are told one by one.
const SIZES_TOLD: usize = 12;

/// The captures of a run, port by port; none where it made none.
pub fn of_run(folder: &Path) -> Vec<PacketComposition> {
    let mut by_port: BTreeMap<u16, Vec<PathBuf>> = BTreeMap::new();
    for entry in std::fs::read_dir(folder.join("captures")).into_iter().flatten().flatten() {
        if let Some(port) = port_of(&entry.path()) {
            by_port.entry(port).or_default().push(entry.path());
        }
    }
    by_port.into_iter().map(|(port, files)| of_port(port, files)).collect()
}

/// `trial-00012-port-1.pcapng`.
fn port_of(path: &Path) -> Option<u16> {
    let name = path.file_name()?.to_str()?.strip_suffix(".pcapng")?;
    name.rsplit_once("-port-")?.1.parse().ok()
}

fn of_port(port: u16, mut files: Vec<PathBuf>) -> PacketComposition {
    files.sort();
    let mut composition = Composition::default();
    let mut about = vec![format!(
        "as the tester's port {port} sent and received them in {} trials, as far as they were captured",
        files.len()
    )];
    for path in &files {
        if let Err(error) = count(path, &mut composition) {
            about.push(error.to_string());
        }
    }
    told(format!("port {port}"), about, &composition)
}

/// A capture file of anybody's.
pub fn of_file(path: &Path) -> Outcome<PacketComposition> {
    let mut composition = Composition::default();
    let ended = count(path, &mut composition);
    if composition.all().total().frames == 0 {
        ended?;
        return Err(Failure::new(format!("{}: {}", path.display(), CaptureError::NoFrames)));
    }
    let about = ended.err().map(|error| error.to_string()).into_iter().collect();
    Ok(told(path.display().to_string(), about, &composition))
}

/// Counts the frames of a file up to where it is damaged, if it is.
fn count(path: &Path, composition: &mut Composition) -> Outcome<()> {
    let name = path.display();
    let bytes = std::fs::read(path)
        .map_err(|error| Failure::new(format!("cannot read {name}: {error}")))?;
    let failed = |error: CaptureError| Failure::new(format!("{name}: {error}"));
    for frame in Capture::open(&bytes).map_err(failed)? {
        composition.count(&frame.map_err(failed)?);
    }
    Ok(())
}

fn told(place: String, about: Vec<String>, composition: &Composition) -> PacketComposition {
    let kinds = composition.kinds().map(|(lane, path, share)| PacketKind {
        direction: match lane.direction {
            Some(Direction::Inbound) => "received".into(),
            Some(Direction::Outbound) => "sent".into(),
            None => String::new(),
        },
        addressed_to: lane.cast.to_string(),
        protocols: path.to_string(),
        frames: share.frames,
        bytes: share.bytes,
        faulty_frames: share.faulty_frames,
    });
    let total = composition.all().total();
    PacketComposition {
        place,
        about,
        frames: total.frames,
        bytes: total.bytes,
        kinds: kinds.collect(),
        lengths: lengths(composition),
    }
}

fn lengths(composition: &Composition) -> Vec<PacketLength> {
    let census = composition.all();
    if census.lengths().len() <= SIZES_TOLD {
        let each = census.lengths().iter();
        return each
            .map(|(size, frames)| PacketLength { size_bytes: size.to_string(), frames: *frames })
            .collect();
    }
    let classes = LENGTH_CLASSES.iter().zip(census.length_classes());
    classes.map(|(class, frames)| PacketLength { size_bytes: in_words(class), frames }).collect()
}

/// A class of sizes.
pub fn in_words(class: &LengthClass) -> String {
    match (class.from, class.to) {
        (0, to) => format!("up to {to}"),
        (from, u32::MAX) => format!("{from} and up"),
        (from, to) if from == to => from.to_string(),
        (from, to) => format!("{from}-{to}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_says_of_which_port_it_is() {
        assert_eq!(port_of(Path::new("x/trial-00012-port-31.pcapng")), Some(31));
        assert_eq!(port_of(Path::new("x/trial-00012-port-.pcapng")), None);
        assert_eq!(port_of(Path::new("x/notes.txt")), None);
    }
}
