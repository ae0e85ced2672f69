//! The headers that a flow may have, as fields of so many bits.

use super::Refusal;
use super::values::Values;
use crate::model::{Fields, FlowHeader, FlowHeaderChoice, FlowIpv4PriorityChoice, Pattern};
use crate::schema;

/// What a header is, for the header before it and for whoever fills in lengths and checksums.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Ethernet II.
    Ethernet,
    /// An IEEE 802.1Q tag.
    Vlan,
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// ARP.
    Arp,
    /// ICMP echo.
    Icmp,
    /// ICMPv6 echo.
    Icmpv6,
    /// GRE without checksum.
    Gre,
    /// VXLAN.
    Vxlan,
    /// MPLS.
    Mpls,
    /// IGMP.
    Igmp,
    /// PPP, as GRE carries it.
    Ppp,
    /// A PAUSE frame, of a port or of its priorities.
    Pause,
    /// Bytes as given.
    Custom,
}

impl Kind {
    /// As an EtherType, where it can follow an Ethernet header.
    pub fn ether_type(self) -> Option<u16> {
        Some(match self {
            Kind::Vlan => 0x8100,
            Kind::Ipv4 => 0x0800,
            Kind::Ipv6 => 0x86dd,
            Kind::Arp => 0x0806,
            Kind::Mpls => 0x8847,
            // Transparent Ethernet bridging, over GRE (RFC 7637).
            Kind::Ethernet => 0x6558,
            // RFC 2637 section 4.1.
            Kind::Ppp => 0x880b,
            _ => return None,
        })
    }

    /// As a protocol over IP.
    pub fn ip_protocol(self) -> Option<u8> {
        Some(match self {
            Kind::Icmp => 1,
            Kind::Igmp => 2,
            Kind::Ipv4 => 4,
            Kind::Tcp => 6,
            Kind::Udp => 17,
            Kind::Ipv6 => 41,
            Kind::Gre => 47,
            Kind::Icmpv6 => 58,
            _ => return None,
        })
    }
}

/// One field with its values.
#[derive(Clone, PartialEq, Debug)]
pub struct Field {
    /// Its name in the specification.
    pub name: &'static str,
    /// Its width.
    pub bits: u32,
    /// What it holds.
    pub values: Values,
}

/// One header.
#[derive(Clone, PartialEq, Debug)]
pub struct Header {
    /// What it is.
    pub kind: Kind,
    /// In the order in which they are sent.
    pub fields: Vec<Field>,
    /// Of a header of bytes.
    pub bytes: Vec<u8>,
    /// Its place in the request.
    pub path: String,
}

impl Header {
    /// Its length.
    pub fn len_bytes(&self) -> usize {
        let bits: u32 = self.fields.iter().map(|field| field.bits).sum();
        self.bytes.len() + bits as usize / 8
    }

    /// A field of it.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The same, to be changed.
    pub fn field_mut(&mut self, name: &str) -> Option<&mut Field> {
        self.fields.iter_mut().find(|field| field.name == name)
    }

    /// Gives it one source and one destination, where it has such fields.
    pub fn set_ends(&mut self, source: u128, destination: u128) {
        for (name, value) in [("src", source), ("dst", destination)] {
            if let Some(field) = self.field_mut(name) {
                field.values = Values::Listed(vec![value]);
            }
        }
    }

    /// Where a field begins, in bits from the header's start.
    pub fn bit_of(&self, name: &str) -> Option<usize> {
        let at = self.fields.iter().position(|field| field.name == name)?;
        Some(self.fields[..at].iter().map(|field| field.bits as usize).sum())
    }

    /// Of the request's header at `path`; `is_given` says of a field whether the request names it.
    ///
    /// # Errors
    /// Where a field's pattern has no values, or some that do not fit.
    pub fn of(header: &FlowHeader, path: &str) -> Result<Header, Refusal> {
        let absent = || Refusal::new(path, "`choice` names a header that is not there".into());
        macro_rules! table {
            ($kind:expr, $schema:literal, $part:ident, $rows:expr) => {{
                let part = header.$part.as_ref().ok_or_else(absent)?;
                let path = format!("{path}.{}", stringify!($part));
                of_table($kind, ($schema, part), $rows, &path)
            }};
        }
        match header.choice {
            FlowHeaderChoice::Ethernet => {
                table!(Kind::Ethernet, "FlowEthernet", ethernet, ETHERNET)
            }
            FlowHeaderChoice::Vlan => table!(Kind::Vlan, "FlowVlan", vlan, VLAN),
            FlowHeaderChoice::Ipv6 => table!(Kind::Ipv6, "FlowIpv6", ipv6, IPV6),
            FlowHeaderChoice::Tcp => table!(Kind::Tcp, "FlowTcp", tcp, TCP),
            FlowHeaderChoice::Udp => table!(Kind::Udp, "FlowUdp", udp, UDP),
            FlowHeaderChoice::Arp => table!(Kind::Arp, "FlowArp", arp, ARP),
            FlowHeaderChoice::Vxlan => table!(Kind::Vxlan, "FlowVxlan", vxlan, VXLAN),
            FlowHeaderChoice::Mpls => table!(Kind::Mpls, "FlowMpls", mpls, MPLS),
            FlowHeaderChoice::Ethernetpause => {
                table!(Kind::Pause, "FlowEthernetPause", ethernetpause, PAUSE)
            }
            FlowHeaderChoice::Pfcpause => table!(Kind::Pause, "FlowPfcPause", pfcpause, PFC),
            FlowHeaderChoice::Igmpv1 => table!(Kind::Igmp, "FlowIgmpv1", igmpv1, IGMPV1),
            FlowHeaderChoice::Ppp => table!(Kind::Ppp, "FlowPpp", ppp, PPP),
            FlowHeaderChoice::Gre => {
                let made = table!(Kind::Gre, "FlowGre", gre, GRE)?;
                no_gre_checksum(made)
            }
            FlowHeaderChoice::Ipv4 => ipv4(header, path),
            FlowHeaderChoice::Icmp => {
                let echo =
                    header.icmp.as_ref().and_then(|icmp| icmp.echo.clone()).unwrap_or_default();
                of_table(Kind::Icmp, ("FlowIcmpEcho", &echo), ECHO, &format!("{path}.icmp.echo"))
            }
            FlowHeaderChoice::Icmpv6 => {
                let echo =
                    header.icmpv6.as_ref().and_then(|icmp| icmp.echo.clone()).unwrap_or_default();
                of_table(
                    Kind::Icmpv6,
                    ("FlowIcmpv6Echo", &echo),
                    ECHO,
                    &format!("{path}.icmpv6.echo"),
                )
            }
            FlowHeaderChoice::Custom => custom(header, path),
            _ => Err(Refusal::new(path, "netanvil does not support this header".into())),
        }
    }
}

/// A row of a header: a field, its width, and whether the sender fills it in where the request says nothing.
/// A name that begins with `_` is no field of the specification: it is sent as zero.
type Row = (&'static str, u32, bool);

const ETHERNET: &[Row] = &[("dst", 48, true), ("src", 48, true), ("ether_type", 16, true)];
const VLAN: &[Row] =
    &[("priority", 3, false), ("cfi", 1, false), ("id", 12, true), ("tpid", 16, true)];
const IPV4_BEFORE: &[Row] = &[("version", 4, false), ("header_length", 4, true)];
const IPV4_AFTER: &[Row] = &[
    ("total_length", 16, true),
    ("identification", 16, false),
    ("reserved", 1, false),
    ("dont_fragment", 1, false),
    ("more_fragments", 1, false),
    ("fragment_offset", 13, false),
    ("time_to_live", 8, false),
    ("protocol", 8, true),
    ("header_checksum", 16, true),
    ("src", 32, true),
    ("dst", 32, true),
];
const TOS: &[Row] = &[
    ("precedence", 3, false),
    ("delay", 1, false),
    ("throughput", 1, false),
    ("reliability", 1, false),
    ("monetary", 1, false),
    ("unused", 1, false),
];
const DSCP: &[Row] = &[("phb", 6, false), ("ecn", 2, false)];
const IPV6: &[Row] = &[
    ("version", 4, false),
    ("traffic_class", 8, false),
    ("flow_label", 20, false),
    ("payload_length", 16, true),
    ("next_header", 8, true),
    ("hop_limit", 8, false),
    ("src", 128, true),
    ("dst", 128, true),
];
const TCP: &[Row] = &[
    ("src_port", 16, false),
    ("dst_port", 16, false),
    ("seq_num", 32, false),
    ("ack_num", 32, false),
    ("data_offset", 4, true),
    ("_reserved", 3, true),
    ("ecn_ns", 1, false),
    ("ecn_cwr", 1, false),
    ("ecn_echo", 1, false),
    ("ctl_urg", 1, false),
    ("ctl_ack", 1, false),
    ("ctl_psh", 1, false),
    ("ctl_rst", 1, false),
    ("ctl_syn", 1, false),
    ("ctl_fin", 1, false),
    ("window", 16, false),
    ("checksum", 16, true),
    ("_urgent", 16, true),
];
const UDP: &[Row] = &[
    ("src_port", 16, false),
    ("dst_port", 16, false),
    ("length", 16, true),
    ("checksum", 16, true),
];
const ARP: &[Row] = &[
    ("hardware_type", 16, false),
    ("protocol_type", 16, false),
    ("hardware_length", 8, false),
    ("protocol_length", 8, false),
    ("operation", 16, false),
    ("sender_hardware_addr", 48, false),
    ("sender_protocol_addr", 32, false),
    ("target_hardware_addr", 48, false),
    ("target_protocol_addr", 32, false),
];
const ECHO: &[Row] = &[
    ("type", 8, false),
    ("code", 8, false),
    ("checksum", 16, true),
    ("identifier", 16, false),
    ("sequence_number", 16, false),
];
const GRE: &[Row] = &[
    ("checksum_present", 1, false),
    ("reserved0", 12, false),
    ("version", 3, false),
    ("protocol", 16, true),
];
const VXLAN: &[Row] =
    &[("flags", 8, false), ("reserved0", 24, false), ("vni", 24, false), ("reserved1", 8, false)];
const MPLS: &[Row] = &[
    ("label", 20, false),
    ("traffic_class", 3, false),
    ("bottom_of_stack", 1, true),
    ("time_to_live", 8, false),
];
const PAUSE: &[Row] = &[
    ("dst", 48, false),
    ("src", 48, false),
    ("ether_type", 16, false),
    ("control_op_code", 16, false),
    ("time", 16, false),
];

/// IEEE 802.1Qbb; a frame whose destination is left out goes to the group of PAUSE, as the specification has it.
const PFC: &[Row] = &[
    ("dst", 48, false),
    ("src", 48, false),
    ("ether_type", 16, false),
    ("control_op_code", 16, false),
    ("class_enable_vector", 16, false),
    ("pause_class_0", 16, false),
    ("pause_class_1", 16, false),
    ("pause_class_2", 16, false),
    ("pause_class_3", 16, false),
    ("pause_class_4", 16, false),
    ("pause_class_5", 16, false),
    ("pause_class_6", 16, false),
    ("pause_class_7", 16, false),
];
/// RFC 1112, appendix I.
const IGMPV1: &[Row] = &[
    ("version", 4, false),
    ("type", 4, false),
    ("unused", 8, false),
    ("checksum", 16, true),
    ("group_address", 32, false),
];
/// RFC 1662 section 3.1, without flag and check.
const PPP: &[Row] = &[("address", 8, false), ("control", 8, false), ("protocol_type", 16, true)];

fn of_table(
    kind: Kind,
    (schema, part): (&str, &dyn Fields),
    rows: &[Row],
    path: &str,
) -> Result<Header, Refusal> {
    let fields = fields(schema, part, rows, path)?;
    Ok(Header { kind, fields, bytes: vec![], path: path.into() })
}

fn fields(
    schema: &str,
    part: &dyn Fields,
    rows: &[Row],
    path: &str,
) -> Result<Vec<Field>, Refusal> {
    let given = part.fields();
    let field = |(name, bits, is_auto): &Row| {
        let pattern =
            given.iter().find(|(field, _)| field == name).and_then(|(_, pattern)| *pattern);
        let values = match pattern {
            None if name.starts_with('_') => Values::Listed(vec![0]),
            None if *is_auto => Values::Auto,
            None => {
                let pattern = schema::default_pattern(schema, name);
                sure(Values::of(&pattern, *bits, path)?, &pattern)
            }
            Some(pattern) => Values::of(pattern, *bits, &format!("{path}.{name}"))?,
        };
        // Where the sender has nothing to work out, `auto` is the value that the specification gives.
        let values = match (values, pattern, is_auto) {
            (Values::Auto, Some(_), false) => {
                let pattern = schema::default_pattern(schema, name);
                sure(Values::Auto, &pattern)
            }
            (values, ..) => values,
        };
        Ok(Field { name, bits: *bits, values })
    };
    rows.iter().map(field).collect()
}

/// The value that the specification gives where a pattern is `auto`.
fn sure(values: Values, pattern: &Pattern) -> Values {
    let auto = || pattern.auto.as_ref().and_then(serde_json::Value::as_u64);
    match values {
        Values::Auto => Values::Listed(vec![auto().unwrap_or_default().into()]),
        listed => listed,
    }
}

fn ipv4(header: &FlowHeader, path: &str) -> Result<Header, Refusal> {
    let part = header.ipv4.clone().unwrap_or_default();
    let path = format!("{path}.ipv4");
    let mut all = fields("FlowIpv4", &part, IPV4_BEFORE, &path)?;
    let priority = part.priority.clone().unwrap_or_default();
    let own = format!("{path}.priority");
    match priority.choice {
        FlowIpv4PriorityChoice::Raw => {
            all.extend(fields("FlowIpv4Priority", &priority, &[("raw", 8, false)], &own)?);
        }
        FlowIpv4PriorityChoice::Tos => {
            let tos = priority.tos.unwrap_or_default();
            all.extend(fields("FlowIpv4Tos", &tos, TOS, &format!("{own}.tos"))?);
        }
        FlowIpv4PriorityChoice::Dscp => {
            let dscp = priority.dscp.unwrap_or_default();
            all.extend(fields("FlowIpv4Dscp", &dscp, DSCP, &format!("{own}.dscp"))?);
        }
    }
    all.extend(fields("FlowIpv4", &part, IPV4_AFTER, &path)?);
    Ok(Header { kind: Kind::Ipv4, fields: all, bytes: vec![], path })
}

fn no_gre_checksum(header: Header) -> Result<Header, Refusal> {
    let present = header.field("checksum_present").map(|field| &field.values);
    match present {
        Some(Values::Listed(values)) if values.iter().any(|value| *value != 0) => {
            let path = format!("{}.checksum_present", header.path);
            Err(Refusal::new(&path, "netanvil sends GRE without a checksum; write 0".into()))
        }
        _ => Ok(header),
    }
}

fn custom(header: &FlowHeader, path: &str) -> Result<Header, Refusal> {
    let path = format!("{path}.custom");
    let text = header.custom.as_ref().map(|custom| custom.bytes.as_str()).unwrap_or_default();
    let bytes = super::payload::bytes_of(text).ok_or_else(|| {
        Refusal::new(
            &format!("{path}.bytes"),
            "must be pairs of hexadecimal digits, as in 0800 45".into(),
        )
    })?;
    Ok(Header { kind: Kind::Custom, fields: vec![], bytes, path })
}
