//! `netanvil doctor`: checks this host and its ports.

use crate::args::Doctor;
use crate::doctor::{self, Check, State};
use crate::failure::{Exit, Outcome};
use crate::output;
use serde::Serialize;

#[derive(Serialize)]
struct Report {
    state: State,
    checks: Vec<Check>,
}

pub fn run(arguments: &Doctor) -> Outcome {
    if arguments.probe_user_namespace {
        return doctor::can_enter_user_namespace();
    }
    let checks = doctor::examine(&arguments.ports);
    let state = checks.iter().map(|check| check.state).max().unwrap_or(State::Ok);
    let report = Report { state, checks };
    if arguments.json {
        output::print_json(&report)?;
    } else {
        output::print(&describe(&report.checks))?;
    }
    Ok(if state == State::Fail { Exit::NotAccepted } else { Exit::Done })
}

fn describe(checks: &[Check]) -> String {
    let mut text = String::new();
    let mut subject = "";
    let width = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    for check in checks {
        if check.subject != subject {
            subject = &check.subject;
            text += &format!("{subject}\n");
        }
        let state = match check.state {
            State::Ok => "ok  ",
            State::Warn => "warn",
            State::Fail => "FAIL",
        };
        text += &format!("  {state}  {:width$}  {}\n", check.name, check.found);
        if let Some(mend) = &check.mend {
            text += &format!("        {:width$}  -> {mend}\n", "");
        }
    }
    text
}
