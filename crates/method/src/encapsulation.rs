//! Devices that encapsulate or translate (RFC 8219 section 4): native frames at the first port, others at
//! the second.

use crate::traffic::Attachment;
use crate::{Protocol, RunError};
use serde::{Deserialize, Serialize};
use std::fmt;
use wire::{ethernet, gre, ip_in_ip, ipv4, ipv6, vxlan};

/// What becomes of a native packet behind the second port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encapsulation {
    /// GRE over IPv4 (RFC 2784).
    Gre,
    /// GRE over IPv6 (RFC 7676).
    Gre6,
    /// IPv6 within IPv4 (RFC 4213).
    #[serde(rename = "6in4")]
    SixInFour,
    /// IPv4 within IPv6 (RFC 2473), as DS-Lite, MAP-E and lw4o6 have it on the way.
    #[serde(rename = "4in6")]
    FourInSix,
    /// VXLAN over IPv4 (RFC 7348).
    Vxlan,
    /// IPv6 translated to IPv4 and back, without state (RFC 7915).
    Siit,
}

/// A device whose second port has other frames than the first.
#[derive(Clone, PartialEq, Debug)]
pub struct Encapsulated {
    /// How.
    pub kind: Encapsulation,
    /// The second port as it is outside of the tunnel: its host and the device's address are the ends
    /// of it. [`Topology::ports`](crate::Topology) has the hosts within.
    pub outer: Attachment,
    /// Network identifier of a VXLAN.
    pub network: u32,
}

impl Encapsulation {
    /// By how many bytes a frame is longer at the second port than at the first.
    pub const fn grows_by_bytes(self) -> i32 {
        let bytes = match self {
            Encapsulation::Gre => ipv4::HEADER_LEN + gre::HEADER_LEN,
            Encapsulation::Gre6 => ipv6::HEADER_LEN + gre::HEADER_LEN,
            Encapsulation::SixInFour => ipv4::HEADER_LEN,
            Encapsulation::FourInSix => ipv6::HEADER_LEN,
            Encapsulation::Vxlan => vxlan::OVERHEAD_IPV4,
            Encapsulation::Siit => return ipv4::HEADER_LEN as i32 - ipv6::HEADER_LEN as i32,
        };
        bytes as i32
    }
    /// What a frame of `bytes` at the first port takes where it is longest, with FCS: the rate of the
    /// medium is that of the longer ones (RFC 8219 section 5).
    pub fn longest_bytes(self, bytes: u32) -> u32 {
        bytes.saturating_add_signed(self.grows_by_bytes().max(0))
    }
    /// What the frames of the second port are made of, within the tunnel.
    pub(crate) fn protocol_behind(self, protocol: Protocol) -> Protocol {
        match self {
            Encapsulation::Siit => Protocol::UdpIpv4,
            _ => protocol,
        }
    }
    /// Refuses what cannot go into such a tunnel.
    pub(crate) fn check(self, protocol: Protocol) -> Result<(), RunError> {
        use Encapsulation::*;
        let (needed, name) = match self {
            SixInFour | Siit => (Protocol::UdpIpv6, "udp_ipv6"),
            FourInSix => (Protocol::UdpIpv4, "udp_ipv4"),
            Gre | Gre6 | Vxlan if protocol.is_ip() => return Ok(()),
            Gre | Gre6 | Vxlan => (Protocol::UdpIpv4, "udp_ipv4"),
        };
        match protocol == needed {
            true => Ok(()),
            false => Err(RunError::Config(format!(
                "{self} has {} at the first port: choose --protocol {name}",
                needed.name()
            ))),
        }
    }
}

impl Encapsulated {
    /// A native frame as the tester sends it into the tunnel at the second port.
    pub(crate) fn wrap(&self, frame: Vec<u8>) -> Vec<u8> {
        let Attachment { mac, device_mac, .. } = self.outer;
        let v4 = ((mac, self.outer.host_ipv4), (device_mac, self.outer.device_ipv4));
        let v6 = ((mac, self.outer.host_ipv6), (device_mac, self.outer.device_ipv6));
        let wrapped = match self.kind {
            Encapsulation::Gre => gre::frame_over_ipv4(v4.0, v4.1, &frame),
            Encapsulation::SixInFour => ip_in_ip::frame_over_ipv4(v4.0, v4.1, &frame),
            Encapsulation::Gre6 => ip_in_ip::gre_frame_over_ipv6(v6.0, v6.1, &frame),
            Encapsulation::FourInSix => ip_in_ip::frame_over_ipv6(v6.0, v6.1, &frame),
            Encapsulation::Vxlan => Ok(vxlan::frame_over_ipv4(v4.0, v4.1, self.network, &frame)),
            Encapsulation::Siit => return frame,
        };
        // Frames of IP, which `check` lets through alone, have nothing that cannot be read.
        wrapped.unwrap_or(frame)
    }

    /// Where the first byte behind the Ethernet header is found again at the second port.
    pub(crate) fn shift_bytes(&self) -> u16 {
        self.kind.grows_by_bytes().max(0) as u16
    }
}

/// The smallest frame of the second port in a translation to IPv4: 64 bytes (RFC 8219 section 5).
pub(crate) fn smallest_native_bytes(kind: Encapsulation) -> u32 {
    let least = ethernet::MIN_LEN_WITHOUT_FCS as u32 + 4;
    least.saturating_add_signed((-kind.grows_by_bytes()).max(0))
}

impl fmt::Display for Encapsulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Encapsulation::Gre => "GRE over IPv4",
            Encapsulation::Gre6 => "GRE over IPv6",
            Encapsulation::SixInFour => "6in4",
            Encapsulation::FourInSix => "4in6",
            Encapsulation::Vxlan => "VXLAN over IPv4",
            Encapsulation::Siit => "SIIT",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{FrameSize, LineRate};

    /// RFC 8219 section 5: a 64-byte frame by 6in4 at 10 Mb/s, 12,019 frames a second.
    #[test]
    fn the_longer_frame_sets_the_rate() {
        let longest = Encapsulation::SixInFour.longest_bytes(64);
        let rate = LineRate::from_mbps(10).max_frame_rate(FrameSize::from_bytes(longest));
        assert_eq!(rate.fps_truncated(), 12_019);
        assert_eq!(Encapsulation::Siit.longest_bytes(84), 84, "IPv6 is the longer side");
    }

    #[test]
    fn sixty_four_becomes_eighty_four() {
        assert_eq!(smallest_native_bytes(Encapsulation::Siit), 84);
        assert_eq!(smallest_native_bytes(Encapsulation::Vxlan), 64);
    }

    #[test]
    fn what_a_tunnel_cannot_carry_is_refused() {
        let refusal = |kind: Encapsulation, protocol| kind.check(protocol).unwrap_err().to_string();
        assert!(refusal(Encapsulation::SixInFour, Protocol::UdpIpv4).contains("udp_ipv6"));
        assert!(refusal(Encapsulation::FourInSix, Protocol::UdpIpv6).contains("udp_ipv4"));
        assert!(refusal(Encapsulation::Gre, Protocol::Decnet).contains("udp_ipv4"));
        assert_eq!(Encapsulation::Vxlan.check(Protocol::UdpIpv6), Ok(()));
    }
}
