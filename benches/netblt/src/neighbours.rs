//! `make netblt-neighbours`: NETBLT as it is without options beside the kernel's TCP, over the real-time link:
//! what arrives of each.

use crate::lab::{CLIENT, Lab, SERVER, Server, output};
use crate::{Failure, Report};
use netblt_studies::paths::LinkModel;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::thread;
use testbed::TwoHosts;
use units::Duration;

const RATE_BPS: u64 = 50_000_000;
/// Each way.
const DELAY: Duration = Duration::from_ms(10);
/// A round trip of the link.
const QUEUE_BYTES: u64 = 125_000;
/// CUBIC first: what it gets of an equal share beside the others is how much a window that goes by loss can have there.
const CONTROLS: [&str; 3] = ["cubic", "reno", "bbr"];
/// Of those in the first place, and of connections beside them.
const COUNTS: [(usize, usize); 3] = [(1, 1), (4, 4), (1, 16)];
/// What the kernel has of them.
const KNOWN: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
/// Before anything is counted, and while it is.
const WARM_UP_S: u64 = 10;
const COUNTED_S: u64 = 20;
/// Bytes that no transfer comes to the end of in that time.
const ENDLESS_BYTES: &str = "10000000000";
/// iperf3's ports: of the connections beside us, and of those in our place.
const PORTS: [u16; 2] = [5201, 5202];
/// Of a TCP segment that fills 1,500, from IP's header on.
const SEGMENT_BYTES: f64 = 1500.0;
/// Counters of nftables at the server's host, in bytes from IP's header on, and how long it may take to read them.
const TABLE: &str = "table ip arrived";
const PROTOCOLS: [&str; 2] = ["udp", "tcp"];
const COUNTERS_LIMIT: std::time::Duration = std::time::Duration::from_secs(10);
/// Of an equal share, in percent.
const SHARES: std::ops::RangeInclusive<f64> = 50.0..=150.0;

/// Who shares the link with connections of the kernel.
#[derive(Clone, Copy, PartialEq)]
struct Case {
    control: &'static str,
    ours: usize,
    theirs: usize,
}

impl Case {
    fn all() -> Vec<Case> {
        let with =
            |control| COUNTS.into_iter().map(move |(ours, theirs)| Case { control, ours, theirs });
        CONTROLS.into_iter().flat_map(with).collect()
    }
    fn name(self) -> String {
        format!("{} {}:{}", self.control, self.ours, self.theirs)
    }
    /// Of all that arrived, what those in the first place had, in percent of an equal share for each of them.
    fn share_percent(self, ours_mbps: f64, theirs_mbps: f64) -> f64 {
        let equal = self.ours as f64 / (self.ours + self.theirs) as f64;
        100.0 * ours_mbps / (ours_mbps + theirs_mbps) / equal
    }
}

/// What one round came to.
#[derive(Clone, Copy)]
struct Round {
    share_percent: f64,
    ours_mbps: f64,
    theirs_mbps: f64,
    faithful: bool,
}

impl Round {
    fn new(case: Case, [ours_mbps, theirs_mbps]: [f64; 2], lab: &Lab) -> Result<Round, Failure> {
        if ours_mbps + theirs_mbps < RATE_BPS as f64 / 1e6 / 10.0 {
            return Err(format!(
                "{ours_mbps:.1} and {theirs_mbps:.1} Mb/s arrived: nothing to compare"
            )
            .into());
        }
        let share_percent = case.share_percent(ours_mbps, theirs_mbps);
        Ok(Round { share_percent, ours_mbps, theirs_mbps, faithful: lab.is_faithful() })
    }
}

/// The cases, or those whose names have all of the words. A round with NETBLT and one with the kernel's CUBIC in its
/// place follow each other.
pub fn run(netanvil: &Path, rounds: usize, report: &Report) -> Result<bool, Failure> {
    let netanvil = netanvil
        .canonicalize()
        .map_err(|error| format!("{}: {error}; make build makes it", netanvil.display()))?;
    let known = std::fs::read_to_string(KNOWN).unwrap_or_default();
    let mut cases = Case::all();
    cases.retain(|case| report.is_of(&case.name()));
    if cases.is_empty() {
        return Err("no case has all of these words; they are such as 'bbr 1:16'".into());
    }
    let mut text = head(rounds);
    let mut all = true;
    for case in cases {
        if !known.split_whitespace().any(|word| word == case.control) {
            let Case { control, ours, theirs } = case;
            let why = format!("not measured: this kernel has no tcp_{control}");
            writeln!(text, "| {control} | {ours}:{theirs} | {why} | | | | |")?;
            all = false;
            continue;
        }
        let (mut measured, mut cubic) = (Vec::new(), Vec::new());
        for seed in 0..rounds {
            let round = round(&netanvil, case, seed as u64)?;
            let instead = cubic_round(case, seed as u64)?;
            eprintln!(
                "{}: {:.0} %, CUBIC {:.0} %",
                case.name(),
                round.share_percent,
                instead.share_percent
            );
            measured.push(round);
            cubic.push(instead);
        }
        all &= row(&mut text, case, &measured, &cubic)?;
    }
    report.leave(&text)?;
    Ok(all)
}

fn head(rounds: usize) -> String {
    format!(
        "# NETBLT beside the kernel's TCP\n\nWritten by `make netblt-neighbours`; do not edit.\n\n\
         The real-time link: {} Mb/s, 20 ms round trip, a queue of {} KB (a round trip). NETBLT transfers \
         (`netanvil netblt test`, no options) and TCP connections (iperf3) start together; what arrives at the \
         other host is counted by its kernel from second {WARM_UP_S} to {}, in bytes from IP's header on, repetitions \
         included. {rounds} rounds; \
         medians, lowest and highest in brackets. 100 % is an equal share of what arrived; the target is {:.0} to \
         {:.0} % in each round. \"CUBIC's share\": as many connections of the kernel's CUBIC in the place of the transfers, \
         by what iperf3 says of the same seconds. Both ends and the link share the processors of one machine.\n\n\
         | TCP | transfers : connections | NETBLT's share | CUBIC's share | NETBLT, Mb/s | TCP, Mb/s | verdict |\n\
         | --- | --- | ---: | ---: | ---: | ---: | --- |\n",
        RATE_BPS / 1_000_000,
        QUEUE_BYTES / 1000,
        WARM_UP_S + COUNTED_S,
        SHARES.start(),
        SHARES.end(),
    )
}

fn row(text: &mut String, case: Case, rounds: &[Round], cubic: &[Round]) -> Result<bool, Failure> {
    let of = |rounds: &[Round], figure: fn(&Round) -> f64| {
        let mut figures: Vec<f64> = rounds.iter().map(figure).collect();
        figures.sort_by(f64::total_cmp);
        let middle = (figures[(figures.len() - 1) / 2] + figures[figures.len() / 2]) / 2.0;
        (figures[0], middle, figures[figures.len() - 1])
    };
    let (least, median, most) = of(rounds, |round| round.share_percent);
    let (cubic_least, cubic_median, cubic_most) = of(cubic, |round| round.share_percent);
    let met = SHARES.contains(&least) && SHARES.contains(&most);
    let late = rounds.iter().filter(|round| !round.faithful).count();
    let late =
        if late > 0 { format!(" (the link was late in {late} rounds)") } else { String::new() };
    let Case { control, ours, theirs } = case;
    writeln!(
        text,
        "| {control} | {ours}:{theirs} | {median:.0} % ({least:.0} to {most:.0}) \
         | {cubic_median:.0} % ({cubic_least:.0} to {cubic_most:.0}) | {:.1} | {:.1} | {}{late} |",
        of(rounds, |round| round.ours_mbps).1,
        of(rounds, |round| round.theirs_mbps).1,
        if met { "met" } else { "MISSED" },
    )?;
    Ok(met)
}

fn link(seed: u64) -> Result<Lab, Failure> {
    Lab::linked(&LinkModel::plain(RATE_BPS, DELAY, QUEUE_BYTES), seed)
}

/// iperf3 as a server at the other host.
fn iperf_server(lab: &Lab, port: u16) -> Result<Server, Failure> {
    let mut command = lab.command(SERVER, Path::new("iperf3"));
    Server::start(command.args(["-s", "--forceflush", "-p", &port.to_string()]), false)
}

/// iperf3 as a client: so many connections of a kind for a time.
fn iperf(lab: &Lab, (control, count): (&str, usize), port: u16, seconds: u64) -> Command {
    let mut command = lab.command(CLIENT, Path::new("iperf3"));
    command.args(["-C", control, "-c", &TwoHosts::address(SERVER).to_string()]).args([
        "-p",
        &port.to_string(),
        "-P",
        &count.to_string(),
        "-t",
        &seconds.to_string(),
    ]);
    command
}

/// NETBLT beside the kernel's TCP.
fn round(netanvil: &Path, case: Case, seed: u64) -> Result<Round, Failure> {
    let scratch = tempfile::tempdir()?;
    let lab = link(seed)?;
    let server_address = TwoHosts::address(SERVER).to_string();
    let mut serve = lab.command(SERVER, netanvil);
    serve.args(["netblt", "serve", ".", "--trust"]).current_dir(scratch.path());
    let _netblt = Server::start(&mut serve, true)?;
    let _iperf = iperf_server(&lab, PORTS[0])?;
    count(&lab)?;

    let kind = (case.control, case.theirs);
    let seconds = WARM_UP_S + COUNTED_S + 10;
    let mut clients = vec![Server::spawn(&mut iperf(&lab, kind, PORTS[0], seconds))?];
    for _ in 0..case.ours {
        let mut test = lab.command(CLIENT, netanvil);
        test.args(["netblt", "test", &server_address, "--bytes", ENDLESS_BYTES, "--quiet"]);
        clients.push(Server::spawn(&mut test)?);
    }
    thread::sleep(std::time::Duration::from_secs(WARM_UP_S));
    let (before, began) = (arrived(&lab)?, std::time::Instant::now());
    thread::sleep(std::time::Duration::from_secs(COUNTED_S));
    let (after, took_s) = (arrived(&lab)?, began.elapsed().as_secs_f64());
    drop(clients);

    let mbps = |at: usize| (after[at] - before[at]) as f64 * 8.0 / took_s / 1e6;
    Round::new(case, [mbps(0), mbps(1)], &lab)
}

/// The kernel's CUBIC in the place of NETBLT.
fn cubic_round(case: Case, seed: u64) -> Result<Round, Failure> {
    let lab = link(seed)?;
    let _servers = [iperf_server(&lab, PORTS[0])?, iperf_server(&lab, PORTS[1])?];
    let kinds = [("cubic", case.ours), (case.control, case.theirs)];
    let limit = std::time::Duration::from_secs(WARM_UP_S + COUNTED_S + 30);
    let said: Vec<Result<f64, Failure>> = thread::scope(|scope| {
        // Those beside us are started first here, too.
        let lab = &lab;
        let clients = [1, 0].map(|place| {
            let mut command = iperf(lab, kinds[place], PORTS[place], COUNTED_S);
            command.args(["-J", "-O", &WARM_UP_S.to_string()]);
            scope.spawn(move || received_mbps(&output(&mut command, limit)?))
        });
        let joined = clients.map(|client| client.join().map_err(|_| "a client's thread fell"));
        joined.into_iter().map(|said| said?).collect()
    });
    let mut said = said.into_iter();
    let mut next = || said.next().unwrap_or_else(|| Err("a client said nothing".into()));
    let (theirs, ours) = (next()?, next()?);
    Round::new(case, [ours, theirs], &lab)
}

/// What iperf3 says that its server received after the seconds that it leaves out.
fn received_mbps(json: &str) -> Result<f64, Failure> {
    let said: serde_json::Value = serde_json::from_str(json)?;
    let bps = said["end"]["sum_received"]["bits_per_second"].as_f64();
    let data = bps.ok_or("iperf3 did not say how much was received")?;
    // Of a segment that fills 1,500 bytes, 1,448 are data.
    Ok(data / 1e6 * SEGMENT_BYTES / 1448.0)
}

/// Has the server's host count what comes, by protocol. Its interface merges nothing.
fn count(lab: &Lab) -> Result<(), Failure> {
    let mut rules = format!("add {TABLE}; add chain ip arrived came ");
    rules += "{ type filter hook input priority 0; }";
    for protocol in PROTOCOLS {
        write!(
            rules,
            "; add counter ip arrived of_{protocol}\
             ; add rule ip arrived came meta l4proto {protocol} counter name of_{protocol}"
        )?;
    }
    let mut command = lab.command(SERVER, Path::new("nft"));
    output(command.arg(rules), COUNTERS_LIMIT).map(drop)
}

/// Bytes of UDP and of TCP that came to the server's host.
fn arrived(lab: &Lab) -> Result<[u64; 2], Failure> {
    let mut command = lab.command(SERVER, Path::new("nft"));
    command.args(["-j", "list counters"]).arg(TABLE);
    let text = output(&mut command, COUNTERS_LIMIT)?;
    let [udp, tcp] = PROTOCOLS.map(|protocol| counted_bytes(&text, protocol));
    Ok([udp?, tcp?])
}

/// The bytes of a protocol's counter, in JSON as libnftables-json(5) has it.
fn counted_bytes(json: &str, protocol: &str) -> Result<u64, Failure> {
    let said: serde_json::Value = serde_json::from_str(json)?;
    let mut counters =
        said["nftables"].as_array().into_iter().flatten().map(|object| &object["counter"]);
    let found = counters.find(|counter| counter["name"] == format!("of_{protocol}"));
    let bytes = found.and_then(|counter| counter["bytes"].as_u64());
    Ok(bytes.ok_or_else(|| format!("nft has no counter of {protocol}"))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_that_of_an_equal_one() {
        let case = |ours, theirs| Case { control: "bbr", ours, theirs };
        // 2 of 34 Mb/s for one of 17 is what each would have.
        for (ours, theirs, [ours_mbps, theirs_mbps], percent) in
            [(1, 16, [2.0, 32.0], 100.0), (4, 4, [10.0, 30.0], 50.0), (1, 1, [30.0, 10.0], 150.0)]
        {
            let share_percent = case(ours, theirs).share_percent(ours_mbps, theirs_mbps);
            assert!((share_percent - percent).abs() < 1e-9, "{ours}:{theirs}: {share_percent}");
        }
    }

    #[test]
    fn cases_go_by_their_words() {
        let named = |words: &str| {
            let report = Report { only: Some(words.into()), markdown: None, usual: "" };
            Case::all().iter().filter(|case| report.is_of(&case.name())).count()
        };
        assert_eq!((named("bbr"), named("reno 1:16"), named("1:1"), named("vegas")), (3, 1, 3, 0));
    }

    #[test]
    fn of_what_iperf_says_the_server_s_rate_counts() {
        let json = r#"{"end":{"sum_sent":{"bits_per_second":3e7},"sum_received":{"bits_per_second":14480000}}}"#;
        assert!((received_mbps(json).unwrap() - 15.0).abs() < 1e-9);
        assert!(received_mbps(r#"{"error":"busy"}"#).is_err());
    }

    #[test]
    fn counters_are_found_by_name() {
        let text = r#"{"nftables":[{"metainfo":{"json_schema_version":1}},
            {"counter":{"family":"ip","name":"of_tcp","table":"arrived","handle":3,"packets":2,"bytes":3000}},
            {"counter":{"family":"ip","name":"of_udp","table":"arrived","handle":5,"packets":1,"bytes":1452}}]}"#;
        assert_eq!(counted_bytes(text, "udp").unwrap(), 1452);
        assert_eq!(counted_bytes(text, "tcp").unwrap(), 3000);
        assert!(counted_bytes(text, "icmp").is_err() && counted_bytes("{}", "udp").is_err());
    }
}
