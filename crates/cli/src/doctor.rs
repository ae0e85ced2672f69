//! Checks of this host and its ports. Each problem comes with its remedy.

mod dpdk;
mod host;
mod port;
mod processor;
mod sysfs;
mod witness;

pub use host::{can_enter_user_namespace, effective_capabilities};
pub use port::addresses_in_use;

use serde::Serialize;

/// How a check ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// No problem.
    Ok,
    /// Tests can run, but slower or with less reliable results.
    Warn,
    /// Tests cannot run.
    Fail,
}

/// One check.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Check {
    /// `host`, or the name of an interface.
    pub subject: String,
    /// What was checked.
    pub name: &'static str,
    /// The verdict.
    pub state: State,
    /// What was found.
    pub found: String,
    /// The command that fixes the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
    /// The measured figures, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<serde_json::Value>,
}

impl Check {
    fn ok(name: &'static str, found: impl Into<String>) -> Self {
        let (subject, found) = ("host".into(), found.into());
        Check { subject, name, state: State::Ok, found, mend: None, measured: None }
    }
    fn warn(name: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Check { state: State::Warn, mend: Some(mend.into()), ..Check::ok(name, found) }
    }
    fn fail(name: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Check { state: State::Fail, mend: Some(mend.into()), ..Check::ok(name, found) }
    }
    fn of(self, subject: &str) -> Self {
        Check { subject: subject.into(), ..self }
    }
}

/// Looks at the host, then at each port.
pub fn examine(ports: &[String]) -> Vec<Check> {
    let mut checks = host::examine();
    checks.extend(dpdk::examine());
    checks.extend(processor::examine());
    checks.extend(witness::examine());
    checks.extend(
        ports
            .iter()
            .flat_map(|port| dpdk::examine_port(port).unwrap_or_else(|| port::examine(port))),
    );
    checks
}
