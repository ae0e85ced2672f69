//! One run from its self-test to its report.

use crate::args::Run;
use crate::captures::Captures;
use crate::failure::{Exit, Failure, Outcome};
use crate::laboratory::Laboratory;
use crate::options::{Options, SuiteName};
use crate::plan::RunPlan;
use crate::progress::Progress;
use crate::recorder::Recorder;
use crate::resume::{Now, Saved};
use crate::selftest_cache::Key;
use crate::setup::{self, Setup, Subject};
use crate::side_by_side::SideBySide;
use crate::supervised::Supervised;
use crate::{host, output, patience, rendering, resume, simulated, suspects, tolly};
use method::chassis::ChassisTest;
use method::harvard::{Laboratory as _, Suite1990};
use method::registry;
use method::{
    Forwarding, Method, Recorded, ResumingTester, RunError, RunFinished, SelfTest, Suite,
    SuiteConfig, TestKind, TrialRecord,
};
use nix::errno::Errno;
use nix::unistd::{AccessFlags, access};
use report::Status;
use report::run_folder::{self, RunFolder};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use trial::{TesterDescription, TesterError};
use wire::signature::RunKey;

/// Name of the effective configuration in a run folder.
pub const CONFIGURATION: &str = "config.toml";
/// Where the folders of runs are that have no other place.
const RUNS: &str = "runs";

/// Name and version.
const PROGRAM: &str = concat!("netanvil ", env!("CARGO_PKG_VERSION"));

/// A run about to begin.
pub struct TestRun<'a> {
    plan: &'a RunPlan,
    subject: &'a Subject,
    arguments: &'a Run,
    stop: &'a Arc<AtomicBool>,
}

/// What is known of the tester before the run.
struct Known {
    /// A self-test that fits; `None` to make one, or to do without.
    self_test: Option<SelfTest>,
    /// The tester with its ports joined, where a self-test is to be made.
    looped: Option<Setup>,
    /// Where to keep what will be measured.
    key: Key,
    /// Whether it is worth keeping.
    to_be_kept: bool,
    /// For the report.
    about: String,
}

impl<'a> TestRun<'a> {
    /// A run of `plan` on `subject`; `stop` ends it early.
    pub fn new(
        plan: &'a RunPlan,
        subject: &'a Subject,
        arguments: &'a Run,
        stop: &'a Arc<AtomicBool>,
    ) -> Self {
        TestRun { plan, subject, arguments, stop }
    }

    /// Runs everything, and removes what was built, whatever happens.
    pub fn run(&self, mut setup: Setup) -> Outcome {
        self.check_forwarding(&setup)?;
        for port in setup.tester.describe().ports.iter().filter(|port| !port.reason.is_empty()) {
            self.say(format!("{}: {} ({})", port.name, port.port_type, port.reason));
        }
        let saved = self.saved(setup.tester.describe(), &setup.environment)?;
        let mut known = self.know_tester(&setup, saved.as_ref())?;
        setup.environment.insert("self-test".into(), known.about.clone());
        let run_key = self.run_key(saved.as_ref())?;
        let trials = trials_of(saved);
        let suite = self.suite(&setup, known.self_test.take(), run_key);
        if self.arguments.resume.is_none() && !matches!(self.subject, Subject::Simulated(_)) {
            let estimate = suite.estimate(setup.tester.describe(), known.looped.is_some());
            patience::check(estimate, self.arguments.yes, shorter(&suite.config))?;
        }
        let mut recorder = self.recorder(&trials)?;
        let ended = self.drive(&suite, &mut setup, known.looped.as_mut(), trials, &mut recorder);
        if let Some(self_test) = recorder.self_test().filter(|_| known.to_be_kept) {
            known.key.store(self_test);
        }
        let torn_down = known.looped.map_or(Ok(()), Setup::tear_down).and(setup.tear_down());
        self.finish(recorder, ended, torn_down)
    }

    /// How a saved run ended, if it has come to its end.
    pub fn finished(folder: &Path) -> Outcome<Option<RunFinished>> {
        let report = rendering::read(folder)?;
        let is_complete = report.status() == Status::Complete;
        Ok(report.finished.filter(|_| is_complete))
    }

    /// Tells the results of a finished run once more; nothing in its folder changes.
    pub fn tell_again(&self, folder: &Path, ended: RunFinished) -> Outcome {
        let report = rendering::read_all(folder)?;
        self.say(format!("{} is finished: nothing is left to do", folder.display()));
        self.tell(&report)?;
        self.judge(&report, Ok(ended), folder)
    }

    /// Refuses tests of switches before a router, and those of routers before a switch.
    fn check_forwarding(&self, setup: &Setup) -> Outcome<()> {
        let config = &self.plan.suite;
        let is_routed = setup.topology.forwarding == Forwarding::Routed;
        let of_rfc3918 = |test: &ChassisTest| ChassisTest::RFC3918.contains(test);
        let mut many = config.tests.iter().filter_map(|test| match test {
            TestKind::Chassis(test) => Some(test),
            _ => None,
        });
        if self.plan.options.suite == Some(SuiteName::Tolly) {
            return tolly::check_router(config, self.subject, is_routed);
        }
        match is_routed && many.any(|test| !of_rfc3918(test)) {
            true => Err(Failure::new("these are tests of switches: the device routes")
                .help("build one with --device linux-bridge, or simulate one with --sim switch")),
            false => Ok(()),
        }
    }

    /// Testers for each of these sizes, where there can be more than one tester.
    fn side_by_side<'s, T: PartialEq>(
        &'s self,
        device: &'s Setup,
        looped: Option<&'s Setup>,
        sizes: &[T],
    ) -> Option<SideBySide<'s>> {
        let differ = (1..sizes.len()).all(|place| !sizes[..place].contains(&sizes[place]));
        device.another.as_ref().filter(|_| differ)?;
        Some(SideBySide { device, looped, stop: self.stop, sizes: sizes.len() })
    }

    /// Runs the suite of 1990, for which the device is set up again and again.
    pub fn run_1990(&self) -> Outcome {
        let mut laboratory = Laboratory::new(self.subject, &self.plan.options, self.stop)?;
        let saved = self.saved(&laboratory.describe(), &laboratory.environment())?;
        let run_key = self.run_key(saved.as_ref())?;
        let trials = trials_of(saved);
        let mut recorder = self.recorder(&trials)?;
        laboratory.recall(trials.into_iter().collect());
        laboratory.capture(self.captures(&recorder));
        let suite = Suite1990 {
            program: PROGRAM.into(),
            device: laboratory.device().into(),
            environment: laboratory.environment(),
            config: SuiteConfig { run_key, ..self.plan.suite.clone() },
            set_ups: Suite1990::all_set_ups(),
        };
        let ended = suite.run(&mut laboratory, &mut recorder);
        tell_discarded(laboratory.recorded());
        self.finish(recorder, ended, laboratory.tear_down())
    }

    /// The key of the run's test frames: that of the run which goes on, or a new one; none to have it
    /// of the seed.
    fn run_key(&self, saved: Option<&Saved>) -> Outcome<Option<RunKey>> {
        match saved {
            Some(saved) => Ok(saved.run_key),
            None => self.plan.run_key(),
        }
    }

    /// What the run that goes on has saved.
    fn saved(
        &self,
        tester: &TesterDescription,
        environment: &BTreeMap<String, String>,
    ) -> Outcome<Option<Saved>> {
        let now = Now { tester, program: PROGRAM, environment };
        resume::saved(self.arguments.resume.as_deref(), &now)
    }

    /// Into the run's folder, which then holds the configuration.
    fn recorder(&self, saved: &[TrialRecord]) -> Outcome<Recorder> {
        let folder = self.folder()?;
        let configuration = self.plan.used().to_toml();
        run_folder::replace(folder.path(), CONFIGURATION, configuration.as_bytes())?;
        if self.plan.options.capture.is_some() {
            folder.captures()?;
        }
        Ok(Recorder::new(folder, Progress::new(self.arguments.quiet), saved))
    }

    fn captures(&self, recorder: &Recorder) -> Option<Captures> {
        let folder = recorder.folder().path().join("captures");
        Captures::of(&self.plan.options, folder, recorder.trial())
    }

    /// Ends a run: leaves no empty folder behind, renders it, and judges it.
    fn finish(
        &self,
        recorder: Recorder,
        ended: Result<RunFinished, RunError>,
        torn_down: Outcome<()>,
    ) -> Outcome {
        recorder.end_progress();
        let path = recorder.folder().path().to_owned();
        let nothing_began = !recorder.began();
        let folder = recorder.into_folder();
        if nothing_began && self.arguments.resume.is_none() {
            // A configuration that was refused.
            folder.discard(&[CONFIGURATION]);
            ended.map_err(Failure::new)?;
            return Err(Failure::new("the run did not start"));
        }
        drop(folder);
        torn_down?;
        self.conclude(&path, ended)
    }

    /// Renders a run, and judges it.
    fn conclude(&self, folder: &Path, ended: Result<RunFinished, RunError>) -> Outcome {
        let report = rendering::render(folder)?;
        self.tell(&report)?;
        let page = folder.join(run_folder::REPORT_HTML);
        self.say(format!("report: {}", page.display()));
        self.judge(&report, ended, folder)
    }

    fn tell(&self, report: &report::Report) -> Outcome<()> {
        let style = rendering::style(self.arguments.wide);
        match self.arguments.json {
            true => output::print(&report::json::render(report)),
            false => output::print(&report::terminal::render(report, style)),
        }
    }

    fn suite(&self, setup: &Setup, self_test: Option<SelfTest>, run_key: Option<RunKey>) -> Suite {
        let mut config = SuiteConfig { run_key, ..self.plan.suite.clone() };
        config.traffic.filters = setup.filters.clone();
        Suite {
            program: PROGRAM.into(),
            device: setup.device.clone(),
            environment: setup.environment.clone(),
            config,
            topology: setup.topology.clone(),
            self_test,
            more: &[],
        }
    }

    /// Trials already recorded are answered from the record; those of the self-test were made on
    /// the looped tester.
    fn drive(
        &self,
        suite: &Suite,
        setup: &mut Setup,
        looped: Option<&mut Setup>,
        recorded: Vec<TrialRecord>,
        recorder: &mut Recorder,
    ) -> Result<RunFinished, RunError> {
        let sizes = &suite.config.frame_sizes;
        if suite.config.method == Method::Rfc2544
            && let Some(all) = self.side_by_side(setup, looped.as_deref(), sizes)
        {
            return all
                .run(recorded, |make, threads| suite.run_side_by_side(make, threads, recorder));
        }
        let of_self_test = |record: &TrialRecord| record.test == TestKind::SelfTest;
        let (of_tester, of_device): (Vec<_>, Vec<_>) = recorded.into_iter().partition(of_self_test);
        let mut of_tester = Recorded::from_iter(of_tester);
        let mut of_device = Recorded::from_iter(of_device);
        let captures = self.captures(recorder);
        let device = Supervised::new(setup.tester.as_mut(), self.stop.clone(), captures);
        let mut device = ResumingTester::new(device, &mut of_device);
        let Some(looped) = looped else {
            let ended = suite.run(&mut device, None, recorder);
            tell_discarded(&of_device);
            return ended;
        };
        let looped = Supervised::new(looped.tester.as_mut(), self.stop.clone(), None);
        let mut looped = ResumingTester::new(looped, &mut of_tester);
        let ended = suite.run(&mut device, Some(&mut looped), recorder);
        tell_discarded(&of_device);
        tell_discarded(&of_tester);
        ended
    }

    /// Whether the run can be saved: before anything is built and measured.
    pub fn check_folder(plan: &RunPlan, arguments: &Run) -> Outcome<()> {
        if arguments.resume.is_some() {
            return Ok(());
        }
        let folder = plan.options.out.as_deref().unwrap_or(Path::new(RUNS));
        let there = folder.ancestors().find(|path| path.symlink_metadata().is_ok());
        let there = there.unwrap_or(Path::new("."));
        let found = match there.is_dir() {
            true => access(there, AccessFlags::W_OK | AccessFlags::X_OK),
            false => Err(Errno::ENOTDIR),
        };
        found.map_err(|errno| {
            let why = std::io::Error::from(errno);
            Failure::new(format!("cannot make the folder {}: {why}", folder.display()))
                .help("name another folder: --out DIR")
        })
    }

    /// A new folder, or that of the run which goes on.
    fn folder(&self) -> Outcome<RunFolder> {
        if let Some(path) = &self.arguments.resume {
            return Ok(RunFolder::resume(path)?.0);
        }
        match &self.plan.options.out {
            Some(path) => RunFolder::create_at(path)
                .map_err(|error| Failure::from(error).help("name another folder: --out DIR")),
            None => {
                let name = self.subject.short_name();
                Ok(RunFolder::create(Path::new(RUNS), &name, host::now_unix_s())?)
            }
        }
    }

    /// The self-test of an earlier run that fits, or a looped tester to make one.
    fn know_tester(&self, setup: &Setup, saved: Option<&Saved>) -> Outcome<Known> {
        let key = selftest_key(self.plan, self.subject, setup.tester.describe())?;
        let nothing = |about: &str, key| Known {
            self_test: None,
            looped: None,
            key,
            to_be_kept: false,
            about: about.to_owned(),
        };
        if !self.plan.tests.iter().any(|test| test.supports("skip-selftest")) {
            return Ok(nothing(
                "none: every trial of these tests shows whether the tester kept up",
                key,
            ));
        }
        if self.plan.options.skip_selftest == Some(true) {
            return Ok(nothing("skipped on request: the tester's own limits are not known", key));
        }
        // A run that made a self-test of its own has to come upon it again when it is resumed.
        let made_one = saved.is_some_and(Saved::made_self_test);
        // One that went by an earlier self-test has to go on by the same, whatever was measured since.
        if let Some(self_test) = saved.and_then(|saved| saved.self_test.clone())
            && !made_one
        {
            let about = "that of the saved run";
            return Ok(Known { self_test: Some(self_test), ..nothing(about, key) });
        }
        let cached = key.load(&self.plan.suite.frame_sizes);
        let cached = cached.filter(|_| !self.arguments.fresh_selftest && !made_one);
        if let Some(cached) = cached {
            let about = format!("cached from {}", run_folder::utc(cached.taken_unix_s));
            self.say(format!("self-test: {about} (--fresh-selftest measures again)"));
            let self_test = Some(cached.self_test);
            return Ok(Known { self_test, ..nothing(&about, key) });
        }
        let (options, stop) = (&self.plan.options, self.stop);
        let looped = match self.subject {
            Subject::Between(_) => setup::prepare_alike(setup.tester.describe(), options, stop)?,
            _ => setup::prepare_looped(self.subject, options, stop)?,
        };
        match looped {
            Some(looped) => {
                let (to_be_kept, about) = self.worth_keeping();
                Ok(Known { looped: Some(looped), to_be_kept, ..nothing(&about, key) })
            }
            None => Err(Failure::new("there is no self-test of these ports yet")
                .help(format!(
                    "connect them in pairs with cables, run `netanvil selftest {} --ports ...`, then connect the \
                     device",
                    self.plan.options.suite.unwrap_or_default()
                ))
                .help("or skip it: --skip-selftest (every result then says so)")),
        }
    }

    /// A busy machine makes a poor self-test, which must not stand for later runs.
    fn worth_keeping(&self) -> (bool, String) {
        let is_real = !matches!(self.subject, Subject::Simulated(_));
        match host::busy().filter(|_| is_real) {
            None => (true, "measured in this run".into()),
            Some(load) => {
                let about = format!(
                    "measured in this run, on a busy machine (load average {load:.1}); not kept \
                     for later runs"
                );
                self.say(format!("self-test: {about}"));
                (false, about)
            }
        }
    }

    /// The exit code, and on standard error what led to it.
    fn judge(
        &self,
        report: &report::Report,
        ended: Result<RunFinished, RunError>,
        folder: &Path,
    ) -> Outcome {
        let finished = match ended {
            Ok(finished) => finished,
            Err(error) => return Err(stopped(error, folder)),
        };
        if is_silent(report) {
            output::say("nothing came back");
            let suspects = suspects::of(&self.plan.options, None);
            suspects.iter().for_each(|suspect| output::say(format!("  {suspect}")));
        }
        for test in &finished.invalid_tests {
            output::say(format!("invalid: {test}: {}", why_invalid(report, test)));
        }
        if !finished.invalid_tests.is_empty() {
            return Ok(Exit::Invalid);
        }
        let failures: Vec<String> =
            self.plan.criteria.iter().flat_map(|c| c.failures(report)).collect();
        failures.iter().for_each(|failure| output::say(format!("not accepted: {failure}")));
        Ok(if failures.is_empty() { Exit::Done } else { Exit::NotAccepted })
    }

    fn say(&self, line: String) {
        if !self.arguments.quiet {
            output::say(line);
        }
    }
}

/// Whether frames were sent to the device and none of them ever arrived.
fn is_silent(report: &report::Report) -> bool {
    let to_device = report.trials.iter().filter(|record| record.test != TestKind::SelfTest);
    let mut sent = to_device.filter(|record| record.result.expected_frames() > 0).peekable();
    sent.peek().is_some() && sent.all(|record| record.result.forwarded_frames() == 0)
}

/// The trials to be answered from the record.
fn trials_of(saved: Option<Saved>) -> Vec<TrialRecord> {
    saved.map_or(vec![], |saved| saved.trials)
}

/// Says how many trials of a saved run were of no use.
pub fn tell_discarded(recorded: &Recorded) {
    let trials = recorded.discarded();
    if trials > 0 {
        output::say(format!(
            "warning: {trials} trials of the saved run were not used but made again, since the run \
             asks for others now: the program or the device's addresses have changed since"
        ));
    }
}

/// What a self-test depends on besides the machine.
pub fn selftest_key(plan: &RunPlan, subject: &Subject, tester: &TesterDescription) -> Outcome<Key> {
    let ports = tester
        .ports
        .iter()
        .map(|port| format!("{} {} {} {}", port.name, port.port_type, port.driver, port.line_rate));
    let suite = &plan.suite;
    let options = serde_json::json!({
        "direction": suite.looped().direction,
        "pattern": suite.looped().pattern,
        "traffic": suite.traffic,
        "self_test": suite.self_test,
        // What a self-test tells; one that tells less is made again.
        "form": 2,
        "search": [
            suite.search.lowest_load_percent,
            f64::from(suite.search.max_trials_per_load),
        ],
        "trial": suite.trial,
        "scheduling": plan.options.scheduling.unwrap_or_default(),
        "mtu": plan.options.mtu,
        "tx_queue": plan.options.tx_queue,
        "queues": plan.options.queues,
        "simulated": simulated_tester(subject, &plan.options)?,
    });
    Ok(Key::new(ports.collect::<Vec<_>>().join("; "), options.to_string()))
}

/// The whole description of a simulated tester and its links: its limits are in no port's name.
fn simulated_tester(subject: &Subject, options: &Options) -> Outcome<Option<serde_json::Value>> {
    let Subject::Simulated(name) = subject else { return Ok(None) };
    let looped = setup::looped(&simulated::read(name)?, options);
    Ok(Some(serde_json::to_value(looped).map_err(Failure::new)?))
}

/// A run that ended before its end, and how it goes on.
fn stopped(error: RunError, folder: &Path) -> Failure {
    let resume = format!("resume with: netanvil run --resume {}", folder.display());
    match error {
        RunError::Tester(TesterError::Interrupted) => Failure::new("interrupted").help(resume),
        RunError::Config(why) => Failure::new(why),
        other => Failure::new(other).help(resume),
    }
}

/// Why a test has no valid result: what its first figure without a value says, as in the answer; of a test that was
/// not begun, its warning.
fn why_invalid(report: &report::Report, test: &str) -> String {
    let is_it = |outcome: &&method::Outcome| {
        let name = format!("{}, {}", outcome.test, outcome.conditions.frame_size);
        test.strip_prefix(&name).is_some_and(|rest| rest.is_empty() || rest.starts_with(", with "))
    };
    let outcomes = || report.outcomes().filter(is_it);
    let mut missing = outcomes()
        .flat_map(|outcome| &outcome.figures)
        .map(|figure| &figure.reason)
        .filter(|reason| !reason.is_empty());
    let warned = || report.warnings.iter().find_map(|told| told.strip_prefix(&format!("{test}: ")));
    let why = missing.next().or_else(|| outcomes().flat_map(|outcome| &outcome.invalid).next());
    why.map(String::as_str).or_else(warned).unwrap_or("it came to no result").into()
}

/// What makes most of a run that waits for addresses to age out.
fn shorter(config: &SuiteConfig) -> Option<&'static str> {
    let methods = config.tests.iter().filter_map(|test| registry::of_kind(*test));
    methods.into_iter().any(|method| method.supports("address-ageing")).then_some(
        "or let the device forget addresses sooner, which the tests of addresses wait for: \
         --address-ageing 10s, and the same on a device of your own",
    )
}
