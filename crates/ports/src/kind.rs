//! Kinds of port, by name, and which of them to use: decided from facts, with the reason in words.

use crate::control::ControlSocket;
use crate::{Interface, KINDS, Link, Port, PortRequest};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;
use trial::{Capabilities, PortDescription, TesterError};

/// A kind of port. [`KINDS`] has those that a user can name.
pub trait PortKind: Sync {
    /// What users, descriptions and reports call it.
    fn name(&self) -> &'static str;

    /// What is true of all its ports.
    fn capabilities(&self) -> Capabilities;

    /// Why it is the right kind where the tester is to choose, or why it cannot be used.
    ///
    /// # Errors
    /// The reason in words. A kind that does not say otherwise has to be asked for.
    fn suits(&self, _facts: &Facts) -> Result<String, String> {
        Err("it has to be asked for".into())
    }

    /// By how many queues its ports can send at most, each in a thread of its own.
    fn queues_max(&self) -> u16 {
        1
    }

    /// Whether its ports are interfaces of the kernel; if not, they are opened by
    /// [`open_device`](Self::open_device).
    fn has_interface(&self) -> bool {
        true
    }

    /// Opens a port on an interface that is locked, found fit, and has its offloads off; the calling thread is
    /// in the interface's network namespace. `description` is complete, and that of the port.
    ///
    /// # Errors
    /// If the kind does not work on this interface, with a remedy.
    fn open(
        &self,
        interface: &Interface,
        description: PortDescription,
        room: Room,
    ) -> Result<Opened, TesterError>;

    /// Opens a port on a device that is no interface of the kernel, by what the request names. The far end
    /// need not be there yet ([`Link::await_far_end`]). The kind completes `description`: it knows the device.
    ///
    /// # Errors
    /// If the device does not work, with a remedy; always, where the kind's ports are interfaces.
    fn open_device(
        &self,
        request: &PortRequest,
        _description: PortDescription,
        _room: Room,
    ) -> Result<OpenedDevice, TesterError> {
        Err(TesterError::Unsupported {
            port: request.interface.clone(),
            what: format!("{} without an interface of the kernel", self.name()),
            remedy: "name an interface; see `ip link`".into(),
        })
    }
}

/// A port that is no interface of the kernel.
pub struct OpenedDevice {
    /// Its frames.
    pub port: Box<dyn Port>,
    /// Its state and counters.
    pub link: Box<dyn Link>,
    /// The way of its control frames.
    pub control: Box<dyn ControlSocket>,
    /// What a reader of its results should know of it.
    pub notes: Vec<String>,
}

/// How much a port may take up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Room {
    /// For about so many received frames that wait; `None` for the default.
    pub receive_frames: Option<usize>,
    /// Of so many ports that belong together.
    pub ports: usize,
    /// It sends by so many queues, at least one and no more than its [kind](PortKind::queues_max) can.
    pub queues: u16,
}

/// A port, and what a reader of its results should know of it.
pub type Opened = (Box<dyn Port>, Vec<String>);

/// What carries a port's frames, by name, or that the tester is to choose.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PortType(&'static str);

impl PortType {
    /// The fastest that works.
    pub const AUTO: PortType = PortType("auto");
    /// Frames are built and accounted for by BPF programs in the kernel.
    pub const XDP: PortType = PortType("xdp");
    /// Frames in user space, past the kernel's stack.
    pub const AF_XDP: PortType = PortType("af_xdp");
    /// Frames in user space, through packet rings of the kernel's stack.
    pub const AF_PACKET: PortType = PortType("af_packet");
    /// Frames through a driver of DPDK, on a device that is no interface of the kernel.
    pub const DPDK: PortType = PortType("dpdk");

    /// Every type but [`AUTO`](Self::AUTO), in the order of [`KINDS`](crate::KINDS).
    pub fn all() -> impl Iterator<Item = PortType> {
        KINDS.iter().map(|kind| PortType(kind.name()))
    }

    /// Those whose ports are interfaces of the kernel, fastest first.
    pub fn of_interfaces() -> impl Iterator<Item = PortType> {
        KINDS.iter().filter(|kind| kind.has_interface()).map(|kind| PortType(kind.name()))
    }

    /// Whether its ports are interfaces of the kernel; [`AUTO`](Self::AUTO) chooses among those.
    pub fn has_interface(self) -> bool {
        self.kind().is_none_or(PortKind::has_interface)
    }

    /// `auto` and the name of every type, as a user may write them.
    pub fn names() -> &'static [&'static str] {
        static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| {
            [PortType::AUTO].into_iter().chain(PortType::all()).map(PortType::name).collect()
        });
        &NAMES
    }

    /// As it is written on the command line.
    pub fn name(self) -> &'static str {
        self.0
    }

    /// What it stands for; none for [`AUTO`](Self::AUTO).
    pub fn kind(self) -> Option<&'static dyn PortKind> {
        KINDS.iter().copied().find(|kind| kind.name() == self.0)
    }
}

impl Default for PortType {
    fn default() -> Self {
        PortType::AUTO
    }
}

impl fmt::Display for PortType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for PortType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for PortType {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let name = PortType::names().iter().find(|name| **name == text);
        name.map(|name| PortType(name)).ok_or_else(|| {
            format!("{text} is no port type; it is one of {}", PortType::names().join(", "))
        })
    }
}

impl Serialize for PortType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for PortType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse().map_err(|_| de::Error::unknown_variant(&name, PortType::names()))
    }
}

/// What is known of host and interface before a port is opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Facts {
    /// Whether this build has the xdp port; if not, why.
    pub xdp_built: Result<(), String>,
    /// Whether BPF programs may be loaded; if not, why.
    pub bpf_allowed: Result<(), String>,
    /// Whether the driver runs XDP programs itself; if not, why (not tried: `None`).
    pub driver_xdp: Option<Result<(), String>>,
    /// Whether the interface takes the frames that an XDP program sends; if not, why (not tried:
    /// `None`).
    pub xdp_sends: Option<Result<(), String>>,
    /// Largest frame that this kernel lets an XDP program send, FCS included.
    pub xdp_frame_size_max_bytes: u32,
    /// Largest frame to be sent, FCS included.
    pub frame_size_bytes: u32,
    /// Ports that belong together, and processors that they may use.
    pub ports_and_cores: (usize, usize),
}

/// What was chosen, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    /// Never [`AUTO`](PortType::AUTO).
    pub port_type: PortType,
    /// In words.
    pub reason: String,
}

/// The type asked for, or the fastest that the facts allow.
pub fn choose(asked: PortType, facts: &Facts) -> Choice {
    if asked != PortType::AUTO {
        return Choice { port_type: asked, reason: "asked for".into() };
    }
    let mut ruled_out = vec![];
    for kind in KINDS {
        match kind.suits(facts) {
            Ok(why) => {
                ruled_out.push(why);
                return Choice { port_type: PortType(kind.name()), reason: ruled_out.join("; ") };
            }
            Err(why_not) => ruled_out.push(format!("not {}: {why_not}", kind.name())),
        }
    }
    unreachable!("af_packet is never ruled out")
}

impl Facts {
    /// What the driver must allow for kinds whose program runs in it.
    pub(crate) fn driver_runs_programs(&self) -> Result<(), String> {
        self.bpf_allowed.clone()?;
        match &self.driver_xdp {
            Some(Err(why)) => Err(why.clone()),
            Some(Ok(())) | None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        Facts {
            xdp_built: Ok(()),
            bpf_allowed: Ok(()),
            driver_xdp: Some(Ok(())),
            xdp_sends: None,
            xdp_frame_size_max_bytes: 3404,
            frame_size_bytes: 1518,
            ports_and_cores: (2, 2),
        }
    }

    #[test]
    fn ports_that_would_not_send_at_the_same_time_are_of_another_kind() {
        for (ports, cores, chosen) in [
            (2, 1, PortType::XDP),
            (3, 2, PortType::XDP),
            (4, 2, PortType::AF_XDP),
            (8, 8, PortType::XDP),
        ] {
            let many = Facts { ports_and_cores: (ports, cores), ..facts() };
            assert_eq!(choose(PortType::AUTO, &many).port_type, chosen, "{ports} on {cores}");
        }
        let many = Facts { ports_and_cores: (8, 2), ..facts() };
        assert_eq!(choose(PortType::XDP, &many).port_type, PortType::XDP, "asked for");
    }

    #[test]
    fn auto_takes_the_fastest_that_works_and_says_why() {
        assert_eq!(choose(PortType::AUTO, &facts()).port_type, PortType::XDP);
        let without = Facts { xdp_built: Err("built without clang".into()), ..facts() };
        let choice = choose(PortType::AUTO, &without);
        assert_eq!(choice.port_type, PortType::AF_XDP);
        assert_eq!(choice.reason, "not xdp: built without clang; past the kernel's stack");
        let jumbo = Facts { frame_size_bytes: 9018, ..facts() };
        let choice = choose(PortType::AUTO, &jumbo);
        assert_eq!(choice.port_type, PortType::AF_XDP);
        assert!(choice.reason.contains("9018"), "{}", choice.reason);
        for (largest, chosen) in [(3300, PortType::XDP), (3301, PortType::AF_XDP)] {
            let older =
                Facts { frame_size_bytes: largest, xdp_frame_size_max_bytes: 3300, ..facts() };
            assert_eq!(choose(PortType::AUTO, &older).port_type, chosen, "{largest}");
        }
    }

    #[test]
    fn an_interface_that_takes_no_xdp_frames_still_receives_by_xdp() {
        let deaf = Facts { xdp_sends: Some(Err("it took none".into())), ..facts() };
        let choice = choose(PortType::AUTO, &deaf);
        assert_eq!(choice.port_type, PortType::AF_XDP);
        assert_eq!(choice.reason, "not xdp: it took none; past the kernel's stack");
    }

    #[test]
    fn an_ordinary_user_gets_af_packet_with_every_reason() {
        let rootless = Facts { bpf_allowed: Err("no privilege".into()), ..facts() };
        let choice = choose(PortType::AUTO, &rootless);
        assert_eq!(choice.port_type, PortType::AF_PACKET);
        assert_eq!(choice.reason.matches("no privilege").count(), 2, "{}", choice.reason);
    }

    #[test]
    fn what_is_asked_for_is_not_second_guessed() {
        let rootless = Facts { bpf_allowed: Err("no privilege".into()), ..facts() };
        assert_eq!(choose(PortType::XDP, &rootless).port_type, PortType::XDP);
        assert_eq!("af_xdp".parse(), Ok(PortType::AF_XDP));
        assert!("afxdp".parse::<PortType>().unwrap_err().contains("one of auto"));
    }
}
