//! A template for one size: the bytes that all its frames have in common, and the places of what
//! differs.

use super::layout::Layout;
use super::{
    BuildError, DdpLayer, DecnetLayer, FrameTemplate, IpxLayer, Layer, Signature, UdpChecksum,
};
use crate::modifier::{Field, Ipv6Bits, Modifier, Pattern};
use std::ops::Range;
use units::FrameSize;
use wire::appletalk::{ddp, echo};
use wire::bytes::put_u16;
use wire::checksum::Sum;
use wire::decnet::{self, nsp};
use wire::ethernet::EtherType;
use wire::ipv4::Protocol;
use wire::signature::{self, Form, Stamp};
use wire::snap::{self, Oui};
use wire::{ethernet, icmpv4, icmpv6, ipv4, ipv6, ipx, llc, tcp, udp, vlan};

/// Both ends' number of the connection of which test frames pretend to be.
const TEST_LINK: u16 = 0x2001;

/// All frames of one template and one size, ready to be written by their index.
#[derive(Clone, Debug)]
pub struct PreparedFrame {
    /// The frame with the modified fields as the layers have them.
    base: Vec<u8>,
    form: Option<Form>,
    writes: Vec<FieldWrite>,
    /// Innermost first, so that an outer one sums the inner ones' results.
    checksums: Vec<ChecksumField>,
    period: u64,
}

impl PreparedFrame {
    pub(super) fn new(
        template: &FrameTemplate,
        size: FrameSize,
        signature: Option<Signature>,
    ) -> Result<Self, BuildError> {
        let layout = Layout::new(&template.layers, size, signature.is_some())?;
        let mut base = vec![0; layout.frame_len()];
        emit_headers(&layout, &mut base);
        template.payload.fill(&mut base[layout.payload()]);
        let form = signature.and_then(|_| Form::fitting(layout.payload_len()));
        if let (Some(form), Some((key, stream))) = (form, signature) {
            let most = form.stream_max();
            if stream > most {
                return Err(BuildError::StreamNumber { most });
            }
            let stamp = Stamp { stream, sequence: 0, transmit_ticks: 0 };
            signature::write(form, key, stamp, &mut base);
        }
        let mut checksums = find_checksums(&layout, &base)?;
        let untouchable: Vec<Range<usize>> = checksums
            .iter()
            .map(|checksum| checksum.at..checksum.at + 2)
            .chain(form.map(|form| base.len() - form.len_bytes()..base.len()))
            .collect();
        let writes = find_writes(&layout, &template.modifiers, &untouchable)?;
        let variable_end = writes
            .iter()
            .map(|write| write.bytes.end)
            .max()
            .unwrap_or(0)
            .max(layout.payload().start);
        for checksum in &mut checksums {
            checksum.settle_constant_part(&base, variable_end);
        }
        checksums.iter().for_each(|checksum| checksum.write(&mut base));
        if writes.is_empty() {
            checksums.clear();
        }
        Ok(PreparedFrame { base, form, writes, checksums, period: template.period() })
    }
    /// Bytes of the frame without FCS.
    #[expect(clippy::len_without_is_empty, reason = "no frame is empty")]
    pub fn len(&self) -> usize {
        self.base.len()
    }
    /// The form of signature that the frames end with.
    pub fn form(&self) -> Option<Form> {
        self.form
    }
    /// Frames after which the bytes repeat.
    pub fn period(&self) -> u64 {
        self.period
    }
    /// Writes frame `index` over `frame`, without FCS.
    ///
    /// # Panics
    /// Unless `frame` has [`len`](Self::len) bytes.
    pub fn write(&self, index: u64, frame: &mut [u8]) {
        frame.copy_from_slice(&self.base);
        self.writes.iter().for_each(|write| write.apply(index, frame));
        self.checksums.iter().for_each(|checksum| checksum.write(frame));
    }
    /// Frame `index`, without FCS.
    pub fn frame(&self, index: u64) -> Vec<u8> {
        let mut frame = vec![0; self.base.len()];
        self.write(index, &mut frame);
        frame
    }
}

fn emit_headers(layout: &Layout, frame: &mut [u8]) {
    let frame_len = layout.frame_len();
    for (i, (at, layer)) in layout.places().iter().enumerate() {
        let bytes = &mut frame[*at..];
        let rest_len = frame_len - at - layer.header_len();
        let payload_len = rest_len as u16;
        let next = layout.next(i);
        let ether_type = next.map_or(EtherType::EXPERIMENTAL, |next| next.ether_type(rest_len));
        let protocol = next.map_or(Protocol::EXPERIMENTAL, Layer::protocol);
        match layer {
            Layer::Ethernet { src, dst, ether_type: given } => {
                let ether_type = given.unwrap_or(ether_type);
                ethernet::Repr { dst: *dst, src: *src, ether_type }.emit(bytes);
            }
            Layer::Vlan { id, priority, drop_eligible, ether_type: given, .. } => vlan::Repr {
                priority: *priority,
                drop_eligible: *drop_eligible,
                id: *id,
                ether_type: given.unwrap_or(ether_type),
            }
            .emit(bytes),
            Layer::Ipv4(ip) => ipv4::Repr {
                dscp: ip.dscp,
                ecn: ip.ecn,
                identification: ip.identification,
                dont_fragment: ip.dont_fragment,
                ttl: ip.ttl,
                ..ipv4::Repr::new(ip.src, ip.dst, ip.protocol.unwrap_or(protocol), payload_len)
            }
            .emit(bytes),
            Layer::Ipv6(ip) => ipv6::Repr {
                dscp: ip.dscp,
                ecn: ip.ecn,
                flow_label: ip.flow_label,
                hop_limit: ip.hop_limit,
                ..ipv6::Repr::new(ip.src, ip.dst, ip.next_header.unwrap_or(protocol), payload_len)
            }
            .emit(bytes),
            Layer::Ipv6Extension(extension) => extension.emit(protocol, bytes),
            Layer::Udp(udp) => {
                let (src_port, dst_port) = (udp.src_port, udp.dst_port);
                udp::Repr { src_port, dst_port, payload_len }.emit(bytes);
            }
            Layer::Tcp(tcp) => tcp.repr().emit(bytes),
            Layer::Icmpv4Echo { identifier, sequence } => {
                let (identifier, sequence) = (*identifier, *sequence);
                icmpv4::Repr::EchoRequest { identifier, sequence }.emit(bytes);
            }
            Layer::Icmpv6Echo { identifier, sequence } => {
                let (identifier, sequence) = (*identifier, *sequence);
                icmpv6::Repr::EchoRequest { identifier, sequence }.emit(bytes);
            }
            Layer::Llc { sap } => llc::Repr::datagram(*sap).emit(bytes),
            Layer::Snap => {
                let oui = next.map_or(Oui::ETHERTYPE, Layer::oui);
                snap::Repr { oui, protocol: ether_type }.emit(bytes);
            }
            Layer::Ipx(IpxLayer { src, dst, .. }) => {
                ipx::Repr::new(ipx::Kind::UNKNOWN, *src, *dst, payload_len).emit(bytes);
            }
            Layer::Decnet(DecnetLayer { src, dst }) => {
                let header = decnet::data::Repr::new(*src, *dst, payload_len);
                decnet::Repr::Data(header).emit(bytes);
            }
            Layer::NspData => nsp::Repr::new(TEST_LINK, TEST_LINK).emit(bytes),
            Layer::Ddp(DdpLayer { src, dst, kind }) => {
                let kind = kind.or(next.map(Layer::ddp_kind)).unwrap_or(ddp::Kind(0));
                let (src, dst) = (*src, *dst);
                ddp::Repr { hops: 0, dst, src, kind, payload_len }.emit(bytes);
            }
            Layer::AppletalkEcho => echo::Repr::Request.emit(bytes),
            Layer::Raw(raw) => bytes[..raw.len()].copy_from_slice(raw),
        }
    }
}

/// A checksum of the frame and what it is taken over.
#[derive(Clone, Debug)]
struct ChecksumField {
    at: usize,
    /// Addresses of the pseudo header, where there is one.
    addresses: Range<usize>,
    /// What is summed and may differ from frame to frame; starts on a 16-bit boundary of the sum.
    covered: Range<usize>,
    /// What is summed and never differs.
    constant: Sum,
    /// A computed 0 is written as 0xffff.
    no_zero: bool,
}

impl ChecksumField {
    /// Moves what lies behind `variable_end` into the constant part.
    fn settle_constant_part(&mut self, base: &[u8], variable_end: usize) {
        let len = variable_end.saturating_sub(self.covered.start).next_multiple_of(2);
        let end = (self.covered.start + len).min(self.covered.end);
        self.constant = self.constant.bytes(&base[end..self.covered.end]);
        self.covered.end = end;
    }
    fn write(&self, frame: &mut [u8]) {
        put_u16(frame, self.at, 0);
        let sum = self.constant.bytes(&frame[self.addresses.clone()]);
        let checksum = sum.bytes(&frame[self.covered.clone()]).checksum();
        put_u16(frame, self.at, if self.no_zero { udp::on_the_wire(checksum) } else { checksum });
    }
}

/// The checksums of the frame, innermost first.
fn find_checksums(layout: &Layout, base: &[u8]) -> Result<Vec<ChecksumField>, BuildError> {
    let mut checksums = Vec::new();
    let mut addresses = 0..0;
    for (i, (at, layer)) in layout.places().iter().enumerate() {
        let len = base.len() - at;
        let transport =
            |protocol: Protocol, field: usize, addresses: &Range<usize>| ChecksumField {
                at: at + field,
                addresses: addresses.clone(),
                covered: *at..base.len(),
                constant: Sum::ZERO.word(protocol.0.into()).bytes(&(len as u32).to_be_bytes()),
                no_zero: protocol == Protocol::UDP,
            };
        match layer {
            Layer::Ipv4(_) => {
                addresses = at + ipv4::SRC..at + ipv4::HEADER_LEN;
                checksums.push(ChecksumField {
                    at: at + ipv4::CHECKSUM,
                    addresses: 0..0,
                    covered: *at..at + ipv4::HEADER_LEN,
                    constant: Sum::ZERO,
                    no_zero: false,
                });
            }
            Layer::Ipv6(_) => addresses = at + ipv6::SRC..at + ipv6::HEADER_LEN,
            Layer::Udp(udp) if udp.checksum == UdpChecksum::Off => {
                if addresses.len() > 8 {
                    return Err(BuildError::Layer {
                        place: i + 1,
                        layer: layer.to_string(),
                        why: "over IPv6 the checksum cannot be off (RFC 8200 section 8.1)",
                    });
                }
            }
            Layer::Udp(_) => checksums.push(transport(Protocol::UDP, udp::CHECKSUM, &addresses)),
            Layer::Tcp(_) => checksums.push(transport(Protocol::TCP, tcp::CHECKSUM, &addresses)),
            Layer::Icmpv6Echo { .. } => {
                checksums.push(transport(Protocol::ICMPV6, icmpv4::CHECKSUM, &addresses));
            }
            Layer::Icmpv4Echo { .. } => checksums.push(ChecksumField {
                constant: Sum::ZERO,
                ..transport(Protocol::ICMPV4, icmpv4::CHECKSUM, &(0..0))
            }),
            Layer::Ethernet { .. } | Layer::Vlan { .. } => {}
            Layer::Ipv6Extension(_) | Layer::Raw(_) => {}
            Layer::Llc { .. } | Layer::Snap | Layer::Ipx(_) => {}
            Layer::Decnet(_) | Layer::NspData | Layer::Ddp(_) | Layer::AppletalkEcho => {}
        }
    }
    checksums.reverse();
    Ok(checksums)
}

/// A modified field: some bits of up to 16 bytes.
#[derive(Clone, Debug)]
struct FieldWrite {
    bytes: Range<usize>,
    /// Bits to the right of the field within those bytes.
    shift: u32,
    mask: u128,
    pattern: Pattern,
}

impl FieldWrite {
    fn apply(&self, index: u64, frame: &mut [u8]) {
        let field = &mut frame[self.bytes.clone()];
        let old = field.iter().fold(0u128, |value, byte| value << 8 | u128::from(*byte));
        let new = (u128::from(self.pattern.value_at(index)) << self.shift) & self.mask;
        let value = (old & !self.mask) | new;
        field.copy_from_slice(&value.to_be_bytes()[16 - self.bytes.len()..]);
    }
}

fn find_writes(
    layout: &Layout,
    modifiers: &[Modifier],
    untouchable: &[Range<usize>],
) -> Result<Vec<FieldWrite>, BuildError> {
    let mut writes = Vec::new();
    for Modifier { field, pattern } in modifiers {
        let refuse = |why| Err(BuildError::Modifier { field: *field, why });
        if let Some(why) = pattern.fault() {
            return refuse(why);
        }
        let is_udp = matches!(field, Field::UdpSrc | Field::UdpDst);
        if is_udp && layout.udp_left_out() {
            continue;
        }
        if let Some(why) = bad_shape(*field) {
            return refuse(why);
        }
        let Some((bytes, shift, bits)) = place_of(*field, layout) else {
            return refuse("the template has no such field");
        };
        if bits < 64 && pattern.largest() >> bits != 0 {
            return refuse("its values do not fit the field");
        }
        if bytes.end > layout.frame_len() {
            return refuse("it lies beyond the end of the frame");
        }
        if untouchable.iter().any(|range| range.start < bytes.end && bytes.start < range.end) {
            return refuse("it would overwrite a checksum or the signature");
        }
        let mask = (u128::MAX >> (128 - bits)) << shift;
        writes.push(FieldWrite { bytes, shift, mask, pattern: pattern.clone() });
    }
    Ok(writes)
}

/// Why a field with a shape of its own cannot be; `None` where it can.
fn bad_shape(field: Field) -> Option<&'static str> {
    match field {
        Field::Raw { width, .. } if !(1..=8).contains(&width) => Some("its width is not 1 to 8"),
        Field::Ipv6Src(Ipv6Bits { lowest, count }) | Field::Ipv6Dst(Ipv6Bits { lowest, count })
            if !(1..=64).contains(&count) || u32::from(lowest) + u32::from(count) > 128 =>
        {
            Some("its bits are not 1 to 64 of an address")
        }
        _ => None,
    }
}

/// The bytes that hold a field, the bits to its right in them, and its width in bits.
fn place_of(field: Field, layout: &Layout) -> Option<(Range<usize>, u32, u32)> {
    let whole = |at: usize, len: usize| (at..at + len, 0, 8 * len as u32);
    let address_bits =
        |at: usize, bits: Ipv6Bits| (at..at + 16, u32::from(bits.lowest), u32::from(bits.count));
    let in_layer = |found: &dyn Fn(&Layer) -> Option<usize>, len: usize| {
        layout.find(|at, layer| found(layer).map(|offset| whole(at + offset, len)))
    };
    let is_ipv4 = |layer: &Layer| matches!(layer, Layer::Ipv4(_));
    let ipv6_at = || layout.find(|at, layer| matches!(layer, Layer::Ipv6(_)).then_some(at));
    let is_udp = |layer: &Layer| matches!(layer, Layer::Udp(_));
    let is_tcp = |layer: &Layer| matches!(layer, Layer::Tcp(_));
    match field {
        Field::EthDst => Some(whole(ethernet::DST, 6)),
        Field::EthSrc => Some(whole(ethernet::SRC, 6)),
        Field::VlanId { tag } => layout
            .places()
            .iter()
            .filter(|(_, layer)| matches!(layer, Layer::Vlan { .. }))
            .nth(tag.into())
            .map(|(at, _)| (*at..at + 2, 0, 12)),
        Field::Ipv4Src => in_layer(&|layer| is_ipv4(layer).then_some(ipv4::SRC), 4),
        Field::Ipv4Dst => in_layer(&|layer| is_ipv4(layer).then_some(ipv4::DST), 4),
        Field::Ipv6Src(bits) => ipv6_at().map(|at| address_bits(at + ipv6::SRC, bits)),
        Field::Ipv6Dst(bits) => ipv6_at().map(|at| address_bits(at + ipv6::DST, bits)),
        Field::UdpSrc => in_layer(&|layer| is_udp(layer).then_some(udp::SRC_PORT), 2),
        Field::UdpDst => in_layer(&|layer| is_udp(layer).then_some(udp::DST_PORT), 2),
        Field::TcpSrc => in_layer(&|layer| is_tcp(layer).then_some(tcp::SRC_PORT), 2),
        Field::TcpDst => in_layer(&|layer| is_tcp(layer).then_some(tcp::DST_PORT), 2),
        Field::Dscp => layout.find(|at, layer| match layer {
            Layer::Ipv4(_) => Some((at + 1..at + 2, 2, 6)),
            Layer::Ipv6(_) => Some((at..at + 2, 6, 6)),
            _ => None,
        }),
        Field::Raw { offset, width } => Some(whole(offset.into(), width.into())),
    }
}
