//! Why nothing may have come back, by the names of the options: what was left out, and what was given.

use crate::options::Options;
use crate::setup::Subject;
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
    let Ok(subject) = Subject::of(options) else { return suspects };
    suspects.extend(of_tags(options, &subject));
    if let Subject::Between(_) = subject {
        suspects.extend(of_addresses(options));
    }
    suspects
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
            let gateways: Vec<String> = gateways.iter().map(ToString::to_string).collect();
            vec![format!(
                "--gateway {} answered, so the device is there. Does it forward (sysctl net.ipv4.ip_forward), has it \
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
        let routed =
            Options { gateway: Some(gateways.to_vec()), vlan: Some(vec![7, 9]), ..with_addresses };
        let told = of(&routed, Some(false));
        assert!(told[0].contains("--rewrite mac,ip") && told[1].contains("--vlan 7,9"), "{told:?}");
        assert!(told[2].contains("10.0.1.2/24") && told[2].contains("ip_forward"), "{told:?}");
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
