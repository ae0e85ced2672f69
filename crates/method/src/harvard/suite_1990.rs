//! The suite of 1990: table after table, and in each size after size.

use super::counted::compare_counters;
use super::together::Together;
use super::{
    Filters, Laboratory, Mode, Path, Ready, SetUp, SetUpError, Setting, Sources, delay,
    dual_max_rate, dual_stream, max_rate, raw_rate,
};
use crate::bench::Bench;
use crate::clauses::annex;
use crate::event::{EVENT_FORMAT, Event, EventSink, RunFinished, RunStarted};
use crate::subject::Subject;
use crate::suite::{finish, legal_sizes};
use crate::traffic::Traffic;
use crate::{Modifier, RunError, SuiteConfig, TestKind, estimate};
use std::collections::BTreeMap;
use units::{Duration, FrameSize};
use wire::size::SizePattern;

/// A run of the suite.
#[derive(Clone, Debug)]
pub struct Suite1990 {
    /// Name and version of the program.
    pub program: String,
    /// What is tested, in the user's words.
    pub device: String,
    /// For the report.
    pub environment: BTreeMap<String, String>,
    /// What to do; of its tests those of this suite.
    pub config: SuiteConfig,
    /// Every way in which the device is set up, in order.
    pub set_ups: Vec<SetUp>,
}

impl Suite1990 {
    /// The tests, in order.
    pub const TESTS: [TestKind; 5] = [
        TestKind::Delay,
        TestKind::MaxRate,
        TestKind::RawRate,
        TestKind::DualStream,
        TestKind::DualMaxRate,
    ];
    /// The frame sizes of the tables, in bytes.
    pub const FRAME_SIZES_BYTES: [u32; 6] = [64, 128, 256, 512, 1024, 1518];

    /// The sizes of 1990 as a configuration has them.
    pub fn frame_sizes() -> Vec<SizePattern> {
        Self::FRAME_SIZES_BYTES.map(FrameSize::from_bytes).map(SizePattern::Fixed).to_vec()
    }

    /// Every way in which a device may be set up, in the order of the tables.
    pub fn all_set_ups() -> Vec<SetUp> {
        Path::ALL.into_iter().flat_map(Self::set_ups_of).collect()
    }

    fn set_ups_of(path: Path) -> Vec<SetUp> {
        let one = |mode, filters| SetUp { mode, path, filters, streams: 1 };
        let ip = Filters::ALL.map(|filters| one(Mode::Ip, filters));
        let others = Mode::ALL.into_iter().filter(|mode| *mode != Mode::Ip);
        let others = others.map(|mode| one(mode, Filters::None));
        let dual = SetUp { streams: 2, ..one(Mode::Ip, Filters::None) };
        ip.into_iter().chain(others).chain([dual]).collect()
    }

    /// Runs everything. What the device cannot do is told as a warning.
    ///
    /// The last event is always `RunFinished`, as with [`crate::Suite::run`].
    pub fn run(
        &self,
        laboratory: &mut dyn Laboratory,
        sink: &mut dyn EventSink,
    ) -> Result<RunFinished, RunError> {
        let mut run = Run {
            suite: self,
            todo: self.plan(),
            counted: (0, 0),
            invalid_tests: vec![],
            to_be_compared: false,
        };
        let outcome = run.all(laboratory, sink);
        finish(run.counted, sink, run.invalid_tests, outcome)
    }

    fn tests(&self, set_up: &SetUp) -> Vec<TestKind> {
        let fits = |test: &TestKind| match test {
            TestKind::Delay => set_up.streams == 1 && set_up.filters == Filters::None,
            TestKind::MaxRate | TestKind::RawRate => set_up.streams == 1,
            TestKind::DualStream | TestKind::DualMaxRate => set_up.streams == 2,
            _ => false,
        };
        let tests = Self::TESTS.into_iter().filter(|test| self.config.tests.contains(test));
        tests.filter(fits).collect()
    }

    /// What each set-up will take.
    fn plan(&self) -> Vec<Duration> {
        let ceiling = units::FrameRate::from_fps(1_000);
        let sizes = self.config.frame_sizes.len() as u64;
        let share = |set_up: &SetUp| {
            let tests = self.tests(set_up).into_iter();
            tests.map(|test| estimate::of_campaign(&self.config, test, ceiling) * sizes).sum()
        };
        self.set_ups.iter().map(share).collect()
    }
}

/// A run under way.
struct Run<'s> {
    suite: &'s Suite1990,
    todo: Vec<Duration>,
    /// Trials of the set-ups before, and invalid ones among them.
    counted: (u64, u64),
    invalid_tests: Vec<String>,
    /// Whether the device's counters are still to be compared as it is set up.
    to_be_compared: bool,
}

impl Run<'_> {
    fn all(
        &mut self,
        laboratory: &mut dyn Laboratory,
        sink: &mut dyn EventSink,
    ) -> Result<(), RunError> {
        self.suite.config.check()?;
        sink.emit(&self.started(laboratory))?;
        let shows_counters = laboratory.shows_counters();
        for set_up in self.suite.set_ups.clone() {
            self.to_be_compared = shows_counters;
            let share = self.todo.remove(0);
            if self.suite.tests(&set_up).is_empty() {
                continue;
            }
            match laboratory.set_up(&set_up) {
                Ok(ready) => self.test_set_up(&set_up, share, ready, sink)?,
                Err(SetUpError::NotPossible(why)) => {
                    let what = in_words(&set_up);
                    let text = format!("not possible on this device: {what}: {why}");
                    sink.emit(&Event::Warning(text))?;
                }
                Err(SetUpError::Failed(error)) => return Err(error),
            }
        }
        Ok(())
    }

    fn started(&self, laboratory: &dyn Laboratory) -> Event {
        let suite = self.suite;
        Event::RunStarted(Box::new(RunStarted {
            format: EVENT_FORMAT,
            program: suite.program.clone(),
            device: suite.device.clone(),
            environment: suite.environment.clone(),
            config: serde_json::to_value(&suite.config).unwrap_or_default(),
            tester: laboratory.describe(),
            estimate: self.todo.iter().copied().sum(),
        }))
    }

    /// Every test of a set-up, size after size.
    fn test_set_up(
        &mut self,
        set_up: &SetUp,
        share: Duration,
        mut ready: Ready<'_>,
        sink: &mut dyn EventSink,
    ) -> Result<(), RunError> {
        let mut config = self.suite.config.clone();
        config.trial = config.trial.strict();
        config.traffic.protocol = set_up.mode.protocol();
        config.traffic.filters = ready.filters;
        let description = ready.tester.describe().clone();
        let retries = config.trial.invalid_retries;
        let mut tester = Together { tester: &mut *ready.tester };
        let mut bench =
            Bench::new(&mut tester, sink, retries, config.run_key()).counting_from(self.counted);
        bench.begin_share(share, self.todo.iter().copied().sum());
        let first = ready.streams.first();
        let first = first.ok_or_else(|| RunError::Config("a set-up without streams".into()))?;
        let (sizes, left_out) = legal_sizes(&config, first);
        for why in left_out {
            bench.emit(Event::Note(format!("{}: {why}", in_words(set_up))))?;
        }
        let tested = sizes.iter().try_for_each(|size| {
            let traffic = |topology| Traffic::new(&config, topology, size, Modifier::None);
            let mut all = traffic(first)?;
            if let Some(second) = ready.streams.get(1) {
                all = all.beside(traffic(second)?);
            }
            let subject = Subject::new(&config, &all, &description, None);
            let subject = subject.map_err(RunError::Config)?;
            self.test_size(&mut bench, &subject, set_up)
        });
        self.counted = bench.trials();
        tested
    }

    fn test_size(
        &mut self,
        bench: &mut Bench<'_>,
        subject: &Subject<'_>,
        set_up: &SetUp,
    ) -> Result<(), RunError> {
        let setting = Setting::from(set_up);
        let tests = self.suite.tests(set_up);
        let Some(first) = tests.first() else { return Ok(()) };
        let sources = Sources::find(bench, subject, *first)?;
        let subject = &subject.with_tester_max(sources.slowest());
        for test in tests {
            bench.begin(test, subject.traffic)?;
            let mut outcome = match test {
                TestKind::Delay => delay(bench, subject, setting)?.outcome(),
                TestKind::MaxRate => max_rate(bench, subject, &sources, setting)?.outcome(),
                TestKind::DualMaxRate => {
                    dual_max_rate(bench, subject, &sources, setting)?.outcome()
                }
                TestKind::DualStream => dual_stream(bench, subject, &sources, setting)?.outcome(),
                _ => raw_rate(bench, subject, &sources, setting)?.outcome(),
            };
            if !outcome.invalid.is_empty() {
                let size = subject.traffic.frame_size();
                self.invalid_tests.push(format!("{test}, {size}, {}", in_words(set_up)));
            }
            let config = subject.config;
            let of_outcome = (config, &config.frame_sizes[..], config.traffic.destinations);
            annex(&mut outcome, of_outcome, subject.traffic.topology());
            bench.emit(Event::TestFinished(Box::new(outcome)))?;
        }
        match std::mem::take(&mut self.to_be_compared) {
            true => compare_counters(bench, subject, &sources, &in_words(set_up)),
            false => Ok(()),
        }
    }
}

/// Such as `TCP/IP - within interface card, ten filters`.
fn in_words(set_up: &SetUp) -> String {
    let heading = Setting::from(set_up).heading();
    match set_up.filters.in_words() {
        "" => heading,
        filters => format!("{heading}, {filters}"),
    }
}
