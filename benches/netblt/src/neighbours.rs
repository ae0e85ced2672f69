//! `make netblt-neighbours`: NETBLT as it is without options beside the kernel's TCP, over the real-time link:
//! what arrives of each.

use crate::Failure;
use crate::lab::{CLIENT, Lab, SERVER, Server};
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
const CONTROLS: [&str; 2] = ["cubic", "bbr"];
const COUNTS: [usize; 2] = [1, 4];
/// What the kernel has of them.
const KNOWN: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
/// Before anything is counted, and while it is.
const WARM_UP_S: u64 = 10;
const COUNTED_S: u64 = 20;
/// Bytes that no transfer comes to the end of in that time.
const ENDLESS_BYTES: &str = "10000000000";
/// From IP's header on: of a NETBLT packet with 1,400 bytes of data over UDP, and of a TCP segment that fills 1,500.
const DATAGRAM_BYTES: f64 = 1452.0;
const SEGMENT_BYTES: f64 = 1500.0;
/// Of an equal share, in percent.
const SHARES: std::ops::RangeInclusive<f64> = 50.0..=150.0;

/// What one round came to.
struct Round {
    /// Of all that arrived, what NETBLT's packets were, in percent of an equal share.
    share_percent: f64,
    ours_mbps: f64,
    theirs_mbps: f64,
    faithful: bool,
}

pub fn run(netanvil: &Path, rounds: usize, markdown: &Path) -> Result<bool, Failure> {
    let netanvil = netanvil
        .canonicalize()
        .map_err(|error| format!("{}: {error}; make build makes it", netanvil.display()))?;
    let known = std::fs::read_to_string(KNOWN).unwrap_or_default();
    let mut text = head(rounds);
    let mut all = true;
    for control in CONTROLS {
        for count in COUNTS {
            if !known.split_whitespace().any(|word| word == control) {
                writeln!(
                    text,
                    "| {control} | {count}:{count} | not measured: this kernel has no tcp_{control} | | | |"
                )?;
                all = false;
                continue;
            }
            let mut measured = Vec::new();
            for seed in 0..rounds {
                let round = round(&netanvil, control, count, seed as u64)?;
                eprintln!("{control} {count}:{count}: {:.0} %", round.share_percent);
                measured.push(round);
            }
            all &= row(&mut text, control, count, &measured)?;
        }
    }
    println!("{text}");
    std::fs::write(markdown, text)?;
    Ok(all)
}

fn head(rounds: usize) -> String {
    format!(
        "# NETBLT beside the kernel's TCP\n\nWritten by `make netblt-neighbours`; do not edit.\n\n\
         The real-time link: {} Mb/s, 20 ms round trip, a queue of {} KB (a round trip). As many NETBLT transfers \
         (`netanvil netblt test`, no options) as TCP connections (iperf3) start together; what arrives at the \
         other host is counted by its kernel from second {WARM_UP_S} to {}, repetitions included. {rounds} rounds; \
         medians, lowest and highest in brackets. 100 % is an equal share of what arrived; the target is {:.0} to \
         {:.0} % in each round. Both ends and the link share the processors of one machine.\n\n\
         | TCP | transfers : connections | NETBLT's share | NETBLT, Mb/s | TCP, Mb/s | verdict |\n\
         | --- | --- | ---: | ---: | ---: | --- |\n",
        RATE_BPS / 1_000_000,
        QUEUE_BYTES / 1000,
        WARM_UP_S + COUNTED_S,
        SHARES.start(),
        SHARES.end(),
    )
}

fn row(text: &mut String, control: &str, count: usize, rounds: &[Round]) -> Result<bool, Failure> {
    let figures = |figure: fn(&Round) -> f64| {
        let mut figures: Vec<f64> = rounds.iter().map(figure).collect();
        figures.sort_by(f64::total_cmp);
        let middle = (figures[(figures.len() - 1) / 2] + figures[figures.len() / 2]) / 2.0;
        (figures[0], middle, figures[figures.len() - 1])
    };
    let (least, median, most) = figures(|round| round.share_percent);
    let met = SHARES.contains(&least) && SHARES.contains(&most);
    let late = rounds.iter().filter(|round| !round.faithful).count();
    let late =
        if late > 0 { format!(" (the link was late in {late} rounds)") } else { String::new() };
    writeln!(
        text,
        "| {control} | {count}:{count} | {median:.0} % ({least:.0} to {most:.0}) | {:.1} | {:.1} | {}{late} |",
        figures(|round| round.ours_mbps).1,
        figures(|round| round.theirs_mbps).1,
        if met { "met" } else { "MISSED" },
    )?;
    Ok(met)
}

fn round(netanvil: &Path, control: &str, count: usize, seed: u64) -> Result<Round, Failure> {
    let scratch = tempfile::tempdir()?;
    let lab = Lab::linked(&LinkModel::plain(RATE_BPS, DELAY, QUEUE_BYTES), seed)?;
    let server_address = TwoHosts::address(SERVER).to_string();
    let mut serve = lab.command(SERVER, netanvil);
    serve.args(["netblt", "serve", ".", "--trust"]).current_dir(scratch.path());
    let _netblt = Server::start(&mut serve, true)?;
    let iperf = Path::new("iperf3");
    let _iperf = Server::start(lab.command(SERVER, iperf).args(["-s", "--forceflush"]), false)?;

    let seconds = (WARM_UP_S + COUNTED_S + 10).to_string();
    let mut clients = vec![Server::spawn(lab.command(CLIENT, iperf).args([
        "-C",
        control,
        "-c",
        &server_address,
        "-P",
        &count.to_string(),
        "-t",
        &seconds,
    ]))?];
    for _ in 0..count {
        let mut test = lab.command(CLIENT, netanvil);
        test.args(["netblt", "test", &server_address, "--bytes", ENDLESS_BYTES, "--quiet"]);
        clients.push(Server::spawn(&mut test)?);
    }
    thread::sleep(std::time::Duration::from_secs(WARM_UP_S));
    let (before, began) = (arrived(&lab)?, std::time::Instant::now());
    thread::sleep(std::time::Duration::from_secs(COUNTED_S));
    let (after, took_s) = (arrived(&lab)?, began.elapsed().as_secs_f64());
    drop(clients);

    let mbps = |at: usize, bytes: f64| (after[at] - before[at]) as f64 * bytes * 8.0 / took_s / 1e6;
    let (ours_mbps, theirs_mbps) = (mbps(0, DATAGRAM_BYTES), mbps(1, SEGMENT_BYTES));
    if ours_mbps + theirs_mbps < RATE_BPS as f64 / 1e6 / 10.0 {
        return Err(format!(
            "{ours_mbps:.1} and {theirs_mbps:.1} Mb/s arrived: nothing to compare"
        )
        .into());
    }
    let share_percent = 200.0 * ours_mbps / (ours_mbps + theirs_mbps);
    Ok(Round { share_percent, ours_mbps, theirs_mbps, faithful: lab.is_faithful() })
}

/// UDP datagrams and TCP segments that came to the server's host.
fn arrived(lab: &Lab) -> Result<[u64; 2], Failure> {
    let mut command: Command = lab.command(SERVER, Path::new("cat"));
    let output = command.arg("/proc/net/snmp").output()?;
    let text = String::from_utf8(output.stdout)?;
    Ok([counter(&text, "Udp:", "InDatagrams")?, counter(&text, "Tcp:", "InSegs")?])
}

/// A counter of `/proc/net/snmp`: a line of names and a line of values for each protocol.
fn counter(text: &str, protocol: &str, name: &str) -> Result<u64, Failure> {
    let mut lines = text.lines().filter(|line| line.split_whitespace().next() == Some(protocol));
    let (names, values) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""));
    let found = names.split_whitespace().zip(values.split_whitespace()).find(|(n, _)| *n == name);
    let (_, value) = found.ok_or(format!("no {name} of {protocol} in /proc/net/snmp"))?;
    Ok(value.parse()?)
}

#[cfg(test)]
mod tests {
    use super::counter;

    #[test]
    fn counters_are_found_by_name() {
        let text = "Ip: A InDatagrams\nIp: 1 2\nTcp: X InSegs Y\nTcp: -1 77 3\nUdp: InDatagrams\nUdp: 9\nUdpLite: InDatagrams\nUdpLite: 0\n";
        assert_eq!(counter(text, "Tcp:", "InSegs").unwrap(), 77);
        assert_eq!(counter(text, "Udp:", "InDatagrams").unwrap(), 9);
        assert!(counter(text, "Udp:", "InSegs").is_err());
    }
}
