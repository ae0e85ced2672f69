//! Simulated devices by name or file: `--sim router`, `--sim lab/slow-switch.toml`.

use crate::failure::{Failure, Outcome};
use crate::options::{self, BitRate};
use sim::{
    Addresses, BUILT_IN, Description, DescriptionError, DeviceUnderTest, Interface, Protocol,
    SimTester, StaticRoute,
};
use std::path::Path;
use testbed::PortAddresses;
use wire::ethernet::MacAddr;

/// A tester in virtual time and what to call its device.
pub struct Simulated {
    /// Runs trials.
    pub tester: SimTester<Box<dyn DeviceUnderTest>>,
    /// For the report.
    pub name: String,
    /// Whether frames are addressed to the device, and not through it.
    pub routes: bool,
}

/// Reads the device of `--sim`.
pub fn read(name_or_file: &str) -> Outcome<Description> {
    let description: Description = match BUILT_IN.iter().find(|device| device.name == name_or_file)
    {
        Some(device) => options::parse(device.toml, device.name)?,
        None if Path::new(name_or_file).exists() => options::read(Path::new(name_or_file))?,
        None => {
            let names: Vec<&str> = BUILT_IN.iter().map(|device| device.name).collect();
            let failure = Failure::new(format!("no simulated device or file `{name_or_file}`"));
            let failure = options::suggest_nearest(failure, name_or_file, &names);
            return Err(
                failure.help(format!("built in are {}; or name a TOML file", names.join(", ")))
            );
        }
    };
    description.check().map_err(|error| impossible(name_or_file, &error))?;
    Ok(description)
}

/// The device with the test bed's addresses and these routes besides, on links of another rate where
/// one is given.
pub fn build(
    device: &Description,
    name: &str,
    line_rate: Option<BitRate>,
    routes: Vec<StaticRoute>,
) -> Outcome<Simulated> {
    let line_rate = line_rate.unwrap_or(device.line_rate);
    let device = Description { line_rate, ..device.clone() };
    let mut addresses = addresses(device.ports);
    addresses.routes.extend(routes);
    let tester = device.tester(&addresses);
    Ok(Simulated {
        tester: tester.map_err(|error| impossible(name, &error))?,
        name: format!("simulated device {name}"),
        routes: device.route.contains(&Protocol::Ipv4) || !device.bridge,
    })
}

pub fn impossible(name: &str, error: &DescriptionError) -> Failure {
    Failure::new(format!("{name}: {}", error.what)).help(&error.remedy)
}

/// The test bed's plan; hosts stand in for the routers behind which more networks lie, since it is
/// they that make themselves known to the device.
pub fn addresses(ports: usize) -> Addresses {
    let mut plan = Addresses::plan(ports);
    for (port, interface) in plan.interfaces.iter_mut().enumerate() {
        let addresses = PortAddresses::of_port(port);
        let (ipv4, ipv6) = (addresses.ipv4, addresses.ipv6);
        *interface = Interface {
            mac: MacAddr(testbed::device_mac(port)),
            ipv4: (ipv4.device, ipv4.prefix_length),
            ipv6: (ipv6.device, ipv6.prefix_length),
            ..*interface
        };
        let routes = [(false, ipv4.host.into()), (true, ipv6.host.into())];
        for (is_ipv6, via) in routes {
            let mut networks = testbed::destination_networks(port, ports, is_ipv6);
            let others = testbed::OTHER_IPV6_PREFIXES.iter().filter(|_| is_ipv6);
            networks.extend(others.flat_map(|length| testbed::networks_of_prefix(port, *length)));
            plan.routes.extend(networks.iter().map(|network| StaticRoute {
                network: network.address,
                prefix_length: network.prefix_length,
                via,
            }));
        }
    }
    plan
}

/// The largest frame that a simulated device takes, less header and FCS.
pub fn mtu_in_words(device: &Description) -> String {
    match device.max_frame_bytes {
        Some(bytes) => {
            format!("{} bytes (frames up to {bytes} bytes with FCS)", bytes.saturating_sub(18))
        }
        None => "that of Ethernet, 1500 bytes; two ports joined have none".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_device_can_be_built() {
        for device in BUILT_IN {
            let built = build(&read(device.name).unwrap(), device.name, None, vec![]).unwrap();
            assert!(built.name.contains(device.name));
        }
    }

    #[test]
    fn a_misspelt_device_or_key_is_named() {
        assert!(read("ruoter").unwrap_err().to_string().contains("router"));
        let error = options::parse::<Description>("max-frame-byte = 3", "x.toml").unwrap_err();
        assert!(error.to_string().contains("did you mean `max-frame-bytes`?"), "{error}");
    }

    #[test]
    fn an_impossible_value_is_named_with_its_key_and_its_remedy() {
        let error = options::parse::<Description>("[input]\nframes = -5", "x.toml").unwrap_err();
        let error = error.to_string();
        assert!(error.contains("x.toml:2: ") && error.contains("in `frames = -5`"), "{error}");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.toml");
        std::fs::write(&file, "[output]\nframes = 0\n").unwrap();
        let error = read(file.to_str().unwrap()).unwrap_err().to_string();
        assert!(error.contains("`output.frames = 0` is impossible"), "{error}");
        assert!(error.contains("help: write 1 or more"), "{error}");
    }
}
