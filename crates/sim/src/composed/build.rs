//! From a description to a device with its faults, and a tester in front of it.

use super::addresses::Addresses;
use super::description::{Description, DescriptionError, RingTimes};
use super::device::Composed;
use super::filter::FilterRule;
use crate::{
    DeviceUnderTest, Duplex, EveryNth, Fate, Impaired, Limits, Medium, Noise, Outage, Policer,
    RingSetup, SimPort, SimTester, Stall,
};
use std::net::Ipv4Addr;
use units::{Duration, FrameRate, FrameSize};

/// A device of any kind.
type AnyDevice = Box<dyn DeviceUnderTest>;

/// Devices that are described already: name, what it is, text of its file.
pub const BUILT_IN: [BuiltIn; 29] = [
    BuiltIn { name: "cable", toml: include_str!("../../devices/cable.toml") },
    BuiltIn { name: "router", toml: include_str!("../../devices/router.toml") },
    BuiltIn { name: "bridge", toml: include_str!("../../devices/bridge.toml") },
    BuiltIn { name: "switch", toml: include_str!("../../devices/switch.toml") },
    BuiltIn {
        name: "switch/input-queues",
        toml: include_str!("../../devices/switch-input-queues.toml"),
    },
    BuiltIn {
        name: "switch/flow-control",
        toml: include_str!("../../devices/switch-flow-control.toml"),
    },
    BuiltIn { name: "multicast", toml: include_str!("../../devices/multicast.toml") },
    BuiltIn {
        name: "multicast/snooping",
        toml: include_str!("../../devices/multicast-snooping.toml"),
    },
    BuiltIn { name: "gigaswitch", toml: include_str!("../../devices/gigaswitch.toml") },
    BuiltIn { name: "gigaswitch/bus", toml: include_str!("../../devices/gigaswitch-bus.toml") },
    BuiltIn { name: "ip9000", toml: include_str!("../../devices/ip9000.toml") },
    BuiltIn { name: "shared-bus", toml: include_str!("../../devices/shared-bus.toml") },
    BuiltIn { name: "noisy", toml: include_str!("../../devices/noisy.toml") },
    BuiltIn { name: "livelock", toml: include_str!("../../devices/livelock.toml") },
    BuiltIn {
        name: "1990/netbuilder",
        toml: include_str!("../../devices/harvard-1990/3com-netbuilder.toml"),
    },
    BuiltIn { name: "1990/t20", toml: include_str!("../../devices/harvard-1990/bbn-t20.toml") },
    BuiltIn { name: "1990/ags", toml: include_str!("../../devices/harvard-1990/cisco-ags.toml") },
    BuiltIn {
        name: "1990/en640",
        toml: include_str!("../../devices/harvard-1990/network-systems-corporation-en640-8.toml"),
    },
    BuiltIn {
        name: "1990/netware-386",
        toml: include_str!("../../devices/harvard-1990/novell-netware-386.toml"),
    },
    BuiltIn {
        name: "1990/p4200",
        toml: include_str!("../../devices/harvard-1990/proteon-p4200.toml"),
    },
    BuiltIn {
        name: "1990/proteon-rig",
        toml: include_str!("../../devices/harvard-1990/proteon-rig.toml"),
    },
    BuiltIn {
        name: "1990/time-lan-100",
        toml: include_str!("../../devices/harvard-1990/timeplex-time-lan-100.toml"),
    },
    BuiltIn {
        name: "1990/link-node",
        toml: include_str!("../../devices/harvard-1990/wellfleet-link-node.toml"),
    },
    BuiltIn { name: "1989/ags", toml: include_str!("../../devices/harvard-1989/cisco-ags.toml") },
    BuiltIn {
        name: "1989/hyperchannel-dx",
        toml: include_str!("../../devices/harvard-1989/nsc-hyperchannel-dx.toml"),
    },
    BuiltIn {
        name: "1989/p4200",
        toml: include_str!("../../devices/harvard-1989/proteon-p4200.toml"),
    },
    BuiltIn {
        name: "1989/link-node",
        toml: include_str!("../../devices/harvard-1989/wellfleet-link-node.toml"),
    },
    BuiltIn {
        name: "1989/stops-over-250",
        toml: include_str!("../../devices/harvard-1989/stops-over-250.toml"),
    },
    BuiltIn {
        name: "1989/disables-on-runts",
        toml: include_str!("../../devices/harvard-1989/disables-on-runts.toml"),
    },
];

/// A device that is described already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BuiltIn {
    /// By which it is called.
    pub name: &'static str,
    /// Its description; the first line is a comment that says what it is.
    pub toml: &'static str,
}

impl BuiltIn {
    /// What it is.
    pub fn what(&self) -> &'static str {
        self.toml.lines().next().unwrap_or_default().trim_start_matches(['#', ' '])
    }
}

impl Description {
    /// The device, with faults and resets as described.
    ///
    /// # Errors
    /// As [`Composed::new`].
    pub fn device(&self, addresses: &Addresses) -> Result<AnyDevice, DescriptionError> {
        let mut device: AnyDevice = Box::new(Composed::new(self, addresses)?);
        let impair = &self.impair;
        let reorder_by = impair.reorder_by.map_or(Duration::from_ms(1), |span| span.0);
        let bytes_from_end = impair.corrupt_bytes_from_end.unwrap_or(1);
        let every = [
            (impair.drop_every, Fate::Drop),
            (impair.duplicate_every, Fate::Duplicate),
            (impair.reorder_every, Fate::Delay(reorder_by)),
            (impair.corrupt_every, Fate::FlipBit { bytes_from_end }),
        ];
        for (n, fate) in every {
            if let Some(n) = n {
                device = Box::new(Impaired::new(device, EveryNth::new(n, fate)));
            }
        }
        if let Some(loss) = impair.loss {
            device = Box::new(Impaired::new(device, Noise::new(loss.0, Fate::Drop, self.seed)));
        }
        if let Some(fps) = impair.police_frames_per_second {
            let policer = Policer::new(fps as f64, impair.police_burst_frames.unwrap_or(1));
            device = Box::new(Impaired::new(device, policer));
        }
        if let Some(reset) = self.reset {
            let outage = Outage::new(reset.restart.0, reset.link_recovery.0);
            device = Box::new(Impaired::new(device, outage));
        }
        Ok(device)
    }

    /// The tester's ports and its links to the device.
    pub fn ports(&self) -> Vec<SimPort> {
        let gap = |bytes: Option<u32>| bytes.unwrap_or(FrameSize::GAP_BYTES);
        let port = SimPort::physical(self.line_rate.line_rate())
            .propagation(self.propagation.0)
            .min_gap(self.tester.min_gap.0)
            .gaps(gap(self.tester.gap_bytes), gap(self.misbehaviour.gap_bytes));
        let port = if self.duplex == Duplex::Half { port.half_duplex() } else { port };
        let port = if self.medium == Medium::Fddi { port.fddi(self.rings()) } else { port };
        vec![port; self.ports]
    }

    fn rings(&self) -> RingSetup {
        let RingTimes { ttrt, frames_per_token } = self.ring;
        let (ignores_token, fed) = (self.tester.ignores_token, self.feed_switches);
        let ttrt = ttrt.map_or(RingSetup::default().ttrt, |ttrt| ttrt.0);
        RingSetup { ttrt, frames_per_token, ignores_token, fed }
    }

    /// The same with these filters: source and destination of what is permitted, in the order of
    /// the list.
    pub fn permitting(&self, pairs: &[(Ipv4Addr, Ipv4Addr)]) -> Description {
        let mut device = self.clone();
        device.filter.rules =
            pairs.iter().map(|(from, to)| FilterRule::permit(*from, *to)).collect();
        device
    }

    /// A tester, with its limits, in front of the device.
    ///
    /// # Errors
    /// As [`Composed::new`].
    pub fn tester(&self, addresses: &Addresses) -> Result<SimTester<AnyDevice>, DescriptionError> {
        self.tester_with_second(addresses, None)
    }

    /// The same with the tester's second source, whose shortest gap may be another, at this port.
    ///
    /// # Errors
    /// As [`Composed::new`].
    pub fn tester_with_second(
        &self,
        addresses: &Addresses,
        second: Option<usize>,
    ) -> Result<SimTester<AnyDevice>, DescriptionError> {
        let limits = Limits {
            max_rate: self.tester.frames_per_second.map(FrameRate::from_fps),
            clock_error_ppm: self.tester.clock_error_ppm,
            timestamp_resolution: self.tester.timestamp_resolution.0,
            stall: self
                .tester
                .stall
                .map(|stall| Stall { every: stall.every.0, lasts: stall.lasts.0 }),
            loses_every: self.tester.loses_every,
            honours_pause: self.flow_control.is_some() && !self.tester.ignores_pause,
        };
        let mut ports = self.ports();
        let second = second.and_then(|port| ports.get_mut(port));
        if let Some((port, gap)) = second.zip(self.tester.second_min_gap) {
            *port = port.min_gap(gap.0);
        }
        Ok(SimTester::new(&ports, self.device(addresses)?).limits(limits))
    }

    /// The same tester with two of its ports joined by a cable, without a device.
    pub fn looped(&self) -> Description {
        Description {
            line_rate: self.line_rate,
            medium: self.medium,
            ring: self.ring,
            feed_switches: self.feed_switches,
            duplex: self.duplex,
            propagation: self.propagation,
            tester: self.tester,
            ..Description::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_device_can_be_built_and_says_what_it_is() {
        for built_in in BUILT_IN {
            let description = Description::from_toml(built_in.toml).unwrap();
            let addresses = Addresses::plan(description.ports);
            let tester = description.tester(&addresses).unwrap();
            assert_eq!(trial::Tester::describe(&tester).ports.len(), description.ports);
            assert!(built_in.what().len() > 10, "{}", built_in.name);
        }
    }

    #[test]
    fn as_many_interfaces_as_ports() {
        let refusal = Description::default().device(&Addresses::plan(3)).err().unwrap();
        assert!(refusal.to_string().contains("3 interfaces for 2 ports"), "{refusal}");
    }
}
