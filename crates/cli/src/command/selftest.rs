//! `netanvil selftest`: the tester measures itself.

use crate::args::Selftest;
use crate::failure::{Exit, Failure, Outcome};
use crate::options::Options;
use crate::plan::{self, RunPlan};
use crate::progress::Progress;
use crate::setup::{self, Setup, Subject};
use crate::supervised::Supervised;
use crate::test_run::selftest_key;
use crate::{host, interrupt, output, rendering, support};
use method::{Event, EventSink, Finding, SelfTest, SinkError, Suite, SuiteConfig};
use report::{Report, run_folder};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use testbed::DeviceKind;

pub fn run(arguments: &Selftest) -> Outcome {
    let options = Options { suite: arguments.suite, ..arguments.options.clone() };
    let plan = RunPlan::of(&options, arguments.config.as_deref())?;
    let subject = plan.subject.clone().unwrap_or(Subject::Built(DeviceKind::Loopback));
    // A file is of the run that comes after, and has more than a self-test uses.
    support::SELFTEST.check(&plan::given(&options, None)?, &subject)?;
    subject.acquire_rights()?;
    let stop = interrupt::watch()?;
    let mut setup = prepare(&subject, &plan, arguments, &stop)?;
    let key = selftest_key(&plan, &subject, setup.tester.describe())?;
    let cached = key.load(&plan.suite.frame_sizes).filter(|_| arguments.cached);
    let is_new = cached.is_none();
    let busy = host::busy().filter(|_| !matches!(subject, Subject::Simulated(_)));
    let mut log = Log { events: vec![], progress: Progress::new(arguments.quiet) };
    let self_test = match cached {
        Some(cached) => {
            output::say(format!("cached from {}", run_folder::utc(cached.taken_unix_s)));
            log.events.push(Event::SelfTestFinished(Box::new(cached.self_test.clone())));
            Ok(cached.self_test)
        }
        None => measure(&plan, &mut setup, stop, &mut log),
    };
    log.progress.finish();
    setup.tear_down()?;
    let self_test = self_test?;
    match busy {
        None if is_new => drop(key.store(&self_test)),
        Some(load) if is_new => output::say(format!(
            "warning: measured on a busy machine (load average {load:.1}); later runs do not reuse it"
        )),
        _ => {}
    }
    print(&log.events, (arguments.json, arguments.wide))?;
    let invalid = |finding: &Finding| matches!(finding, Finding::Invalid { .. });
    match self_test.sizes.iter().any(|size| invalid(&size.maximum.finding)) {
        true => Ok(Exit::Invalid),
        false => Ok(Exit::Done),
    }
}

fn prepare(
    subject: &Subject,
    plan: &RunPlan,
    arguments: &Selftest,
    stop: &Arc<AtomicBool>,
) -> Outcome<Setup> {
    if let Subject::Between(ports) = subject {
        return setup::prepare_cabled(ports, &plan.options, arguments.yes, stop);
    }
    let looped = setup::prepare_looped(subject, &plan.options, stop)?;
    looped.ok_or_else(|| Failure::new("cannot connect these ports back to back"))
}

fn measure(
    plan: &RunPlan,
    setup: &mut Setup,
    stop: Arc<AtomicBool>,
    log: &mut Log,
) -> Outcome<SelfTest> {
    let suite = Suite {
        program: concat!("netanvil ", env!("CARGO_PKG_VERSION")).into(),
        device: "the tester itself, its ports joined back to back".into(),
        environment: setup.environment.clone(),
        config: SuiteConfig { run_key: plan.run_key()?, ..plan.suite.clone() },
        topology: setup.topology.clone(),
        self_test: None,
        more: &[],
    };
    let mut tester = Supervised::new(setup.tester.as_mut(), stop, None);
    suite.run_self_test(&mut tester, log).map_err(Failure::new)
}

/// Events kept in memory: a self-test has no run folder.
struct Log {
    events: Vec<Event>,
    progress: Progress,
}

impl EventSink for Log {
    fn emit(&mut self, event: &Event) -> Result<(), SinkError> {
        self.progress.show(event);
        self.events.push(event.clone());
        Ok(())
    }
}

fn print(events: &[Event], (json, wide): (bool, bool)) -> Outcome<()> {
    let report = Report::from_events(events, vec![]);
    if json {
        return output::print(&report::json::render(&report));
    }
    match report::tables::of_outcomes(&report).first().map(|outcomes| &outcomes.table) {
        Some(table) => {
            output::print(&report::terminal::render_table(table, rendering::style(wide)))
        }
        None => Ok(()),
    }
}
