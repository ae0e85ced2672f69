//! The streams of a file, each with a share of the frames and keys of its own.

use super::pcap::{Pcap, Untimed};
use crate::failure::{Failure, Outcome};
use crate::options::{self, Sizes};
use method::generator::Mix;
use method::{
    Destinations, ExtensionHeader, Flows, Modifier, Protocol, Rewrites, SuiteConfig, Topology,
    Traffic, Vary,
};
use otg::FileFlow;
use serde::Deserialize;
use std::path::Path;
use std::sync::Arc;
use traffic::size::SizePattern;
use units::{Duration, FrameRate, FrameSize};
use wire::signature::Form;

/// Captures do not include the FCS.
const FCS_BYTES: usize = 4;

/// A file of streams. The command line gives the keys that a stream leaves out.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct File {
    stream: Vec<Stream>,
}

/// One stream.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Stream {
    /// Its name in the summary.
    name: String,
    /// Frames of this stream per round.
    weight: Option<u64>,
    size: Option<Sizes>,
    protocol: Option<Protocol>,
    vlan: Option<Vec<u16>>,
    flows: Option<u64>,
    vary: Option<Vec<String>>,
    destinations: Option<Destinations>,
    random_ports: Option<bool>,
    random_macs: Option<bool>,
    ipv6_percent: Option<u8>,
    extension_headers: Option<Vec<ExtensionHeader>>,
}

/// The streams to send, with their sizes.
pub struct Streams {
    streams: Vec<(Stream, SizePattern, Option<Flows>)>,
    /// Frames of each stream, sent instead of built ones.
    ready: Option<(Ready, Rewrites)>,
    /// The times between captured frames; `None` where none were captured.
    gaps: Option<Result<Vec<Duration>, Untimed>>,
    /// The load that a file of flows asks for.
    load: Option<FrameRate>,
}

/// Frames that are not built here.
enum Ready {
    /// Those of a capture, as one stream.
    Captured(Vec<Vec<u8>>),
    /// Each stream's flow.
    Flows(Vec<Arc<FileFlow>>),
}

/// More turns a round of streams does not have.
const TURNS_MAX: u64 = 10_000;

impl Streams {
    /// The streams of a file, or one stream from the command line.
    pub fn read(path: Option<&Path>, size: &SizePattern, flows: Option<Flows>) -> Outcome<Self> {
        let Some(path) = path else {
            let one = (Stream::default(), size.clone(), flows);
            return Ok(Streams { streams: vec![one], ready: None, gaps: None, load: None });
        };
        let file: File = options::read(path)?;
        if file.stream.is_empty() || file.stream.iter().any(|stream| stream.name.is_empty()) {
            return Err(Failure::new(format!("{}: every stream needs a name", path.display()))
                .help("write [[stream]] and below it name = \"voice\""));
        }
        let own = |stream: Stream| {
            let named = |error: Failure| error.help(format!("in stream {}", stream.name));
            let own_size = match &stream.size {
                Some(size) => super::size(Some(size)).map_err(named)?,
                None => size.clone(),
            };
            let vary = stream.vary.iter().flatten().map(|field| field.parse::<Vary>());
            let vary = vary.collect::<Result<Vec<_>, _>>().map_err(Failure::new).map_err(named)?;
            let own_flows = match (stream.flows, &vary[..]) {
                (None, []) => flows.clone(),
                (None, _) => {
                    return Err(named(Failure::new("`vary` has no effect without `flows`")));
                }
                (Some(count), _) => Some(super::flows_by(count, &vary)),
            };
            if let Some(tag) = stream.vlan.iter().flatten().find(|tag| !(1..=4094).contains(*tag)) {
                return Err(named(Failure::new(format!("VLAN {tag}: identifiers are 1 to 4094"))));
            }
            Ok((stream, own_size, own_flows))
        };
        let streams = file.stream.into_iter().map(own).collect::<Outcome<_>>()?;
        Ok(Streams { streams, ready: None, gaps: None, load: None })
    }

    /// The flows of an OTG configuration, each with a share of the frames in proportion to its rate.
    pub fn of_otg(path: &Path, rewrites: Rewrites) -> Outcome<Self> {
        let name = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::new(format!("cannot read {name}: {error}")))?;
        let flows = otg::flows_of_file(&text, rewrites.macs).map_err(|errors| {
            let failure = Failure::new(format!("{name}: {}", errors[0]));
            errors[1..].iter().fold(failure, |failure, error| failure.help(error))
        })?;
        let rates: Vec<f64> = flows.iter().map(|flow| flow.rate.fps()).collect();
        let stream = |(flow, weight): (&FileFlow, u64)| {
            let stream =
                Stream { name: flow.name.clone(), weight: Some(weight), ..Stream::default() };
            (stream, with_room(flow.longest_bytes()), None)
        };
        let streams = flows.iter().zip(weights(&rates)).map(stream).collect();
        let load = FrameRate::from_fps_f64(rates.iter().sum());
        let ready = Ready::Flows(flows.into_iter().map(Arc::new).collect());
        Ok(Streams { streams, ready: Some((ready, rewrites)), gaps: None, load: Some(load) })
    }

    /// The frames of a capture.
    pub fn captured(pcap: Pcap, rewrites: Rewrites) -> Self {
        let longest = pcap.frames.iter().map(Vec::len).max().unwrap_or(0);
        let size = with_room((longest + FCS_BYTES + Form::Full.len_bytes()) as u32);
        let one = (Stream::default(), size, None);
        let Pcap { frames, gaps } = pcap;
        let ready = Some((Ready::Captured(frames), rewrites));
        Streams { streams: vec![one], ready, gaps: Some(gaps), load: None }
    }

    /// The times between captured frames, or why there are none; `None` where no frames were captured.
    pub fn gaps(&self) -> Option<Result<Vec<Duration>, Untimed>> {
        self.gaps.clone()
    }

    /// The load that the streams come with.
    pub fn load(&self) -> Option<FrameRate> {
        self.load
    }

    /// Every size, once.
    pub fn sizes(&self) -> Sizes {
        let mut sizes: Vec<SizePattern> = vec![];
        for (_, size, _) in &self.streams {
            if !sizes.contains(size) {
                sizes.push(size.clone());
            }
        }
        Sizes(sizes)
    }

    /// Whether flows go to destination networks.
    pub fn vary_networks(&self) -> bool {
        let flows = self.streams.iter().filter_map(|(.., flows)| flows.as_ref());
        flows.into_iter().any(|flows| flows.vary.contains(&Vary::DstIp))
    }

    /// The streams between the ports of a device.
    pub fn mix(&self, suite: &SuiteConfig, topology: &Topology) -> Outcome<Mix> {
        let mut shares = vec![];
        for (at, (stream, size, flows)) in self.streams.iter().enumerate() {
            let traffic = Traffic::new(&stream.over(suite, flows), topology, size, Modifier::None);
            let traffic = traffic.map_err(|error| match stream.name.is_empty() {
                true => Failure::new(error),
                false => Failure::new(format!("stream {}: {error}", stream.name)),
            })?;
            let traffic = match &self.ready {
                Some((Ready::Captured(frames), rewrites)) => {
                    traffic.replaying(frames.clone(), *rewrites).map_err(Failure::new)?
                }
                Some((Ready::Flows(flows), rewrites)) => {
                    let flow = flows[at].clone();
                    traffic
                        .sending(
                            move |rewrite, signature| flow.frames(rewrite, signature),
                            *rewrites,
                        )
                        .map_err(Failure::new)?
                }
                None => traffic,
            };
            shares.push((stream.name.clone(), traffic, stream.weight.unwrap_or(1)));
        }
        Mix::new(shares).map_err(Failure::new)
    }
}

/// A size that a frame of so many bytes has room in.
fn with_room(bytes: u32) -> SizePattern {
    SizePattern::Fixed(FrameSize::from_bytes(bytes.clamp(64, 65_535)))
}

/// Turns in proportion to these rates: exactly, where whole numbers can say it in a round that is not too long.
fn weights(rates: &[f64]) -> Vec<u64> {
    let whole: Vec<u64> = rates.iter().map(|rate| rate.round() as u64).collect();
    let is_whole =
        rates.iter().zip(&whole).all(|(rate, whole)| (rate - *whole as f64).abs() < 1e-9);
    let gcd = whole.iter().copied().fold(0, |mut a, mut b| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    });
    if is_whole && gcd > 0 && whole.iter().sum::<u64>() / gcd <= TURNS_MAX {
        return whole.iter().map(|rate| rate / gcd).collect();
    }
    let sum: f64 = rates.iter().sum();
    // Two turns less each, so that what is rounded up fits.
    let turns = (TURNS_MAX - 2 * rates.len() as u64) as f64;
    rates.iter().map(|rate| ((rate / sum * turns).round() as u64).max(1)).collect()
}

impl Stream {
    /// The suite's traffic, changed by the keys of the stream.
    fn over(&self, suite: &SuiteConfig, flows: &Option<Flows>) -> SuiteConfig {
        let mut suite = suite.clone();
        let traffic = &mut suite.traffic;
        traffic.flows.clone_from(flows);
        traffic.protocol = self.protocol.unwrap_or(traffic.protocol);
        traffic.destinations = self.destinations.unwrap_or(traffic.destinations);
        traffic.random_ports = self.random_ports.unwrap_or(traffic.random_ports);
        traffic.random_macs = self.random_macs.unwrap_or(traffic.random_macs);
        traffic.ipv6_percent = self.ipv6_percent.or(traffic.ipv6_percent);
        if let Some(vlans) = &self.vlan {
            traffic.vlans.clone_from(vlans);
        }
        if let Some(headers) = &self.extension_headers {
            traffic.extension_headers.clone_from(headers);
        }
        suite
    }
}

#[cfg(test)]
mod tests {
    use super::weights;

    #[test]
    fn turns_are_in_proportion_to_rates() {
        assert_eq!(weights(&[10_000.0]), [1]);
        assert_eq!(weights(&[10_000.0, 5_000.0, 2_500.0]), [4, 2, 1]);
        let near = weights(&[1_000.5, 2_001.0]);
        assert!((near[1] as f64 / near[0] as f64 - 2.0).abs() < 0.001, "{near:?}");
        assert_eq!(weights(&[1e7, 1.0]), [9_996, 1]);
    }
}
