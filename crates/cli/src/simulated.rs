//! Simulated devices by name or file: `--sim router`, `--sim lab/slow-switch.toml`.

use crate::failure::{Failure, Outcome};
use crate::options::{self, BitRate, Share, Span};
use serde::Deserialize;
use sim::{
    DeviceUnderTest, EveryNth, Fate, Impaired, Limits, Noise, Outage, Patch, QueueLimit, Servers,
    SimPort, SimTester, StoreAndForward,
};
use std::path::Path;
use units::{Duration, FrameRate};

/// What `netanvil devices` says of them.
pub const BUILT_IN: [(&str, &str, &str); 4] = [
    ("cable", "two ports joined at line rate", ""),
    (
        "router",
        "forwards 100,000 frames a second, 100 wait",
        "frames-per-second = 100000\nqueue-frames = 100\ndelay = \"5us\"\nrestart = \"300ms\"\n",
    ),
    (
        "shared-bus",
        "both directions share 600 Mbit/s, 50 frames wait",
        "rate = \"600M\"\nqueue-frames = 50\nshared = true\n",
    ),
    (
        "noisy",
        "as `router`, and loses a frame in 10,000 at any load",
        "frames-per-second = 100000\nqueue-frames = 100\nloss = 0.0001\n",
    ),
];

/// A simulated device, as a TOML file has it. Every key may be left out.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Description {
    /// Rate of the links; 1G.
    line_rate: Option<BitRate>,
    /// One way, between tester and device.
    propagation: Option<Span>,
    /// Frames a second that the device forwards, whatever their size.
    frames_per_second: Option<f64>,
    /// Bits a second that it forwards (frame with FCS).
    rate: Option<BitRate>,
    /// Frames that may wait.
    queue_frames: Option<u64>,
    /// Constant delay after service.
    delay: Option<Span>,
    /// One server and queue for all directions.
    shared: bool,
    /// Exactly every Nth frame is dropped.
    drop_every: Option<u64>,
    /// Exactly every Nth frame comes twice.
    duplicate_every: Option<u64>,
    /// Exactly every Nth frame is held back by `reorder-by`.
    reorder_every: Option<u64>,
    /// See `reorder-every`; 1 ms.
    reorder_by: Option<Span>,
    /// Exactly every Nth frame has a bit turned over.
    corrupt_every: Option<u64>,
    /// Each frame is lost with this probability.
    loss: Option<Share>,
    /// Seed of what is random in the device.
    seed: u64,
    /// How long a restart takes; without it there is no reset test.
    restart: Option<Span>,
    /// From link up until frames pass.
    link_recovery: Option<Span>,
    /// The tester's own limit in frames a second and port, to see what a weak tester reports.
    tester_frames_per_second: Option<u64>,
}

/// A tester in virtual time and what to call its device.
pub struct Simulated {
    /// Runs trials.
    pub tester: SimTester<Box<dyn DeviceUnderTest>>,
    /// For the report.
    pub name: String,
}

/// Reads the device of `--sim`.
pub fn read(name_or_file: &str) -> Outcome<Description> {
    if let Some((name, _, text)) = BUILT_IN.iter().find(|(name, _, _)| *name == name_or_file) {
        return options::parse(text, name);
    }
    let path = Path::new(name_or_file);
    if !path.exists() {
        let names: Vec<&str> = BUILT_IN.iter().map(|(name, _, _)| *name).collect();
        let failure = Failure::new(format!("no simulated device or file `{name_or_file}`"));
        return Err(failure.help(format!("built in are {}; or name a TOML file", names.join(", "))));
    }
    options::read(path)
}

impl Description {
    /// The device between two ports.
    pub fn build(&self, name: &str, line_rate: Option<BitRate>) -> Simulated {
        let ports = [self.port(line_rate); 2];
        let limits = Limits {
            max_rate: self.tester_frames_per_second.map(FrameRate::from_fps),
            ..Limits::default()
        };
        Simulated {
            tester: SimTester::new(&ports, self.impaired()).limits(limits),
            name: format!("simulated device {name}"),
        }
    }

    /// The same tester with a cable instead of the device, for its self-test.
    pub fn looped(&self, line_rate: Option<BitRate>) -> Simulated {
        let cable = Description {
            line_rate: self.line_rate,
            propagation: self.propagation,
            tester_frames_per_second: self.tester_frames_per_second,
            ..Description::default()
        };
        cable.build("cable", line_rate)
    }

    fn port(&self, line_rate: Option<BitRate>) -> SimPort {
        let line_rate = line_rate.or(self.line_rate).unwrap_or(BitRate(1_000_000_000));
        let propagation = self.propagation.map_or(Duration::ZERO, |span| span.0);
        SimPort::physical(line_rate.line_rate()).propagation(propagation)
    }

    fn impaired(&self) -> Box<dyn DeviceUnderTest> {
        let mut device = self.server();
        let reorder_by = self.reorder_by.map_or(Duration::from_ms(1), |span| span.0);
        let every = [
            (self.drop_every, Fate::Drop),
            (self.duplicate_every, Fate::Duplicate),
            (self.reorder_every, Fate::Delay(reorder_by)),
            (self.corrupt_every, Fate::FlipBit { bytes_from_end: 1 }),
        ];
        for (n, fate) in every {
            if let Some(n) = n {
                device = Box::new(Impaired::new(device, EveryNth::new(n.max(1), fate)));
            }
        }
        if let Some(Share(loss)) = self.loss {
            device = Box::new(Impaired::new(device, Noise::new(loss, Fate::Drop, self.seed)));
        }
        if let Some(Span(restart)) = self.restart {
            let link = self.link_recovery.map_or(Duration::ZERO, |span| span.0);
            device = Box::new(Impaired::new(device, Outage::new(restart, link)));
        }
        device
    }

    fn server(&self) -> Box<dyn DeviceUnderTest> {
        if self.frames_per_second.is_none() && self.rate.is_none() && self.delay.is_none() {
            return Box::new(Patch::default());
        }
        let per_frame = self.frames_per_second.map(|fps| FrameRate::from_fps_f64(fps).interval());
        let per_byte = self.rate.map(|rate| Duration::from_secs_f64(8.0 / rate.0 as f64));
        let queue = QueueLimit::Frames(self.queue_frames.unwrap_or(1_000));
        let (per_frame, per_byte) = (per_frame.unwrap_or_default(), per_byte.unwrap_or_default());
        let server = StoreAndForward::new(per_frame, per_byte, queue)
            .delay(self.delay.map_or(Duration::ZERO, |span| span.0))
            .servers(if self.shared { Servers::Shared } else { Servers::PerPort });
        Box::new(server)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_device_can_be_built() {
        for (name, _, _) in BUILT_IN {
            let device = read(name).unwrap();
            assert!(device.build(name, None).name.contains(name));
        }
    }

    #[test]
    fn a_misspelt_device_or_key_is_named() {
        assert!(read("ruoter").unwrap_err().to_string().contains("router"));
        let error = options::parse::<Description>("queue-frame = 3", "x.toml").unwrap_err();
        assert!(error.to_string().contains("did you mean `queue-frames`?"), "{error}");
    }
}
