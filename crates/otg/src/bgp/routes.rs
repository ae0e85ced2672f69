//! Ranges of routes: which prefixes, and what is said of them.

use crate::error::Refusal;
use crate::model::{
    BgpAsPath, BgpAsPathAsSetMode, BgpAsPathSegmentType, BgpCommunity, BgpCommunityType,
    BgpRouteAdvanced, BgpRouteAdvancedOrigin,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// More routes than this no device has.
pub const ROUTES_MAX: u64 = 1_000_000;
/// Addresses that flows to a range have at most.
const ENDS_MAX: u64 = 1 << 16;

/// Prefixes of one length, one after the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Prefixes {
    first: IpAddr,
    length: u8,
    count: u64,
    /// From one to the next, in prefixes.
    step: u64,
}

impl Prefixes {
    /// `count` of them from the one that holds `address` on.
    ///
    /// # Errors
    /// Where they go beyond the last address.
    pub fn new(
        address: IpAddr,
        (length, count, step): (u32, u32, u32),
        path: &str,
    ) -> Result<Self, Refusal> {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let host = bits - length.min(bits);
        // Of ::/0 there is one.
        let network = |number: u128| if host == 128 { 0 } else { number >> host };
        let first = network(crate::device::number(address));
        let span = u128::from(count - 1) * u128::from(step);
        let most = if length == 0 { 0 } else { network(u128::MAX >> (128 - bits)) };
        if first.checked_add(span).is_none_or(|last| last > most) {
            let what = format!("{count} prefixes of /{length} from {address} on do not exist");
            return Err(Refusal::new(&format!("{path}.count"), what));
        }
        let first = of_number(if host == 128 { 0 } else { first << host }, address.is_ipv4());
        let (length, count, step) = (length as u8, count.into(), step.into());
        Ok(Prefixes { first, length, count, step })
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Each, with its length.
    pub fn all(&self) -> impl Iterator<Item = (IpAddr, u8)> + '_ {
        let is_ipv4 = self.first.is_ipv4();
        let host = u32::from(if is_ipv4 { 32 } else { 128 } - self.length);
        let first = crate::device::number(self.first);
        let network = move |n: u64| {
            // Of one prefix alone the step does not matter: a whole address space cannot be shifted.
            let offset = if n == 0 { 0 } else { u128::from(n * self.step) << host };
            (of_number(first + offset, is_ipv4), self.length)
        };
        (0..self.count).map(network)
    }

    /// An address of each prefix, as numbers: the one after the network's own, where there is one.
    pub fn ends(&self) -> impl Iterator<Item = u128> + '_ {
        let bits = if self.first.is_ipv4() { 32 } else { 128 };
        let host = u128::from(u8::from(bits - self.length > 1));
        self.all().take(ENDS_MAX as usize).map(move |(ip, _)| crate::device::number(ip) + host)
    }
}

fn of_number(number: u128, is_ipv4: bool) -> IpAddr {
    match is_ipv4 {
        true => Ipv4Addr::from_bits(number as u32).into(),
        false => Ipv6Addr::from_bits(number).into(),
    }
}

/// What is said of every route of a range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attributes {
    /// `IGP`, `EGP` or `INCOMPLETE`.
    pub origin: &'static str,
    /// From the nearest autonomous system to that of the origin, as it is sent.
    pub as_path: Vec<u32>,
    /// Where the routes lead.
    pub next_hop: IpAddr,
    /// MULTI_EXIT_DISC.
    pub med: Option<u32>,
    /// LOCAL_PREF, within an autonomous system.
    pub local_preference: Option<u32>,
    /// COMMUNITIES (RFC 1997).
    pub communities: Vec<(u16, u16)>,
}

/// A range with its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RoutePlan {
    /// Its name.
    pub name: String,
    /// Its prefixes, all of one version of IP.
    pub prefixes: Vec<Prefixes>,
    /// What is said of them.
    pub attributes: Attributes,
}

impl RoutePlan {
    /// Whether they are IPv4 prefixes.
    pub fn is_ipv4(&self) -> bool {
        self.prefixes.first().is_none_or(|prefixes| prefixes.first.is_ipv4())
    }

    /// What a client should know of flows to them.
    pub fn warning(&self) -> Option<String> {
        let count: u64 = self.prefixes.iter().map(Prefixes::count).sum();
        let name = &self.name;
        (count > ENDS_MAX)
            .then(|| format!("flows to the routes `{name}` go to the first {ENDS_MAX} of {count}"))
    }

    /// An address of each route.
    pub fn ends(&self) -> Vec<u128> {
        self.prefixes.iter().flat_map(Prefixes::ends).take(ENDS_MAX as usize).collect()
    }
}

/// Whose routes they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Speaks {
    /// The neighbour is in the same autonomous system.
    pub internal: bool,
    /// Its own.
    pub autonomous_system: u32,
}

/// Of the model's objects, at `path`.
///
/// # Errors
/// What BIRD does not say.
pub fn attributes(
    (advanced, as_path): (&BgpRouteAdvanced, &BgpAsPath),
    communities: &[BgpCommunity],
    (speaks, next_hop): (Speaks, IpAddr),
    path: &str,
) -> Result<Attributes, Refusal> {
    let refuse = |property: &str, what: &str| {
        Err(Refusal::new(&format!("{path}.advanced.{property}"), what.into()))
    };
    if !advanced.include_origin {
        return refuse("include_origin", "every route has an origin (RFC 4271 section 5.1.1)");
    }
    if speaks.internal && !advanced.include_local_preference {
        let what = "within an autonomous system every route has one (RFC 4271 section 5.1.5)";
        return refuse("include_local_preference", what);
    }
    Ok(Attributes {
        origin: match advanced.origin {
            BgpRouteAdvancedOrigin::Igp => "IGP",
            BgpRouteAdvancedOrigin::Egp => "EGP",
            BgpRouteAdvancedOrigin::Incomplete => "INCOMPLETE",
        },
        as_path: as_path_of(as_path, speaks, path)?,
        next_hop,
        med: advanced
            .multi_exit_discriminator
            .filter(|_| advanced.include_multi_exit_discriminator),
        local_preference: speaks.internal.then_some(advanced.local_preference),
        communities: communities_of(communities, path)?,
    })
}

fn as_path_of(as_path: &BgpAsPath, speaks: Speaks, path: &str) -> Result<Vec<u32>, Refusal> {
    let path = format!("{path}.as_path");
    let mut numbers = vec![];
    for (at, segment) in as_path.segments.iter().enumerate() {
        if segment.kind != BgpAsPathSegmentType::AsSeq {
            let what = "netanvil's devices send segments of type as_seq";
            return Err(Refusal::new(&format!("{path}.segments[{at}].type"), what.into()));
        }
        numbers.extend(&segment.as_numbers);
    }
    let mode = as_path.as_set_mode;
    // Nobody has asked for a path: as every speaker does (RFC 4271 section 5.1.2).
    let is_default = numbers.is_empty() && mode == BgpAsPathAsSetMode::DoNotIncludeLocalAs;
    let includes = match mode {
        BgpAsPathAsSetMode::DoNotIncludeLocalAs => is_default && !speaks.internal,
        BgpAsPathAsSetMode::IncludeAsSeq | BgpAsPathAsSetMode::PrependToFirstSegment => true,
        _ => {
            let what = "netanvil's devices have include_as_seq, prepend_to_first_segment and \
                        do_not_include_local_as";
            return Err(Refusal::new(&format!("{path}.as_set_mode"), what.into()));
        }
    };
    if includes && speaks.internal {
        let what = "within an autonomous system its own number is not in the path (RFC 4271 section 5.1.2); \
                    write do_not_include_local_as";
        return Err(Refusal::new(&format!("{path}.as_set_mode"), what.into()));
    }
    if includes {
        numbers.insert(0, speaks.autonomous_system);
    }
    Ok(numbers)
}

fn communities_of(all: &[BgpCommunity], path: &str) -> Result<Vec<(u16, u16)>, Refusal> {
    let one = |(at, one): (usize, &BgpCommunity)| {
        let missing = || {
            Refusal::new(
                &format!("{path}.communities[{at}].type"),
                "give it; it has no default".into(),
            )
        };
        Ok(community(one.kind.ok_or_else(missing)?, one))
    };
    all.iter().enumerate().map(one).collect()
}

/// RFC 1997, RFC 9494.
fn community(kind: BgpCommunityType, community: &BgpCommunity) -> (u16, u16) {
    const WELL_KNOWN: u16 = 0xffff;
    match kind {
        BgpCommunityType::ManualAsNumber => {
            (community.as_number as u16, community.as_custom as u16)
        }
        BgpCommunityType::NoExport => (WELL_KNOWN, 0xff01),
        BgpCommunityType::NoAdvertised => (WELL_KNOWN, 0xff02),
        BgpCommunityType::NoExportSubconfed => (WELL_KNOWN, 0xff03),
        BgpCommunityType::LlgrStale => (WELL_KNOWN, 0x0006),
        BgpCommunityType::NoLlgr => (WELL_KNOWN, 0x0007),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn all(address: &str, length: u32, count: u32, step: u32) -> Vec<String> {
        let prefixes = Prefixes::new(ip(address), (length, count, step), "addresses[0]").unwrap();
        prefixes.all().map(|(network, length)| format!("{network}/{length}")).collect()
    }

    #[test]
    fn prefixes_follow_each_other_by_their_step() {
        assert_eq!(all("10.1.0.7", 24, 2, 1), ["10.1.0.0/24", "10.1.1.0/24"]);
        assert_eq!(all("10.1.0.0", 16, 3, 2), ["10.1.0.0/16", "10.3.0.0/16", "10.5.0.0/16"]);
        assert_eq!(all("10.0.0.1", 32, 2, 1), ["10.0.0.1/32", "10.0.0.2/32"]);
        assert_eq!(all("2001:db8::", 64, 2, 1), ["2001:db8::/64", "2001:db8:0:1::/64"]);
        assert_eq!(all("::", 0, 1, 1), ["::/0"]);
        assert_eq!(all("0.0.0.0", 0, 1, 5), ["0.0.0.0/0"]);
        assert_eq!(all("255.255.255.0", 24, 1, 1), ["255.255.255.0/24"]);
        for (address, length, count) in
            [("255.255.255.0", 24, 2), ("0.0.0.0", 0, 2), ("::", 0, 2), ("ffff::", 16, 2)]
        {
            let refused = Prefixes::new(ip(address), (length, count, 1), "a").unwrap_err();
            assert!(refused.to_string().starts_with("a.count: 2 prefixes"), "{refused}");
        }
    }

    #[test]
    fn a_flow_goes_to_the_first_host_of_each_prefix() {
        let ends = |address, length, count| -> Vec<IpAddr> {
            let prefixes = Prefixes::new(ip(address), (length, count, 1), "a").unwrap();
            prefixes.ends().map(|end| of_number(end, prefixes.first.is_ipv4())).collect()
        };
        assert_eq!(ends("10.1.0.0", 24, 2), [ip("10.1.0.1"), ip("10.1.1.1")]);
        assert_eq!(ends("10.1.0.4", 32, 1), [ip("10.1.0.4")]);
        assert_eq!(ends("10.1.0.4", 31, 1), [ip("10.1.0.4")]);
        assert_eq!(ends("2001:db8::", 64, 1), [ip("2001:db8::1")]);
    }

    /// As the check of a request leaves them.
    fn path_of(request: serde_json::Value, speaks: Speaks) -> Result<Vec<u32>, String> {
        let checked = crate::schema::check("BgpAsPath", request).unwrap().value;
        let as_path = serde_json::from_value(checked).unwrap();
        as_path_of(&as_path, speaks, "v4_routes[0]").map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn the_own_number_is_where_the_mode_says() {
        let external = Speaks { internal: false, autonomous_system: 65001 };
        let internal = Speaks { internal: true, ..external };
        let segments = json!([{"as_numbers": [7, 8]}, {"as_numbers": [9]}]);
        let with = |mode: &str| json!({"as_set_mode": mode, "segments": segments});
        assert_eq!(path_of(json!({}), external).unwrap(), [65001]);
        assert_eq!(path_of(json!({}), internal).unwrap(), [0; 0]);
        assert_eq!(path_of(with("include_as_seq"), external).unwrap(), [65001, 7, 8, 9]);
        assert_eq!(path_of(with("do_not_include_local_as"), external).unwrap(), [7, 8, 9]);
        assert_eq!(path_of(with("do_not_include_local_as"), internal).unwrap(), [7, 8, 9]);
        let refused = path_of(with("include_as_seq"), internal).unwrap_err();
        assert!(refused.starts_with("v4_routes[0].as_path.as_set_mode: "), "{refused}");
        let refused = path_of(with("include_as_set"), external).unwrap_err();
        assert!(refused.starts_with("v4_routes[0].as_path.as_set_mode: "), "{refused}");
        let sets = json!({"segments": [{}, {"type": "as_set", "as_numbers": [1]}]});
        let refused = path_of(sets, external).unwrap_err();
        assert!(refused.starts_with("v4_routes[0].as_path.segments[1].type: "), "{refused}");
    }

    #[test]
    fn what_bgp_cannot_leave_out_is_refused() {
        let of = |advanced: serde_json::Value, internal| {
            let checked = crate::schema::check("BgpRouteAdvanced", advanced).unwrap().value;
            let advanced = serde_json::from_value(checked).unwrap();
            let speaks = Speaks { internal, autonomous_system: 1 };
            let path = BgpAsPath::default();
            attributes((&advanced, &path), &[], (speaks, ip("10.0.0.1")), "r")
        };
        let plain = of(json!({}), true).unwrap();
        assert_eq!((plain.origin, plain.med, plain.local_preference), ("IGP", None, Some(100)));
        let told = of(json!({"multi_exit_discriminator": 5, "origin": "egp"}), false).unwrap();
        assert_eq!((told.origin, told.med, told.local_preference), ("EGP", Some(5), None));
        let hidden =
            json!({"multi_exit_discriminator": 5, "include_multi_exit_discriminator": false});
        assert_eq!(of(hidden, false).unwrap().med, None);
        let refused = of(json!({"include_origin": false}), false).unwrap_err().to_string();
        assert!(refused.starts_with("r.advanced.include_origin: "), "{refused}");
        let without = json!({"include_local_preference": false});
        assert!(of(without.clone(), true).is_err() && of(without, false).is_ok());
        // RFC 1997: NO_EXPORT is 0xFFFFFF01; RFC 9494: LLGR_STALE is 0xFFFF0006.
        let known = |kind| community(kind, &BgpCommunity::default());
        assert_eq!(known(BgpCommunityType::NoExport), (0xffff, 0xff01));
        assert_eq!(known(BgpCommunityType::LlgrStale), (0xffff, 0x0006));
        let refused = communities_of(&[BgpCommunity::default()], "r").unwrap_err().to_string();
        assert!(refused.starts_with("r.communities[0].type: "), "{refused}");
    }
}
