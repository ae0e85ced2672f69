//! Kinds of port, by name, and which of them to use: decided from facts, with the reason in words.

use crate::control::ControlSocket;
use crate::{Interface, KINDS, Link, Port, PortRequest};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;
use trial::{Capabilities, PortDescription, TesterError};

/// The longest name of an interface (`IFNAMSIZ`, without the end).
const LONGEST_NAME: usize = 15;

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

/// Where a port is: `eth1`, or with what is to carry its frames, `xdp:eth1`. After `dpdk:` everything is the
/// device and its arguments, commas and colons included: `dpdk:net_memif0,role=client,socket=/run/x.sock`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Location {
    /// Name of the interface, or a device of another kind with its arguments.
    pub interface: String,
    /// What carries its frames, where that is said.
    pub port_type: Option<PortType>,
}

impl Location {
    /// The kernel's interface that its frames go through: itself, or the one that a device of another kind
    /// sits on (`dpdk:net_af_packet0,iface=eth1`).
    pub fn kernel_interface(&self) -> Option<&str> {
        if self.port_type.is_none_or(PortType::has_interface) {
            return Some(&self.interface);
        }
        let sits_on_one = ["net_af_packet", "net_af_xdp"];
        sits_on_one.iter().find(|driver| self.interface.starts_with(**driver))?;
        self.interface.split(',').find_map(|argument| argument.strip_prefix("iface="))
    }

    /// Its name without arguments, for a table or the name of a folder.
    pub fn short_name(&self) -> &str {
        self.interface.split(',').next().unwrap_or_default()
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port_type {
            Some(port_type) => write!(f, "{port_type}:{}", self.interface),
            None => f.write_str(&self.interface),
        }
    }
}

impl From<Location> for String {
    fn from(location: Location) -> String {
        location.to_string()
    }
}

impl TryFrom<String> for Location {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for Location {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let kinds: Vec<_> = PortType::of_interfaces().map(|kind| format!("{kind}:eth1")).collect();
        let example = format!(
            "write the name of an interface, such as eth1, or {}, or a device of DPDK, such as \
             dpdk:net_memif0,role=client,socket=/run/x.sock",
            kinds.join(", ")
        );
        let (port_type, interface) = match text.split_once(':') {
            None => (None, text),
            Some((kind, interface)) => match kind.parse() {
                Ok(known) => (Some(known), interface),
                Err(_) => return Err(format!("there is no kind of port `{kind}`; {example}")),
            },
        };
        if port_type.is_some_and(|kind: PortType| !kind.has_interface()) {
            let is_bad = |c: char| c.is_whitespace() || c.is_control();
            return match interface.is_empty() || interface.contains(is_bad) {
                true => Err(format!("{interface:?} is no device; {example}")),
                false => Ok(Location { interface: interface.into(), port_type }),
            };
        }
        let is_bad = |c: char| c == '/' || c == ':' || c.is_whitespace() || c.is_control();
        let is_name = !interface.is_empty()
            && interface.len() <= LONGEST_NAME
            && !interface.contains(is_bad)
            && ![".", ".."].contains(&interface);
        match is_name {
            true => Ok(Location { interface: interface.into(), port_type }),
            false => Err(format!("{interface:?} is no name of an interface; {example}")),
        }
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
    /// Largest frame to be sent, FCS included.
    pub frame_size_bytes: u32,
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
            frame_size_bytes: 1518,
        }
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

    #[test]
    fn a_location_is_an_interface_with_or_without_a_kind_of_port() {
        let of = |text: &str| {
            text.parse::<Location>().map(|location| (location.port_type, location.interface))
        };
        assert_eq!(of("eth1"), Ok((None, "eth1".into())));
        assert_eq!(of("af_packet:eth1"), Ok((Some(PortType::AF_PACKET), "eth1".into())));
        assert_eq!(of("auto:eth1"), Ok((Some(PortType::AUTO), "eth1".into())));
        let memif = "dpdk:net_memif0,role=client,socket=/run/x.sock";
        assert_eq!(of(memif), Ok((Some(PortType::DPDK), memif[5..].into())));
        assert_eq!(memif.parse::<Location>().unwrap().to_string(), memif);
        assert_eq!(memif.parse::<Location>().unwrap().short_name(), "net_memif0");
        let on =
            |text: &str| text.parse::<Location>().unwrap().kernel_interface().map(String::from);
        assert_eq!(on("xdp:eth1"), Some("eth1".into()));
        assert_eq!(on("dpdk:net_af_packet0,iface=eth1,blocksz=4096"), Some("eth1".into()));
        assert_eq!((on(memif), on("dpdk:net_vhost0,iface=/tmp/v")), (None, None));
        assert_eq!(of("dpdk:0000:3b:00.0"), Ok((Some(PortType::DPDK), "0000:3b:00.0".into())));
        for wrong in [
            "",
            "dpdk:",
            "dpdk:a b",
            "pfring:eth1",
            "xdp:",
            "a/b",
            "10.0.0.1:5555",
            "a name",
            "sixteen-letters-",
        ] {
            assert!(of(wrong).unwrap_err().contains("af_packet:eth1"), "{wrong}");
        }
    }
}
