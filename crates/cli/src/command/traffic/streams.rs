//! The streams of a file, each with a share of the frames and keys of its own.

use super::pcap::Pcap;
use crate::failure::{Failure, Outcome};
use crate::options::{self, Sizes};
use method::generator::Mix;
use method::{
    Destinations, ExtensionHeader, Flows, Modifier, Protocol, Rewrites, SuiteConfig, Topology,
    Traffic, Vary,
};
use serde::Deserialize;
use std::path::Path;
use units::{Duration, FrameSize};
use wire::signature::Form;
use wire::size::SizePattern;

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
    /// Captured frames, sent instead of built ones.
    captured: Option<(Pcap, Rewrites)>,
}

impl Streams {
    /// The streams of a file, or one stream from the command line.
    pub fn read(path: Option<&Path>, size: &SizePattern, flows: Option<Flows>) -> Outcome<Self> {
        let Some(path) = path else {
            let one = (Stream::default(), size.clone(), flows);
            return Ok(Streams { streams: vec![one], captured: None });
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
        Ok(Streams { streams, captured: None })
    }

    /// The frames of a capture.
    pub fn captured(pcap: Pcap, rewrites: Rewrites) -> Self {
        let longest = pcap.frames.iter().map(Vec::len).max().unwrap_or(0);
        let with_signature = longest + FCS_BYTES + Form::Full.len_bytes();
        let size = FrameSize::from_bytes((with_signature as u32).clamp(64, 65_535));
        let one = (Stream::default(), SizePattern::Fixed(size), None);
        Streams { streams: vec![one], captured: Some((pcap, rewrites)) }
    }

    /// The times between captured frames.
    pub fn gaps(&self) -> Option<Vec<Duration>> {
        self.captured.as_ref()?.0.gaps.clone()
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
        for (stream, size, flows) in &self.streams {
            let traffic = Traffic::new(&stream.over(suite, flows), topology, size, Modifier::None);
            let traffic = traffic.map_err(|error| match stream.name.is_empty() {
                true => Failure::new(error),
                false => Failure::new(format!("stream {}: {error}", stream.name)),
            })?;
            let traffic = match &self.captured {
                Some((pcap, rewrites)) => {
                    traffic.replaying(pcap.frames.clone(), *rewrites).map_err(Failure::new)?
                }
                None => traffic,
            };
            shares.push((stream.name.clone(), traffic, stream.weight.unwrap_or(1)));
        }
        Mix::new(shares).map_err(Failure::new)
    }
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
