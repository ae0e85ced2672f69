//! `netanvil link`: two hosts in namespaces and a link between them, which delays, loses and reorders
//! packets in real time by the simulator's model.

use crate::failure::{Exit, Failure, Outcome};
use crate::{interrupt, output};
use clap::Args;
use kernel::Privilege;
use link::{RealTimeLink, WayCounts};
use netblt_studies::paths::{Bursts, LinkModel, Loss, Overtaking};
use serde::Serialize;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration as StdDuration, Instant};
use testbed::TwoHosts;
use units::Duration;
use units::text::{BitRate, Share, Span};

/// How often to look for signals.
const PAUSE: StdDuration = StdDuration::from_millis(50);
/// A queue that is not given holds what leaves in this time, and some packets at least.
const QUEUE: Duration = Duration::from_ms(50);
const MIN_QUEUE_BYTES: u64 = 30_000;

/// A link between two hosts. Options apply to both directions unless a `--back` option is given.
#[derive(Args, Debug)]
pub struct Link {
    /// Rate in bits per second, counted from the IP header on
    #[arg(long, value_name = "BITS/S", default_value = "100M")]
    rate: BitRate,
    /// Rate from right to left, if it differs
    #[arg(long, value_name = "BITS/S")]
    back_rate: Option<BitRate>,
    /// One-way delay, from the end of the queue to the other host
    #[arg(long, value_name = "TIME", default_value = "0ms")]
    delay: Span,
    /// Queue of the link in bytes; it drops more [default: what leaves in 50 ms, at least 30000]
    #[arg(long, value_name = "BYTES")]
    queue: Option<u64>,
    /// Mark packets that may be marked (ECN) if they find so many bytes in the queue; 0 marks all
    #[arg(long, value_name = "BYTES")]
    mark_above: Option<u64>,
    /// Mark packets of L4S (ECT(1)) that wait for so long in the queue; 1ms is usual
    #[arg(long, value_name = "TIME")]
    mark_l4s: Option<Span>,
    /// Share of packets lost at random
    #[arg(long, value_name = "SHARE", default_value = "0")]
    loss: Share,
    /// Loss from right to left, if it differs
    #[arg(long, value_name = "SHARE")]
    back_loss: Option<Share>,
    /// Lose packets in bursts with this mean length in packets (Gilbert's channel)
    #[arg(long, value_name = "PACKETS")]
    loss_bursts: Option<f64>,
    /// Share of packets that others overtake, and their extra delay: 1%/5ms
    #[arg(long, value_name = "SHARE/TIME")]
    reorder: Option<String>,
    /// Seed of loss and reordering
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// End after this time instead of at Ctrl-C
    #[arg(long, value_name = "TIME")]
    duration: Option<Span>,
    /// Print the counts as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// What became of the frames of both directions.
#[derive(Serialize)]
struct Report {
    /// Every frame's fate was the model's, and in time.
    faithful: bool,
    left_to_right: WayCounts,
    right_to_left: WayCounts,
}

pub fn run(arguments: &Link) -> Outcome {
    let models = models(arguments)?;
    if Privilege::current() != Privilege::Root {
        return Err(Failure::new("a link between namespaces needs root").help("use sudo"));
    }
    let interrupted = interrupt::watch()?;
    let hosts = TwoHosts::apart()?;
    let link = RealTimeLink::start(&hosts, models, arguments.seed)
        .map_err(|error| Failure::new(error.to_string()))?;
    let [left, right] =
        [0, 1].map(|host| format!("{} in {}", TwoHosts::address(host), hosts.host(host).name()));
    output::say(format_args!("left: {left}; right: {right}; use `ip netns exec`; Ctrl-C stops"));
    let started = Instant::now();
    let length = arguments.duration.map(|span| StdDuration::from_nanos(span.0.as_ns()));
    while !interrupted.load(Ordering::SeqCst) && length.is_none_or(|l| started.elapsed() < l) {
        if let Some(failure) = link.failure() {
            return Err(Failure::new(format!("the link failed: {failure}"))
                .help("check whether its namespaces were removed"));
        }
        thread::sleep(PAUSE);
    }
    show(&link.stop(), arguments.json)
}

fn show(counts: &[WayCounts], json: bool) -> Outcome {
    let [left_to_right, right_to_left] = [counts[0], counts[1]];
    let faithful = left_to_right.is_faithful() && right_to_left.is_faithful();
    if json {
        output::print_json(&Report { faithful, left_to_right, right_to_left })?;
    } else {
        for (way, counts) in [("left to right", left_to_right), ("right to left", right_to_left)] {
            output::print(&line(way, &counts))?;
        }
    }
    match faithful {
        true => Ok(Exit::Done),
        false => Err(Failure::new(
            "this machine did not keep up with the link: it lost frames, or was more than 2 ms \
             late with over 1 % of them",
        )
        .help("discard what was measured over it; use a lower rate or an idle machine")),
    }
}

fn line(way: &str, counts: &WayCounts) -> String {
    format!(
        "{way}: {} frames: {} dropped by the queue, {} lost at random, {} overtaken, {} marked, {} delivered; \
         the program missed {}, could not deliver {}, was over 2 ms late with {} (latest \
         {:.3} ms)\n",
        counts.arrived_frames,
        counts.dropped_frames,
        counts.lost_frames,
        counts.overtaken_frames,
        counts.marked_frames,
        counts.delivered_frames,
        counts.missed_frames,
        counts.refused_frames,
        counts.late_frames,
        counts.latest_ps as f64 / 1e9
    )
}

fn models(arguments: &Link) -> Outcome<[LinkModel; 2]> {
    let forth = model(arguments, arguments.rate, arguments.loss)?;
    let rate = arguments.back_rate.unwrap_or(arguments.rate);
    let loss = arguments.back_loss.unwrap_or(arguments.loss);
    Ok([forth, model(arguments, rate, loss)?])
}

fn model(arguments: &Link, rate: BitRate, loss: Share) -> Outcome<LinkModel> {
    let bytes = rate.0 / 8 * QUEUE.as_ns() / 1_000_000_000;
    let queue_bytes = arguments.queue.unwrap_or(bytes.max(MIN_QUEUE_BYTES));
    let mut model = LinkModel::plain(rate.0, arguments.delay.0, queue_bytes);
    model.mark_above_bytes = arguments.mark_above;
    model.mark_l4s_after = arguments.mark_l4s.map(|span| span.0);
    model.loss = chance(loss.0, arguments.loss_bursts)?;
    model.overtaking = arguments.reorder.as_deref().map(overtaking).transpose()?;
    Ok(model)
}

/// Losses in bursts of a mean length L: the channel turns good with chance 1 / L after each packet,
/// and bad so often that the share comes out.
fn chance(share: f64, burst_packets: Option<f64>) -> Outcome<Loss> {
    if !(0.0..1.0).contains(&share) {
        return Err(Failure::new("--loss must be at least 0 and below 100%").help("--loss 1%"));
    }
    match burst_packets {
        _ if share == 0.0 => Ok(Loss::None),
        None => Ok(Loss::Random(share)),
        Some(packets) if packets >= 1.0 && share * (packets + 1.0) < packets => {
            let to_good = 1.0 / packets;
            let to_bad = to_good * share / (1.0 - share);
            Ok(Loss::Bursts(Bursts { to_bad, to_good, loss_while_bad: 1.0 }))
        }
        Some(packets) => Err(Failure::new(format!(
            "no channel loses a share of {share} in bursts of {packets} packets"
        ))
        .help("use longer bursts (at least 1 packet) or a smaller loss")),
    }
}

fn overtaking(text: &str) -> Outcome<Overtaking> {
    let parsed = text.split_once('/').and_then(|(share, late)| {
        Some(Overtaking {
            share: share.parse::<Share>().ok()?.0,
            late: late.parse::<Span>().ok()?.0,
        })
    });
    parsed.ok_or_else(|| {
        Failure::new(format!("not a share and a time: {text}")).help("--reorder 1%/5ms")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_lose_the_share_that_was_asked_for() {
        for (share, packets) in [(0.01, 8.0), (0.3, 2.0), (0.5, 1.5)] {
            let loss = chance(share, Some(packets)).unwrap_or_else(|_| panic!("{share}"));
            assert!((loss.mean() - share).abs() < 1e-12, "{share}: {}", loss.mean());
        }
        assert!(
            chance(0.6, Some(1.0)).is_err(),
            "a burst of one is followed by one that is not lost"
        );
        assert!(chance(1.0, None).is_err() && chance(0.1, Some(0.5)).is_err());
        assert_eq!(chance(0.0, Some(3.0)).ok(), Some(Loss::None));
        assert!(overtaking("1%").is_err());
        assert_eq!(overtaking("1%/5ms").ok().map(|o| o.late), Some(Duration::from_ms(5)));
    }
}
