//! The suite with a device of its own for each frame size.

use super::repeats::{judge_validity, told_of};
use super::{Item, Own, Run, Suite, finish};
use crate::bench::{Bench, Memory};
use crate::consistency::{Repeat, settle};
use crate::event::{EventSink, RunFinished};
use crate::lanes::{Lane, MakeLane, Merged, side_by_side};
use crate::traffic::Traffic;
use crate::{Modifier, RunError, SelfTest, SuiteConfig, TestKind};
use traffic::size::SizePattern;
use trial::Tester;
use units::Duration;

impl Suite {
    /// Runs everything with testers of its own for each frame size, so many sizes at a time as there are
    /// `threads`. Results do not depend on how many there are.
    pub fn run_side_by_side(
        &self,
        make: &mut MakeLane<'_, '_>,
        threads: usize,
        sink: &mut dyn EventSink,
    ) -> Result<RunFinished, RunError> {
        self.config.check()?;
        self.check_tests()?;
        if self.config.is_of_many_ports() {
            self.topology.check()?;
        }
        let (suite, left_out) = self.with_sizes_of_protocol();
        let parts = suite.parts();
        let sizes = &suite.config.frame_sizes;
        let mut lanes = parts
            .iter()
            .enumerate()
            .map(|(lane, part)| SizeLane::new((lane, part), sizes, make))
            .collect::<Result<Vec<_>, RunError>>()?;
        let first = lanes.first().map(|lane| &lane.testers);
        let first = first.ok_or_else(|| RunError::Config("no frame size to test".into()))?;
        let description = first.device.describe().clone();
        let can_measure = first.looped.is_some();
        let mut whole = Run::new(&suite, left_out, description, &suite.config.frame_sizes);
        whole.plan(can_measure && suite.self_test.is_none(), &suite.config.rounds());
        let mut told = Merged::new(sink, lanes.iter().map(SizeLane::remaining).collect());
        let outcome = whole.all_side_by_side(&mut lanes, can_measure, threads, &mut told);
        let counted = told.trials();
        finish(counted, sink, whole.invalid_tests, outcome)
    }

    /// The same suite of each frame size alone. Resets are made with the smallest frames only.
    fn parts(&self) -> Vec<Suite> {
        let smallest = self.config.frame_sizes.iter().map(SizePattern::smallest).min();
        let part = |size: &SizePattern| {
            let mut tests = self.tests();
            let is_of_smallest = |test| self.run_of(test).is_some_and(|run| run.is_of_smallest());
            tests.retain(|test| !is_of_smallest(*test) || Some(size.smallest()) == smallest);
            let frame_sizes = vec![size.clone()];
            Suite {
                config: SuiteConfig { frame_sizes, tests, ..self.config.clone() },
                ..self.clone()
            }
        };
        self.config.frame_sizes.iter().map(part).collect()
    }
}

impl Run<'_> {
    fn all_side_by_side(
        &mut self,
        lanes: &mut [SizeLane<'_, '_>],
        can_measure: bool,
        threads: usize,
        told: &mut Merged<'_>,
    ) -> Result<(), RunError> {
        self.beginning().iter().try_for_each(|event| told.emit(event))?;
        self.known_of_tester(can_measure).iter().try_for_each(|event| told.emit(event))?;
        for round in 0..self.suite.config.rounds().len() {
            for test in self.suite.tests() {
                let ended =
                    side_by_side(lanes, threads, told, |lane, sink| lane.test(round, test, sink));
                told.remain(lanes.iter().map(SizeLane::remaining));
                let invalid = lanes.iter_mut().flat_map(|lane| lane.run.invalid_tests.drain(..));
                self.invalid_tests.extend(invalid);
                ended?;
                // One size finds out what the device has room for, and all want to know.
                let groups = lanes.iter().find_map(|lane| lane.run.tables.groups.get());
                lanes.iter().for_each(|lane| lane.run.tables.groups.set(groups));
                let addresses = lanes.iter().find_map(|lane| lane.run.tables.addresses.get());
                lanes.iter().for_each(|lane| lane.run.tables.addresses.set(addresses));
            }
        }
        self.check_lanes(lanes, threads, told)
    }

    /// Holds the results of all sizes against each other; tests are repeated in their lanes.
    fn check_lanes(
        &mut self,
        lanes: &mut [SizeLane<'_, '_>],
        threads: usize,
        told: &mut Merged<'_>,
    ) -> Result<(), RunError> {
        let suite = self.suite;
        let first = lanes.iter_mut().flat_map(|lane| lane.run.told.drain(..)).collect();
        let consistency = settle(first, &|test, base| suite.rests_on(test, base), &mut |asked| {
            lanes.iter_mut().for_each(|lane| lane.plan_repetitions(asked));
            told.remain(lanes.iter().map(SizeLane::remaining));
            side_by_side(lanes, threads, told, |lane, sink| lane.repeat(asked, sink))?;
            Ok(lanes.iter_mut().flat_map(|lane| lane.run.told.drain(..)).collect())
        })?;
        judge_validity(&consistency, &mut self.invalid_tests);
        told_of(consistency).map_or(Ok(()), |event| told.emit(&event))
    }
}

/// A frame size with its testers, between one test and the next.
struct SizeLane<'s, 't> {
    run: Run<'s>,
    testers: Lane<'t>,
    /// Its traffic with each modifier.
    rounds: Vec<Vec<Item>>,
    known: Option<SelfTest>,
    memory: Memory,
}

impl<'s, 't> SizeLane<'s, 't> {
    fn new(
        (lane, part): (usize, &'s Suite),
        sizes: &[SizePattern],
        make: &mut MakeLane<'_, 't>,
    ) -> Result<Self, RunError> {
        let config = &part.config;
        let first = config.in_round(config.of_self_test());
        let traffic = Traffic::new(&first, &part.topology, &config.frame_sizes[0], Modifier::None)?;
        let testers = make(&traffic.frame_size())?;
        let description = testers.device.describe().clone();
        let mut run = Run { lane, ..Run::new(part, vec![], description, sizes) };
        let items = |(place, round)| run.items(round, place);
        let rounds = config.rounds().into_iter().enumerate();
        let rounds: Vec<_> = rounds.map(items).collect::<Result<_, _>>()?;
        run.plan(part.self_test.is_none() && testers.looped.is_some(), &config.rounds());
        let known = part.self_test.clone();
        Ok(SizeLane { run, testers, rounds, known, memory: Memory::default() })
    }

    fn remaining(&self) -> Duration {
        self.run.outlook.left().in_all(self.memory.clock().beyond_s())
    }

    fn test(
        &mut self,
        round: usize,
        test: TestKind,
        sink: &mut dyn EventSink,
    ) -> Result<(), RunError> {
        if !self.run.suite.config.tests.contains(&test) {
            return Ok(());
        }
        self.at_work(sink, |run, bench, rounds, own| {
            run.test_all_sizes(bench, test, &mut rounds[round], own)
        })
    }

    fn plan_repetitions(&mut self, asked: &[Repeat]) {
        let own = self.own(asked);
        self.run.plan_repetitions(self.memory.clock(), &own);
    }

    fn own(&self, asked: &[Repeat]) -> Vec<Repeat> {
        let is_own = |repeat: &&Repeat| repeat.place.lane == self.run.lane;
        asked.iter().filter(is_own).cloned().collect()
    }

    /// Makes those of its tests once more that are asked for; what they come to stays with its run.
    fn repeat(&mut self, asked: &[Repeat], sink: &mut dyn EventSink) -> Result<(), RunError> {
        let own = self.own(asked);
        self.at_work(sink, |run, bench, rounds, known| {
            run.told = run.repeat(bench, &own, rounds.iter_mut().flatten(), known)?;
            Ok(())
        })
    }

    /// Does something at a bench that remembers what those before it did.
    fn at_work(
        &mut self,
        sink: &mut dyn EventSink,
        work: impl FnOnce(
            &mut Run<'_>,
            &mut Bench<'_>,
            &mut [Vec<Item>],
            &mut Own<'_>,
        ) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let config = &self.run.suite.config;
        let memory = std::mem::take(&mut self.memory);
        let device = &mut *self.testers.device;
        let mut bench = Bench::new(device, sink, config.trial.invalid_retries, config.run_key())
            .remembering(memory);
        let looped = self.testers.looped.as_deref_mut().map(|tester| tester as &mut dyn Tester);
        let mut own = Own { known: self.known.take(), looped };
        let ended = work(&mut self.run, &mut bench, &mut self.rounds, &mut own);
        self.known = own.known;
        self.memory = bench.memory();
        ended
    }
}
