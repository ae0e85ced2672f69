//! What a run is to do, decided before anything is touched: flags over file over defaults.

use crate::accept::Criterion;
use crate::failure::{Failure, Outcome};
use crate::options::{self, Options};
use crate::{host, resume, setup::Subject, suite, support, tolly};
use method::SuiteConfig;
use method::registry::TestMethod;
use ports::PortType;
use std::path::Path;
use testbed::{DeviceKind, DeviceThreads, FilterRules, Neighbours, PermitPosition};
use wire::signature::RunKey;

/// A run, decided.
pub struct RunPlan {
    /// Every option with its value, as `--print-config` shows them.
    pub options: Options,
    /// The chosen tests.
    pub tests: Vec<&'static TestMethod>,
    /// What the methods do.
    pub suite: SuiteConfig,
    /// What is tested; none is only an error once it is needed.
    pub subject: Option<Subject>,
    /// What the results must meet.
    pub criteria: Vec<Criterion>,
    /// Whether the same test frames are asked for each time: by a seed that is no default.
    pub is_seeded: bool,
}

impl RunPlan {
    /// Of a run: from the command line and its file, and nothing in them that the run would not use.
    pub fn of_run(flags: &Options, file: Option<&Path>, resume: Option<&Path>) -> Outcome<RunPlan> {
        let given = given(flags, file)?;
        let saved = resume.map(resume::options).transpose()?.unwrap_or_default();
        support::check(&given, &given.over(&saved))?;
        match resume {
            Some(_) => RunPlan::resumed(&given, &saved),
            None => RunPlan::begun(flags, given),
        }
    }

    /// From the command line and its file, for other purposes than a run.
    pub fn of(flags: &Options, file: Option<&Path>) -> Outcome<RunPlan> {
        RunPlan::begun(flags, given(flags, file)?)
    }

    fn begun(flags: &Options, given: Options) -> Outcome<RunPlan> {
        let plan = RunPlan::from_options(given)?;
        // The default stands in each file that was printed, and asks for nothing.
        let is_seeded = flags.seed.is_some() || plan.suite.seed != SuiteConfig::default().seed;
        Ok(RunPlan { is_seeded, ..plan })
    }

    /// A key for a new run's test frames; none to have it of the seed.
    pub fn run_key(&self) -> Outcome<Option<RunKey>> {
        if self.is_seeded { Ok(None) } else { host::random_run_key().map(Some) }
    }

    /// Of a saved run, to which nothing may be added that changes it.
    fn resumed(given: &Options, saved: &Options) -> Outcome<RunPlan> {
        let plan = RunPlan::from_options(given.over(saved))?;
        let run = plan.run();
        resume::check_same(&support::used(saved, &run), &support::used(&plan.options, &run))?;
        Ok(plan)
    }

    /// From options, the rest of which are defaults.
    fn from_options(given: Options) -> Outcome<RunPlan> {
        given.check()?;
        let suite = suite::configuration(&given)?;
        let subject = match given.device.is_some() || given.ports.is_some() || given.sim.is_some() {
            true => Some(Subject::of(&given)?),
            false => None,
        };
        let criteria = given.accept.iter().flatten().map(|text| text.parse());
        let criteria = criteria.collect::<Result<_, String>>().map_err(Failure::new)?;
        let mut options = given.over(&suite::as_options(&suite, &given)?);
        options = options.over(&tolly::defaults(&given, &suite));
        if given.suite.is_some_and(|suite| suite.section_of_tests().is_some()) {
            options.test = None;
        }
        let options = options.over(&defaults(subject.as_ref()));
        let tests = support::chosen(suite::kinds_of(&suite));
        Ok(RunPlan { options, tests, suite, subject, criteria, is_seeded: false })
    }

    /// What options are used by.
    pub fn run(&self) -> support::Run<'_> {
        support::Run {
            suite: self.options.suite.unwrap_or_default(),
            tests: &self.tests,
            subject: self.subject.as_ref(),
        }
    }

    /// What the run does, as a configuration file.
    pub fn used(&self) -> Options {
        support::used(&self.options, &self.run())
    }
}

/// Flags over settings, the last first, over the file.
pub fn given(flags: &Options, file: Option<&Path>) -> Outcome<Options> {
    let mut given = flags.with_sections();
    for setting in flags.set.iter().rev() {
        given = given.over(&options::parse_setting(setting)?);
    }
    match file {
        Some(path) => Ok(given.over(&options::read_options(path)?)),
        None => Ok(given),
    }
}

/// What the command line itself adds to a profile.
fn defaults(subject: Option<&Subject>) -> Options {
    let general = Options {
        port_type: Some(PortType::AUTO),
        skip_selftest: Some(false),
        ..Options::default()
    };
    match subject {
        Some(Subject::Built(kind)) if *kind != DeviceKind::Loopback => Options {
            filter: Some(FilterRules::default()),
            permit: Some(PermitPosition::default()),
            neighbours: Some(Neighbours::default()),
            device_threads: Some(DeviceThreads::default()),
            ..general
        },
        _ => general,
    }
}
