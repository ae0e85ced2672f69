//! Where a port is: `eth1`, `xdp:eth1`, `af_xdp:eth1` or `af_packet:eth1`.

use ports::PortType;

/// The longest name of an interface (`IFNAMSIZ`, without the end).
const LONGEST: usize = 15;

/// An interface and what is to carry its frames.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Location {
    /// Its name.
    pub interface: String,
    /// How.
    pub port_type: PortType,
}

/// Reads a location.
///
/// # Errors
/// Where it is none, in words that say what to write.
pub fn parse(text: &str) -> Result<Location, String> {
    let example =
        "write the name of an interface, such as eth1, or xdp:eth1, af_xdp:eth1, af_packet:eth1";
    let (port_type, interface) = match text.split_once(':') {
        None => (PortType::Auto, text),
        Some((kind, interface)) => {
            let known = kind.parse::<PortType>();
            (known.map_err(|_| format!("there is no kind of port `{kind}`; {example}"))?, interface)
        }
    };
    let is_name = |name: &str| {
        let is_bad = |c: char| c == '/' || c == ':' || c.is_whitespace() || c.is_control();
        !name.is_empty()
            && name.len() <= LONGEST
            && !name.contains(is_bad)
            && ![".", ".."].contains(&name)
    };
    match is_name(interface) {
        true => Ok(Location { interface: interface.into(), port_type }),
        false => Err(format!("{interface:?} is no name of an interface; {example}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_an_interface_with_or_without_a_kind_of_port() {
        let of = |text| parse(text).map(|location| (location.port_type, location.interface));
        assert_eq!(of("eth1"), Ok((PortType::Auto, "eth1".into())));
        assert_eq!(of("af_packet:eth1"), Ok((PortType::AfPacket, "eth1".into())));
        for wrong in ["", "dpdk:eth1", "xdp:", "a/b", "10.0.0.1:5555", "a name", "sixteen-letters-"]
        {
            assert!(parse(wrong).unwrap_err().contains("af_packet:eth1"), "{wrong}");
        }
    }
}
