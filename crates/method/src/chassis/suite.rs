//! A run of chassis tests. Every step is an event.

mod side_by_side;

use super::{ChassisConfig, ChassisTest, Known, Rack};
use crate::bench::Bench;
use crate::clauses::annex_many;
use crate::event::{EVENT_FORMAT, Event, EventSink, RunFinished, RunStarted, TestStarted};
use crate::registry::{self, ManyTest};
use crate::suite::finish;
use crate::{Direction, Modifier, Outcome, RunError, TestKind, Topology};
use std::collections::BTreeMap;
use trial::{Tester, TesterDescription};
use units::{Duration, FrameSize};

/// A run: what to do, with which addresses, and what the caller knows of it.
#[derive(Clone, Debug)]
pub struct ChassisSuite {
    /// Name and version of the program.
    pub program: String,
    /// What is tested, in the user's words.
    pub device: String,
    /// Host, kernel, date, device configuration, ...: for the report.
    pub environment: BTreeMap<String, String>,
    /// What to do.
    pub config: ChassisConfig,
    /// Who has which address.
    pub chassis: Topology,
}

impl ChassisSuite {
    /// Runs everything. The last event is always `RunFinished`, with what stopped the run where it
    /// did not end by itself; then the error is returned, too.
    pub fn run(
        &self,
        device: &mut dyn Tester,
        sink: &mut dyn EventSink,
    ) -> Result<RunFinished, RunError> {
        let description = device.describe().clone();
        let retries = self.config.trial.invalid_retries;
        let mut bench = Bench::new(device, sink, retries, self.config.run_key());
        let mut invalid_tests = vec![];
        let outcome = self.all(&mut bench, &description, &mut invalid_tests);
        let counted = bench.trials();
        finish(counted, sink, invalid_tests, outcome)
    }

    fn all(
        &self,
        bench: &mut Bench<'_>,
        description: &TesterDescription,
        invalid_tests: &mut Vec<String>,
    ) -> Result<(), RunError> {
        let items = self.checked(description)?;
        let known = Known::default();
        self.beginning(description, &items).into_iter().try_for_each(|event| bench.emit(event))?;
        for (done, (test, size)) in items.iter().enumerate() {
            let later = (items.len() - 1 - done) as u64;
            bench.begin_share(self.share(), self.share() * later);
            let (chassis, config, ports) = (&self.chassis, &self.config, self.chassis.ports.len());
            let rack = Rack { chassis, config, description, size: *size, ports, known: &known };
            if !told_of_test(bench, &rack, *test)? {
                invalid_tests.push(format!("{test}, {size}"));
            }
        }
        Ok(())
    }

    /// The tests to be made; refuses what cannot be.
    fn checked(
        &self,
        description: &TesterDescription,
    ) -> Result<Vec<(ChassisTest, FrameSize)>, RunError> {
        self.config.check()?;
        self.chassis.check()?;
        self.items(description)
    }

    /// What is told before anything is done.
    fn beginning(
        &self,
        description: &TesterDescription,
        items: &[(ChassisTest, FrameSize)],
    ) -> Vec<Event> {
        let mut events = vec![Event::RunStarted(Box::new(RunStarted {
            format: EVENT_FORMAT,
            program: self.program.clone(),
            device: self.device.clone(),
            environment: self.environment.clone(),
            config: serde_json::to_value(&self.config).unwrap_or_default(),
            tester: description.clone(),
            estimate: self.share() * items.len() as u64,
        }))];
        for test in self.config.tests.iter().filter(|test| items.iter().all(|(of, _)| of != *test))
        {
            let own: Vec<String> =
                test.sizes_bytes().iter().copied().flatten().map(u32::to_string).collect();
            let why = format!("{test}: not run: its sizes are {} bytes", own.join(", "));
            events.push(Event::Warning(why));
        }
        events
    }

    /// Every test with every size that it is made for.
    fn items(
        &self,
        description: &TesterDescription,
    ) -> Result<Vec<(ChassisTest, FrameSize)>, RunError> {
        let known = |port: &crate::Attachment| description.ports.iter().find(|p| p.id == port.port);
        let mut largest = u32::MAX;
        for port in &self.chassis.ports {
            let port = known(port)
                .ok_or_else(|| RunError::Config(format!("the tester has no {}", port.port)))?;
            largest = largest.min(port.max_frame_size_bytes);
        }
        let sizes = &self.config.frame_sizes;
        if let Some(size) = sizes.iter().find(|size| size.bytes() > largest) {
            return Err(RunError::Config(format!(
                "the ports carry frames of at most {largest} bytes, {size} are asked for: raise \
                 their MTU or leave out that size"
            )));
        }
        let smallest = sizes.iter().min().copied().unwrap_or(FrameSize::MIN_ETHERNET);
        let items = self.config.tests.iter().flat_map(|test| {
            let of_test = match test.sizes_bytes() {
                _ if many_test(*test).is_some_and(|many| many.is_of_smallest) => vec![smallest],
                Some(own) => {
                    sizes.iter().filter(|size| own.contains(&size.bytes())).copied().collect()
                }
                None => sizes.clone(),
            };
            of_test.into_iter().map(|size| (*test, size))
        });
        Ok(items.collect())
    }

    /// A guess at what a test takes: a search of ten trials and the loads of the table.
    fn share(&self) -> Duration {
        let trial = &self.config.trial;
        let waits = trial.learning_wait_s + trial.drain_s + trial.settle_s;
        let trials = 10.0 + self.config.loads_percent.len() as f64;
        Duration::from_secs_f64(trials * (trial.duration_s + waits))
    }
}

/// Runs a test, and tells of it; whether it has a valid result, or none is possible.
fn told_of_test(
    bench: &mut Bench<'_>,
    rack: &Rack<'_>,
    test: ChassisTest,
) -> Result<bool, RunError> {
    bench.emit(Event::TestStarted(TestStarted {
        test: TestKind::Chassis(test),
        frame_size: rack.size.to_string(),
        direction: Direction::Unidirectional,
        modifier: Modifier::None,
        remaining: bench.clock().remaining(),
    }))?;
    match run_test(bench, rack, test) {
        Ok(Some(mut outcome)) => {
            annex_many(&mut outcome, rack.config);
            let is_valid = outcome.invalid.is_empty();
            bench.emit(Event::TestFinished(Box::new(outcome)))?;
            Ok(is_valid)
        }
        Ok(None) => Ok(false),
        // What this device or these ports cannot do says nothing of the other tests.
        Err(RunError::Config(why)) => {
            let why = format!("{test}, {}: not run: {why}", rack.size);
            bench.emit(Event::Warning(why))?;
            Ok(true)
        }
        Err(error) => Err(error),
    }
}

fn run_test(
    bench: &mut Bench<'_>,
    rack: &Rack<'_>,
    test: ChassisTest,
) -> Result<Option<Outcome>, RunError> {
    let many = many_test(test).ok_or_else(|| RunError::Config("no such test".into()))?;
    (many.run)(bench, rack, test)
}

/// How a test is run.
fn many_test(test: ChassisTest) -> Option<ManyTest> {
    match registry::of_kind(TestKind::Chassis(test))?.run {
        registry::Run::Many(many) => Some(many),
        registry::Run::Pair(_) | registry::Run::Campaign => None,
    }
}
