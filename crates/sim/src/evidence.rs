//! What a simulated device tells of itself for a trial: where it dropped and kept frames, and for how
//! long its processors worked.

use crate::DeviceUnderTest;
use trial::{DevicePlace, Owner, Pressure, ThreadPressure};
use units::Duration;

/// What it has told up to some time.
#[derive(Default)]
pub(crate) struct Evidence {
    drops: Vec<(String, u64)>,
    kept: u64,
    work: Vec<(String, Duration)>,
}

impl Evidence {
    pub fn of(device: &impl DeviceUnderTest) -> Self {
        Evidence { drops: device.drops(), kept: device.keeps_frames(), work: device.work() }
    }

    /// The same with what the links of the device lost, by place, and frames that wait for them.
    pub fn and_on_links(mut self, lost: Vec<(String, u64)>, waiting: u64) -> Self {
        self.drops.extend(lost);
        self.kept += waiting;
        self
    }

    /// Where frames were dropped since `before`, and how many the device kept then and keeps now.
    pub fn places(&self, before: &Evidence) -> Vec<DevicePlace> {
        let dropped = |((name, now), (_, then)): (&(String, u64), &(String, u64))| {
            let dropped = now - then;
            (dropped > 0).then(|| DevicePlace { name: name.clone(), dropped, ..Default::default() })
        };
        let kept = (before.kept + self.kept > 0).then(|| DevicePlace {
            name: "queues of the device".into(),
            waiting_before: before.kept,
            waiting: self.kept,
            ..DevicePlace::default()
        });
        self.drops.iter().zip(&before.drops).filter_map(dropped).chain(kept).collect()
    }

    /// What its processors had to do since `before`. Nothing else runs on them.
    pub fn pressure(&self, before: &Evidence) -> Pressure {
        let thread = |((name, now), (_, then)): (&(String, Duration), &(String, Duration))| {
            let (ran, waited) = (now.saturating_sub(*then), Duration::ZERO);
            ThreadPressure {
                owner: Owner::Device,
                name: name.clone(),
                ran,
                waited,
                held_up: None,
                processor: None,
                slices: 0,
                stopped: Duration::ZERO,
                is_program: false,
            }
        };
        Pressure {
            threads: self.work.iter().zip(&before.work).map(thread).collect(),
            untimed: self.work.is_empty().then(|| {
                "the simulated device does not tell for how long its processors work".into()
            }),
            ..Pressure::default()
        }
    }
}
