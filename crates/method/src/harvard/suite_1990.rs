//! The suite of 1990: table after table. For each the device is set up anew, and then tested by the run of every
//! suite.

use super::counted::compare_counters;
use super::together::Together;
use super::{
    Filters, Laboratory, Mode, Path, Ready, SetUp, SetUpError, Setting, Sources, delay,
    dual_max_rate, dual_stream, max_rate, raw_rate,
};
use crate::bench::{Bench, Memory};
use crate::consistency::{Repeat, Told, settle};
use crate::estimate::Foretold;
use crate::event::{Event, EventSink, RunFinished};
use crate::registry::Known;
use crate::subject::Subject;
use crate::suite::{Item, Outlook, Run, finish, legal_sizes, told_of};
use crate::traffic::{Forwarding, Topology, Traffic};
use crate::{Modifier, Outcome, RunError, Suite, SuiteConfig, TestKind, estimate};
use std::collections::BTreeMap;
use traffic::size::SizePattern;
use units::FrameSize;

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
        let mut campaign = Campaign {
            suite: self,
            possible: self.set_ups.iter().map(|it| laboratory.is_possible(it)).collect(),
            outlook: Outlook::default(),
            memory: Memory::default(),
            invalid_tests: vec![],
            told: vec![],
        };
        let outcome = campaign.all(laboratory, sink);
        finish(campaign.memory.trials(), sink, campaign.invalid_tests, outcome)
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

    /// What each test of the possible set-ups from this one on will take, with each frame size; of the first one with so
    /// many sizes only.
    fn plan(&self, from: usize, sizes: usize, possible: &[bool]) -> Vec<(TestKind, Foretold)> {
        let all = self.config.frame_sizes.len();
        let sizes = std::iter::once(sizes).chain(std::iter::repeat(all));
        let set_ups = self.set_ups.iter().zip(possible).skip(from).zip(sizes);
        let set_ups = set_ups.filter(|((_, possible), _)| **possible);
        set_ups.flat_map(|((set_up, _), sizes)| self.shares(set_up, sizes)).collect()
    }

    fn shares(&self, set_up: &SetUp, sizes: usize) -> Vec<(TestKind, Foretold)> {
        let ceiling = units::FrameRate::from_fps(1_000);
        let of = |test| move |config: &_| estimate::of_campaign(config, test, ceiling);
        let share = |test| (test, Foretold::by(&self.config, of(test)));
        let tests = self.tests(set_up).into_iter();
        tests.flat_map(|test| std::iter::repeat_n(share(test), sizes)).collect()
    }

    /// The part of the run that is made with one set-up.
    fn part(&self, config: SuiteConfig, topology: Topology) -> Suite {
        Suite {
            program: self.program.clone(),
            device: self.device.clone(),
            environment: self.environment.clone(),
            config,
            topology,
            self_test: None,
            more: &[],
        }
    }
}

/// A run under way.
struct Campaign<'s> {
    suite: &'s Suite1990,
    /// Of each set-up, as far as it is known.
    possible: Vec<bool>,
    /// What the tests still to come will take.
    outlook: Outlook,
    memory: Memory,
    invalid_tests: Vec<String>,
    /// What the tests came to; each set-up is a lane.
    told: Vec<Told>,
}

/// What is made with a set-up.
#[derive(Clone, Copy)]
enum Part<'a> {
    /// Every test, each with every frame size.
    All,
    /// These once more.
    Again(&'a [Repeat]),
}

impl Campaign<'_> {
    fn all(
        &mut self,
        laboratory: &mut dyn Laboratory,
        sink: &mut dyn EventSink,
    ) -> Result<(), RunError> {
        self.suite.config.check()?;
        let whole =
            self.suite.part(self.suite.config.clone(), Topology::of(Forwarding::Bridged, vec![]));
        let sizes = self.suite.config.frame_sizes.len();
        self.outlook.expect_only(self.suite.plan(0, sizes, &self.possible));
        sink.emit(&whole.started(laboratory.describe(), self.outlook.left().in_all(0.0)))?;
        for lane in 0..self.suite.set_ups.len() {
            if !self.suite.tests(&self.suite.set_ups[lane]).is_empty() {
                self.with_set_up(lane, Part::All, laboratory, sink)?;
            }
        }
        self.check_consistency(laboratory, sink)
    }

    /// Holds the results of all set-ups against each other; for tests that are repeated the device is set up again.
    fn check_consistency(
        &mut self,
        laboratory: &mut dyn Laboratory,
        sink: &mut dyn EventSink,
    ) -> Result<(), RunError> {
        let first = std::mem::take(&mut self.told);
        let consistency = settle(first, &|_, _| false, &mut |asked| {
            self.outlook.repeat(asked);
            for lane in 0..self.suite.set_ups.len() {
                let of_lane = asked.iter().filter(|repeat| repeat.place.lane == lane);
                let of_lane: Vec<Repeat> = of_lane.cloned().collect();
                if !of_lane.is_empty() {
                    self.with_set_up(lane, Part::Again(&of_lane), laboratory, sink)?;
                }
            }
            Ok(std::mem::take(&mut self.told))
        })?;
        match told_of(consistency) {
            Some(event) => Ok(sink.emit(&event)?),
            None => Ok(()),
        }
    }

    fn with_set_up(
        &mut self,
        lane: usize,
        part: Part<'_>,
        laboratory: &mut dyn Laboratory,
        sink: &mut dyn EventSink,
    ) -> Result<(), RunError> {
        let shows_counters = laboratory.shows_counters();
        let set_up = &self.suite.set_ups[lane];
        match laboratory.set_up(set_up) {
            Ok(ready) => self.test_set_up((lane, part), ready, shows_counters, sink),
            Err(SetUpError::NotPossible(why)) => {
                let what = in_words(set_up);
                let text = format!("not possible on this device: {what}: {why}");
                Ok(sink.emit(&Event::Warning(text))?)
            }
            Err(SetUpError::Failed(error)) => Err(error),
        }
    }

    fn test_set_up(
        &mut self,
        (lane, part): (usize, Part<'_>),
        mut ready: Ready<'_>,
        shows_counters: bool,
        sink: &mut dyn EventSink,
    ) -> Result<(), RunError> {
        let set_up = &self.suite.set_ups[lane];
        let mut config = self.suite.config.clone();
        config.trial = config.trial.strict();
        config.traffic.protocol = set_up.mode.protocol();
        config.traffic.filters = ready.filters;
        let description = ready.tester.describe().clone();
        let mut tester = Together { tester: &mut *ready.tester };
        let memory = std::mem::take(&mut self.memory).before_another_device();
        let mut bench =
            Bench::new(&mut tester, sink, config.trial.invalid_retries, config.run_key())
                .remembering(memory);
        let first = ready.streams.first();
        let first = first.ok_or_else(|| RunError::Config("a set-up without streams".into()))?;
        let (sizes, left_out) = legal_sizes(&config, first);
        for why in left_out {
            bench.emit(Event::Note(format!("{}: {why}", in_words(set_up))))?;
        }
        let asked = std::mem::replace(&mut config.frame_sizes, sizes);
        let with_set_up = self.suite.part(config, first.clone());
        let mut items = items(&with_set_up, &ready.streams, Setting::from(set_up))?;
        let mut outlook = std::mem::take(&mut self.outlook);
        if matches!(part, Part::All) {
            outlook.expect_only(self.suite.plan(lane, items.len(), &self.possible));
        }
        let run = Run::new(&with_set_up, vec![], description, &asked);
        let mut run = run.with_outlook(outlook).of_lane(lane);
        let tested = match part {
            Part::Again(asked) => run.repeat_alone(&mut bench, asked, &mut items),
            Part::All => {
                let mut tests = self.suite.tests(set_up).into_iter();
                tests.try_for_each(|test| run.test_alone(&mut bench, test, &mut items))
            }
        };
        let (invalid, told, outlook) = run.ended();
        self.outlook = outlook;
        let now = bench.clock();
        self.outlook.end(now.took(), now.made_s);
        self.told.extend(told);
        let in_set_up = |name| format!("{name}, {}", in_words(set_up));
        self.invalid_tests.extend(invalid.into_iter().map(in_set_up));
        let tested = tested.and_then(|()| match (part, items.first()) {
            (Part::All, Some(item)) if shows_counters => {
                compare(&mut bench, &with_set_up, item, set_up)
            }
            _ => Ok(()),
        });
        self.memory = bench.memory();
        tested
    }
}

/// Every frame size, of one stream or of two at once.
fn items(part: &Suite, streams: &[Topology], setting: Setting) -> Result<Vec<Item>, RunError> {
    let item = |(number, size): (usize, &SizePattern)| {
        let traffic = |topology| Traffic::new(&part.config, topology, size, Modifier::None);
        let mut all = traffic(&streams[0])?;
        if let Some(second) = streams.get(1) {
            all = all.beside(traffic(second)?);
        }
        let known = Known { setting: Some(setting), ..Known::default() };
        Ok(Item { number, traffic: all, reach: None, known })
    };
    part.config.frame_sizes.iter().enumerate().map(item).collect()
}

/// The device's counters beside the tester's.
fn compare(
    bench: &mut Bench<'_>,
    part: &Suite,
    item: &Item,
    set_up: &SetUp,
) -> Result<(), RunError> {
    let Some(sources) = &item.known.sources else { return Ok(()) };
    let description = bench.tester().describe().clone();
    let subject = Subject::new(&part.config, &item.traffic, &description, None);
    let subject = subject.map_err(RunError::Config)?.with_tester_max(sources.slowest());
    compare_counters(bench, &subject, sources, &in_words(set_up))
}

/// Makes the trials of a test with one frame size, and says what they come to.
pub(crate) fn test(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    known: &mut Known,
    test: TestKind,
) -> Result<Outcome, RunError> {
    let missing = || RunError::Config(format!("{test}: the device is set up anew for this test"));
    let setting = known.setting.ok_or_else(missing)?;
    let sources = match known.sources.take() {
        Some(sources) => sources,
        None => Sources::find(bench, subject, test)?,
    };
    let sources = known.sources.insert(sources);
    let subject = &subject.with_tester_max(sources.slowest());
    Ok(match test {
        TestKind::Delay => delay(bench, subject, setting)?.outcome(),
        TestKind::MaxRate => max_rate(bench, subject, sources, setting)?.outcome(),
        TestKind::DualMaxRate => dual_max_rate(bench, subject, sources, setting)?.outcome(),
        TestKind::DualStream => dual_stream(bench, subject, sources, setting)?.outcome(),
        _ => raw_rate(bench, subject, sources, setting)?.outcome(),
    })
}

/// Such as `TCP/IP - within interface card, ten filters`.
fn in_words(set_up: &SetUp) -> String {
    let heading = Setting::from(set_up).heading();
    match set_up.filters.in_words() {
        "" => heading,
        filters => format!("{heading}, {filters}"),
    }
}
