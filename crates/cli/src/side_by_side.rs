//! Simulated runs use every processor: each frame size has a simulated tester of its own.

use crate::setup::Setup;
use crate::supervised::Supervised;
use crate::test_run::tell_discarded;
use method::{
    Lane, MakeLane, Recorded, ResumingTester, RunError, RunFinished, TestKind, TrialRecord,
};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use trial::Tester;

/// Where each frame size can have testers of its own.
pub struct SideBySide<'a> {
    /// With the device.
    pub device: &'a Setup,
    /// With its ports joined, where a self-test is to be made.
    pub looped: Option<&'a Setup>,
    /// Ends the run early.
    pub stop: &'a Arc<AtomicBool>,
    /// How many there are.
    pub sizes: usize,
}

impl SideBySide<'_> {
    /// Has `run` make its testers and run so many sizes at a time as there are processors. Trials already
    /// recorded are answered from the record.
    pub fn run(
        &self,
        mut trials: Vec<TrialRecord>,
        run: impl FnOnce(&mut MakeLane<'_, '_>, usize) -> Result<RunFinished, RunError>,
    ) -> Result<RunFinished, RunError> {
        let mut recorded: Vec<[Recorded; 2]> = vec![];
        recorded.resize_with(self.sizes, Default::default);
        let mut free = recorded.iter_mut();
        let mut make = |size: &str| {
            let [of_device, of_tester] = free.next().expect("one for each size");
            let of_size = trials.extract_if(.., |record| record.frame_size == size);
            let is_of_tester = |record: &TrialRecord| record.test == TestKind::SelfTest;
            let (looped, device): (Vec<_>, Vec<_>) = of_size.partition(is_of_tester);
            *of_device = device.into_iter().collect();
            *of_tester = looped.into_iter().collect();
            Ok(Lane {
                device: self.resuming(self.device, of_device)?,
                looped: match self.looped {
                    Some(looped) => Some(self.resuming(looped, of_tester)?),
                    None => None,
                },
            })
        };
        let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let ended = run(&mut make, threads);
        recorded.iter().flatten().for_each(tell_discarded);
        ended
    }

    fn resuming<'r>(
        &self,
        setup: &Setup,
        recorded: &'r mut Recorded,
    ) -> Result<Box<dyn Tester + Send + 'r>, RunError> {
        let another = setup.another.as_ref().expect("a simulated tester can be built again");
        let tester = another().map_err(|failure| RunError::Config(failure.to_string()))?;
        let tester = Supervised::new(tester, self.stop.clone(), None);
        Ok(Box::new(ResumingTester::new(tester, recorded)))
    }
}
