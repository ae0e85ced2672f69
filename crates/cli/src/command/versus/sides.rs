//! The two sides: their options, their devices, and the switch from one side to the other.
//!
//! Sides with the same options share one device. Commands and sysctls switch it to a side before a trial,
//! and nothing else differs. Sides with different options have two devices, built side by side.

use super::Versus;
use crate::failure::{Failure, Outcome};
use crate::options::{Options, Sizes};
use crate::plan::{self, RunPlan};
use crate::setup::{self, Setup, Subject};
use crate::support;
use clap::Parser;
use method::versus::{Pair, Side};
use method::{Profile, SuiteConfig, Topology};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use traffic::size::SizePattern;
use trial::{Tester, TesterDescription, TesterError, Waits};
use units::{Duration, FrameSize};
use wire::signature::RunKey;

/// The options of one side, as its text has them.
#[derive(Parser)]
#[command(no_binary_name = true)]
struct SideFlags {
    #[command(flatten)]
    options: Options,
}

/// The sides to prepare.
pub struct Plans {
    plans: [RunPlan; 2],
    switches: [Switch; 2],
    names: [String; 2],
    is_shared: bool,
}

/// What switches a device to this side.
#[derive(Clone, Debug, Default, PartialEq)]
struct Switch {
    commands: Vec<String>,
    /// Key with dots, and value.
    sysctls: Vec<(String, String)>,
}

/// Both sides, ready to be measured.
pub struct Sides {
    plans: Plans,
    /// One for both, or one each.
    setups: Vec<Setup>,
    current: Option<Side>,
    started: Instant,
    stop: Arc<AtomicBool>,
}

impl Plans {
    pub fn of(arguments: &Versus) -> Outcome<Plans> {
        let common = common(arguments)?;
        let side = |text: &str, sim: &Option<String>, commands: &[String]| -> Outcome<_> {
            let (mut options, mut switch) = parse(text, &common)?;
            if sim.is_some() {
                options.sim.clone_from(sim);
            }
            switch.commands = commands.to_vec();
            Ok((options, switch))
        };
        let (a, switch_a) = side(&arguments.a, &arguments.a_sim, &arguments.a_do)?;
        let (b, switch_b) = side(&arguments.b, &arguments.b_sim, &arguments.b_do)?;
        let is_shared = a == b;
        let plans = [plan(&a)?, plan(&b)?];
        for (plan, switch) in [(&plans[0], &switch_a), (&plans[1], &switch_b)] {
            let is_simulated = matches!(Subject::of(&plan.options)?, Subject::Simulated(_));
            if is_simulated && *switch != Switch::default() {
                return Err(Failure::new("a simulated device runs no commands and has no sysctls")
                    .help("give each side a file: --a-sim a.toml --b-sim b.toml"));
            }
        }
        if is_shared && switch_a == switch_b {
            crate::output::say("A and B are the same: every measured difference is an error");
        }
        let name = |plan: &RunPlan,
                    sim: &Option<String>,
                    text: &str,
                    commands: &[String]|
         -> Outcome<String> {
            let mut parts = vec![Subject::of(&plan.options)?.short_name()];
            parts
                .extend((!text.trim().is_empty() && sim.is_none()).then(|| text.trim().to_owned()));
            parts.extend(commands.iter().cloned());
            Ok(parts.join("; "))
        };
        let names = [
            name(&plans[0], &arguments.a_sim, &arguments.a, &arguments.a_do)?,
            name(&plans[1], &arguments.b_sim, &arguments.b, &arguments.b_do)?,
        ];
        Ok(Plans { plans, switches: [switch_a, switch_b], names, is_shared })
    }

    pub fn acquire_rights(&self) -> Outcome<()> {
        for plan in &self.plans {
            Subject::of(&plan.options)?.acquire_rights()?;
        }
        Ok(())
    }
}

/// The options of both, with the defaults of a comparison beneath.
fn common(arguments: &Versus) -> Outcome<Options> {
    let given = plan::given(&arguments.options, arguments.config.as_deref())?;
    Ok(given.over(&Options {
        profile: Some(Profile::Quick),
        sizes: Some(Sizes(vec![SizePattern::Fixed(FrameSize::from_bytes(64))])),
        ..Options::default()
    }))
}

/// A side's text: options, and `sysctl:KEY=VALUE`, over what both have.
fn parse(text: &str, common: &Options) -> Outcome<(Options, Switch)> {
    let (sysctls, flags): (Vec<&str>, Vec<&str>) =
        text.split_whitespace().partition(|word| word.starts_with("sysctl:"));
    let flags = crate::args::port_lists::one_a_port(flags.iter().map(Into::into).collect());
    let flags = SideFlags::try_parse_from(&flags)
        .map_err(|error| Failure::new(format!("`{text}`: {error}")))?;
    let pair = |word: &&str| {
        let pair = word["sysctl:".len()..].split_once('=');
        let pair = pair.map(|(key, value)| (key.to_owned(), value.to_owned()));
        pair.ok_or_else(|| Failure::new(format!("`{word}`: write sysctl:KEY=VALUE")))
    };
    let sysctls = sysctls.iter().map(pair).collect::<Outcome<_>>()?;
    let own = plan::given(&flags.options, None)?;
    if own.out.is_some() || own.seed.is_some() || own.profile.is_some() || own.trial.is_some() {
        return Err(Failure::new(format!(
            "`{text}`: --out, --seed, --profile and keys of `trial` apply to the whole comparison"
        ))
        .help("write them outside of --a and --b"));
    }
    let options = own.over(common);
    Ok((options, Switch { commands: vec![], sysctls }))
}

fn plan(options: &Options) -> Outcome<RunPlan> {
    support::VERSUS.check(options, &Subject::of(options)?)?;
    RunPlan::of(options, None)
}

impl Sides {
    pub fn prepare(plans: Plans, yes: bool, stop: &Arc<AtomicBool>) -> Outcome<Sides> {
        let mut setups = vec![];
        for plan in &plans.plans[..if plans.is_shared { 1 } else { 2 }] {
            let subject = Subject::of(&plan.options)?;
            match setup::prepare(&subject, &plan.options, yes, stop) {
                Ok(setup) => setups.push(setup),
                Err(failure) => {
                    setups.into_iter().try_for_each(Setup::tear_down)?;
                    return Err(failure);
                }
            }
        }
        let stop = stop.clone();
        Ok(Sides { plans, setups, current: None, started: Instant::now(), stop })
    }

    pub fn suite(&self, side: usize) -> &SuiteConfig {
        &self.plans.plans[side].suite
    }
    pub fn topology(&self, side: usize) -> &Topology {
        &self.setup(side).topology
    }
    pub fn filters(&self, side: usize) -> &str {
        &self.setup(side).filters
    }
    pub fn describe(&self, side: usize) -> &TesterDescription {
        self.setup(side).tester.describe()
    }
    pub fn names(&self) -> [&str; 2] {
        self.plans.names.each_ref().map(String::as_str)
    }
    /// The devices in words.
    pub fn devices(&self) -> [String; 2] {
        [0, 1].map(|side| self.setup(side).device.clone())
    }
    pub fn is_shared(&self) -> bool {
        self.plans.is_shared
    }
    /// The environment of A, and what differs on B.
    pub fn environment(&self) -> BTreeMap<String, String> {
        let [a, b] = [0, 1].map(|side| &self.setup(side).environment);
        let other = b.iter().filter(|(name, text)| a.get(*name) != Some(text));
        let other = other.map(|(name, text)| (format!("{name} (B)"), text.clone()));
        a.clone().into_iter().chain(other).collect()
    }
    /// The run folder of the comparison, if given.
    pub fn out(&self) -> Option<&Path> {
        self.plans.plans[0].options.out.as_deref()
    }
    pub fn short_name(&self) -> Outcome<String> {
        Ok(Subject::of(&self.plans.plans[0].options)?.short_name())
    }
    /// From `--seed`, or `None` for a random key.
    pub fn run_key(&self) -> Outcome<Option<RunKey>> {
        self.plans.plans[0].run_key()
    }
    pub fn waits(&self) -> Waits {
        let trial = &self.suite(0).trial;
        Waits::until_silence(
            Duration::from_secs_f64(trial.drain_s),
            Duration::from_secs_f64(trial.drain_max_s),
            Duration::from_secs_f64(trial.settle_s),
        )
    }

    /// Adds to each side the sysctls that only the other one sets, with their current values. Switches two
    /// devices to their sides. Starts the clock.
    pub fn begin(&mut self) -> Outcome<()> {
        let keys: Vec<String> = self
            .plans
            .switches
            .iter()
            .flat_map(|switch| &switch.sysctls)
            .map(|(key, _)| key.clone())
            .collect();
        for (side, key) in
            [0, 1].into_iter().flat_map(|side| keys.iter().map(move |key| (side, key)))
        {
            if !self.plans.switches[side].sysctls.iter().any(|(known, _)| known == key) {
                let before = self.shell(side, &format!("cat {}", sysctl_path(key)?))?;
                self.plans.switches[side].sysctls.push((key.clone(), before.trim().to_owned()));
            }
        }
        if !self.plans.is_shared {
            self.switch(0)?;
            self.switch(1)?;
        }
        self.started = Instant::now();
        Ok(())
    }

    pub fn tear_down(self) -> Outcome<()> {
        let done: Vec<Outcome<()>> = self.setups.into_iter().map(Setup::tear_down).collect();
        done.into_iter().collect()
    }

    fn setup(&self, side: usize) -> &Setup {
        &self.setups[if self.plans.is_shared { 0 } else { side }]
    }

    fn switch(&self, side: usize) -> Outcome<()> {
        let Switch { commands, sysctls } = &self.plans.switches[side];
        for (key, value) in sysctls {
            self.shell(
                side,
                &format!("echo '{}' > {}", value.replace('\'', ""), sysctl_path(key)?),
            )?;
        }
        commands.iter().try_for_each(|command| self.shell(side, command).map(drop))
    }

    /// Runs a command in the namespace of a device built here, otherwise on this host.
    fn shell(&self, side: usize, command: &str) -> Outcome<String> {
        let run = || Command::new("sh").arg("-c").arg(command).output();
        let device = self.setup(side).testbed().and_then(testbed::Testbed::device);
        let output = match device {
            Some(device) => device.namespace().run(run)?,
            None => run(),
        };
        let output = output.map_err(|error| Failure::new(format!("`{command}`: {error}")))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => {
                let why = String::from_utf8_lossy(&output.stderr);
                let status = output.status;
                Err(Failure::new(format!("`{command}` failed ({status}): {}", why.trim())))
            }
        }
    }
}

/// Path of a sysctl of a network namespace.
fn sysctl_path(key: &str) -> Outcome<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    match key.starts_with("net.") && !key.contains("..") && key.chars().all(is_plain) {
        true => Ok(format!("/proc/sys/{}", key.replace('.', "/"))),
        false => Err(Failure::new(format!("`{key}` is not a sysctl of a network namespace"))
            .help("write sysctl:net.ipv4.conf.all.rp_filter=1; for others use --a-do and --b-do")),
    }
}

impl Pair for Sides {
    fn tester(&mut self, side: Side) -> Result<&mut dyn Tester, TesterError> {
        if self.stop.load(Ordering::SeqCst) {
            return Err(TesterError::Interrupted);
        }
        if self.plans.is_shared && self.current != Some(side) {
            let what = || format!("switch the device to {side}");
            self.switch(side as usize).map_err(|failure| TesterError::System {
                what: what(),
                detail: failure.to_string(),
            })?;
        }
        self.current = Some(side);
        let place = if self.plans.is_shared { 0 } else { side as usize };
        Ok(self.setups[place].tester.as_mut())
    }

    fn elapsed(&self) -> Duration {
        Duration::from_secs_f64(self.started.elapsed().as_secs_f64())
    }

    /// The first field of the schedstat of each thread (Documentation/scheduler/sched-stats.rst).
    fn device_time(&mut self, side: Side) -> Option<Duration> {
        let device = self.setup(side as usize).testbed()?.device()?;
        let threads: Vec<u32> =
            device.threads().into_iter().flat_map(|port| port.threads).collect();
        let time_ns = |thread: &u32| -> Option<u64> {
            let text = std::fs::read_to_string(format!("/proc/{thread}/schedstat")).ok()?;
            text.split_whitespace().next()?.parse().ok()
        };
        let times: Option<Vec<u64>> = threads.iter().map(time_ns).collect();
        times.filter(|times| !times.is_empty()).map(|times| Duration::from_ns(times.iter().sum()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_is_options_and_sysctls_over_what_both_have() {
        let common = Options { mtu: Some(1500), ..Options::default() };
        let (options, switch) =
            parse("--tbf-rate 97M sysctl:net.ipv4.ip_forward=1", &common).unwrap();
        assert_eq!(
            (options.mtu, options.tbf_rate.map(|rate| rate.0)),
            (Some(1500), Some(97_000_000))
        );
        assert_eq!(switch.sysctls, [("net.ipv4.ip_forward".to_owned(), "1".to_owned())]);
        assert!(parse("--tbf-rat 1", &common).is_err());
        assert!(parse("sysctl:x", &common).is_err());
    }

    #[test]
    fn what_a_comparison_does_not_heed_is_refused() {
        let options = Options {
            sim: Some("router".into()),
            accept: Some(vec!["throughput>=1".into()]),
            ..Options::default()
        };
        assert!(plan(&options).err().unwrap().to_string().contains("--accept has no effect"));
    }

    #[test]
    fn only_sysctls_of_the_namespace_are_written() {
        assert_eq!(sysctl_path("net.ipv4.ip_forward").unwrap(), "/proc/sys/net/ipv4/ip_forward");
        for key in ["vm.swappiness", "net.x; reboot", "net/../vm/x", "kernel/x"] {
            assert!(sysctl_path(key).is_err(), "{key}");
        }
    }
}
