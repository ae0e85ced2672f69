//! Routes that a device has learned, as BIRD tells them, in the words of the model.

use crate::model::*;
use std::net::IpAddr;

/// A route of `show route ... all`.
#[derive(Clone, PartialEq, Debug, Default)]
struct Route {
    network: Option<(IpAddr, u32)>,
    origin: String,
    as_path: String,
    next_hop: Option<IpAddr>,
    med: Option<u32>,
    local_preference: Option<u32>,
    communities: Vec<(u32, u32)>,
}

/// The prefixes of a peer, of the lines of `show route table NAME protocol NAME all`. LOCAL_PREF is told of
/// `internal` peers alone: BIRD gives the others' routes one of its own.
pub fn prefixes(lines: &[String], internal: bool, into: &mut BgpPrefixesState) {
    for route in routes(lines) {
        let Some((address, length)) = route.network else { continue };
        let (ipv4, ipv6) = match route.next_hop {
            Some(IpAddr::V4(hop)) => (Some(hop.to_string()), None),
            Some(IpAddr::V6(hop)) => (None, Some(hop.to_string())),
            None => (None, None),
        };
        let communities: Vec<_> = route.communities.iter().map(community).collect();
        let as_path = Some(ResultBgpAsPath { segments: segments(&route.as_path) });
        let local_preference = route.local_preference.filter(|_| internal);
        macro_rules! state {
            ($state:ident, $origin:ident, $address:ident) => {
                $state {
                    $address: Some(address.to_string()),
                    prefix_length: Some(length),
                    origin: match &route.origin[..] {
                        "IGP" => Some($origin::Igp),
                        "EGP" => Some($origin::Egp),
                        "Incomplete" => Some($origin::Incomplete),
                        _ => None,
                    },
                    ipv4_next_hop: ipv4,
                    ipv6_next_hop: ipv6,
                    communities,
                    as_path,
                    local_preference,
                    multi_exit_discriminator: route.med,
                }
            };
        }
        if address.is_ipv4() {
            let state =
                state!(BgpPrefixIpv4UnicastState, BgpPrefixIpv4UnicastStateOrigin, ipv4_address);
            into.ipv4_unicast_prefixes.push(state);
        } else {
            let state =
                state!(BgpPrefixIpv6UnicastState, BgpPrefixIpv6UnicastStateOrigin, ipv6_address);
            into.ipv6_unicast_prefixes.push(state);
        }
    }
}

fn routes(lines: &[String]) -> Vec<Route> {
    let mut all: Vec<Route> = vec![];
    for line in lines {
        let attribute_of = line.trim().strip_prefix("BGP.").and_then(|rest| rest.split_once(':'));
        if let (Some((name, value)), Some(route)) = (attribute_of, all.last_mut()) {
            attribute(route, name, value.trim());
            continue;
        }
        let network = line.split_whitespace().next().and_then(|word| word.split_once('/'));
        let network =
            network.and_then(|(ip, length)| Some((ip.parse().ok()?, length.parse().ok()?)));
        if network.is_some() {
            all.push(Route { network, ..Route::default() });
        }
    }
    all
}

fn attribute(route: &mut Route, name: &str, value: &str) {
    match name {
        "origin" => route.origin = value.into(),
        "as_path" => route.as_path = value.into(),
        // The link-local address beside it is not of the model.
        "next_hop" => {
            route.next_hop = value.split_whitespace().next().and_then(|hop| hop.parse().ok());
        }
        "med" => route.med = value.parse().ok(),
        "local_pref" => route.local_preference = value.parse().ok(),
        "community" => {
            let pair = |text: &str| {
                let inner = text.trim_start_matches('(').trim_end_matches(')');
                let (number, value) = inner.split_once(',')?;
                Some((number.parse().ok()?, value.parse().ok()?))
            };
            route.communities = value.split_whitespace().filter_map(pair).collect();
        }
        _ => {}
    }
}

/// `65001 65002 {1 2} (3)`: sequences are bare, sets in braces, those of confederations in parentheses.
fn segments(path: &str) -> Vec<ResultBgpAsPathSegment> {
    use ResultBgpAsPathSegmentType as Kind;
    let mut all: Vec<(Kind, Vec<u32>)> = vec![];
    let mut kind = Kind::AsSeq;
    let spaced =
        path.replace('{', " { ").replace('}', " } ").replace('(', " ( ").replace(')', " ) ");
    for word in spaced.split_whitespace() {
        match word {
            "(" => kind = Kind::AsConfedSeq,
            "{" if kind == Kind::AsConfedSeq => kind = Kind::AsConfedSet,
            "{" => kind = Kind::AsSet,
            "}" | ")" => kind = Kind::AsSeq,
            number => {
                let Ok(number) = number.parse() else { continue };
                match all.last_mut().filter(|(last, _)| *last == kind) {
                    Some((_, numbers)) => numbers.push(number),
                    None => all.push((kind, vec![number])),
                }
            }
        }
    }
    let segment = |(kind, as_numbers)| ResultBgpAsPathSegment { kind: Some(kind), as_numbers };
    all.into_iter().map(segment).collect()
}

fn community((number, value): &(u32, u32)) -> ResultBgpCommunity {
    use ResultBgpCommunityType as Kind;
    let kind = match (number, value) {
        (0xffff, 0xff01) => Kind::NoExport,
        (0xffff, 0xff02) => Kind::NoAdvertised,
        (0xffff, 0xff03) => Kind::NoExportSubconfed,
        (0xffff, 0x0006) => Kind::LlgrStale,
        (0xffff, 0x0007) => Kind::NoLlgr,
        _ => Kind::ManualAsNumber,
    };
    let of_manual = |number: u32| (kind == Kind::ManualAsNumber).then_some(number);
    let (as_number, as_custom) = (of_manual(*number), of_manual(*value));
    ResultBgpCommunity { kind: Some(kind), as_number, as_custom }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As BIRD 2.0.12 says it.
    const SAID: &str = "Table t0_ipv4:
10.2.0.0/24          unreachable [p0 03:31:31.219 from 10.9.0.2] * (100) [AS65100e]
\tType: BGP univ
\tBGP.origin: EGP
\tBGP.as_path: 65002 65002 {7 8}
\tBGP.next_hop: 10.9.0.2
\tBGP.med: 50
\tBGP.local_pref: 100
\tBGP.community: (65002,7) (65535,65281)
Table t0_ipv6:
2001:db8:2::/64      unicast [p0 03:31:31.267 from 10.9.0.1] * (100) [i]
\tvia 2001:db8::1 on e0
\tType: BGP univ
\tBGP.origin: IGP
\tBGP.as_path: 
\tBGP.next_hop: 2001:db8::1 fe80::1
\tBGP.local_pref: 70";

    fn said(internal: bool) -> BgpPrefixesState {
        let lines: Vec<String> = SAID.lines().map(String::from).collect();
        let mut state = BgpPrefixesState::default();
        prefixes(&lines, internal, &mut state);
        state
    }

    #[test]
    fn learned_routes_are_told_with_what_is_said_of_them() {
        let state = said(false);
        let v4 = &state.ipv4_unicast_prefixes[..];
        let [v4] = v4 else { panic!("{v4:?}") };
        assert_eq!((v4.ipv4_address.as_deref(), v4.prefix_length), (Some("10.2.0.0"), Some(24)));
        assert_eq!(v4.origin, Some(BgpPrefixIpv4UnicastStateOrigin::Egp));
        assert_eq!(v4.ipv4_next_hop.as_deref(), Some("10.9.0.2"));
        assert_eq!((v4.multi_exit_discriminator, v4.local_preference), (Some(50), None));
        let path = serde_json::to_value(&v4.as_path).unwrap();
        let expected = serde_json::json!({"segments": [
            {"type": "as_seq", "as_numbers": [65002, 65002]},
            {"type": "as_set", "as_numbers": [7, 8]},
        ]});
        assert_eq!(path, expected);
        let communities = serde_json::to_value(&v4.communities).unwrap();
        let expected = serde_json::json!([
            {"type": "manual_as_number", "as_number": 65002, "as_custom": 7},
            {"type": "no_export"},
        ]);
        assert_eq!(communities, expected);
        let inside = said(true);
        let v6 = &inside.ipv6_unicast_prefixes[0];
        assert_eq!(
            (v6.ipv6_next_hop.as_deref(), v6.local_preference),
            (Some("2001:db8::1"), Some(70))
        );
        assert_eq!(v6.communities, []);
    }
}
