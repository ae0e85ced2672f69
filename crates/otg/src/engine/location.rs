//! Where a port is: `eth1`, `xdp:eth1`, `af_xdp:eth1` or `af_packet:eth1`.

use ports::PortType;

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
    let ports::Location { host, interface, port_type } = text.parse()?;
    if host.is_some() {
        return Err(format!(
            "{text}: this server uses ports of its own host; write eth1 or af_packet:eth1, or use netanvil run or \
             netanvil traffic"
        ));
    }
    if port_type.is_some_and(|kind| !kind.has_interface()) {
        return Err(format!(
            "{text}: this server sets links and reads counters of interfaces, and a dpdk port has none; write \
             eth1 or af_packet:eth1, or use netanvil run or netanvil traffic"
        ));
    }
    Ok(Location { interface, port_type: port_type.unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_an_interface_with_or_without_a_kind_of_port() {
        let of = |text| parse(text).map(|location| (location.port_type, location.interface));
        assert_eq!(of("eth1"), Ok((PortType::AUTO, "eth1".into())));
        assert_eq!(of("af_packet:eth1"), Ok((PortType::AF_PACKET, "eth1".into())));
        assert!(parse("dpdk:net_memif0,role=client").unwrap_err().contains("netanvil traffic"));
        for wrong in [
            "",
            "pfring:eth1",
            "hostA:eth1",
            "xdp:",
            "a/b",
            "10.0.0.1:5555",
            "a name",
            "sixteen-letters-",
        ] {
            assert!(parse(wrong).unwrap_err().contains("af_packet:eth1"), "{wrong}");
        }
    }
}
