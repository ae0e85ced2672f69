//! What anvil came to, as JSON has it.

use hammer::anvil::{Average, Census, LENGTH_CLASSES, Share};
use serde::Serialize;
use units::Duration;

#[derive(Serialize)]
pub struct Totals {
    /// The interface or the file.
    pub counted_on: String,
    pub seconds: f64,
    #[serde(flatten)]
    pub total: Share,
    /// The last ten whole seconds; none before the first has passed.
    pub average: Option<AverageRates>,
    /// Frames that arrived and that anvil could not count; none where there is nothing to lose.
    pub lost_by_anvil_frames: Option<u64>,
    /// What the interface itself counted meanwhile.
    pub interface_received_frames: Option<u64>,
    pub lengths: Vec<LengthCount>,
    pub length_classes: Vec<ClassCount>,
    /// The sizes as a test's `--sizes` takes them.
    pub size_pattern: Option<String>,
    pub composition: Vec<ProtocolShare>,
    pub notes: Vec<String>,
}

#[derive(Serialize)]
pub struct AverageRates {
    #[serde(flatten)]
    pub average: Average,
    pub rate_fps: f64,
    pub bits_per_second: f64,
}

#[derive(Serialize)]
pub struct LengthCount {
    frame_size_bytes: u32,
    frames: u64,
}

#[derive(Serialize)]
pub struct ClassCount {
    from_bytes: u32,
    to_bytes: Option<u32>,
    frames: u64,
}

#[derive(Serialize)]
pub struct ProtocolShare {
    protocols: Vec<String>,
    #[serde(flatten)]
    share: Share,
}

impl Totals {
    /// Of a census that took so long.
    pub fn new(counted_on: &str, census: &Census, elapsed: Duration) -> Totals {
        let classes = LENGTH_CLASSES.iter().zip(census.length_classes());
        Totals {
            counted_on: counted_on.into(),
            seconds: elapsed.as_secs_f64(),
            total: census.total(),
            average: census.average(elapsed).map(|average| AverageRates {
                average,
                rate_fps: average.fps(),
                bits_per_second: average.bits_per_second(),
            }),
            lost_by_anvil_frames: None,
            interface_received_frames: None,
            lengths: census
                .lengths()
                .iter()
                .map(|(size, frames)| LengthCount {
                    frame_size_bytes: size.bytes(),
                    frames: *frames,
                })
                .collect(),
            length_classes: classes
                .map(|(class, frames)| ClassCount {
                    from_bytes: class.from,
                    to_bytes: (class.to < u32::MAX).then_some(class.to),
                    frames,
                })
                .collect(),
            size_pattern: census.size_pattern(),
            composition: census
                .composition()
                .into_iter()
                .map(|(path, share)| ProtocolShare { protocols: path.names(), share })
                .collect(),
            notes: vec![],
        }
    }
}
