//! Options of tests and devices that commands beside `run` take.

use super::{device, flag, paths};
use crate::failure::{Failure, Outcome};
use crate::options::Options;
use crate::setup::Subject;
use clap::Args;
use testbed::DeviceKind;

/// A command, and the options of runs that it uses.
pub struct Command {
    name: &'static str,
    /// Of tests.
    uses: &'static [&'static str],
    /// Options of devices and ports that do nothing here.
    without: &'static [&'static str],
    /// Whether the tester's ports are joined back to back, with no device between them.
    is_looped: bool,
}

/// What is tested, and with which frames.
const OF_ALL: [&str; 15] = [
    "device",
    "sim",
    "ports",
    "address",
    "gateway",
    "line-rate",
    "sizes",
    "bidirectional",
    "protocol",
    "destinations",
    "random-ports",
    "random-macs",
    "vlan",
    "extension-headers",
    "ipv6-percent",
];

/// `netanvil traffic`.
pub static TRAFFIC: Command = Command {
    name: "traffic",
    uses: &[
        "seed",
        "trial.keep_alives",
        "trial.learning_wait_s",
        "trial.verify_checksums",
        "trial.limits.shortfall",
        "trial.limits.credit_frames",
    ],
    without: &["port-count", "group-table", "group-membership", "multicast", "snooping"],
    is_looped: false,
};

/// `netanvil selftest`. The suite and its tests decide which ports it loads.
pub static SELFTEST: Command = Command {
    name: "selftest",
    uses: &[
        "suite",
        "test",
        "profile",
        "pattern",
        "ipv6-prefixes",
        "seed",
        "search.lowest_load_percent",
        "search.max_trials_per_load",
        "self_test.*",
        "trial.drain_s",
        "trial.drain_max_s",
        "trial.settle_s",
        "trial.learning_wait_s",
        "trial.invalid_retries",
        "trial.verify_checksums",
        "trial.limits.*",
    ],
    without: &[],
    is_looped: true,
};

/// `netanvil versus`.
pub static VERSUS: Command = Command {
    name: "versus",
    uses: &[
        "profile",
        "ipv6-prefixes",
        "routing-updates",
        "seed",
        "out",
        "trial.drain_s",
        "trial.drain_max_s",
        "trial.settle_s",
    ],
    without: &["port-count"],
    is_looped: false,
};

impl Command {
    fn uses(&self, path: &str) -> bool {
        let is = |name: &&str| match name.strip_suffix('*') {
            Some(section) => path.starts_with(section),
            None => *name == path,
        };
        OF_ALL.contains(&path) || self.uses.iter().any(is)
    }

    /// Whether it uses an option, by its name, with any device.
    pub fn takes(&self, path: &str) -> bool {
        let of_devices = || device::users(path).is_some() && !self.without.contains(&path);
        self.uses(path) || of_devices()
    }

    /// Hides the options of `run` that it does not use, but for those that it has of its own.
    pub fn hide_others(&self, command: clap::Command, own: &[&str]) -> clap::Command {
        let of_run = Options::augment_args(clap::Command::new("run"));
        let loopback = Subject::Built(DeviceKind::Loopback);
        let is_shown = |name: &str| match self.is_looped {
            true => self.uses_with(name, &loopback),
            false => self.takes(name),
        };
        let ids = of_run.get_arguments().map(|argument| argument.get_id().as_str());
        let hidden =
            ids.filter(|id| !is_shown(&id.replace('_', "-")) && !own.contains(id) && *id != "set");
        hidden.fold(command, |command, id| command.mut_arg(id, |argument| argument.hide(true)))
    }

    fn uses_with(&self, path: &str, subject: &Subject) -> bool {
        let loopback = Subject::Built(DeviceKind::Loopback);
        let is_built = matches!(subject, Subject::Built(_));
        let of_ports = || !self.is_looped || is_built || device::uses(path, Some(&loopback));
        let subject = if self.is_looped && is_built { &loopback } else { subject };
        self.uses(path) || (device::uses(path, Some(subject)) && of_ports())
    }

    /// Refuses options without effect on it.
    pub fn check(&self, given: &Options, subject: &Subject) -> Outcome<()> {
        let command = self.name;
        for path in paths(given) {
            let (name, flag) = (path.as_str(), flag(&path));
            if !self.takes(name) {
                return Err(Failure::new(format!("{flag} has no effect on {command}"))
                    .help(format!("leave it out; `netanvil {command} --help` lists its options")));
            }
            if !self.uses_with(name, subject) {
                let device = device::in_words(subject);
                let message = format!("{flag} has no effect on {command} with {device}");
                let why = match (self.is_looped, device::users(name)) {
                    (true, _) | (_, None) => "no device is between the ports".to_owned(),
                    (false, Some(users)) => format!("used with {users}"),
                };
                return Err(Failure::new(message).help(format!("leave it out; {why}")));
            }
            if let Some(why) = device::does_nothing_alone(name, given) {
                return Err(Failure::new(format!("{flag} has no effect: {why}")));
            }
        }
        Ok(())
    }
}
