//! The flows of a configuration in a file, for `netanvil traffic`: what a client would have sent to the API, without
//! one.

use crate::engine::{port_ids, typed};
use crate::error::Refusal;
use crate::flow::{self, Frames, Ground};
use crate::model::{Config, Flow, FlowDurationChoice, FlowRateChoice};
use std::collections::BTreeMap;
use traffic::replay::Rewrite;
use trial::PortId;
use units::{FrameRate, LineRate};
use wire::signature::{Form, Key};

/// A flow of a file.
#[derive(Clone, PartialEq, Debug)]
pub struct FileFlow {
    /// Its name.
    pub name: String,
    /// Its rate.
    pub rate: FrameRate,
    frames: Frames,
}

impl FileFlow {
    /// One period of its frames, without FCS, between these addresses. Each ends with a signature of [`Form::Full`],
    /// which is part of its payload.
    pub fn frames(&self, rewrite: &Rewrite, (key, stream): (Key, u16)) -> Vec<Vec<u8>> {
        let frames = self.frames.clone().readdressed(rewrite).ready(0, key, stream);
        frames.into_iter().map(|frame| frame.bytes).collect()
    }

    /// Its longest frame, FCS included.
    pub fn longest_bytes(&self) -> u32 {
        self.frames.sizes().iter().copied().max().unwrap_or(0)
    }
}

/// Reads a configuration of the API (JSON) and gives its flows. They all go from its first port to its second: these
/// are the tester's, whatever their locations. `with_macs` says that hardware addresses will be those of the tester.
///
/// # Errors
/// Everything in the file that would not be sent as it says, each with its place.
pub fn flows_of_file(text: &str, with_macs: bool) -> Result<Vec<FileFlow>, Vec<String>> {
    let request = serde_json::from_str(text).map_err(|error| vec![format!("no JSON: {error}")])?;
    let (config, _) = typed::<Config>("Config", request).map_err(|refused| refused.errors)?;
    let in_words = |errors: Vec<Refusal>| errors.iter().map(Refusal::to_string).collect();
    let ports = port_ids(&config);
    check(&config, &ports).map_err(in_words)?;
    let interfaces = crate::device::interfaces(&config, &ports).map_err(in_words)?;
    // No rate is a share of it: those are refused above.
    let line_rates = vec![LineRate::from_gbps(10); ports.len()];
    let ground = Ground { ports: &ports, line_rates: &line_rates, interfaces: &interfaces };
    let plans = flow::plans(&config, &ground).map_err(in_words)?;
    let flows = plans.iter().enumerate().map(|(at, plan)| ready(plan, at, with_macs));
    let (flows, errors): (Vec<_>, Vec<_>) = flows.partition(Result::is_ok);
    match errors.is_empty() {
        true => Ok(flows.into_iter().filter_map(Result::ok).collect()),
        false => Err(in_words(errors.into_iter().filter_map(Result::err).collect())),
    }
}

/// What the API serves, and traffic by hand does not.
fn check(config: &Config, ports: &BTreeMap<String, PortId>) -> Result<(), Vec<Refusal>> {
    let mut errors = vec![];
    let mut refuse = |path: &str, what: &str| errors.push(Refusal::new(path, what.into()));
    if ports.len() != 2 {
        refuse("ports", "name two ports: flows go from the first to the second");
    }
    if config.flows.is_empty() {
        refuse("flows", "there is none: nothing to send");
    }
    for (at, _) in config.devices.iter().enumerate().filter(|(_, device)| device.bgp.is_some()) {
        refuse(
            &format!("devices[{at}].bgp"),
            "traffic speaks no BGP; leave it out, or use netanvil otg",
        );
    }
    if !config.captures.is_empty() {
        refuse("captures", "traffic writes no captures; leave them out");
    }
    for (at, flow) in config.flows.iter().enumerate() {
        let path = format!("flows[{at}]");
        if flow.duration.choice != FlowDurationChoice::Continuous {
            let what = "all flows are sent for --duration; write continuous";
            refuse(&format!("{path}.duration"), what);
        }
        if is_share(flow) {
            let what =
                "a share of a line that is not known yet; write pps, bps, kbps, mbps or gbps";
            refuse(&format!("{path}.rate"), what);
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn is_share(flow: &Flow) -> bool {
    flow.rate.choice == FlowRateChoice::Percentage
}

fn ready(plan: &flow::FlowPlan, at: usize, with_macs: bool) -> Result<FileFlow, Refusal> {
    let path = format!("flows[{at}]");
    let [leg] = &plan.legs[..] else {
        let what = format!("{} pairs of ports or devices; write a flow for each", plan.legs.len());
        return Err(Refusal::new(&format!("{path}.tx_rx"), what));
    };
    if leg.from != PortId(0) || leg.to.iter().any(|to| *to != PortId(1)) {
        let what = "traffic sends from the first port of the file to the second; exchange their names, or write \
                    a file for each direction";
        return Err(Refusal::new(&format!("{path}.tx_rx"), what.into()));
    }
    if let Some(gateway) = leg.gateway.filter(|_| !with_macs) {
        let what = format!(
            "the hardware address of {gateway} is not known: add --rewrite mac, or write gateway_mac"
        );
        return Err(Refusal::new(&format!("{path}.packet[0].ethernet.dst"), what));
    }
    if leg.frames.form() != Some(Form::Full) {
        let what = format!(
            "no room for the {} bytes by which frames are known; make them longer",
            Form::Full.len_bytes()
        );
        return Err(Refusal::new(&format!("{path}.size"), what));
    }
    if leg.frames.has_bad_sums() {
        let what = "traffic sends good checksums only; leave `bad` and given checksums out";
        return Err(Refusal::new(&format!("{path}.packet"), what.into()));
    }
    Ok(FileFlow { name: plan.name.clone(), rate: leg.pace.rate, frames: leg.frames.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use wire::ethernet::MacAddr;
    use wire::signature;

    fn config() -> Value {
        json!({
            "ports": [{"name": "p1", "location": "eth1"}, {"name": "p2", "location": "eth2"}],
            "flows": [{
                "name": "f1",
                "tx_rx": {"choice": "port", "port": {"tx_name": "p1", "rx_names": ["p2"]}},
                "packet": [
                    {"choice": "ethernet", "ethernet": {
                        "src": {"choice": "value", "value": "02:00:00:00:00:01"},
                        "dst": {"choice": "value", "value": "02:00:00:00:00:02"}}},
                    {"choice": "ipv4", "ipv4": {
                        "src": {"choice": "value", "value": "198.18.0.1"},
                        "dst": {"choice": "value", "value": "198.19.0.1"}}},
                    {"choice": "udp", "udp": {
                        "dst_port": {"choice": "increment", "increment": {"start": 5000, "step": 1, "count": 3}}}}
                ],
                "size": {"choice": "fixed", "fixed": 128},
                "rate": {"choice": "pps", "pps": 2500},
                "metrics": {"enable": true}
            }]
        })
    }

    #[test]
    fn a_flow_is_its_frames_and_its_rate() {
        let flows = flows_of_file(&config().to_string(), false).unwrap();
        assert_eq!((flows.len(), flows[0].name.as_str()), (1, "f1"));
        assert_eq!(flows[0].rate, FrameRate::from_fps(2_500));
        // 128 bytes with FCS; destination ports 5000 to 5002 (RFC 768: bytes 36 and 37 of the frame).
        let frames = flows[0].frames(&Rewrite::default(), (Key::from_seed(0), 0));
        assert!(frames.iter().all(|frame| frame.len() == 124 && frame[..6] == [2, 0, 0, 0, 0, 2]));
        let ports: Vec<u16> =
            frames.iter().map(|frame| u16::from_be_bytes([frame[36], frame[37]])).collect();
        assert_eq!(ports, [5_000, 5_001, 5_002]);
    }

    /// Each frame has the addresses asked for, and good checksums for its own signature: RFC 791, RFC 768.
    #[test]
    fn other_addresses_and_another_key_leave_checksums_good() {
        let flows = flows_of_file(&config().to_string(), false).unwrap();
        let rewrite = Rewrite {
            macs: Some((MacAddr([6; 6]), MacAddr([8; 6]))),
            ipv4: Some(([10, 0, 0, 1].into(), [10, 0, 0, 2].into())),
            ipv6: None,
        };
        let key = Key::from_seed(77);
        for frame in flows[0].frames(&rewrite, (key, 5)) {
            assert_eq!((&frame[..6], &frame[6..12]), (&[8; 6][..], &[6; 6][..]));
            assert_eq!(frame[26..34], [10, 0, 0, 1, 10, 0, 0, 2]);
            assert!(wire::verify::transport_is_good(&frame));
            let packet = wire::ipv4::View::new_checked(&frame[14..]).unwrap();
            assert_eq!(packet.verify_checksum(), Ok(()));
            assert_eq!(signature::read(Form::Full, key, &frame).map(|stamp| stamp.stream), Some(5));
        }
    }

    /// A custom header in the place of Ethernet has addresses, too; what is behind an MPLS label is somebody else's.
    #[test]
    fn other_addresses_are_those_of_the_frame_and_of_a_packet_right_behind_its_tags() {
        let rewrite = Rewrite {
            macs: Some((MacAddr([6; 6]), MacAddr([8; 6]))),
            ipv4: Some(([10, 0, 0, 1].into(), [10, 0, 0, 2].into())),
            ipv6: None,
        };
        let ipv4 = config()["flows"][0]["packet"][1].clone();
        let ethernet = json!({"choice": "ethernet", "ethernet": {}});
        let vlan = json!({"choice": "vlan", "vlan": {}});
        let mpls = json!({"choice": "mpls", "mpls": {}});
        let bytes = "0200000000010200000000020800";
        let custom = json!({"choice": "custom", "custom": {"bytes": bytes}});
        let own = [198, 18, 0, 1, 198, 19, 0, 1];
        for (packet, expected) in [
            (json!([custom, ipv4]), [10, 0, 0, 1, 10, 0, 0, 2]),
            (json!([ethernet, vlan, ipv4]), [10, 0, 0, 1, 10, 0, 0, 2]),
            (json!([ethernet, mpls, ipv4]), own),
        ] {
            let mut config = config();
            config["flows"][0]["packet"] = packet;
            let flows = flows_of_file(&config.to_string(), false).unwrap();
            let frame = flows[0].frames(&rewrite, (Key::from_seed(0), 0)).remove(0);
            let header = wire::ethernet::View::new_unchecked(&frame[..]);
            assert_eq!((header.src(), header.dst()), (MacAddr([6; 6]), MacAddr([8; 6])));
            assert!(frame.windows(8).any(|part| part == expected), "{config}");
        }
    }

    /// The place of what is wrong, and a word of what to do.
    #[test]
    fn what_would_not_be_sent_as_it_says_is_refused_with_its_place() {
        let flow = |key: &str, value: Value| {
            let mut config = config();
            config["flows"][0][key] = value;
            config
        };
        let captures = json!([{"name": "c", "port_names": ["p1"]}]);
        let fixed = json!({"choice": "fixed_packets", "fixed_packets": {"packets": 5}});
        let back = json!({"choice": "port", "port": {"tx_name": "p2", "rx_names": ["p1"]}});
        let cases = [
            (flow("duration", fixed), "flows[0].duration: ", "continuous"),
            (
                flow("rate", json!({"choice": "percentage", "percentage": 5})),
                "flows[0].rate: ",
                "pps",
            ),
            (flow("tx_rx", back), "flows[0].tx_rx: ", "exchange"),
            (flow("size", json!({"choice": "fixed", "fixed": 63})), "flows[0].size", "64"),
            (flow("size", json!({"choice": "fixed", "fixed": 64})), "", ""),
            (
                {
                    let mut c = config();
                    c["captures"] = captures;
                    c
                },
                "captures: ",
                "leave them out",
            ),
            (
                {
                    let mut c = config();
                    c["ports"] = json!([{"name": "p1"}]);
                    c
                },
                "ports: ",
                "two ports",
            ),
            (
                {
                    let mut c = config();
                    c["flows"] = json!([]);
                    c
                },
                "flows: ",
                "nothing to send",
            ),
            (flow("colour", json!("blue")), "colour", ""),
        ];
        for (config, place, remedy) in cases {
            let told = flows_of_file(&config.to_string(), false);
            match place {
                "" => assert!(told.is_ok(), "{told:?}"),
                _ => {
                    let told = told.expect_err(place).join("\n");
                    assert!(told.contains(place) && told.contains(remedy), "{place}: {told}");
                }
            }
        }
        assert!(flows_of_file("{", false).unwrap_err()[0].contains("no JSON"));
    }
}
