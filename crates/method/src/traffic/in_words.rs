//! What is sent, in words.

use super::{Destinations, Forwarding, Traffic};
use crate::encapsulation::Encapsulated;
use crate::protocol::Protocol;
use units::FrameSize;
use wire::decode::summarize;

impl Traffic {
    /// As it was asked for: `64`, or the name of an IMIX.
    pub fn frame_size(&self) -> String {
        if self.replay.is_some() {
            let smallest = self.size.sizes().min().unwrap_or(FrameSize::MIN_ETHERNET);
            return format!("{} to {}", smallest.bytes(), self.size.largest().bytes());
        }
        String::from(self.size.clone())
    }

    /// Protocol and stream format, in words.
    pub fn describe(&self) -> String {
        if let Some(replay) = &self.replay {
            let checksums = if self.verify_checksums { "" } else { ", checksums not verified" };
            return replay.describe() + checksums;
        }
        let config = &self.config;
        let mut words = vec![self.protocol_in_words()];
        words.push(match (config.destinations, self.topology.forwarding) {
            (Destinations::One, _) if self.pattern.is_pair() => "one address pair".into(),
            (Destinations::One, _) => "one address pair a stream".into(),
            (Destinations::Random | Destinations::Both, Forwarding::Routed) => {
                let of =
                    self.config.ipv6_prefixes.first().map(|length| format!(" (IPv6: /{length})"));
                format!("random over {} networks{}", self.hosts_known(), of.unwrap_or_default())
            }
            (Destinations::Random | Destinations::Both, _) => {
                "random destination MAC addresses".into()
            }
        });
        if let Some(flows) = &config.flows {
            let vary: Vec<String> = flows.vary.iter().map(ToString::to_string).collect();
            words.push(format!("{} flows by {}", flows.count, vary.join(" and ")));
        }
        words.extend(self.updates_in_words());
        words.extend(self.options_in_words());
        words.extend(self.pattern_in_words());
        if let Some(Encapsulated { kind, .. }) = &self.topology.encapsulated {
            let grows = kind.grows_by_bytes();
            words.push(format!("{kind} behind the second port ({grows:+} bytes a frame)"));
        }
        words.join(", ")
    }

    pub(super) fn protocol_in_words(&self) -> String {
        match self.config.ipv6_percent {
            None => self.config.protocol.name().to_string(),
            Some(percent) => {
                format!("UDP over IPv4 and IPv6, {} to {percent} frames", 100 - percent)
            }
        }
    }

    /// What is not as it is where nothing is said.
    pub(crate) fn departures_in_words(&self) -> Vec<String> {
        let config = &self.config;
        let is_usual = config.ipv6_percent.is_none() && config.protocol == Protocol::default();
        let protocol = (!is_usual).then(|| self.protocol_in_words());
        protocol.into_iter().chain(self.options_in_words()).collect()
    }

    pub(super) fn options_in_words(&self) -> Vec<String> {
        let (config, mut words) = (&self.config, vec![]);
        let mut add = |on: bool, what: &str| words.extend(on.then(|| what.to_string()));
        add(config.random_ports, "random ports (RFC 4814)");
        add(config.random_macs, "random source MAC addresses (RFC 4814)");
        let headers: Vec<_> = config.extension_headers.iter().map(|header| header.name()).collect();
        add(!headers.is_empty(), &format!("IPv6 extension headers: {}", headers.join(" + ")));
        let vlans: Vec<String> = config.vlans.iter().map(u16::to_string).collect();
        add(!vlans.is_empty(), &format!("VLAN {}", vlans.join(" in ")));
        words
    }

    /// Packet filters on the device, in words.
    pub fn filters(&self) -> &str {
        &self.config.filters
    }

    /// What frames of this size cannot measure.
    pub fn given_up(&self) -> Vec<String> {
        if self.replay.is_some() {
            return vec![];
        }
        let mut given_up: Vec<String> = vec![];
        for size in self.size.sizes() {
            for what in self.templates(0).iter().flat_map(|template| template.given_up(size)) {
                if !given_up.iter().any(|known| known == what) {
                    given_up.push(what.to_string());
                }
            }
        }
        given_up
    }

    /// The first frame of each kind and direction, header by header: addresses, ports, TTL (RFC 2544 section
    /// 8). Streams of more than one pair of ports are like the first, between other addresses.
    pub(crate) fn formats(&self) -> Vec<String> {
        if let Some(replay) = &self.replay {
            return vec![replay.origin().into()];
        }
        let streams = 0..if self.pattern.is_pair() { self.streams_of_test() } else { 1 };
        let templates = streams.flat_map(|index| self.templates(index));
        let frames = templates.filter_map(|template| {
            let prepared = template.prepare(self.size.size_at(0), None).ok()?;
            Some(summarize(&prepared.frame(0)).to_string())
        });
        frames.collect()
    }
}
