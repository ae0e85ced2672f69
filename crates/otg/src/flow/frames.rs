//! The frames of a flow: headers as bytes, with the lengths, protocols and checksums that the sender works out.

use super::Refusal;
use super::header::{Field, Header, Kind};
use super::payload::Payload;
use super::values::{Values, mac_number};
use traffic::replay::Rewrite;
use trial::StreamFrame;
use wire::checksum::Sum;
use wire::ethernet;
use wire::signature::{self, Form, Key, Stamp};

/// FCS, which a frame's bytes are without.
pub const FCS_BYTES: usize = 4;
/// More ready frames than this no flow has.
const FRAMES_MAX: u64 = 1 << 20;
/// More memory than this they do not take.
const BYTES_MAX: u64 = 256 << 20;

/// What the frames of a flow are made of.
#[derive(Clone, PartialEq, Debug)]
pub struct Frames {
    headers: Vec<Header>,
    /// With FCS; that of frame `n` is number `n mod len`.
    sizes: Vec<u32>,
    form: Option<Form>,
    payload: Payload,
}

impl Frames {
    /// Of these headers, payload and sizes. `is_counted`: a flow without room for a signature is refused.
    ///
    /// # Errors
    /// Where a size has no room, or patterns repeat too late.
    pub fn new(
        (headers, payload): (Vec<Header>, Payload),
        sizes: Vec<u32>,
        (path, is_counted): (&str, bool),
    ) -> Result<Frames, Refusal> {
        let header_bytes: usize = headers.iter().map(Header::len_bytes).sum();
        let least = sizes.iter().min().map_or(0, |size| *size as usize);
        let size_path = format!("{path}.size");
        let needed = header_bytes + FCS_BYTES;
        if least < needed {
            let what = format!("{least} bytes; its headers and the FCS take {needed}");
            return Err(Refusal::new(&size_path, what));
        }
        let form = Form::fitting(least - needed);
        if is_counted && form.is_none() {
            let room = needed + Form::Compact.len_bytes();
            let what = format!(
                "{least} bytes leave no room for what the frames are counted by; write {room} or more, or \
                 disable the metrics of the flow"
            );
            return Err(Refusal::new(&size_path, what));
        }
        let frames = Frames { headers, sizes, form, payload };
        let longest = frames.sizes.iter().max().map_or(0, |size| u64::from(*size));
        let period = frames.period();
        if period > FRAMES_MAX || period * longest > BYTES_MAX {
            let what = format!(
                "its patterns and sizes repeat after {period} frames; at most {FRAMES_MAX} frames and \
                 {BYTES_MAX} bytes of frames are possible"
            );
            return Err(Refusal::new(&format!("{path}.packet"), what));
        }
        Ok(frames)
    }

    /// After how many frames all repeats.
    pub fn period(&self) -> u64 {
        let fields = self.headers.iter().flat_map(|header| &header.fields);
        let periods = fields.map(|field| field.values.period());
        periods.chain([self.sizes.len() as u64]).fold(1, lcm)
    }

    /// Whether a checksum is to be wrong, or to be a given one.
    pub fn has_bad_sums(&self) -> bool {
        let names = ["checksum", "header_checksum"];
        let fields = self.headers.iter().flat_map(|header| &header.fields);
        fields
            .filter(|field| names.contains(&field.name))
            .any(|field| matches!(field.values, Values::Bad | Values::Listed(_)))
    }

    /// By what the frames are known; none where they have no room for it.
    pub fn form(&self) -> Option<Form> {
        self.form
    }

    /// Sizes with FCS, over and over.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// Sizes with FCS of the first `frames` frames, added up.
    pub fn bytes_of(&self, frames: u64) -> u64 {
        let round: u64 = self.sizes.iter().map(|size| u64::from(*size)).sum();
        let rounds = frames / self.sizes.len() as u64;
        let rest = (frames % self.sizes.len() as u64) as usize;
        rounds * round + self.sizes[..rest].iter().map(|size| u64::from(*size)).sum::<u64>()
    }

    /// One period of ready frames, which begins with frame number `first`.
    pub fn ready(&self, first: u64, key: Key, stream: u16) -> Vec<StreamFrame> {
        let frame = |n| StreamFrame { bytes: self.frame(first + n, key, stream), form: self.form };
        (0..self.period()).map(frame).collect()
    }

    /// Frame `n`, without FCS.
    fn frame(&self, n: u64, key: Key, stream: u16) -> Vec<u8> {
        let size = self.sizes[(n % self.sizes.len() as u64) as usize] as usize;
        let mut bytes = vec![0; size - FCS_BYTES];
        let starts = self.starts();
        for (at, header) in self.headers.iter().enumerate() {
            let start = starts[at];
            bytes[start..start + header.bytes.len()].copy_from_slice(&header.bytes);
            let mut bit = start * 8;
            for field in &header.fields {
                let length = bytes.len() - start;
                let value = field.values.of_frame(n);
                let value = value.unwrap_or_else(|| self.worked_out((at, header), field, length));
                put(&mut bytes, bit, field.bits, value);
                bit += field.bits as usize;
            }
        }
        let headers: usize = self.headers.iter().map(Header::len_bytes).sum();
        self.payload.fill(&mut bytes[headers..]);
        if let Some(form) = self.form {
            let stamp = Stamp { stream, sequence: 0, transmit_ticks: 0 };
            signature::write(form, key, stamp, &mut bytes);
        }
        for at in (0..self.headers.len()).rev() {
            self.sum(at, &starts, &mut bytes);
        }
        bytes
    }

    fn starts(&self) -> Vec<usize> {
        let mut next = 0;
        let mut start = |header: &Header| {
            let start = next;
            next += header.len_bytes();
            start
        };
        self.headers.iter().map(&mut start).collect()
    }

    /// A field that the sender works out, in a header from whose start `length` bytes remain; checksums come
    /// later.
    fn worked_out(&self, (at, header): (usize, &Header), field: &Field, length: usize) -> u128 {
        let next = self.headers.get(at + 1).map(|next| next.kind);
        let value = match (header.kind, field.name) {
            (_, "ether_type") | (Kind::Vlan, "tpid") | (Kind::Gre, "protocol") => {
                // What the specification gives where nothing follows that has a number.
                next.and_then(Kind::ether_type).unwrap_or(0xffff).into()
            }
            (Kind::Ipv4, "header_length") | (Kind::Tcp, "data_offset") => 5,
            (Kind::Ipv4, "total_length") | (Kind::Udp, "length") => length,
            (Kind::Ipv6, "payload_length") => length.saturating_sub(header.len_bytes()),
            (Kind::Ipv4, "protocol") => next.and_then(Kind::ip_protocol).unwrap_or(61).into(),
            (Kind::Ipv6, "next_header") => next.and_then(Kind::ip_protocol).unwrap_or(59).into(),
            (Kind::Ppp, "protocol_type") => match next {
                Some(Kind::Ipv6) => 0x57,
                _ => 0x21,
            },
            (Kind::Vlan, "id") => 1,
            (Kind::Mpls, "bottom_of_stack") => usize::from(next != Some(Kind::Mpls)),
            _ => 0,
        };
        value as u128
    }

    /// Fills in a header's checksum, where the sender works it out.
    fn sum(&self, at: usize, starts: &[usize], bytes: &mut [u8]) {
        let header = &self.headers[at];
        let name = if header.kind == Kind::Ipv4 { "header_checksum" } else { "checksum" };
        let (Some(field), Some(bit)) = (header.field(name), header.bit_of(name)) else { return };
        if matches!(field.values, Values::Listed(_)) {
            return;
        }
        let start = starts[at];
        let covered = match header.kind {
            Kind::Ipv4 => start..start + header.len_bytes(),
            _ => start..bytes.len(),
        };
        let sum = self.pseudo_header(at, starts, bytes).bytes(&bytes[covered]);
        let good = match (header.kind, sum.checksum()) {
            // Zero says that there is none (RFC 768).
            (Kind::Udp, 0) => 0xffff,
            (_, checksum) => checksum,
        };
        // Zero, as UDP over IPv4 has where there is none, would not be bad.
        let bad = if good ^ 0x5555 == 0 { 0x1111 } else { good ^ 0x5555 };
        let value = if field.values == Values::Bad { bad } else { good };
        put(bytes, start * 8 + bit, 16, value.into());
    }

    /// Of TCP, UDP and ICMPv6: the addresses of the packet around it (RFC 9293 section 3.1, RFC 8200 section 8.1).
    fn pseudo_header(&self, at: usize, starts: &[usize], bytes: &[u8]) -> Sum {
        let kind = self.headers[at].kind;
        let Some(protocol) = kind.ip_protocol() else { return Sum::ZERO };
        if !matches!(kind, Kind::Tcp | Kind::Udp | Kind::Icmpv6) {
            return Sum::ZERO;
        }
        let around =
            (0..at).rev().find(|at| matches!(self.headers[*at].kind, Kind::Ipv4 | Kind::Ipv6));
        let Some(around) = around else { return Sum::ZERO };
        let addresses = match self.headers[around].kind {
            Kind::Ipv4 => starts[around] + 12..starts[around] + 20,
            _ => starts[around] + 8..starts[around] + 40,
        };
        let length = (bytes.len() - starts[at]) as u32;
        Sum::ZERO.bytes(&bytes[addresses]).word(protocol.into()).bytes(&length.to_be_bytes())
    }
}

/// Writes the low `bits` of a value from bit `at` on.
fn put(bytes: &mut [u8], at: usize, bits: u32, value: u128) {
    for bit in 0..bits as usize {
        let is_set = value >> (bits as usize - 1 - bit) & 1 == 1;
        let (byte, mask) = ((at + bit) / 8, 0x80 >> ((at + bit) % 8));
        match is_set {
            true => bytes[byte] |= mask,
            false => bytes[byte] &= !mask,
        }
    }
}

fn lcm(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    (a / x.max(1)).saturating_mul(b)
}

impl Frames {
    /// The same between other addresses: those of the frame, and of an IP packet right behind its Ethernet header and
    /// tags. Lengths and checksums follow, since they are worked out from the headers.
    #[must_use]
    pub fn readdressed(mut self, rewrite: &Rewrite) -> Frames {
        if let (Some((source, destination)), Some(first)) = (rewrite.macs, self.headers.first_mut())
        {
            match first.kind {
                Kind::Custom => {
                    let mut header = ethernet::View::new_unchecked(&mut first.bytes);
                    header.set_src(source);
                    header.set_dst(destination);
                }
                _ => first.set_ends(mac_number(source), mac_number(destination)),
            }
        }
        let behind = self.headers.iter_mut().skip(1).find(|header| header.kind != Kind::Vlan);
        if let Some(packet) = behind {
            match (packet.kind, rewrite.ipv4, rewrite.ipv6) {
                (Kind::Ipv4, Some((source, destination)), _) => {
                    packet.set_ends(source.to_bits().into(), destination.to_bits().into());
                }
                (Kind::Ipv6, _, Some((source, destination))) => {
                    packet.set_ends(source.to_bits(), destination.to_bits());
                }
                _ => {}
            }
        }
        self
    }

    /// Puts a destination in the place of one that the sender was to find out.
    pub fn set_destination(&mut self, mac: u128) {
        let field = self.headers.first_mut().and_then(|header| header.field_mut("dst"));
        if let Some(field) = field.filter(|field| field.values == Values::Auto) {
            field.values = Values::Listed(vec![mac]);
        }
    }
}

#[cfg(test)]
mod tests;
