//! Why nothing may have come back, by the names of the options: what was left out, and what was given.

use crate::options::Options;
use crate::setup::Subject;
use method::ExtensionHeader;
use testbed::DeviceKind;

/// What to look at, the likeliest first. `rewrites` says whether captured frames bear the tester's addresses;
/// none where frames are the tester's own.
pub fn of(options: &Options, rewrites: Option<bool>) -> Vec<String> {
    let mut suspects = vec![];
    if rewrites == Some(false) {
        suspects.push(
            "--rewrite is not given: the device forwards captured addresses only if it knows them. \
             Write --rewrite mac,ip"
                .to_owned(),
        );
    }
    suspects.extend(of_extension_headers(options));
    let Ok(subject) = Subject::of(options) else { return suspects };
    suspects.extend(of_tags(options, &subject));
    if let Subject::Between(_) = subject {
        suspects.extend(of_addresses(options));
    }
    suspects
}

/// Headers for which a device may drop a frame whole; none where other frames were sent beside them.
fn of_extension_headers(options: &Options) -> Option<String> {
    let headers = options.extension_headers.as_deref().unwrap_or_default();
    let is_every_frame = options.ipv6_percent.is_none_or(|percent| percent >= 100);
    let is_suspect = is_every_frame && headers.contains(&ExtensionHeader::HopByHop);
    is_suspect.then(|| {
        "--extension-headers hop_by_hop: every frame had hop-by-hop options, and a device may filter those, as many \
         do (RFC 9098). Leave the option out to see whether other frames come through"
            .to_owned()
    })
}

/// Addresses that the device must know, and may not.
fn of_addresses(options: &Options) -> Vec<String> {
    match (&options.address, &options.gateway) {
        (None, None) => vec![
            "--address and --gateway are not given, so netanvil takes the device for a bridge. For a router \
             write --address 198.18.1.2/24,198.19.1.2/24 --gateway 198.18.1.1,198.19.1.1 (its own addresses)"
                .to_owned(),
        ],
        (Some(_), None) => vec![
            "--gateway is not given, so netanvil takes the device for a bridge. For a router write the \
             device's address at each port: --gateway 198.18.1.1,198.19.1.1"
                .to_owned(),
        ],
        (own, Some(gateways)) => {
            let own = own.as_deref().unwrap_or_default();
            let last = own.last().map_or("the last --address", String::as_str);
            let forwarding = match gateways.first().is_some_and(|gateway| gateway.is_ipv6()) {
                true => "net.ipv6.conf.all.forwarding",
                false => "net.ipv4.ip_forward",
            };
            let gateways: Vec<String> = gateways.iter().map(ToString::to_string).collect();
            vec![format!(
                "--gateway {} answered, so the device is there. Does it forward (sysctl {forwarding}), has it \
                 a route to {last}, and does no filter of it drop UDP?",
                gateways.join(",")
            )]
        }
    }
}

/// Tags that the device must have, and may not.
fn of_tags(options: &Options, subject: &Subject) -> Option<String> {
    let tags: Vec<String> = options.vlan.iter().flatten().map(ToString::to_string).collect();
    let tags = tags.join(",");
    let is_router = match subject {
        Subject::Built(kind) => *kind == DeviceKind::LinuxRouter,
        Subject::Between(_) => options.gateway.is_some(),
        Subject::Simulated(_) => false,
    };
    match (tags.is_empty(), subject) {
        (true, Subject::Between(_)) => Some(
            "--vlan is not given, so frames bear no tag. If the device's ports expect one, write --vlan ID".into(),
        ),
        (true, _) => None,
        (false, Subject::Built(_)) if is_router => {
            Some(format!("--vlan {tags}: a linux-router has no VLANs. Leave --vlan out"))
        }
        (false, _) => Some(format!(
            "--vlan {tags}: the device must have this VLAN at both ports, the outer tag first. Compare it with the \
             device's configuration, or leave --vlan out"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(options: &Options, rewrites: Option<bool>) -> Vec<String> {
        let first = |text: &String| text.split([' ', ':']).next().unwrap_or_default().to_owned();
        of(options, rewrites).iter().map(first).collect()
    }

    #[test]
    fn what_was_left_out_is_suspected_by_its_name() {
        let ports = Options {
            ports: Some(["eth1", "eth2"].map(|name| name.parse().unwrap()).to_vec()),
            ..Options::default()
        };
        assert_eq!(named(&ports, None), ["--vlan", "--address"]);
        let own = vec!["10.0.0.2/24".into(), "10.0.1.2/24".into()];
        let with_addresses = Options { address: Some(own), ..ports.clone() };
        assert_eq!(named(&with_addresses, None), ["--vlan", "--gateway"]);
        let gateways = ["10.0.0.1", "10.0.1.1"].map(|text| text.parse().unwrap());
        let routed = Options {
            gateway: Some(gateways.to_vec()),
            vlan: Some(vec![7, 9]),
            ..with_addresses.clone()
        };
        let told = of(&routed, Some(false));
        assert!(told[0].contains("--rewrite mac,ip") && told[1].contains("--vlan 7,9"), "{told:?}");
        assert!(told[2].contains("10.0.1.2/24") && told[2].contains("ip_forward"), "{told:?}");
        // The switch of IPv4 is no matter of an IPv6 router.
        let gateways = ["2001:2::1", "2001:2:0:8000::1"].map(|text| text.parse().unwrap());
        let routed = Options { gateway: Some(gateways.to_vec()), ..with_addresses };
        let told = of(&routed, None);
        assert!(told[1].contains("sysctl net.ipv6.conf.all.forwarding"), "{told:?}");
        assert!(!told[1].contains("ipv4"), "{told:?}");
    }

    #[test]
    fn hop_by_hop_options_are_suspected_where_every_frame_has_them() {
        let built = Options { device: Some(DeviceKind::LinuxRouter), ..Options::default() };
        let with = |headers: Vec<ExtensionHeader>, ipv6_percent| {
            let options =
                Options { extension_headers: Some(headers), ipv6_percent, ..built.clone() };
            of(&options, None)
        };
        let told = with(vec![ExtensionHeader::HopByHop], None);
        assert!(told[0].contains("may filter"), "{told:?}");
        assert_eq!(with(vec![ExtensionHeader::Destination], None), [""; 0]);
        assert_eq!(with(vec![ExtensionHeader::HopByHop], Some(50)), [""; 0]);
    }

    /// A device that netanvil built has the right addresses.
    #[test]
    fn of_a_built_device_only_the_tags_can_be_wrong() {
        let built = Options { device: Some(DeviceKind::LinuxRouter), ..Options::default() };
        assert_eq!(of(&built, None), [""; 0]);
        let tagged = Options { vlan: Some(vec![7]), ..built };
        assert_eq!(named(&tagged, None), ["--vlan"]);
    }
}
