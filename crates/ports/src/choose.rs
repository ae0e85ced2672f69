//! Which kind of port to use: decided from facts, with the reason in words.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Largest frame of the xdp port, FCS included: a live frame lies in one page of memory, with the
/// kernel's own bookkeeping.
pub(crate) const XDP_MAX_FRAME_SIZE_BYTES: u32 = 3_404;

/// What carries a port's frames, or that the tester is to choose.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PortType {
    /// The fastest that works.
    #[default]
    Auto,
    /// Frames are built and accounted for by BPF programs in the kernel.
    Xdp,
    /// Frames in user space, past the kernel's stack.
    AfXdp,
    /// Frames in user space, through packet rings of the kernel's stack.
    AfPacket,
}

impl PortType {
    /// Every type, fastest first.
    pub const ALL: [PortType; 3] = [PortType::Xdp, PortType::AfXdp, PortType::AfPacket];

    /// As it is written on the command line.
    pub fn name(self) -> &'static str {
        match self {
            PortType::Auto => "auto",
            PortType::Xdp => "xdp",
            PortType::AfXdp => "af_xdp",
            PortType::AfPacket => "af_packet",
        }
    }
}

impl fmt::Display for PortType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for PortType {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let mut all = [PortType::Auto].into_iter().chain(PortType::ALL);
        all.find(|port_type| port_type.name() == text).ok_or_else(|| {
            format!("{text} is no port type; it is one of auto, xdp, af_xdp, af_packet")
        })
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
    /// Largest frame that the xdp port can send, FCS included.
    pub xdp_max_frame_size_bytes: u32,
}

/// What was chosen, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    /// Never [`PortType::Auto`].
    pub port_type: PortType,
    /// In words.
    pub reason: String,
}

/// The type asked for, or the fastest that the facts allow.
pub fn choose(asked: PortType, facts: &Facts) -> Choice {
    if asked != PortType::Auto {
        return Choice { port_type: asked, reason: "asked for".into() };
    }
    let mut ruled_out = vec![];
    for port_type in PortType::ALL {
        match usable(port_type, facts) {
            Ok(why) => {
                ruled_out.push(why);
                return Choice { port_type, reason: ruled_out.join("; ") };
            }
            Err(why_not) => ruled_out.push(format!("not {port_type}: {why_not}")),
        }
    }
    unreachable!("af_packet is never ruled out")
}

/// Why a type is good, or why it cannot be used.
fn usable(port_type: PortType, facts: &Facts) -> Result<String, String> {
    let in_driver = || match &facts.driver_xdp {
        Some(Err(why)) => Err(why.clone()),
        Some(Ok(())) | None => Ok(()),
    };
    match port_type {
        PortType::Auto => Err("it is no type".into()),
        PortType::Xdp => {
            facts.xdp_built.clone()?;
            facts.bpf_allowed.clone()?;
            in_driver()?;
            if let Some(Err(why)) = &facts.xdp_sends {
                return Err(why.clone());
            }
            if facts.frame_size_bytes > facts.xdp_max_frame_size_bytes {
                return Err(format!(
                    "frames of {} bytes are more than its {}",
                    facts.frame_size_bytes, facts.xdp_max_frame_size_bytes
                ));
            }
            Ok("fastest, and frames stay in the kernel".into())
        }
        PortType::AfXdp => {
            facts.bpf_allowed.clone()?;
            in_driver()?;
            Ok("past the kernel's stack".into())
        }
        PortType::AfPacket => Ok("works on every interface".into()),
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
            xdp_max_frame_size_bytes: 3520,
        }
    }

    #[test]
    fn auto_takes_the_fastest_that_works_and_says_why() {
        assert_eq!(choose(PortType::Auto, &facts()).port_type, PortType::Xdp);
        let without = Facts { xdp_built: Err("built without clang".into()), ..facts() };
        let choice = choose(PortType::Auto, &without);
        assert_eq!(choice.port_type, PortType::AfXdp);
        assert_eq!(choice.reason, "not xdp: built without clang; past the kernel's stack");
        let jumbo = Facts { frame_size_bytes: 9018, ..facts() };
        let choice = choose(PortType::Auto, &jumbo);
        assert_eq!(choice.port_type, PortType::AfXdp);
        assert!(choice.reason.contains("9018"), "{}", choice.reason);
    }

    #[test]
    fn an_interface_that_takes_no_xdp_frames_still_receives_by_xdp() {
        let deaf = Facts { xdp_sends: Some(Err("it took none".into())), ..facts() };
        let choice = choose(PortType::Auto, &deaf);
        assert_eq!(choice.port_type, PortType::AfXdp);
        assert_eq!(choice.reason, "not xdp: it took none; past the kernel's stack");
    }

    #[test]
    fn an_ordinary_user_gets_af_packet_with_every_reason() {
        let rootless = Facts { bpf_allowed: Err("no privilege".into()), ..facts() };
        let choice = choose(PortType::Auto, &rootless);
        assert_eq!(choice.port_type, PortType::AfPacket);
        assert_eq!(choice.reason.matches("no privilege").count(), 2, "{}", choice.reason);
    }

    #[test]
    fn what_is_asked_for_is_not_second_guessed() {
        let rootless = Facts { bpf_allowed: Err("no privilege".into()), ..facts() };
        assert_eq!(choose(PortType::Xdp, &rootless).port_type, PortType::Xdp);
        assert_eq!("af_xdp".parse(), Ok(PortType::AfXdp));
        assert!("afxdp".parse::<PortType>().unwrap_err().contains("one of auto"));
    }
}
