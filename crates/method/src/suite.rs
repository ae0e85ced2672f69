//! The run: self-test, then test after test, each over all frame sizes (RFC 2544 section 26), the
//! whole for each modifier (section 11). Every step is an event.

mod outlook;
mod own;
mod plan;
mod repeats;
mod side_by_side;

pub(crate) use outlook::Outlook;
use own::Own;
pub(crate) use repeats::told_of;

use crate::bench::Bench;
use crate::chassis::{TablesKnown, TestSetup};
use crate::clauses::annex;
use crate::config::Round;
use crate::consistency::{Place, Told};
use crate::event::{EVENT_FORMAT, Event, EventSink, RunFinished, RunStarted};
use crate::reach::{Reach, reach};
use crate::registry::{self, Known, ManyTest, PairTest, Run as HowRun, SuiteName, TestMethod};
use crate::selftest::SelfTest;
use crate::subject::Subject;
use crate::traffic::{TestBed, Topology, Traffic};
use crate::{
    Attachment, Method, Modifier, Outcome, Pattern, RunError, SuiteConfig, TestKind, clocks, stamps,
};
use std::collections::BTreeMap;
use traffic::size::SizePattern;
use trial::{Tester, TesterDescription};
use units::Duration;

/// A run of the suite: what to do, with which addresses, and what the caller knows of it.
#[derive(Clone, Debug)]
pub struct Suite {
    /// Name and version of the program.
    pub program: String,
    /// What is tested, in the user's words.
    pub device: String,
    /// Host, kernel, date, device configuration, ...: for the report.
    pub environment: BTreeMap<String, String>,
    /// What to do.
    pub config: SuiteConfig,
    /// Who has which address.
    pub topology: Topology,
    /// A self-test of an earlier run with the same ports and configuration; `None` to make one
    /// where the ports can be looped.
    pub self_test: Option<SelfTest>,
    /// Tests of two ports beside those of the registry.
    pub more: &'static [TestMethod],
}

impl Suite {
    /// Runs everything. `looped` is the tester with its ports joined back to back, for the
    /// self-test; without it and without an earlier self-test the tester's own limits are not
    /// known, and a warning says so.
    ///
    /// The last event is always `RunFinished`, with what stopped the run where it did not end by
    /// itself; then the error is returned, too.
    pub fn run(
        &self,
        device: &mut dyn Tester,
        looped: Option<&mut dyn Tester>,
        sink: &mut dyn EventSink,
    ) -> Result<RunFinished, RunError> {
        let description = device.describe().clone();
        let key = self.config.run_key();
        let mut bench = Bench::new(device, sink, self.config.trial.invalid_retries, key);
        let (suite, left_out) = self.with_sizes_of_protocol();
        let mut run = Run::new(&suite, left_out, description, &suite.config.frame_sizes);
        let outcome = run.all(&mut bench, looped);
        let counted = bench.trials();
        finish(counted, sink, run.invalid_tests, outcome)
    }

    /// Only the self-test. The events are those of a run.
    pub fn run_self_test(
        &self,
        looped: &mut dyn Tester,
        sink: &mut dyn EventSink,
    ) -> Result<SelfTest, RunError> {
        let description = looped.describe().clone();
        let key = self.config.run_key();
        let mut bench = Bench::new(looped, sink, self.config.trial.invalid_retries, key);
        let (mut suite, left_out) = self.with_sizes_of_protocol();
        suite.config = suite.config.looped();
        let mut run = Run::new(&suite, left_out, description, &suite.config.frame_sizes);
        let outcome = run.only_self_test(&mut bench);
        let counted = bench.trials();
        let (self_test, outcome) = match outcome {
            Ok(self_test) => (Some(self_test), Ok(())),
            Err(error) => (None, Err(error)),
        };
        finish(counted, sink, run.invalid_tests, outcome)?;
        self_test.ok_or_else(|| RunError::Config("the self-test measured nothing".into()))
    }
}

impl Suite {
    /// The tests asked for, in order, those before them that another needs.
    fn tests(&self) -> Vec<TestKind> {
        let mut tests = match self.config.method {
            Method::Rfc2544 => self.config.tests.clone(),
            Method::Harvard1989 => {
                let tests = self.config.harvard_1989.tests.iter().copied();
                tests.map(TestKind::Harvard1989).collect()
            }
        };
        tests.retain(|test| *test != TestKind::SelfTest);
        let methods = tests.iter().filter_map(|test| self.method(*test));
        let needed =
            methods.flat_map(|method| method.needs.iter().filter_map(|id| method.suite.test(id)));
        let needed: Vec<_> = needed.collect();
        tests.extend(needed.iter().map(|method| method.kind));
        // Tests of many ports keep their order: some rest on what others before them find.
        if !self.config.is_of_many_ports() {
            tests.sort();
        }
        tests.dedup();
        tests
    }

    /// About how long the run will take on this tester, as its first event will say. `can_self_test` says whether
    /// the tester can be measured, where it is not known.
    pub fn estimate(&self, tester: &TesterDescription, can_self_test: bool) -> Duration {
        let (suite, left_out) = self.with_sizes_of_protocol();
        let mut run = Run::new(&suite, left_out, tester.clone(), &suite.config.frame_sizes);
        let makes_self_test = suite.has_self_test() && suite.self_test.is_none() && can_self_test;
        run.plan(makes_self_test, &suite.config.rounds());
        run.outlook.left().in_all(0.0)
    }

    /// The first event of a run.
    pub(crate) fn started(&self, tester: TesterDescription, estimate: Duration) -> Event {
        Event::RunStarted(Box::new(RunStarted {
            format: EVENT_FORMAT,
            program: self.program.clone(),
            device: self.device.clone(),
            environment: self.environment.clone(),
            config: serde_json::to_value(&self.config).unwrap_or_default(),
            tester,
            test_bed: Some(TestBed::from(&self.topology).of_document(self.original_bed())),
            estimate,
        }))
    }

    /// That of the document whose tests these are, where it has one.
    fn original_bed(&self) -> Option<[&'static str; 2]> {
        let mut suites = self.tests().into_iter().filter_map(|test| Some(self.method(test)?.suite));
        suites.find_map(SuiteName::original_bed)
    }

    /// Refuses tests, and sections of tests, that nobody registered.
    fn check_tests(&self) -> Result<(), RunError> {
        let is_known = |id: &&String| self.more.iter().any(|method| method.id == **id);
        if let Some(id) = self.config.own.keys().find(|id| !is_known(id)) {
            let why = format!("own.{id}: no test is registered as `{id}`");
            return Err(RunError::Config(why));
        }
        let is_of_this = |test: TestKind| {
            // The suite of 1990 sets the device up anew for each table.
            self.method(test).is_some_and(|method| method.suite != SuiteName::Harvard1990)
        };
        match self.tests().into_iter().find(|test| !is_of_this(*test)) {
            Some(test) => Err(RunError::Config(format!("{test} is no test of this suite"))),
            None => Ok(()),
        }
    }

    /// The test that events call so.
    fn method(&self, test: TestKind) -> Option<&'static TestMethod> {
        let own = self.more.iter().find(|method| method.kind == test);
        own.or_else(|| registry::of_kind(test))
    }

    /// How it is run; `None` of a test that nobody registered.
    fn run_of(&self, test: TestKind) -> Option<HowRun> {
        Some(self.method(test)?.run)
    }

    /// Whether any test goes by what the tester reaches by itself.
    fn has_self_test(&self) -> bool {
        let by_itself =
            |test: TestKind| self.method(test).is_some_and(|m| m.supports("skip-selftest"));
        !self.config.is_of_many_ports() || self.tests().into_iter().any(by_itself)
    }

    /// Whether a test is made with frames of this size, the smallest or not, and this modifier.
    fn is_made(&self, test: TestKind, size: &SizePattern, modifier: Modifier) -> bool {
        let (Some(method), TestKind::Chassis(of_many)) = (self.method(test), test) else {
            return true;
        };
        let has_size = |own: &[u32]| size.period() == 1 && own.contains(&size.smallest().bytes());
        of_many.sizes_bytes().is_none_or(has_size)
            && (modifier == Modifier::None || method.supports("modifiers"))
    }

    /// Without the frame sizes that the protocol cannot carry, and why each was left out: tests
    /// stop at the largest legal size. Where none is left, with all of them, for their error.
    fn with_sizes_of_protocol(&self) -> (Suite, Vec<String>) {
        let (legal, left_out) = legal_sizes(&self.config, &self.topology);
        if legal.is_empty() {
            return (self.clone(), vec![]);
        }
        let mut config = SuiteConfig { frame_sizes: legal, ..self.config.clone() };
        if config.method == Method::Harvard1989 {
            config.trial = config.trial.strict();
        }
        (Suite { config, ..self.clone() }, left_out)
    }
}

/// The frame sizes that the protocol can carry, and why each of the others was left out.
pub(crate) fn legal_sizes(
    config: &SuiteConfig,
    topology: &Topology,
) -> (Vec<SizePattern>, Vec<String>) {
    let (smallest, largest) = Traffic::frame_limits(config, topology);
    let is_legal = |size: &SizePattern| size.smallest() >= smallest && size.largest() <= largest;
    let (legal, beyond): (Vec<_>, Vec<_>) = config.frame_sizes.iter().cloned().partition(is_legal);
    let why = |size: SizePattern| {
        let protocol = config.traffic.protocol.name();
        let limit = match size.largest() > largest {
            true => format!("{protocol} has frames of at most {largest} bytes"),
            false => format!("its headers and the signature take {smallest} bytes"),
        };
        format!("frame size {} is left out: {limit}", String::from(size))
    };
    (legal, beyond.into_iter().map(why).collect())
}

/// A run under way.
pub(crate) struct Run<'s> {
    suite: &'s Suite,
    /// Why frame sizes were left out.
    left_out: Vec<String>,
    description: TesterDescription,
    /// Every frame size of the run, though this part of it may make some only.
    sizes: Vec<SizePattern>,
    invalid_tests: Vec<String>,
    /// What tests found out of the tables of the device.
    tables: TablesKnown,
    /// What each test still to come will take.
    outlook: Outlook,
    /// What the tests came to.
    told: Vec<Told>,
    /// What has a tester, or a set-up, of its own in the run.
    lane: usize,
    /// Outcomes of tests that are made once more are not told.
    is_repeating: bool,
}

/// What is known of one size with one modifier.
pub(crate) struct Item {
    /// Place among all frame sizes of all rounds.
    pub number: usize,
    pub traffic: Traffic,
    /// What the tester can offer to the device; found before the first test.
    pub reach: Option<Reach>,
    pub known: Known,
}

impl<'s> Run<'s> {
    pub(crate) fn new(
        suite: &'s Suite,
        left_out: Vec<String>,
        description: TesterDescription,
        sizes: &[SizePattern],
    ) -> Self {
        let sizes = sizes.to_vec();
        Run {
            suite,
            left_out,
            description,
            sizes,
            invalid_tests: vec![],
            tables: TablesKnown::default(),
            outlook: Outlook::default(),
            told: vec![],
            lane: 0,
            is_repeating: false,
        }
    }

    /// The same where the caller knows what each test still to come will take.
    pub(crate) fn with_outlook(self, outlook: Outlook) -> Self {
        Run { outlook, ..self }
    }

    /// The same as a part of a run that has others.
    pub(crate) fn of_lane(self, lane: usize) -> Self {
        Run { lane, ..self }
    }

    /// A test of all sizes of a tester that does not know itself.
    pub(crate) fn test_alone(
        &mut self,
        bench: &mut Bench<'_>,
        test: TestKind,
        items: &mut [Item],
    ) -> Result<(), RunError> {
        self.test_all_sizes(bench, test, items, &mut Own { known: None, looped: None })
    }

    /// Tests without a valid result, what all came to, and what is left of the run.
    pub(crate) fn ended(self) -> (Vec<String>, Vec<Told>, Outlook) {
        (self.invalid_tests, self.told, self.outlook)
    }
}

impl Run<'_> {
    fn all(
        &mut self,
        bench: &mut Bench<'_>,
        looped: Option<&mut dyn Tester>,
    ) -> Result<(), RunError> {
        self.suite.config.check()?;
        self.suite.check_tests()?;
        if self.suite.config.is_of_many_ports() {
            self.suite.topology.check()?;
        }
        let mut rounds = vec![];
        let asked = self.suite.config.rounds();
        for (place, round) in asked.iter().enumerate() {
            rounds.push(self.items(*round, place)?);
        }
        let will_self_test =
            self.suite.has_self_test() && self.suite.self_test.is_none() && looped.is_some();
        self.plan(will_self_test, &asked);
        self.start(bench)?;
        let mut own = self.know_thyself(bench, looped)?;
        for items in &mut rounds {
            for test in self.suite.tests() {
                self.test_all_sizes(bench, test, items, &mut own)?;
            }
        }
        self.check_consistency(bench, &mut rounds, &mut own)
    }

    /// The traffic of every size; refuses the configuration before anything is sent.
    fn items(&self, round: Round, place: usize) -> Result<Vec<Item>, RunError> {
        let (config, modifier) = (self.suite.config.in_round(round), round.modifier);
        let item = |(of_round, size)| {
            let traffic = Traffic::new(&config, &self.suite.topology, size, modifier)?;
            self.check_ports(&traffic)?;
            let number = place * config.frame_sizes.len() + of_round;
            Ok(Item { number, traffic, reach: None, known: Known::default() })
        };
        config.frame_sizes.iter().enumerate().map(item).collect()
    }

    fn check_ports(&self, traffic: &Traffic) -> Result<(), RunError> {
        let largest = traffic.longest_bytes(traffic.size().largest());
        let mut line_rates = vec![];
        let of_many = self.suite.config.is_of_many_ports();
        let ports: Vec<&Attachment> = match of_many {
            true => self.suite.topology.ports.iter().collect(),
            false => traffic.senders().into_iter().chain(traffic.receivers()).collect(),
        };
        for attachment in ports {
            let port = self.description.ports.iter().find(|port| port.id == attachment.port);
            let port = port.ok_or_else(|| {
                RunError::Config(format!("the tester has no {}", attachment.port))
            })?;
            if largest > port.max_frame_size_bytes {
                return Err(RunError::Config(format!(
                    "{} carries frames of at most {} bytes, {largest} are asked for: raise its MTU \
                     or leave out that size",
                    port.name, port.max_frame_size_bytes
                )));
            }
            line_rates.push(port.line_rate);
        }
        let differ = line_rates.windows(2).find(|pair| pair[0] != pair[1]);
        match differ.filter(|_| traffic.pattern() != Pattern::Pair) {
            Some(rates) => Err(RunError::Config(format!(
                "ports of {} and of {}: one load of each port would be another share of each medium; \
                 test ports of one rate together, or one pair at a time (--pattern pair)",
                rates[0], rates[1]
            ))),
            None => Ok(()),
        }
    }

    fn start(&self, bench: &mut Bench<'_>) -> Result<(), RunError> {
        self.beginning().into_iter().try_for_each(|event| bench.emit(event))
    }

    /// What is told before anything is done.
    fn beginning(&self) -> Vec<Event> {
        let mut warnings = self.left_out.clone();
        let (suite, config) = (self.suite, &self.suite.config);
        for test in suite.tests() {
            let is_made = |size| suite.is_made(test, size, Modifier::None);
            if let TestKind::Chassis(of_many) = test
                && !config.frame_sizes.iter().any(is_made)
            {
                let own = of_many.sizes_bytes().into_iter().flatten().map(u32::to_string);
                let own = own.collect::<Vec<_>>().join(", ");
                warnings.push(format!("{test}: not run: its sizes are {own} bytes"));
            }
            let (mut modifiers, size) = (config.modifiers.iter(), &config.frame_sizes[0]);
            let lacks = |with: &&Modifier| is_made(size) && !suite.is_made(test, size, **with);
            if let Some(modifier) = modifiers.find(lacks) {
                warnings.push(format!("{test}: not run with {modifier}: it has no modifiers"));
            }
        }
        let warnings = warnings.into_iter().map(Event::Warning);
        let estimate = self.outlook.left().in_all(0.0);
        let started = suite.started(self.description.clone(), estimate);
        std::iter::once(started).chain(warnings).collect()
    }

    fn test_all_sizes(
        &mut self,
        bench: &mut Bench<'_>,
        test: TestKind,
        items: &mut [Item],
        own: &mut Own<'_>,
    ) -> Result<(), RunError> {
        let Some(how) = self.suite.run_of(test) else { return Ok(()) };
        let smallest = items.iter().map(|item| item.traffic.size().smallest()).min();
        for item in items {
            let size = item.traffic.size();
            let is_left_out = how.is_of_smallest() && Some(size.smallest()) != smallest;
            if !is_left_out && self.suite.is_made(test, size, item.traffic.modifier()) {
                self.test_size(bench, (test, how), item, own)?;
            }
        }
        Ok(())
    }

    fn test_size(
        &mut self,
        bench: &mut Bench<'_>,
        (test, how): (TestKind, HowRun),
        item: &mut Item,
        own: &mut Own<'_>,
    ) -> Result<(), RunError> {
        let pair = match how {
            HowRun::Pair(pair) => pair,
            HowRun::Many(many) => return self.test_many(bench, (test, many), item, own),
        };
        self.measure_tester_for(bench, own, &item.traffic)?;
        let known = own.known.as_ref();
        let known = known.and_then(|known| known.of_size(&item.traffic.frame_size()));
        let subject = Subject::new(&self.suite.config, &item.traffic, &self.description, known);
        match subject {
            Ok(subject) => {
                let (reach, known) = (&mut item.reach, &mut item.known);
                self.test(bench, (test, item.number, &pair), subject, reach, known)
            }
            Err(why) => {
                self.begin(bench, (test, None), &item.traffic)?;
                let name = name(test, &item.traffic);
                bench.emit(Event::Warning(format!("{name}: {why}")))?;
                self.invalid_tests.push(name);
                Ok(())
            }
        }
    }

    fn test_many(
        &mut self,
        bench: &mut Bench<'_>,
        (test, many): (TestKind, ManyTest),
        item: &Item,
        own: &mut Own<'_>,
    ) -> Result<(), RunError> {
        let Item { number, traffic, known, .. } = item;
        if self.suite.method(test).is_some_and(|method| method.supports("skip-selftest")) {
            self.measure_tester_for(bench, own, traffic)?;
        }
        let place = Place { lane: self.lane, item: *number, test };
        self.begin(bench, (test, Some(place)), traffic)?;
        let of_tester = own.known.as_ref().and_then(|own| own.of_size(&traffic.frame_size()));
        let found = (known, &self.tables);
        let rack = TestSetup::new(&self.suite.config, traffic, &self.description, of_tester, found);
        let name = name(test, traffic);
        let outcomes = match rack {
            Ok(rack) => match (many.run)(bench, &rack, test) {
                // What this device or these ports cannot do says nothing of the other tests.
                Err(RunError::Config(why)) => {
                    return bench.emit(Event::Warning(format!("{name}: not run: {why}")));
                }
                outcomes => outcomes?,
            },
            Err(why) => {
                bench.emit(Event::Warning(format!("{name}: {why}")))?;
                vec![]
            }
        };
        if outcomes.is_empty() {
            self.invalid_tests.push(name);
        }
        let mut outcomes = outcomes.into_iter();
        outcomes.try_for_each(|outcome| self.finish_test(bench, place, outcome, traffic))
    }

    fn test(
        &mut self,
        bench: &mut Bench<'_>,
        (test, item, pair): (TestKind, usize, &PairTest),
        subject: Subject<'_>,
        reached: &mut Option<Reach>,
        known: &mut Known,
    ) -> Result<(), RunError> {
        let place = Place { lane: self.lane, item, test };
        for part in 0..(pair.parts)(&self.suite.config) {
            self.begin(bench, (test, Some(place)), subject.traffic)?;
            // Where only an observation is asked for, nothing is sent beyond its loads.
            let seeks = (pair.seeks_reach)(&self.suite.config) && !subject.traffic.is_observation();
            if reached.is_none() && seeks {
                *reached = Some(reach(bench, &subject, test)?);
            }
            let subject = &reached.as_ref().map_or(subject, |reach| subject.within(reach));
            let outcome = (pair.run)(bench, subject, known, part)?;
            self.finish_test(bench, place, outcome, subject.traffic)?;
        }
        Ok(())
    }

    fn finish_test(
        &mut self,
        bench: &mut Bench<'_>,
        place: Place,
        mut outcome: Outcome,
        traffic: &Traffic,
    ) -> Result<(), RunError> {
        let suite = self.suite;
        let of_outcome = (&suite.config, &self.sizes[..], traffic.destinations());
        outcome.facts.evidence = bench.evidence().clone();
        annex(&mut outcome, of_outcome, &suite.topology);
        stamps::state(&mut outcome, &bench.tester().describe().ports);
        clocks::state(&mut outcome, bench.clocks());
        self.told.push(Told { place, outcome: outcome.clone() });
        if self.is_repeating {
            return Ok(());
        }
        if !outcome.invalid.is_empty() {
            self.invalid_tests.push(name(outcome.test, traffic));
        }
        let besides = bench.besides().in_words();
        let warning = besides.map(|it| format!("{}: {it}", name(outcome.test, traffic)));
        bench.emit(Event::TestFinished(Box::new(outcome)))?;
        warning.map_or(Ok(()), |it| bench.emit(Event::Warning(it)))
    }

    /// A test begins: its share of the estimate is now the one under way.
    fn begin(
        &mut self,
        bench: &mut Bench<'_>,
        (test, place): (TestKind, Option<Place>),
        traffic: &Traffic,
    ) -> Result<(), RunError> {
        self.end_share(bench);
        let share = self.outlook.begin(test, place);
        bench.begin_share(share, self.outlook.left());
        bench.begin(test, traffic)
    }

    /// The test under way is over.
    fn end_share(&mut self, bench: &Bench<'_>) {
        let now = bench.clock();
        self.outlook.end(now.took(), now.made_s);
    }
}

/// Tells how a run ended, with its trials and the invalid ones among them.
pub(crate) fn finish(
    (trials, invalid_trials): (u64, u64),
    sink: &mut dyn EventSink,
    invalid_tests: Vec<String>,
    outcome: Result<(), RunError>,
) -> Result<RunFinished, RunError> {
    let stopped_by = outcome.as_ref().err().map(ToString::to_string);
    let finished = RunFinished { trials, invalid_trials, invalid_tests, stopped_by };
    let told = sink.emit(&Event::RunFinished(finished.clone()));
    // What stopped the run says more than that its end could not be told.
    outcome?;
    told?;
    Ok(finished)
}

/// Such as `throughput, 64`.
fn name(test: TestKind, traffic: &Traffic) -> String {
    let size = traffic.frame_size();
    match traffic.modifier() {
        Modifier::None => format!("{test}, {size}"),
        modifier => format!("{test}, {size}, with {modifier}"),
    }
}
