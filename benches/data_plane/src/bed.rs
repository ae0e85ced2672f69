//! Where one case is measured: a veth pair of its own in a network namespace of its own.

use crate::error::{BenchError, Result, system};
use ports::scheduling::{DEVICE_PRIORITY, real_time_shortfall};
use serde::Serialize;
use std::fmt;
use std::path::Path;
use std::process::Command;
use testbed::{DeviceKind, Testbed, TestbedConfig};

/// What the far end of the pair does with frames when nobody is to receive them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sink {
    /// The kernel's stack drops them: they are for nobody.
    Stack,
    /// An XDP program drops them in the driver.
    Program,
}

impl fmt::Display for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Sink::Stack => "stack",
            Sink::Program => "XDP_DROP",
        })
    }
}

/// A veth pair, offloads off, which goes with the value.
pub struct Bed {
    testbed: Testbed,
}

/// What an interface has counted so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Frames received.
    pub received: u64,
    /// Received frames that it dropped.
    pub receive_dropped: u64,
    /// Frames sent, and those that the other end had no room for.
    pub offered: u64,
}

impl Bed {
    /// Builds one.
    pub fn build() -> Result<Self> {
        Self::with_queues(1)
    }

    /// The same; both ends have so many queues each way.
    pub fn with_queues(queues: u16) -> Result<Self> {
        let testbed =
            Testbed::build(&TestbedConfig { queues, ..TestbedConfig::of(DeviceKind::Loopback) })?;
        Ok(Bed { testbed })
    }

    /// The router of `make demo` in place of a pair: what leaves the near end comes out at the far end.
    /// Set up as `netanvil run --device linux-router` does it.
    pub fn router() -> Result<Self> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let testbed = Testbed::build(&TestbedConfig {
            device_cpu: (cores > 1).then_some(cores - 1),
            real_time_priority: real_time_shortfall().is_none().then_some(DEVICE_PRIORITY),
            ..TestbedConfig::of(DeviceKind::LinuxRouter)
        })?;
        if let Some(device) = testbed.device() {
            device.scheduling();
        }
        Ok(Bed { testbed })
    }

    /// The test bed that it is made of.
    pub fn testbed(&self) -> &Testbed {
        &self.testbed
    }
    /// Name of the namespace.
    pub fn namespace(&self) -> &str {
        self.testbed.tester().name()
    }
    /// The interface from which frames are sent.
    pub fn near(&self) -> &str {
        &self.testbed.ports()[0].interface
    }
    /// The interface at which they arrive.
    pub fn far(&self) -> &str {
        &self.testbed.ports()[1].interface
    }
    /// Has the far end drop what arrives; `program` is the compiled `drop.bpf.c`.
    pub fn put_sink(&self, sink: Sink, program: &Path) -> Result<()> {
        if sink == Sink::Stack {
            return Ok(());
        }
        let output = Command::new("ip")
            .args(["-n", self.namespace(), "link", "set", "dev", self.far(), "xdpdrv", "obj"])
            .arg(program)
            .args(["sec", "xdp"])
            .output()
            .map_err(system("run ip"))?;
        if !output.status.success() {
            return Err(BenchError::Tool {
                tool: "ip".into(),
                what: format!("cannot attach {} to {}", program.display(), self.far()),
                said: String::from_utf8_lossy(&output.stderr).into_owned(),
            });
        }
        Ok(())
    }

    /// What the far end has counted so far.
    pub fn arrived(&self) -> Result<Counters> {
        self.counters(self.far())
    }

    /// Frames that the near end was given to send: a veth counts those that the other end has no room
    /// for as dropped by the sender.
    pub fn sent(&self) -> Result<u64> {
        Ok(self.counters(self.near())?.offered)
    }

    fn counters(&self, interface: &str) -> Result<Counters> {
        let text =
            self.testbed.tester().run(|| std::fs::read_to_string("/proc/thread-self/net/dev"))?;
        let text = text.map_err(system("read the interfaces' counters"))?;
        counters_of(&text, interface)
            .ok_or_else(|| BenchError::Implausible(format!("{interface} has no counters")))
    }
}

/// Reads one interface's line of `/proc/net/dev`.
fn counters_of(text: &str, interface: &str) -> Option<Counters> {
    let line =
        text.lines().find_map(|line| line.trim().strip_prefix(interface)?.strip_prefix(':'))?;
    let numbers: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    Some(Counters {
        received: *numbers.get(1)?,
        receive_dropped: *numbers.get(3)?,
        offered: numbers.get(9)? + numbers.get(11)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_those_of_the_interface_named() {
        let text = "Inter-|   Receive                                                |  Transmit\n \
                    face |bytes    packets errs drop fifo frame compressed multicast|bytes ...\n\
                    tester1:     600      10    0    2    0     0          0         0   420 7 0 3 0 0 0 0\n\
                    tester10:    60       1    0    0    0     0          0         0   0 0 0 0 0 0 0 0\n";
        let counted = counters_of(text, "tester1");
        assert_eq!(counted, Some(Counters { received: 10, receive_dropped: 2, offered: 10 }));
        assert_eq!(counters_of(text, "tester2"), None);
    }
}
