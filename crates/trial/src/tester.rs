//! The boundary between methods and the world: a method sees a [`Tester`] and nothing else.

use crate::{DeviceSetup, Observer, PortId, Trial, TrialResult};
use serde::{Deserialize, Serialize};
use std::fmt;
use units::{Duration, LineRate};

/// What a method may ask of the world. The simulator and the live ports implement it alike.
pub trait Tester {
    /// What this tester is and which ports it has.
    fn describe(&self) -> &TesterDescription;

    /// Runs one trial from its prelude to the end of its settling time.
    ///
    /// A device that loses frames, or all of them, is an `Ok`; so is a trial in which the tester
    /// fell short (its `validity` says so). An `Err` is a tester that broke.
    fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError>;

    /// The same, looked at while it runs. A trial that `observer` [ends](Observer::ends) is that of the
    /// frames that were due until then.
    fn run_observed(
        &mut self,
        _trial: &Trial,
        _observer: &mut dyn Observer,
    ) -> Result<TrialResult, TesterError> {
        Err(TesterError::Unsupported {
            port: "any".into(),
            what: "to look at a trial while it runs".into(),
            remedy: "run it to its end".into(),
        })
    }

    /// Lets time pass with nothing sent.
    fn pause(&mut self, span: Duration) -> Result<(), TesterError>;

    /// Configures the device for the trials that follow, in place of what it had. What the device
    /// itself will not take is [`TesterError::Refused`]; then it keeps what it had.
    fn configure(&mut self, _setup: &DeviceSetup) -> Result<(), TesterError> {
        Err(TesterError::Unsupported {
            port: "any".into(),
            what: "to configure this device".into(),
            remedy: "configure it by hand and repeat the run".into(),
        })
    }
}

/// Whatever leads to a tester is one.
macro_rules! tester_behind {
    ($pointer:ty) => {
        impl<T: Tester + ?Sized> Tester for $pointer {
            fn describe(&self) -> &TesterDescription {
                (**self).describe()
            }
            fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
                (**self).run(trial)
            }
            fn run_observed(
                &mut self,
                trial: &Trial,
                observer: &mut dyn Observer,
            ) -> Result<TrialResult, TesterError> {
                (**self).run_observed(trial, observer)
            }
            fn pause(&mut self, span: Duration) -> Result<(), TesterError> {
                (**self).pause(span)
            }
            fn configure(&mut self, setup: &DeviceSetup) -> Result<(), TesterError> {
                (**self).configure(setup)
            }
        }
    };
}

tester_behind!(&mut T);
tester_behind!(Box<T>);

/// What a tester is.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TesterDescription {
    /// Such as `netanvil 0.1.0, xdp ports`.
    pub name: String,
    /// In order of their numbers.
    pub ports: Vec<PortDescription>,
    /// Resolution of its clock.
    pub tick: Duration,
    /// What a reader should know: cores shared with the device, offloads left on, ...
    pub notes: Vec<String>,
}

/// What one port is.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PortDescription {
    /// Its number.
    pub id: PortId,
    /// Name of the interface.
    pub name: String,
    /// What carries its frames, in a word: `xdp`, `af_packet`, `simulated`. Nothing is decided by it.
    pub port_type: String,
    /// What follows for whoever uses it.
    #[serde(default)]
    pub capabilities: Capabilities,
    /// Why this type was chosen.
    pub reason: String,
    /// Rate of the medium that the theoretical maximum is computed from; for a virtual link the
    /// nominal rate that was configured.
    pub line_rate: LineRate,
    /// Whether the medium itself enforces that rate; a veth does not.
    pub line_rate_is_physical: bool,
    /// Largest frame that can be sent, FCS included.
    pub max_frame_size_bytes: u32,
    /// Hardware address.
    pub mac: String,
    /// Kernel driver, if it is a kernel interface.
    pub driver: String,
}

/// What is true of all ports of a kind, and what others decide by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Capabilities {
    /// Who notes when a frame arrives.
    pub arrivals: ArrivalStamp,
    /// Its time is virtual: a trial takes as long as its computation, and nothing holds it up.
    pub virtual_time: bool,
    /// Frames that the port itself drops are among those that its interface counts as dropped.
    pub drops_in_interface: bool,
    /// The interface counts as dropped whatever the port has taken from it and counted.
    pub drops_what_it_takes: bool,
    /// What arrives also goes through the host's own network stack, unless it is kept from it.
    pub arrivals_reach_host: bool,
    /// What arrives and is no test frame can be had by other sockets of the host.
    pub passes_foreign: bool,
}

/// Who notes when a frame arrives; the earlier, the less of the host is in a latency.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArrivalStamp {
    /// The program that takes it from the kernel.
    #[default]
    Program,
    /// The kernel's network stack.
    Kernel,
    /// A program in the driver.
    Driver,
    /// The medium itself, to the tick.
    Medium,
}

impl ArrivalStamp {
    /// Where on its way a frame is when it gets its stamp, in words.
    pub fn moment(self) -> &'static str {
        match self {
            ArrivalStamp::Program => "the program, when it takes a frame from its queue",
            ArrivalStamp::Kernel => "the kernel, when a frame reaches the packet socket",
            ArrivalStamp::Driver => "a program in the driver, before the kernel's network stack",
            ArrivalStamp::Medium => "the medium itself",
        }
    }
}

impl fmt::Display for ArrivalStamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ArrivalStamp::Program => "program",
            ArrivalStamp::Kernel => "kernel",
            ArrivalStamp::Driver => "driver",
            ArrivalStamp::Medium => "medium",
        })
    }
}

/// Something done to the device at a moment of a trial (RFC 6201).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceAction {
    /// The device's link at this tester port goes down and up again.
    LinkReset {
        /// At which port of the tester.
        port: PortId,
        /// How long it stays down.
        down_for: Duration,
    },
    /// The device's forwarding software is restarted.
    SoftwareReset,
}

/// Why a tester could not run a trial.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TesterError {
    /// A port vanished.
    #[error("port {port} has vanished: {detail}; results taken so far are kept")]
    PortGone {
        /// Name of the interface.
        port: String,
        /// What the system said.
        detail: String,
    },
    /// The device vanished.
    #[error("the device under test has vanished: {0}; results taken so far are kept")]
    DeviceGone(String),
    /// This tester cannot do what the trial asks for.
    #[error("not possible on this port ({port}): {what}; {remedy}")]
    Unsupported {
        /// Name of the interface, or "any".
        port: String,
        /// What was asked.
        what: String,
        /// What to do about it.
        remedy: String,
    },
    /// The device does not take a configuration: a list too long, say.
    #[error("the device refused its configuration: {0}")]
    Refused(String),
    /// The trial contradicts itself or does not fit the ports.
    #[error("the trial cannot be run: {0}")]
    BadTrial(String),
    /// The operating system refused.
    #[error("{what}: {detail}")]
    System {
        /// What was attempted.
        what: String,
        /// What the system said.
        detail: String,
    },
    /// The user asked to stop.
    #[error("interrupted; results taken so far are kept")]
    Interrupted,
}
