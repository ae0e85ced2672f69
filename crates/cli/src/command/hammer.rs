//! `netanvil hammer`: sends frames from files in a loop.

use crate::failure::{Exit, Failure, Outcome};
use crate::{interrupt, output};
use clap::Args;
use hammer::{Ending, Item, Pace, Schedule, Sequence, Sources, Wishes};
use kernel::{InterfaceCounters, InterfaceState};
use ports::{FrameSender, clock};
use report::number::{grouped, grouped_f64};
use serde::Serialize;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use units::text::Span;
use units::{Duration, FrameRate, Instant};
use wire::ethernet::MacAddr;

/// Frames handed over before the system is told.
const BATCH_FRAMES: usize = 32;
/// Bytes of a packet that an Ethernet frame of this size carries, and its header.
const HEADER_AND_FCS_BYTES: usize = 18;
/// Of a shorter sending no rate is stated: the frames were handed over at once, and leave as the
/// interface likes.
const SHORTEST_RATED_S: f64 = 0.001;

/// A rate that falls short by less is kept: no clock of two machines agrees better for long.
const KEPT_SHARE: f64 = 0.999;

#[derive(Args, Debug)]
pub struct Hammer {
    /// Interface to send on
    #[arg(short, long, value_name = "IF")]
    interface: String,
    /// Write this destination address into the frames
    #[arg(short = 't', value_name = "ADDR", value_parser = address)]
    address: Option<MacAddr>,
    /// Slow mode: start a turn of the loop every # milliseconds
    #[arg(short = 's', value_name = "#")]
    slow: Option<u32>,
    /// Send every frame with a bad FCS, if the interface's driver can
    #[arg(short = 'c')]
    bad_fcs: bool,
    /// Write the address into the first # frames of the loop only
    #[arg(short = 'n', value_name = "#", requires = "address")]
    readdressed: Option<u64>,
    /// Send evenly spaced frames at this rate, in frames per second
    #[arg(long, value_name = "FPS", conflicts_with = "slow", value_parser = rate)]
    rate: Option<f64>,
    /// End after this number of turns of the loop
    #[arg(long, value_name = "#", value_parser = clap::value_parser!(u64).range(1..))]
    turns: Option<u64>,
    /// End after this number of frames
    #[arg(long, value_name = "#", value_parser = clap::value_parser!(u64).range(1..))]
    frames: Option<u64>,
    /// End after this time
    #[arg(long, value_name = "TIME")]
    duration: Option<Span>,
    /// Send the whole frames of a file that is cut off
    #[arg(long)]
    whole_frames: bool,
    /// Print JSON on standard output
    #[arg(long)]
    json: bool,
    /// Frames to send: `+#` is a frame of # bytes (FCS included); a pcap or pcapng file has any number of
    /// frames; any other file is one frame, byte by byte, without FCS. `*#` repeats the file's frames
    #[arg(value_name = "+#|FILE[*#]", required = true)]
    items: Vec<Item>,
}

/// What was sent.
#[derive(Serialize)]
struct Sent {
    interface: String,
    frames: u64,
    /// FCS included.
    bytes: u64,
    turns: u64,
    seconds: f64,
    /// From the first frame to the last.
    rate_fps: Option<f64>,
    /// Frames that the interface was not done with in time.
    unfinished_frames: u64,
    /// What the interface itself counted meanwhile, whoever sent.
    interface_sent_frames: Option<u64>,
    interface_dropped_frames: Option<u64>,
    notes: Vec<String>,
}

pub fn run(arguments: &Hammer) -> Outcome {
    let sources = read(&arguments.items)?;
    let mut port =
        FrameSender::open(&arguments.interface, arguments.bad_fcs).map_err(Failure::new)?;
    let before = port.state().map_err(Failure::new)?;
    let sequence = sequence(arguments, &sources, MacAddr(before.mac))?;
    check_mtu(arguments, &sequence, &before)?;
    let stop = interrupt::watch()?;
    let schedule = schedule(arguments, &sequence);
    let mut drive = Drive::new(&mut port, &sequence, schedule);
    let driven = drive.run(arguments.duration.map(|span| span.0), &stop);
    let mut sent = drive.sent(&arguments.interface);
    // The totals are printed even if the interface has vanished.
    let outcome = driven.and_then(|()| finish(&mut port, before.counters, &mut sent));
    sent.notes.extend(shortfall(arguments, &sent));
    if arguments.json {
        output::print_json(&sent)?;
    } else {
        output::print(&text(&sent))?;
    }
    outcome.map(|()| Exit::Done)
}

/// The bytes of all files.
fn read(items: &[Item]) -> Outcome<Sources> {
    let paths = items.iter().filter_map(|item| match item {
        Item::File { path, .. } => Some(path),
        Item::Pad(_) => None,
    });
    let bytes = |path: &String| match std::fs::read(path) {
        Ok(bytes) => Ok((path.clone(), bytes)),
        Err(error) => Err(Failure::new(format!("cannot read {path}: {error}"))),
    };
    paths.map(bytes).collect()
}

fn sequence(arguments: &Hammer, sources: &Sources, source: MacAddr) -> Outcome<Sequence> {
    let wishes = Wishes {
        address: arguments.address,
        readdressed: arguments.readdressed,
        bad_fcs: arguments.bad_fcs,
        source,
        ending: if arguments.whole_frames { Ending::Take } else { Ending::Refuse },
    };
    Sequence::new(&arguments.items, sources, &wishes).map_err(|error| {
        let cut = matches!(
            error,
            hammer::SequenceError::File {
                error: hammer::capture::CaptureError::CutOff { whole_frames: 1.. },
                ..
            }
        );
        let failure = Failure::new(error);
        if cut { failure.help("--whole-frames sends the whole frames") } else { failure }
    })
}

/// The kernel would drop a frame that is too long without an error.
fn check_mtu(arguments: &Hammer, sequence: &Sequence, state: &InterfaceState) -> Outcome<()> {
    let (longest, mtu) = (sequence.longest_packet_bytes(), state.mtu_bytes as usize);
    if longest <= mtu {
        return Ok(());
    }
    let interface = &arguments.interface;
    let sizes = [longest, mtu].map(|packet| packet + HEADER_AND_FCS_BYTES);
    Err(Failure::new(format!(
        "a frame of {} bytes is too long for {interface}, which carries {} (MTU {mtu})",
        sizes[0], sizes[1]
    ))
    .help(format!("ip link set {interface} mtu {longest}, if its driver can")))
}

fn schedule(arguments: &Hammer, sequence: &Sequence) -> Schedule {
    let pace = match (arguments.slow, arguments.rate) {
        (Some(milliseconds), _) => Pace::Slow { turn: Duration::from_ms(milliseconds.into()) },
        (_, Some(fps)) => Pace::Even(FrameRate::from_fps_f64(fps)),
        _ => Pace::Flood,
    };
    let of_turns = arguments.turns.map(|turns| turns.saturating_mul(sequence.len()));
    let frames = [of_turns, arguments.frames].into_iter().flatten().min();
    Schedule { pace, turn_frames: sequence.len(), frames }
}

/// The loop itself.
struct Drive<'a> {
    port: &'a mut FrameSender,
    sequence: &'a Sequence,
    schedule: Schedule,
    frames: u64,
    start: Instant,
    last: Instant,
}

impl<'a> Drive<'a> {
    fn new(port: &'a mut FrameSender, sequence: &'a Sequence, schedule: Schedule) -> Self {
        let now = clock::now();
        Drive { port, sequence, schedule, frames: 0, start: now, last: now }
    }

    fn run(&mut self, duration: Option<Duration>, stop: &AtomicBool) -> Outcome<()> {
        self.start = clock::now();
        self.last = self.start;
        let end = duration.map_or(Instant::FAR_FUTURE, |duration| self.start + duration);
        while let Some(due) = self.schedule.due(self.frames) {
            let now = clock::now();
            if stop.load(Ordering::Relaxed) || now >= end {
                break;
            }
            if self.start + due > now {
                clock::pause_before((self.start + due).min(end), now);
                continue;
            }
            self.send_due(now)?;
            self.port.flush().map_err(Failure::new)?;
        }
        Ok(())
    }

    fn send_due(&mut self, now: Instant) -> Outcome<()> {
        for _ in 0..BATCH_FRAMES {
            let due = self.schedule.due(self.frames).is_some_and(|due| self.start + due <= now);
            if !due || !self.port.send(self.sequence.frame(self.frames)).map_err(Failure::new)? {
                break;
            }
            self.frames += 1;
            self.last = now;
        }
        Ok(())
    }

    fn sent(&self, interface: &str) -> Sent {
        let span_s = self.last.since(self.start).as_secs_f64();
        let gaps = self.frames.saturating_sub(1) as f64;
        Sent {
            interface: interface.into(),
            frames: self.frames,
            bytes: self.sequence.bytes(self.frames),
            turns: self.frames / self.sequence.len(),
            seconds: clock::now().since(self.start).as_secs_f64(),
            rate_fps: (span_s >= SHORTEST_RATED_S).then(|| gaps / span_s),
            unfinished_frames: 0,
            interface_sent_frames: None,
            interface_dropped_frames: None,
            notes: vec![],
        }
    }
}

/// Waits for the last frames, and asks the interface what it counted.
fn finish(port: &mut FrameSender, before: InterfaceCounters, sent: &mut Sent) -> Outcome<()> {
    sent.unfinished_frames = port.finish().map_err(Failure::new)?;
    let after = port.state().map_err(Failure::new)?;
    let counted = after.counters.since(&before);
    sent.interface_sent_frames = Some(counted.tx_frames);
    sent.interface_dropped_frames = Some(counted.tx_dropped);
    if !after.carrier {
        sent.notes.push(format!("{} has no carrier: frames go nowhere", sent.interface));
    }
    if counted.tx_dropped > 0 {
        let dropped = grouped(counted.tx_dropped);
        sent.notes.push(format!("the interface lost {dropped} frames; use a lower rate"));
    } else if counted.tx_frames < sent.frames {
        sent.notes.push(format!(
            "the interface counted {} frames, fewer than were handed to it",
            grouped(counted.tx_frames)
        ));
    }
    Ok(())
}

/// Whether the rate asked for was kept.
fn shortfall(arguments: &Hammer, sent: &Sent) -> Option<String> {
    let (asked, got) = (arguments.rate?, sent.rate_fps?);
    (got < asked * KEPT_SHARE).then(|| {
        let asked = grouped_f64(asked, 1);
        format!("the rate is below the {asked} frames/s of --rate: the tester fell short")
    })
}

fn text(sent: &Sent) -> String {
    let mut text = format!(
        "hammer on {}\n  frames  {:>15}   {} bytes with FCS, {} turns of the loop\n  \
         time    {:>15} s\n",
        sent.interface,
        grouped(sent.frames),
        grouped(sent.bytes),
        grouped(sent.turns),
        grouped_f64(sent.seconds, 3),
    );
    if let Some(fps) = sent.rate_fps {
        let _ = writeln!(text, "  rate    {:>15} frames/s", grouped_f64(fps, 1));
    }
    if let (Some(frames), Some(dropped)) =
        (sent.interface_sent_frames, sent.interface_dropped_frames)
    {
        let (frames, dropped) = (grouped(frames), grouped(dropped));
        let _ = writeln!(text, "  the interface counted {frames} sent, {dropped} dropped");
    }
    if sent.unfinished_frames > 0 {
        let frames = grouped(sent.unfinished_frames);
        let _ = writeln!(text, "  {frames} of them had not left the interface when hammer ended");
    }
    sent.notes.iter().for_each(|note| text += &format!("  note: {note}\n"));
    text
}

/// Six pairs of digits, with or without something between them.
fn address(text: &str) -> Result<MacAddr, String> {
    let bare = text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match u64::from_str_radix(text, 16) {
        Ok(value) if bare => Ok(MacAddr::from_u64(value)),
        _ => text.parse().map_err(|error: wire::ethernet::MacAddrError| error.to_string()),
    }
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(fps) if (0.001..=1e9).contains(&fps) => Ok(fps),
        _ => Err("must be frames per second, from 0.001 to 1000000000".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_in_every_common_form() {
        let router = MacAddr([0xaa, 0, 4, 0, 1, 4]);
        for text in ["aa:00:04:00:01:04", "AA-00-04-00-01-04", "aa0004000104"] {
            assert_eq!(address(text), Ok(router));
        }
        for text in ["aa00040001", "+a0004000104", "aa:00:04:00:01", "router"] {
            assert!(address(text).is_err(), "{text}");
        }
    }
}
