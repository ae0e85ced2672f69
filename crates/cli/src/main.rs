//! `netanvil`: arguments, wiring and progress; the work is done in the libraries.
//!
//! This is an edge of the project by nature: it reads the wall clock for names and estimates, and
//! waits for people and signals. Therefore it opts out of the ban on clocks and sleeps.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod accept;
mod agent;
mod args;
mod built;
mod captures;
mod command;
mod composition;
mod control;
mod doctor;
mod elsewhere;
mod encapsulated_groups;
mod failure;
mod far;
mod hardware;
mod host;
mod interrupt;
mod keys;
mod laboratory;
mod options;
mod output;
mod parallel;
mod patience;
mod plan;
mod polling;
mod progress;
mod recorder;
mod rendering;
mod resume;
mod scheduling;
mod selftest_cache;
mod setup;
mod side_by_side;
mod simulated;
mod snmp_client;
mod suite;
mod supervised;
mod support;
mod suspects;
mod test_run;
mod tolly;
mod topology;

use args::Command;
use failure::{Exit, Failure, Outcome};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = args::parse(args::with_own_name(std::env::args_os()));
    report_panics_as_errors();
    let outcome = catch_unwind(AssertUnwindSafe(|| run(arguments.command)));
    match outcome {
        Ok(Ok(exit)) => exit.into(),
        Ok(Err(failure)) => {
            output::say(failure);
            Exit::Failed.into()
        }
        Err(_panic) => Exit::Failed.into(),
    }
}

fn run(command: Command) -> Outcome {
    match command {
        Command::Clean(arguments) => command::clean::run(&arguments),
        Command::Devices { name, json } => command::devices::run(name.as_deref(), json),
        Command::Tests { suite, test, json } => command::tests::run(suite, test.as_deref(), json),
        Command::Hammer(arguments) => command::hammer::run(&arguments),
        Command::Anvil(arguments) => command::anvil::run(&arguments),
        Command::Harvard(arguments) => command::harvard::run(&arguments),
        Command::Netblt(arguments) => command::netblt::run(&arguments),
        Command::Link(arguments) => command::link::run(&arguments),
        Command::Otg(arguments) => command::otg::run(&arguments),
        Command::Agent(arguments) => command::agent::run(&arguments),
        Command::Completions(arguments) => command::completions::run(&arguments),
        Command::Man(arguments) => command::man::run(&arguments),
        Command::Doctor(arguments) => command::doctor::run(&arguments),
        Command::Run(arguments) => command::run::run(&arguments),
        Command::Serve(arguments) => command::serve::run(&arguments),
        Command::Selftest(arguments) => command::selftest::run(&arguments),
        Command::Report(arguments) => command::report::run(&arguments),
        Command::Traffic(arguments) => command::traffic::run(&arguments),
        Command::Versus(arguments) => command::versus::run(&arguments),
        Command::Publish(arguments) => command::publish::run(&arguments),
        Command::Compare(arguments) => command::compare::run(&arguments),
        Command::Campaign(arguments) => command::campaign::run(&arguments),
        Command::Fit(arguments) => command::fit::run(&arguments),
        Command::History(arguments) => command::history::run(&arguments),
    }
}

/// A defect of our own reads like any other error. Unwinding goes on, so that whatever is built
/// on the way is removed.
fn report_panics_as_errors() {
    std::panic::set_hook(Box::new(|panic| {
        output::say(
            Failure::new(format!("a defect in netanvil: {panic}"))
                .help("results already taken are saved; please report this line"),
        );
    }));
}
