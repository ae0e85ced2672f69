//! Tests of many ports with a device of its own for each frame size.

use super::super::{ChassisSuite, ChassisTest, Known, Rack};
use super::told_of_test;
use crate::RunError;
use crate::bench::{Bench, Memory};
use crate::event::{EventSink, RunFinished};
use crate::lanes::{Lane, MakeLane, Merged, side_by_side};
use crate::suite::finish;
use trial::TesterDescription;
use units::{Duration, FrameSize};

impl ChassisSuite {
    /// Runs everything with a tester of its own for each frame size, so many sizes at a time as there are
    /// `threads`. Results do not depend on how many there are.
    pub fn run_side_by_side(
        &self,
        make: &mut MakeLane<'_, '_>,
        threads: usize,
        sink: &mut dyn EventSink,
    ) -> Result<RunFinished, RunError> {
        let mut lanes = self.lanes(make)?;
        let first =
            lanes.first().ok_or_else(|| RunError::Config("no frame size to test".into()))?;
        let description = first.testers.device.describe().clone();
        let items = self.checked(&description)?;
        for lane in &mut lanes {
            lane.tests =
                items.iter().filter(|(_, of)| *of == lane.size).map(|item| item.0).collect();
        }
        let remaining = lanes.iter().map(|lane| self.share() * lane.tests.len() as u64).collect();
        let mut told = Merged::new(sink, remaining);
        let mut invalid_tests = vec![];
        let mut begun = self.beginning(&description, &items).into_iter();
        let outcome = begun.try_for_each(|event| told.emit(&event)).and_then(|()| {
            self.all_side_by_side(&mut lanes, threads, &mut told, &mut invalid_tests)
        });
        finish(told.trials(), sink, invalid_tests, outcome)
    }

    fn lanes<'t>(&self, make: &mut MakeLane<'_, 't>) -> Result<Vec<SizeLane<'t>>, RunError> {
        let lane = |size: &FrameSize| {
            let testers = make(&size.to_string())?;
            let description = testers.device.describe().clone();
            Ok(SizeLane {
                size: *size,
                tests: vec![],
                testers,
                description,
                known: Known::default(),
                memory: Memory::default(),
                invalid_tests: vec![],
            })
        };
        self.config.frame_sizes.iter().map(lane).collect()
    }

    fn all_side_by_side(
        &self,
        lanes: &mut [SizeLane<'_>],
        threads: usize,
        told: &mut Merged<'_>,
        invalid_tests: &mut Vec<String>,
    ) -> Result<(), RunError> {
        for test in &self.config.tests {
            let ended =
                side_by_side(lanes, threads, told, |lane, sink| lane.test(self, *test, sink));
            invalid_tests.extend(lanes.iter_mut().flat_map(|lane| lane.invalid_tests.drain(..)));
            ended?;
            // One size finds out how many groups the device has room for, and all want to know.
            let capacity = lanes.iter().find_map(|lane| lane.known.group_capacity.get());
            lanes.iter().for_each(|lane| lane.known.group_capacity.set(capacity));
        }
        Ok(())
    }
}

/// A frame size with its tester, between one test and the next.
struct SizeLane<'t> {
    size: FrameSize,
    /// Still to be made.
    tests: Vec<ChassisTest>,
    testers: Lane<'t>,
    description: TesterDescription,
    known: Known,
    memory: Memory,
    invalid_tests: Vec<String>,
}

impl SizeLane<'_> {
    fn test(
        &mut self,
        suite: &ChassisSuite,
        test: ChassisTest,
        sink: &mut dyn EventSink,
    ) -> Result<(), RunError> {
        let Some(place) = self.tests.iter().position(|of| *of == test) else { return Ok(()) };
        self.tests.remove(place);
        let (chassis, config, ports) = (&suite.chassis, &suite.config, suite.chassis.ports.len());
        let memory = std::mem::take(&mut self.memory);
        let device = &mut *self.testers.device;
        let mut bench = Bench::new(device, sink, config.trial.invalid_retries, config.run_key())
            .remembering(memory);
        let later: Duration = suite.share() * self.tests.len() as u64;
        bench.begin_share(suite.share(), later);
        let (description, known) = (&self.description, &self.known);
        let rack = Rack { chassis, config, description, size: self.size, ports, known };
        let ended = told_of_test(&mut bench, &rack, test);
        self.memory = bench.memory();
        if !ended? {
            self.invalid_tests.push(format!("{test}, {}", self.size));
        }
        Ok(())
    }
}
