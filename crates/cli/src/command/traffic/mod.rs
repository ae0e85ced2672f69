//! `netanvil traffic`: sends a load and reports loss and latency each second.

mod json;
mod pcap;
mod screen;
mod streams;
mod text;

use crate::failure::{Exit, Failure, Outcome};
use crate::keys::Keys;
use crate::options::{Options, Sizes, Span};
use crate::plan::{self, RunPlan};
use crate::setup::{self, Setup, Subject};

use crate::{interrupt, output, support, suspects};
use clap::Args;
use method::generator::{Generator, GeneratorConfig, STRETCH_FRAMES, Totals, TrafficCriterion};
use method::versus::Met;
use method::{Destinations, Flows, Profile, Rewrites, RunError, Vary};
use pcap::{Pcap, Untimed};
use screen::{Hands, Screen};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use streams::Streams;
use traffic::size::SizePattern;
use trial::TesterError;
use units::text::Load;
use units::{Duration, FrameRate, FrameSize};
use wire::signature::RunKey;

/// Time from one line to the next.
const EVERY: Duration = Duration::from_secs(1);
/// With a larger shortfall the tester fell short; the summary states a smaller one.
const SHORTFALL: f64 = 0.05;
/// `--duration forever`.
const FOREVER: Span = Span(Duration::MAX);

#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("ready_frames").args(["pcap", "otg"]))]
pub struct TrafficArgs {
    /// Load of each sending port: 1Mpps, 500Mbit/s (with preamble and gap), 10G, 40%
    #[arg(
        long,
        value_name = "LOAD",
        required_unless_present_any = ["as_timed", "otg"],
        help_heading = "Traffic"
    )]
    pub rate: Option<Load>,
    /// Number of flows; the tester sends one frame of each in turn
    #[arg(long, value_name = "COUNT", help_heading = "Traffic")]
    pub flows: Option<u64>,
    /// Fields that differ between flows; several fields change together [default: dst-port] [possible
    /// values: src-port, dst-port, src-mac, dst-ip]
    #[arg(
        long,
        value_name = "FIELD,...",
        value_delimiter = ',',
        requires = "flows",
        help_heading = "Traffic"
    )]
    pub vary: Vec<Vary>,
    /// Send the streams of a TOML file, each with a share of the frames (`[[stream]]`: name, weight, size,
    /// protocol, vlan, flows, vary ...). The options here give the keys that a stream leaves out
    #[arg(long, value_name = "FILE", help_heading = "Traffic")]
    pub streams: Option<PathBuf>,
    /// Send the flows of a configuration of the Open Traffic Generator API (JSON), from its first port to its
    /// second. Without --rate each has its own rate, with it its share of the load
    #[arg(long, value_name = "FILE", conflicts_with_all = ["streams", "flows", "pcap"], help_heading = "Traffic")]
    pub otg: Option<PathBuf>,
    /// Send the frames of a pcap or pcapng file in their order, again and again. The signature of the tester
    /// replaces the last 18 bytes of a payload; a frame without room grows by 18 bytes
    #[arg(long, value_name = "FILE", conflicts_with_all = ["streams", "flows"], help_heading = "Traffic")]
    pub pcap: Option<PathBuf>,
    /// Send the frames of `--pcap` at their captured times, once unless `--duration` is given
    #[arg(long, requires = "pcap", conflicts_with = "rate", help_heading = "Traffic")]
    pub as_timed: bool,
    /// Rewrite addresses in the frames of `--pcap` or `--otg` to those of the tester and its device: mac, ip,
    /// or both
    #[arg(long, value_name = "mac,ip", value_delimiter = ',', requires = "ready_frames", value_parser = ["mac", "ip"], help_heading = "Traffic")]
    pub rewrite: Vec<String>,
    /// Options of `run`
    #[command(flatten)]
    pub options: Options,
    /// Read options from a TOML file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Exit with 1 if the summary meets this criterion, such as 'loss > 0.1%', 'lost > 0', 'reordered > 0',
    /// 'latency_p99 > 100us', 'rate < 0.9Mpps'; also duplicates, corrupted, latency_p50, latency_max.
    /// May be repeated
    #[arg(long, value_name = "CRITERION")]
    pub fail_if: Vec<TrafficCriterion>,
    /// Take keys from standard input, terminal or not; stop at its end, as with Ctrl-C
    #[arg(long)]
    pub stdin_control: bool,
    /// Show the traffic in a browser while it goes on, and record it in runs/ [default address: 127.0.0.1:2544]
    #[arg(
        long,
        value_name = "ADDR:PORT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = crate::command::page::LISTEN,
        conflicts_with_all = ["json", "quiet", "stdin_control"]
    )]
    pub page: Option<SocketAddr>,
    /// Answer yes to every question
    #[arg(long)]
    pub yes: bool,
    /// Print one JSON object per line: start, each second, summary
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Print the summary only
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,
}

/// Hides options that it does not use, and lets `--duration` take `forever`.
pub fn adapt(command: clap::Command) -> clap::Command {
    support::TRAFFIC
        .hide_others(command, &["duration"])
        .mut_arg("duration", |arg| {
            arg.value_parser(duration)
                .value_name("TIME|forever")
                .help("Time to send: 30s, 2min, or forever (until q or Ctrl-C) [default: 10s]")
                .help_heading("Traffic")
        })
        .mut_arg("sizes", |arg| {
            arg.value_name("SIZE").help_heading("Traffic").help(
                "Frame size in bytes (FCS included), a sweep 64..1518/100, imix, or a distribution \
                 dist:64*7,1518*3 [default: 64]",
            )
        })
        .mut_arg("bidirectional", |arg| arg.help_heading("Traffic").help("Send from both ports"))
        .mut_arg("extension_headers", |arg| {
            arg.help(
                "IPv6 extension headers of the frames, in this order; frame sizes include them",
            )
        })
        .mut_arg("seed", |arg| arg.help_heading("Traffic"))
        .mut_arg("set", |arg| {
            arg.help_heading("Traffic")
                .help("Set a key of the section trial, such as `trial.keep_alives=false`")
        })
}

fn duration(text: &str) -> Result<Span, String> {
    match text {
        "forever" => Ok(FOREVER),
        _ => match text.parse::<Span>()? {
            Span(Duration::ZERO) => Err("a duration must be above 0, or forever".into()),
            span => Ok(span),
        },
    }
}

/// The traffic to send.
struct Request<'a> {
    arguments: &'a TrafficArgs,
    plan: RunPlan,
    streams: Streams,
    load: Load,
    /// The time from each frame to the next, with `--as-timed`.
    timed: Option<Vec<Duration>>,
    duration: Option<Duration>,
    run_key: RunKey,
    /// The device is built with destination networks for the flows.
    needs_networks: bool,
    /// The limit of this command, unless `--set` or a file gives another.
    shortfall: Option<f64>,
}

pub fn run(arguments: &TrafficArgs) -> Outcome {
    if let Some(listen) = arguments.page {
        return super::page::run(listen, None);
    }
    let request = Request::of(arguments)?;
    let subject = Subject::of(&request.plan.options)?;
    // Before any thread: a process with threads may not enter a user namespace.
    subject.acquire_rights()?;
    let interrupted = interrupt::watch()?;
    let keys = arguments.stdin_control.then(|| interrupt::stop_with_stdin(&interrupted));
    // An interrupt ends sending; counting goes on.
    let never = Arc::new(AtomicBool::new(false));
    let mut setup = setup::prepare(&subject, &request.plan.options, arguments.yes, &never)?;
    let sent = request.send(&mut setup, interrupted, keys.map(Keys::received));
    let torn_down = setup.tear_down();
    let totals = sent?;
    torn_down?;
    request.conclude(&totals)
}

impl<'a> Request<'a> {
    fn of(arguments: &'a TrafficArgs) -> Outcome<Self> {
        // A file has no `forever`.
        let duration = arguments.options.duration;
        let flags = Options { duration: None, ..arguments.options.clone() };
        let mut given = plan::given(&flags, arguments.config.as_deref())?;
        let duration = duration.or(given.duration.take());
        support::TRAFFIC.check(&given, &Subject::of(&given)?)?;
        let size = size(given.sizes.as_ref())?;
        let streams = match (&arguments.pcap, &arguments.otg) {
            (Some(path), _) => {
                refuse_with_frames(&given, "--pcap")?;
                Streams::captured(Pcap::read(path)?, rewrites(arguments))
            }
            (None, Some(path)) => {
                refuse_with_frames(&given, "--otg")?;
                Streams::of_otg(path, rewrites(arguments))?
            }
            (None, None) => Streams::read(arguments.streams.as_deref(), &size, flows(arguments))?,
        };
        let (load, timed) = load(arguments, &streams)?;
        let one_round = timed.as_ref().map(|gaps| Span(gaps.iter().copied().sum()));
        let duration = duration.or(one_round).unwrap_or(Span(Duration::from_secs(10)));
        let needs_networks = streams.vary_networks() && given.destinations.is_none();
        if needs_networks && given.device.is_some() && given.routes_per_port.is_none() {
            given.destinations = Some(Destinations::Random);
        }
        let limits = given.trial.as_ref().and_then(|trial| trial.get("limits")?.as_table());
        let shortfall = limits.and_then(|limits| limits.get("shortfall"));
        let shortfall = if shortfall.is_some() { None } else { Some(SHORTFALL) };
        let defaults = Options { profile: Some(Profile::Quick), ..Options::default() };
        given.sizes = Some(streams.sizes());
        let plan = RunPlan::of(&given.over(&defaults), None)?;
        let run_key = plan.run_key()?.unwrap_or(RunKey::from_seed(plan.suite.seed));
        let duration = Some(duration).filter(|span| *span != FOREVER).map(|Span(time)| time);
        Ok(Request {
            arguments,
            plan,
            streams,
            load,
            timed,
            duration,
            run_key,
            needs_networks,
            shortfall,
        })
    }

    fn send(
        &self,
        setup: &mut Setup,
        interrupted: Arc<AtomicBool>,
        keys: Option<Keys>,
    ) -> Outcome<Totals> {
        let mut suite = self.plan.suite.clone();
        suite.traffic.filters = setup.filters.clone();
        if let Some(shortfall) = self.shortfall {
            suite.trial.limits.shortfall = shortfall;
        }
        if self.needs_networks {
            suite.traffic.destinations = Destinations::One;
        }
        let mix = self.streams.mix(&suite, &setup.topology)?;
        let config = GeneratorConfig {
            load: self.load,
            timed: self.timed.clone(),
            duration: self.duration,
            every: EVERY,
            run_key: self.run_key,
            stretch_frames: STRETCH_FRAMES,
        };
        let generator = Generator { config: &config, mix: &mix };
        let rate = generator.rate(setup.tester.as_ref()).map_err(Failure::new)?;
        let screen = Screen::new(self.arguments, interrupted);
        screen.begin(&setup.device, &mix, &config, rate)?;
        let mut hands = Hands::new(&screen, keys, mix.len());
        let tester = setup.tester.as_mut();
        let sent = generator.run(tester, &mut hands, &mut |event| screen.show(event));
        sent.map_err(|error| {
            let words = vanished(&error);
            screen.fail(words.as_deref().unwrap_or(&error.to_string()));
            match words {
                None => Failure::new(error),
                Some(words) => {
                    Failure::new(words).help("there is no summary: what was counted is lost")
                }
            }
        })
    }

    fn conclude(&self, totals: &Totals) -> Outcome {
        let criteria = &self.arguments.fail_if;
        let judged: Vec<_> =
            criteria.iter().map(|criterion| (*criterion, criterion.met(totals))).collect();
        let suspects = match text::is_silent(totals) {
            true => suspects::of(&self.plan.options, self.rewrites()),
            false => vec![],
        };
        match self.arguments.json {
            true => output::print(&format!("{}\n", json::summary(totals, &judged, &suspects)))?,
            false => output::print(&text::summary(totals, &judged, &suspects))?,
        }
        let is_any = |wanted| judged.iter().any(|(_, met)| *met == wanted);
        Ok(match (is_any(Met::Failed), totals.invalid.is_empty() && !is_any(Met::Undecided)) {
            (true, _) => Exit::NotAccepted,
            (_, false) => Exit::Invalid,
            _ => Exit::Done,
        })
    }
}

/// What has vanished, if that is the error. Traffic is not resumed, and what an end that is gone counted went with it.
fn vanished(error: &RunError) -> Option<String> {
    match error {
        RunError::Tester(TesterError::PortGone { port, detail }) => {
            Some(format!("port {port} has vanished: {detail}"))
        }
        RunError::Tester(TesterError::DeviceGone(detail)) => {
            Some(format!("the device under test has vanished: {detail}"))
        }
        _ => None,
    }
}

impl Request<'_> {
    /// Whether captured frames bear the tester's addresses; none where no capture is sent.
    fn rewrites(&self) -> Option<bool> {
        let given = self.arguments.pcap.is_some() || self.arguments.otg.is_some();
        given.then_some(!self.arguments.rewrite.is_empty())
    }
}

fn size(sizes: Option<&Sizes>) -> Outcome<SizePattern> {
    match sizes.map(|Sizes(sizes)| &sizes[..]) {
        None => Ok(SizePattern::Fixed(FrameSize::from_bytes(64))),
        Some([size]) => Ok(size.clone()),
        Some(_) => Err(Failure::new("traffic takes one frame size or one mix of sizes")
            .help("write --sizes 64, --sizes imix or --sizes dist:64*7,1518*3")),
    }
}

/// Options that define the content of frames.
const OF_FRAMES: [&str; 8] = [
    "sizes",
    "protocol",
    "vlan",
    "destinations",
    "random-ports",
    "random-macs",
    "ipv6-percent",
    "extension-headers",
];

fn refuse_with_frames(given: &Options, source: &str) -> Outcome<()> {
    let table = given.as_table();
    match OF_FRAMES.iter().find(|name| table.contains_key(**name)) {
        Some(name) => {
            Err(Failure::new(format!("--{name} has no effect on the frames of {source}"))
                .help(format!("remove --{name} or {source}")))
        }
        None => Ok(()),
    }
}

fn rewrites(arguments: &TrafficArgs) -> Rewrites {
    let has = |name: &str| arguments.rewrite.iter().any(|given| given == name);
    Rewrites { macs: has("mac"), ips: has("ip") }
}

/// The load, and the captured times of frames.
fn load(arguments: &TrafficArgs, streams: &Streams) -> Outcome<(Load, Option<Vec<Duration>>)> {
    if let Some(load) = arguments.rate {
        return Ok((load, None));
    }
    if let Some(load) = streams.load() {
        return Ok((Load::Frames(load), None));
    }
    let gaps = streams
        .gaps()
        .unwrap_or(Err(Untimed::NoTimes))
        .map_err(|why| Failure::new(why).help("send it at a rate instead: --rate 10kpps"))?;
    let one_round: Duration = gaps.iter().copied().sum();
    let rate = gaps.len() as f64 / one_round.as_secs_f64();
    Ok((Load::Frames(FrameRate::from_fps_f64(rate)), Some(gaps)))
}

fn flows(arguments: &TrafficArgs) -> Option<Flows> {
    arguments.flows.map(|count| flows_by(count, &arguments.vary))
}

/// This number of flows; they differ by destination port unless `vary` names fields.
fn flows_by(count: u64, vary: &[Vary]) -> Flows {
    let vary = if vary.is_empty() { vec![Vary::DstPort] } else { vary.to_vec() };
    Flows { count, vary }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Traffic has no `--resume`, and keeps no results.
    #[test]
    fn what_has_vanished_is_named_and_nothing_is_promised() {
        let gone = [
            TesterError::PortGone { port: "of 10.99.0.2".into(), detail: "it is cut".into() },
            TesterError::DeviceGone("it ended".into()),
        ];
        for (error, words) in gone.into_iter().zip([
            "port of 10.99.0.2 has vanished: it is cut",
            "the device under test has vanished: it ended",
        ]) {
            assert_eq!(vanished(&error.into()).as_deref(), Some(words));
        }
    }
}
