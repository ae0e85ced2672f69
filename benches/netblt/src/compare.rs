//! NETBLT beside TCP, QUIC, UDT and rsync: all take turns, round after round; medians, ratios, verdicts.

use crate::lab::Lab;
use crate::rivals::{FILE, Measured, Moved, Places, Rival};
use crate::transfers::write_file;
use crate::{Failure, Report};
use netblt_studies::paths::{LinkModel, Loss};
use std::fmt::Write;
use std::path::Path;
use units::Duration;

/// A transfer over the link is as long as this, or as many bytes.
const LINK_S: f64 = 12.0;
const LINK_BYTES: u64 = 100_000_000;
/// Loss slows down who competes as it does CUBIC: so many bytes take it about as long.
const COMPETING_BYTES: u64 = 5_000_000;
const LINK_BPS: u64 = 100_000_000;
/// Each way.
const LINK_DELAY: Duration = Duration::from_ms(25);
const LINK_LOSS: f64 = 0.01;
/// What the kernel has of TCP's.
const CONTROLS: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
/// Times CUBIC over that link.
const TIMES_CUBIC: f64 = 10.0;

/// Of CUBIC's goodput and processor time over the veth pair.
const OF_CUBIC: f64 = 0.9;
const CUBIC_COSTS: f64 = 1.5;
/// Of UDP's goodput on IP protocol 30.
const RAW_OF_UDP: f64 = 0.8;
/// Rivals that targets name.
const DEFAULT_FILE: &str = "a file";
const DEFAULT_MEMORY: &str = "memory";
const COMPETING: &str = "finds its rate";
const RAW: &str = "memory, raw IP";
const UNBOUND: &str = "memory, no control of the rate";
const UNBOUND_SEALED: &str = "the same, sealed";

/// A scene and all who were measured in it.
struct Scene {
    name: &'static str,
    explained: String,
    rivals: Vec<Rival>,
    measured: Vec<Vec<Measured>>,
    /// Who came to no result, and why.
    failures: Vec<String>,
}

pub fn run(netanvil: &Path, rounds: usize, bytes: u64, wanted: &Report) -> Result<bool, Failure> {
    // In memory where that can be: no disk is to be measured.
    let memory = Path::new("/dev/shm");
    let scratch = match memory.is_dir() {
        true => tempfile::tempdir_in(memory)?,
        false => tempfile::tempdir()?,
    };
    write_file(&scratch.path().join(FILE), bytes)?;
    std::fs::write(scratch.path().join("key"), "5eed".repeat(16))?;
    let netanvil = netanvil
        .canonicalize()
        .map_err(|error| format!("{}: {error}; make build makes it", netanvil.display()))?;
    let places = Places { netanvil: &netanvil, scratch: scratch.path() };
    let mut veth = veth_scene(bytes);
    let mut link = link_scene();
    for scene in [&mut veth, &mut link] {
        scene.keep(|name| wanted.is_of(name));
    }
    if veth.rivals.is_empty() && link.rivals.is_empty() {
        return Err("none has all of these words; they are such as 'a file' or 'TCP cubic'".into());
    }
    let model = LinkModel {
        loss: Loss::Random(LINK_LOSS),
        ..LinkModel::plain(LINK_BPS, LINK_DELAY, 600_000)
    };
    for round in 0..rounds {
        for at in 0..veth.rivals.len() {
            let lab = Lab::joined()?;
            veth.measure(at, &lab, &places, (bytes, f64::INFINITY));
        }
        for at in 0..link.rivals.len() {
            let lab = Lab::linked(&model, round as u64)?;
            let competes = link.rivals[at].is_netblt(COMPETING);
            let bytes = if competes { COMPETING_BYTES } else { LINK_BYTES };
            link.measure(at, &lab, &places, (bytes, LINK_S));
        }
    }
    let (report, met) = report(&veth, &link, rounds, wanted.only.is_some())?;
    wanted.leave(&report)?;
    Ok(met)
}

fn netblt(name: &'static str, moved: Moved, arguments: &str) -> Rival {
    Rival::Netblt { name, moved, arguments: arguments.to_owned() }
}

fn veth_scene(bytes: u64) -> Scene {
    let unbound = "--burst 65535/1 --buffer-size 179200 --buffers 32";
    let rivals = vec![
        netblt(DEFAULT_FILE, Moved::File, ""),
        netblt("a file, sealed", Moved::File, "--key-file key"),
        netblt(DEFAULT_MEMORY, Moved::Memory, ""),
        netblt(RAW, Moved::Memory, "--raw-ip"),
        netblt(UNBOUND, Moved::Memory, unbound),
        netblt(UNBOUND_SEALED, Moved::Memory, &format!("{unbound} --key-file key")),
        Rival::Rsync,
        Rival::Udt,
        Rival::Quic,
        Rival::Tcp("bbr"),
        Rival::Tcp("cubic"),
    ];
    let explained = format!(
        "A veth pair as the kernel makes it, offloads and all; {:.1} GB. Files are in memory at both ends \
         (tmpfs), and timed from the program's start to its end; that they are hashed, verified and named is in the time; \
         rsync verifies what it wrote as it goes. All others go from memory to memory. `--burst 65535/1` is no control of the rate: it floods \
         whatever path it is given. TCP's segments are of up to 64 KB here and never cut: no datagram protocol \
         has that.",
        bytes as f64 / 1e9
    );
    Scene::new("A clean veth pair", explained, rivals)
}

fn link_scene() -> Scene {
    let rivals = vec![
        netblt(COMPETING, Moved::Memory, ""),
        netblt("scavenges", Moved::Memory, "--scavenge"),
        netblt("95 Mb/s", Moved::Memory, "--rate 91M --buffers 128"),
        Rival::Udt,
        Rival::Quic,
        Rival::Tcp("bbr"),
        Rival::Tcp("cubic"),
    ];
    let explained = format!(
        "The real-time link: {} Mb/s, 50 ms round trip, 1 % of the packets lost by chance each way, a \
         queue of 600 KB. NETBLT moves {} MB, and {} MB without options, with which loss slows it down as it does \
         CUBIC; the others send for {LINK_S:.0} s.",
        LINK_BPS / 1_000_000,
        LINK_BYTES / 1_000_000,
        COMPETING_BYTES / 1_000_000,
    );
    Scene::new("1 % loss, 50 ms", explained, rivals)
}

impl Scene {
    fn new(name: &'static str, explained: String, mut rivals: Vec<Rival>) -> Scene {
        let known = std::fs::read_to_string(CONTROLS).unwrap_or_default();
        rivals.retain(|rival| match rival {
            Rival::Tcp(control) => known.split_whitespace().any(|known| known == *control),
            _ => true,
        });
        let measured = vec![vec![]; rivals.len()];
        Scene { name, explained, rivals, measured, failures: Vec::new() }
    }

    /// Keeps those whose names are wanted.
    fn keep(&mut self, is_wanted: impl Fn(&str) -> bool) {
        self.rivals.retain(|rival| is_wanted(&rival.name()));
        self.measured.truncate(self.rivals.len());
    }

    /// Whoever comes to no result does not keep the others from theirs.
    fn measure(&mut self, at: usize, lab: &Lab, places: &Places<'_>, (bytes, seconds): (u64, f64)) {
        let name = self.rivals[at].name();
        match self.rivals[at].run(lab, places, bytes, seconds) {
            Ok(measured) => {
                eprintln!(
                    "{}: {name}: {:.1} Mb/s, {:.2} s/GB",
                    self.name,
                    measured.goodput_bps / 1e6,
                    measured.processor_s_per_gb
                );
                self.measured[at].push(measured);
            }
            Err(failure) => {
                eprintln!("{}: {name}: {failure}", self.name);
                self.failures.push(format!("{name}: {failure}"));
            }
        }
    }

    fn figures(&self, at: usize, figure: impl Fn(&Measured) -> f64) -> Spread {
        Spread::of(self.measured[at].iter().map(figure).collect())
    }
    fn cost(&self, wanted: impl Fn(&Rival) -> bool) -> Option<f64> {
        let at = self.rivals.iter().position(wanted)?;
        Some(self.figures(at, |measured| measured.processor_s_per_gb).median)
    }
    fn goodput(&self, wanted: impl Fn(&Rival) -> bool) -> Option<f64> {
        let at = self.rivals.iter().position(wanted)?;
        Some(self.figures(at, |measured| measured.goodput_bps).median)
    }

    /// All beside CUBIC and beside QUIC.
    fn table(&self) -> Result<String, std::fmt::Error> {
        if self.rivals.is_empty() {
            return Ok(String::new());
        }
        let mut text = format!("## {}\n\n{}\n\n", self.name, self.explained);
        writeln!(
            text,
            "| | options | goodput, Mb/s | x CUBIC | x QUIC | CPU s/GB | x CUBIC | x QUIC |"
        )?;
        writeln!(text, "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")?;
        let goodput = |at| self.figures(at, |measured| measured.goodput_bps / 1e6);
        let cost = |at| self.figures(at, |measured| measured.processor_s_per_gb);
        let place = |wanted: Rival| self.rivals.iter().position(|rival| *rival == wanted);
        let (cubic, quic) = (place(Rival::Tcp("cubic")), place(Rival::Quic));
        let times = |one: &Spread, other: Option<Spread>| match other {
            Some(other) => format!("{:.2}", one.median / other.median),
            None => "-".to_owned(),
        };
        for (at, rival) in self.rivals.iter().enumerate() {
            let (goodput_here, cost_here) = (goodput(at), cost(at));
            writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} | {} | {} |",
                rival.name(),
                rival.options(),
                goodput_here.text(0),
                times(&goodput_here, cubic.map(goodput)),
                times(&goodput_here, quic.map(goodput)),
                cost_here.text(2),
                times(&cost_here, cubic.map(cost)),
                times(&cost_here, quic.map(cost)),
            )?;
        }
        for failure in &self.failures {
            writeln!(text, "\nNo result of {failure}.")?;
        }
        let unfaithful = self.measured.iter().flatten().filter(|one| !one.faithful).count();
        if unfaithful > 0 {
            let all = self.measured.iter().flatten().count();
            writeln!(
                text,
                "\nThe machine was busy: in {unfaithful} of {all} transfers the link's program lost \
                 frames itself, or was more than 2 ms late with over 1 % of them. The round trip was \
                 longer then than said above, for all alike; ratios are what remains."
            )?;
        }
        Ok(text + "\n")
    }
}

/// Median, lowest and highest.
struct Spread {
    median: f64,
    lowest: f64,
    highest: f64,
}

impl Spread {
    fn of(mut figures: Vec<f64>) -> Spread {
        figures.sort_by(f64::total_cmp);
        let at = |index: usize| figures.get(index).copied().unwrap_or(f64::NAN);
        let last = figures.len().saturating_sub(1);
        let median = (at(last / 2) + at(last.div_ceil(2))) / 2.0;
        Spread { median, lowest: at(0), highest: at(last) }
    }
    fn text(&self, digits: usize) -> String {
        let Spread { median, lowest, highest } = self;
        if median.is_nan() {
            return "no result".to_owned();
        }
        format!("{median:.digits$} ({lowest:.digits$} to {highest:.digits$})")
    }
}

fn report(
    veth: &Scene,
    link: &Scene,
    rounds: usize,
    is_part: bool,
) -> Result<(String, bool), Failure> {
    let ratio = |a: Option<f64>, b: Option<f64>| a.zip(b).map_or(f64::NAN, |(a, b)| a / b);
    let is_cubic = |rival: &Rival| *rival == Rival::Tcp("cubic");
    let quic = veth.goodput(|rival| *rival == Rival::Quic);
    let is_rsync = |rival: &Rival| *rival == Rival::Rsync;
    let beside_quic = |name: &str| ratio(veth.goodput(|rival| rival.is_netblt(name)), quic);
    let beside_cubic =
        |name: &str| ratio(link.goodput(|rival| rival.is_netblt(name)), link.goodput(is_cubic));
    let is_file = |rival: &Rival| rival.is_netblt(DEFAULT_FILE);
    let file = ratio(veth.goodput(is_file), veth.goodput(is_cubic));
    let file_cost = ratio(veth.cost(is_file), veth.cost(is_cubic));
    let verdicts = [
        Verdict::at_least("veth: a file by defaults, goodput of CUBIC's", file, OF_CUBIC),
        Verdict::at_most(
            "veth: a file by defaults, processor time of CUBIC's",
            file_cost,
            CUBIC_COSTS,
        ),
        Verdict::at_least(
            "veth: a file by defaults, of rsync's goodput",
            ratio(veth.goodput(is_file), veth.goodput(is_rsync)),
            1.0,
        ),
        Verdict::at_most(
            "veth: a file by defaults, processor time of rsync's",
            ratio(veth.cost(is_file), veth.cost(is_rsync)),
            1.0,
        ),
        Verdict::at_least(
            "veth: memory by defaults, of QUIC's goodput",
            beside_quic(DEFAULT_MEMORY),
            1.0,
        ),
        Verdict::at_least(
            "veth: raw IP by defaults, of UDP's goodput",
            ratio(
                veth.goodput(|rival| rival.is_netblt(RAW)),
                veth.goodput(|rival| rival.is_netblt(DEFAULT_MEMORY)),
            ),
            RAW_OF_UDP,
        ),
        Verdict::at_least(
            "veth: without control of the rate, of QUIC's",
            beside_quic(UNBOUND),
            1.0,
        ),
        Verdict::at_least("veth: the same, sealed", beside_quic(UNBOUND_SEALED), 1.0),
        Verdict::at_least(
            "link: finding its rate, times CUBIC",
            beside_cubic(COMPETING),
            TIMES_CUBIC,
        ),
        Verdict::at_least("link: scavenging, times CUBIC", beside_cubic("scavenges"), TIMES_CUBIC),
        Verdict::at_least("link: at 95 Mb/s, times CUBIC", beside_cubic("95 Mb/s"), TIMES_CUBIC),
    ];
    let mut text = format!(
        "# NETBLT, measured beside TCP, QUIC, UDT and rsync\n\nWritten by `make bench-netblt`; do not edit.\n\n\
         Linux {}; {}, {} cores, on which both ends and the link run. Medians of {rounds} rounds in \
         which all took turns, lowest and highest in brackets. Rates drift on a shared machine: read \
         them as ratios.\n\nCPU is the processor time of both ends' processes for 10^9 bytes; where \
         the kernel works for a packet in the sender's name, it is in it. QUIC encrypts, TCP and plain \
         NETBLT do not. NETBLT checksums its headers and data (RFC 998).\n\n\
         ## Targets\n\n| target | bound | measured | verdict |\n| --- | ---: | ---: | --- |\n",
        kernel(),
        processor(),
        std::thread::available_parallelism()?,
    );
    let mut all = true;
    // A part has no result where it lacks one of the two: that is no miss.
    for verdict in verdicts.iter().filter(|verdict| !is_part || !verdict.measured.is_nan()) {
        all &= verdict.met();
        text += &verdict.line();
    }
    text += "\n";
    text += &veth.table()?;
    text += &link.table()?;
    Ok((text.trim_end().to_owned() + "\n", all))
}

/// A target and what was measured.
struct Verdict {
    target: &'static str,
    measured: f64,
    bound: f64,
    at_most: bool,
}

impl Verdict {
    fn at_least(target: &'static str, measured: f64, bound: f64) -> Verdict {
        Verdict { target, measured, bound, at_most: false }
    }
    fn at_most(target: &'static str, measured: f64, bound: f64) -> Verdict {
        Verdict { target, measured, bound, at_most: true }
    }
    /// Nothing measured meets nothing.
    fn met(&self) -> bool {
        match self.at_most {
            true => self.measured <= self.bound,
            false => self.measured >= self.bound,
        }
    }
    fn line(&self) -> String {
        let Verdict { target, measured, bound, at_most } = self;
        let side = if *at_most { "at most" } else { "at least" };
        let word = match self.met() {
            true => "PASS",
            false if measured.is_nan() => "no result",
            false => "MISSED",
        };
        format!("| {target} | {side} {bound:.1} | {measured:.2} | {word} |\n")
    }
}

fn kernel() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    release.trim().to_owned()
}

fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    model.map_or_else(String::new, |(_, name)| name.to_owned())
}
