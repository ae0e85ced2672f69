//! The options of neighbour discovery messages (RFC 4861 section 4.6).

use crate::DecodeError;
use crate::bytes::require;
use crate::ethernet::MacAddr;
use crate::view::view;
use serde::{Deserialize, Serialize};
use std::net::Ipv6Addr;

pub(super) const SOURCE_MAC: u8 = 1;
pub(super) const TARGET_MAC: u8 = 2;
const PREFIX: u8 = 3;
const MTU: u8 = 5;
pub(super) const PREFIX_OPTION_LEN: usize = 32;
const WHAT: &str = "neighbour discovery option";

view! {
    /// An option and those after it, as bytes.
    pub struct OptionView(WHAT, 8), check: Self::check, payload: Self::payload_range;
    /// Type.
    kind / set_kind: u8 = 0;
    /// Units of 8 bytes in the option.
    units / set_units: u8 = 1;
    /// Of an option that holds a MAC address: it.
    mac / set_mac: MacAddr = 2;
    /// Of an MTU option: zero.
    mtu_reserved / set_mtu_reserved: u16 = 2;
    /// Of an MTU option: the MTU in bytes.
    mtu / set_mtu: u32 = 4;
}

impl<T: AsRef<[u8]>> OptionView<T> {
    fn check(&self) -> Result<(), DecodeError> {
        if self.units() == 0 {
            return Err(DecodeError::malformed(WHAT, "length 0 (RFC 4861 section 4.6)"));
        }
        require(WHAT, self.0.as_ref(), self.len())
    }
    fn payload_range(&self) -> std::ops::Range<usize> {
        self.len()..self.0.as_ref().len()
    }
    fn len(&self) -> usize {
        usize::from(self.units()) * 8
    }
}

view! {
    /// A prefix option as bytes.
    pub struct PrefixView(WHAT, PREFIX_OPTION_LEN);
    /// Type.
    kind / set_kind: u8 = 0;
    /// Units of 8 bytes in the option; 4.
    units / set_units: u8 = 1;
    /// Length of the prefix in bits.
    prefix_len / set_prefix_len: u8 = 2;
    /// Hosts with this prefix are on the link.
    on_link / set_on_link: bool = 3 as u8[7..8];
    /// Hosts may make themselves an address of it.
    autonomous / set_autonomous: bool = 3 as u8[6..7];
    /// How long it is valid, in seconds; all ones for ever.
    valid_s / set_valid_s: u32 = 4;
    /// How long addresses of it are preferred, in seconds; all ones for ever.
    preferred_s / set_preferred_s: u32 = 8;
    /// The prefix.
    prefix / set_prefix: Ipv6Addr = 16;
}

/// A prefix of a router advertisement (RFC 4861 section 4.6.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Prefix {
    /// Its address.
    pub prefix: Ipv6Addr,
    /// Its length in bits.
    pub len: u8,
    /// Hosts with this prefix are on the link.
    pub on_link: bool,
    /// Hosts may make themselves an address of it.
    pub autonomous: bool,
    /// How long it is valid, in seconds; all ones for ever.
    pub valid_s: u32,
    /// How long addresses of it are preferred, in seconds; all ones for ever.
    pub preferred_s: u32,
}

/// Those that we know, as a message has them.
#[derive(Default)]
pub(super) struct Options {
    pub source_mac: Option<MacAddr>,
    pub target_mac: Option<MacAddr>,
    pub mtu: Option<u32>,
    pub prefixes: Vec<Prefix>,
}

impl Options {
    /// Reads all that is left of a message; those that we do not know are passed over.
    pub fn parse(mut bytes: &[u8]) -> Result<Options, DecodeError> {
        let mut options = Options::default();
        while !bytes.is_empty() {
            let view = OptionView::new_checked(bytes)?;
            match (view.kind(), view.len()) {
                (SOURCE_MAC, 8) => options.source_mac = Some(view.mac()),
                (TARGET_MAC, 8) => options.target_mac = Some(view.mac()),
                (MTU, 8) => options.mtu = Some(view.mtu()),
                (PREFIX, PREFIX_OPTION_LEN) => options.prefixes.push(Prefix::parse(bytes)?),
                _ => {}
            }
            bytes = view.payload();
        }
        Ok(options)
    }
}

impl Prefix {
    fn parse(bytes: &[u8]) -> Result<Prefix, DecodeError> {
        let view = PrefixView::new_checked(bytes)?;
        Ok(Prefix {
            len: view.prefix_len(),
            on_link: view.on_link(),
            autonomous: view.autonomous(),
            valid_s: view.valid_s(),
            preferred_s: view.preferred_s(),
            prefix: view.prefix(),
        })
    }
    /// Writes the option. Panics where `bytes` is too short.
    pub(super) fn emit(&self, bytes: &mut [u8]) {
        bytes[..PREFIX_OPTION_LEN].fill(0);
        let mut view = PrefixView::new_unchecked(bytes);
        view.set_kind(PREFIX);
        view.set_units((PREFIX_OPTION_LEN / 8) as u8);
        view.set_prefix_len(self.len);
        view.set_on_link(self.on_link);
        view.set_autonomous(self.autonomous);
        view.set_valid_s(self.valid_s);
        view.set_preferred_s(self.preferred_s);
        view.set_prefix(self.prefix);
    }
}

/// Writes a link-layer address option, where there is an address; the bytes it took.
pub(super) fn emit_mac(kind: u8, mac: Option<MacAddr>, bytes: &mut [u8]) -> usize {
    let Some(mac) = mac else { return 0 };
    let mut view = OptionView::new_unchecked(bytes);
    view.set_kind(kind);
    view.set_units(1);
    view.set_mac(mac);
    8
}

/// Writes an MTU option, where there is an MTU; the bytes it took.
pub(super) fn emit_mtu(mtu: Option<u32>, bytes: &mut [u8]) -> usize {
    let Some(mtu) = mtu else { return 0 };
    let mut view = OptionView::new_unchecked(bytes);
    view.set_kind(MTU);
    view.set_units(1);
    view.set_mtu_reserved(0);
    view.set_mtu(mtu);
    8
}
