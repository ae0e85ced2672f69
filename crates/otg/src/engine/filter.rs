//! Filters of a capture: which of the frames that arrived a client is given.

use crate::error::Refusal;
use crate::model::{CaptureField, CaptureFilter, CaptureFilterChoice};
use wire::ethernet::{self, EtherType};
use wire::{ipv4, ipv6, vlan};

/// Tags that a VLAN filter finds (IEEE 802.1Q, 802.1ad, and what came before).
const TAGS: [u16; 5] = [0x8100, 0x88a8, 0x9100, 0x9200, 0x9300];

/// All filters of a capture: a frame passes if it passes each.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Filters(Vec<Filter>);

#[derive(Clone, PartialEq, Debug)]
struct Filter {
    layer: Layer,
    tests: Vec<Test>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Layer {
    Ethernet,
    Vlan,
    Ipv4,
    Ipv6,
    /// So many bits long; its one test begins so many bits after the filter before.
    Custom(usize),
}

/// Bits of a header, from its start, and what they are compared with.
#[derive(Clone, PartialEq, Debug)]
struct Test {
    bit: usize,
    bits: usize,
    value: u128,
    mask: u128,
    negate: bool,
}

/// A field of a header, and its width.
type Row<'a> = (&'static str, usize, Option<&'a CaptureField>);

impl Filters {
    /// Those of a capture at `path`.
    ///
    /// # Errors
    /// Where a value does not fit its field, or its mask has it compared with nothing.
    pub fn of(filters: &[CaptureFilter], path: &str) -> Result<Filters, Refusal> {
        let all = filters.iter().enumerate();
        let all = all.map(|(at, filter)| of_filter(filter, &format!("{path}.filters[{at}]")));
        all.collect::<Result<_, _>>().map(Filters)
    }

    /// Whether a frame, without FCS, passes.
    pub fn pass(&self, frame: &[u8]) -> bool {
        // Where the next filter begins, and what the header before says follows.
        let mut place = Place { at_bit: 0, next: None };
        for (number, filter) in self.0.iter().enumerate() {
            if number == 0 && !matches!(filter.layer, Layer::Ethernet | Layer::Custom(_)) {
                place = match after_ethernet(frame, filter.layer) {
                    Some(place) => place,
                    None => return false,
                };
            }
            let Some(end) = end_of(frame, filter, place) else { return false };
            if !filter.tests.iter().all(|test| test.pass(frame, place.at_bit)) {
                return false;
            }
            place = end;
        }
        true
    }
}

#[derive(Clone, Copy)]
struct Place {
    at_bit: usize,
    /// An EtherType.
    next: Option<u16>,
}

/// A filter of a tag or packet that comes first: Ethernet is before it, and before a packet any tags.
fn after_ethernet(frame: &[u8], layer: Layer) -> Option<Place> {
    let header = ethernet::View::peek(frame)?;
    let (mut next, mut rest) = (header.ether_type().0, header.payload());
    while layer != Layer::Vlan && TAGS.contains(&next) {
        let tag = vlan::View::peek(rest)?;
        (next, rest) = (tag.ether_type().0, tag.payload());
    }
    Some(Place { at_bit: (frame.len() - rest.len()) * 8, next: Some(next) })
}

/// What follows a filter's header; nothing where the frame does not have it.
fn end_of(frame: &[u8], filter: &Filter, place: Place) -> Option<Place> {
    let at = place.at_bit / 8;
    let after = |bytes: usize, next: Option<u16>| Some(Place { at_bit: (at + bytes) * 8, next });
    let rest = frame.get(at..).unwrap_or_default();
    let is_next = |kinds: &[u16]| place.next.is_some_and(|next| kinds.contains(&next));
    match filter.layer {
        Layer::Ethernet => {
            after(ethernet::HEADER_LEN, Some(ethernet::View::peek(rest)?.ether_type().0))
        }
        Layer::Vlan if is_next(&TAGS) => {
            after(vlan::HEADER_LEN, Some(vlan::View::peek(rest)?.ether_type().0))
        }
        Layer::Ipv4 if is_next(&[EtherType::IPV4.0]) => {
            let header_len = ipv4::View::peek(rest)?.header_len();
            (ipv4::HEADER_LEN..=rest.len()).contains(&header_len).then_some(())?;
            after(header_len, None)
        }
        Layer::Ipv6 if is_next(&[EtherType::IPV6.0]) => {
            ipv6::View::peek(rest).and_then(|_| after(ipv6::HEADER_LEN, None))
        }
        Layer::Custom(bits) => {
            let end = place.at_bit + bits;
            (end <= frame.len() * 8).then_some(Place { at_bit: end, next: None })
        }
        _ => None,
    }
}

impl Test {
    fn pass(&self, frame: &[u8], start: usize) -> bool {
        let bit = |at: usize| frame.get(at / 8).map(|byte| u128::from(byte >> (7 - at % 8) & 1));
        let from = start + self.bit;
        let value = (from..from + self.bits).try_fold(0, |value, at| Some(value << 1 | bit(at)?));
        value.is_some_and(|value| ((value ^ self.value) & self.mask == 0) != self.negate)
    }
}

fn of_filter(filter: &CaptureFilter, path: &str) -> Result<Filter, Refusal> {
    let absent = || Refusal::new(path, "`choice` names a filter that is not there".into());
    macro_rules! rows {
        ($part:expr, $($field:ident $bits:literal),*) => {
            vec![$((stringify!($field), $bits, Some(&$part.$field))),*]
        };
    }
    let of = |layer, name: &str, rows: Vec<Row<'_>>| {
        Ok(Filter { layer, tests: tests(&rows, &format!("{path}.{name}"))? })
    };
    match filter.choice {
        CaptureFilterChoice::Ethernet => {
            let part = filter.ethernet.as_ref().ok_or_else(absent)?;
            of(Layer::Ethernet, "ethernet", rows!(part, dst 48, src 48, ether_type 16))
        }
        CaptureFilterChoice::Vlan => {
            let part = filter.vlan.as_ref().ok_or_else(absent)?;
            of(Layer::Vlan, "vlan", rows!(part, priority 3, cfi 1, id 12, protocol 16))
        }
        CaptureFilterChoice::Ipv4 => {
            let part = filter.ipv4.as_ref().ok_or_else(absent)?;
            let rows = rows!(part, version 4, header_length 4, priority 8, total_length 16,
                identification 16, reserved 1, dont_fragment 1, more_fragments 1, fragment_offset 13,
                time_to_live 8, protocol 8, header_checksum 16, src 32, dst 32);
            of(Layer::Ipv4, "ipv4", rows)
        }
        CaptureFilterChoice::Ipv6 => {
            let part = filter.ipv6.as_ref().ok_or_else(absent)?;
            let rows = rows!(part, version 4, traffic_class 8, flow_label 20, payload_length 16,
                next_header 8, hop_limit 8, src 128, dst 128);
            of(Layer::Ipv6, "ipv6", rows)
        }
        CaptureFilterChoice::Custom => custom(filter, &format!("{path}.custom")),
    }
}

/// `offset` bits behind the filter before; as long as its value, unless it says how long it is.
fn custom(filter: &CaptureFilter, path: &str) -> Result<Filter, Refusal> {
    let own = filter.custom.clone().unwrap_or_default();
    let bits = match own.bit_length {
        8 => digits(&own.value).len() * 4,
        bits => bits as usize,
    };
    if bits == 0 || bits > 128 {
        let what = format!("{bits} bits; 1 to 128 are possible");
        return Err(Refusal::new(&format!("{path}.bit_length"), what));
    }
    let offset = own.offset.unwrap_or(0) as usize;
    let field = CaptureField { value: own.value, mask: own.mask, negate: own.negate };
    let test = test((offset, bits), &field, path)?;
    Ok(Filter { layer: Layer::Custom(offset + bits), tests: test.into_iter().collect() })
}

fn tests(rows: &[Row<'_>], path: &str) -> Result<Vec<Test>, Refusal> {
    let (mut bit, mut tests) = (0, vec![]);
    for (name, bits, field) in rows {
        if let Some(field) = field {
            tests.extend(test((bit, *bits), field, &format!("{path}.{name}"))?);
        }
        bit += bits;
    }
    Ok(tests)
}

/// None where the field says nothing, which is the specification's default.
fn test(
    (bit, bits): (usize, usize),
    field: &CaptureField,
    path: &str,
) -> Result<Option<Test>, Refusal> {
    let number = |text: &str, property: &str| {
        let too_long = || {
            let what = format!("{text:?} is longer than 128 bits");
            Refusal::new(&format!("{path}.{property}"), what)
        };
        u128::from_str_radix(digits(text), 16).map_err(|_| too_long())
    };
    let (value, mask) = (number(&field.value, "value")?, number(&field.mask, "mask")?);
    let width = if bits >= 128 { u128::MAX } else { (1 << bits) - 1 };
    if value & !width != 0 {
        let what = format!("0x{value:x} does not fit into {bits} bits");
        return Err(Refusal::new(&format!("{path}.value"), what));
    }
    if mask == 0 && (value != 0 || field.negate) {
        let what = "no bit of the value is compared; write a mask such as ff".into();
        return Err(Refusal::new(&format!("{path}.mask"), what));
    }
    let test = Test { bit, bits, value, mask: mask & width, negate: field.negate };
    Ok((mask != 0).then_some(test))
}

fn digits(text: &str) -> &str {
    text.strip_prefix("0x").or(text.strip_prefix("0X")).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// 02:..:02 <- 02:..:01, VLAN 7 priority 3, IPv4 10.0.0.1 -> 10.0.0.2, protocol 17, then ca fe.
    const FRAME: [u8; 40] = [
        2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x81, 0, 0x60, 7, 8, 0, 0x45, 0, 0, 22, 0, 0, 0, 0, 64,
        17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0xca, 0xfe,
    ];

    fn filters(filters: Value) -> Result<Filters, Refusal> {
        let request = json!({"name": "c", "port_names": ["p"], "filters": filters});
        let checked = crate::schema::check("Capture", request).unwrap().value;
        let capture: crate::model::Capture = serde_json::from_value(checked).unwrap();
        Filters::of(&capture.filters, "captures[0]")
    }

    fn passes(all: Value) -> bool {
        filters(all).unwrap().pass(&FRAME)
    }

    #[test]
    fn headers_are_found_one_behind_the_other() {
        let field = |value: &str, mask: &str| json!({"value": value, "mask": mask});
        let vlan = |id: &str| json!({"choice": "vlan", "vlan": {"id": field(id, "fff")}});
        let ethernet = json!({"choice": "ethernet", "ethernet": {"dst": field("020000000002", "FFFFFFFFFFFF")}});
        let ipv4 = |dst: &str| json!({"choice": "ipv4", "ipv4": {"dst": field(dst, "ffffffff")}});
        assert!(passes(json!([])));
        assert!(passes(json!([ethernet, vlan("007"), ipv4("0a000002")])));
        assert!(!passes(json!([ethernet, vlan("008"), ipv4("0a000002")])));
        assert!(!passes(json!([ethernet, ipv4("0a000002")])), "a tag is between them");
        // Alone, a packet is found behind Ethernet and its tags.
        assert!(passes(json!([ipv4("0a000002")])) && !passes(json!([ipv4("0a000003")])));
        assert!(!passes(json!([{"choice": "ipv6", "ipv6": {}}])));
        // Only the bits of the mask count; `negate` turns the answer round.
        let priority = |negate: bool| json!([{"choice": "vlan", "vlan": {"priority": {"value": "1", "mask": "1", "negate": negate}}}]);
        assert!(passes(priority(false)) && !passes(priority(true)));
    }

    #[test]
    fn a_custom_filter_counts_bits_from_the_filter_before() {
        let custom = |offset: u32, value: &str, mask: &str| json!({"choice": "custom", "custom": {"offset": offset, "value": value, "mask": mask}});
        let six = "ffffffffffff";
        // Destination, then source right behind it.
        assert!(passes(json!([custom(0, "020000000002", six), custom(0, "020000000001", six)])));
        assert!(passes(json!([{"choice": "ipv4", "ipv4": {}}, custom(8, "fe", "ff")])));
        assert!(
            !passes(json!([{"choice": "ipv4", "ipv4": {}}, custom(16, "fe", "ff")])),
            "beyond its end"
        );
    }

    #[test]
    fn what_would_compare_nothing_is_refused() {
        let ethernet = |src: Value| json!([{"choice": "ethernet", "ethernet": {"src": src}}]);
        let refused = |all| filters(all).unwrap_err().to_string();
        let told = refused(ethernet(json!({"value": "01"})));
        assert!(told.starts_with("captures[0].filters[0].ethernet.src.mask: no bit"), "{told}");
        let told = refused(ethernet(json!({"value": "01020304050607", "mask": "ff"})));
        assert!(
            told.starts_with("captures[0].filters[0].ethernet.src.value: 0x1020304050607 does"),
            "{told}"
        );
    }
}
