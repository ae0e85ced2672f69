//! How a command ends: exit codes, and errors that say what to do.

use std::fmt;
use std::process::ExitCode;

/// The exit codes of `netanvil`; `--help` and the man page document them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// Everything asked for was done.
    Done,
    /// Done, but an acceptance criterion failed (or `doctor` found a failure, or `compare` a difference).
    NotAccepted,
    /// Wrong usage, or a tester that broke; also an interrupted run.
    Failed,
    /// No verdict on the device: a test has no valid result and says why, or `versus` decided nothing.
    Invalid,
}

impl Exit {
    /// The number.
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::NotAccepted => 1,
            Exit::Failed => 2,
            Exit::Invalid => 3,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// An error for the user: what went wrong and what mends it.
#[derive(Debug, Clone)]
pub struct Failure {
    message: String,
    helps: Vec<String>,
}

impl Failure {
    /// An error without advice yet.
    pub fn new(message: impl fmt::Display) -> Self {
        Failure { message: message.to_string(), helps: vec![] }
    }

    /// With one more line of advice.
    pub fn help(mut self, help: impl fmt::Display) -> Self {
        self.helps.push(help.to_string());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        self.helps.iter().try_for_each(|help| write!(f, "\nhelp: {help}"))
    }
}

impl From<kernel::KernelError> for Failure {
    fn from(error: kernel::KernelError) -> Self {
        Failure::new(error)
    }
}

impl From<testbed::TestbedError> for Failure {
    fn from(error: testbed::TestbedError) -> Self {
        Failure::new(error)
    }
}

/// What a command returns.
pub type Outcome<T = Exit> = Result<T, Failure>;
