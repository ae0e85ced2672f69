//! `netanvil run`: tests a device.

use crate::args::Run;
use crate::failure::{Exit, Outcome};
use crate::options::{Options, SuiteName};
use crate::plan::RunPlan;
use crate::test_run::TestRun;
use crate::{captures, interrupt, output, setup, support};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub fn run(arguments: &Run) -> Outcome {
    if let Some(listen) = arguments.page {
        return super::page::run(listen, arguments.options.out.as_deref());
    }
    let options = Options { suite: arguments.suite, ..arguments.options.clone() };
    let plan = RunPlan::of_run(&options, arguments.config.as_deref(), arguments.resume.as_deref())?;
    if arguments.fresh_selftest {
        support::refuse(["fresh-selftest"], &plan.options, &plan.run())?;
    }
    if arguments.print_config {
        output::print(&plan.used().to_toml())?;
        return Ok(Exit::Done);
    }
    let subject = setup::Subject::of(&plan.options)?;
    if let Some(folder) = &arguments.resume
        && let Some(ended) = TestRun::finished(folder)?
    {
        let stop = Arc::new(AtomicBool::new(false));
        return TestRun::new(&plan, &subject, arguments, &stop).tell_again(folder, ended);
    }
    captures::check(&plan.options, &subject)?;
    TestRun::check_folder(&plan, arguments)?;
    // Before any thread: a process with threads may not enter a user namespace.
    subject.acquire_rights()?;
    let stop = interrupt::watch()?;
    if arguments.stdin_control {
        drop(interrupt::stop_with_stdin(&stop));
    }
    if plan.options.suite == Some(SuiteName::Harvard1990) {
        return TestRun::new(&plan, &subject, arguments, &stop).run_1990();
    }
    let setup = setup::prepare(&subject, &plan.options, arguments.yes, &stop)?;
    let session = TestRun::new(&plan, &subject, arguments, &stop);
    session.run(setup)
}
