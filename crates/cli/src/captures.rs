//! Which frames of a run are written to capture files, and where.

use crate::failure::{Failure, Outcome};
use crate::options::Options;
use crate::setup::Subject;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use trial::{CaptureRequest, StreamId, TesterDescription};

/// Captures asked for.
#[derive(Clone, Debug)]
pub struct Captures {
    folder: PathBuf,
    /// In each file at most.
    max_frames: u64,
    /// Only these; empty for every frame.
    streams: Vec<StreamId>,
    /// At these ports alone; `None` at every port.
    ports: Option<Vec<u16>>,
    /// The trial under way, by its number in the report.
    trial: Arc<AtomicU64>,
}

impl Captures {
    /// Those of a run, if it asks for any, into this folder.
    pub fn of(options: &Options, folder: PathBuf, trial: Arc<AtomicU64>) -> Option<Captures> {
        let streams = options.capture_streams.iter().flatten().map(|id| StreamId(*id)).collect();
        let ports = options.capture_ports.clone();
        options.capture.map(|max_frames| Captures { folder, max_frames, streams, ports, trial })
    }

    /// One file a port and trial, `captures/trial-00012-port-1.pcapng`, so that those of a run that
    /// was resumed lie beside the earlier ones.
    pub fn requests(&self, tester: &TesterDescription) -> Vec<CaptureRequest> {
        let trial = self.trial.load(Ordering::SeqCst);
        let request = |port: &trial::PortDescription| CaptureRequest {
            port: port.id,
            sent: true,
            received: true,
            streams: self.streams.clone(),
            max_frames: self.max_frames,
            path: self.folder.join(format!("trial-{trial:05}-port-{}.pcapng", port.id.0)),
        };
        let wanted = |port: &&trial::PortDescription| {
            self.ports.as_ref().is_none_or(|ports| ports.contains(&port.id.0))
        };
        tester.ports.iter().filter(wanted).map(request).collect()
    }
}

/// Refuses what would be left out in silence.
pub fn check(options: &Options, subject: &Subject) -> Outcome<()> {
    if options.capture_streams.is_some() && options.capture.is_none() {
        return Err(Failure::new("--capture-streams chooses among the frames of --capture")
            .help("add --capture"));
    }
    if options.capture_ports.is_some() && options.capture.is_none() {
        return Err(Failure::new("--capture-ports chooses among the ports of --capture")
            .help("add --capture"));
    }
    if options.capture.is_some() && matches!(subject, Subject::Simulated(_)) {
        return Err(Failure::new("a simulated device's frames cannot be captured")
            .help("leave out --capture, or run on --device or --ports"));
    }
    Ok(())
}
