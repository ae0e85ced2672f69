//! nftables rules of the device: the filters of RFC 2544 section 11.4 and the limits that rules make.
//!
//! A rule set is text, loaded by `nft -f -` inside the device's namespace; the same text belongs
//! in the report (RFC 2544 section 11.4). Every rule has a counter.
//!
//! **Filters.** `k` runs over the rules that never match. Router, IPv4: deny 198.18.k.k to
//! 198.18.(100+k).k, the listing of section 11.4.1 with its misprints mended. IPv6: the same in
//! 2001:2:0:k::k to 2001:2:0:(100+k)::k. Bridge: deny destination 02:4e:41:f0:00:k. The permit
//! is one rule for each direction, input to output first, so that a stream of that direction
//! meets exactly as many conditions as the test's name says; one of the other direction meets one
//! more. All else is denied by the chain's policy. IPv4 and IPv6 have a table each: a packet meets
//! the rules of its own family only.
//!
//! **Ten rules** (the Harvard tests' number) are laid out in the same way.

use crate::addressing::tester_mac;
use crate::config::{DeviceKind, FilterRules, Impairment, PermitPosition, TestbedConfig};
use crate::error::{Result, TestbedError};
use crate::program::{ProgramName, tell};
use kernel::Namespace;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

const NFT: ProgramName = ProgramName { program: "nft", package: "nftables" };

/// The rule set of a configuration, in nft's own language; none when no rule is asked for.
pub fn rule_set(config: &TestbedConfig) -> Option<String> {
    let text = [filter_tables(config), limit_table(config)].concat();
    (!text.is_empty()).then_some(text)
}

/// A condition on IPv4 packets that a router forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilterEntry {
    /// Forwarded, or dropped.
    pub permit: bool,
    /// Source.
    pub from: Ipv4Addr,
    /// Destination.
    pub to: Ipv4Addr,
}

/// The table of a list of filters: what none of them matches is dropped.
pub(crate) fn listed(filters: &[FilterEntry]) -> String {
    let rules: Vec<(Condition, &str)> = filters
        .iter()
        .map(|filter| {
            let FilterEntry { permit, from, to } = filter;
            let expression = format!("ip saddr {from} ip daddr {to}");
            let verdict = if *permit { "accept" } else { "drop" };
            (Condition { expression, name: format!("{from} to {to}") }, verdict)
        })
        .collect();
    filter_table("ip", &rules)
}

/// Loads a rule set into a namespace in place of its tables that may be there.
pub(crate) fn load(namespace: &Namespace, rule_set: &str) -> Result<()> {
    nft(namespace, &["-f", "-"], &(removal(rule_set) + rule_set)).map(drop)
}

/// Removes the tables of a rule set.
pub(crate) fn unload(namespace: &Namespace, rule_set: &str) -> Result<()> {
    nft(namespace, &["-f", "-"], &removal(rule_set)).map(drop)
}

/// Commands that remove a rule set's tables, whether they exist or not.
fn removal(rule_set: &str) -> String {
    let tables = rule_set.lines().filter_map(|l| l.strip_prefix("table ")?.strip_suffix(" {"));
    tables.map(|table| format!("add table {table}\ndelete table {table}\n")).collect()
}

/// Makes whatever arrives on either interface leave by the other.
pub(crate) fn join(namespace: &Namespace, one: &str, other: &str) -> Result<()> {
    let chain = |from: &str, to: &str| {
        format!(
            "  chain {from} {{\n    type filter hook ingress device {from} priority 0;\n    \
             fwd to {to}\n  }}\n"
        )
    };
    let chains = chain(one, other) + &chain(other, one);
    nft(namespace, &["-f", "-"], &format!("table netdev netanvil-wires {{\n{chains}}}\n")).map(drop)
}

/// Hits of one rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleCounter {
    /// Family of the rule's table: `ip`, `ip6`, `inet` or `bridge`.
    pub family: String,
    /// The rule's comment.
    pub rule: String,
    /// Frames that matched.
    pub frames: u64,
    /// Their bytes, without link-layer header.
    pub bytes: u64,
    /// Whether it drops them.
    #[serde(default)]
    pub drops: bool,
}

/// The counters of every rule in a namespace, in order.
pub(crate) fn counters(namespace: &Namespace) -> Result<Vec<RuleCounter>> {
    let listing = nft(namespace, &["-j", "list", "ruleset"], "")?;
    let objects = objects_of(&listing)?;
    Ok(objects.iter().filter_map(|object| counter_of(&object["rule"])).collect())
}

/// Every rule of the calling thread's namespace that counts and drops, whoever wrote it: a name that no
/// other has, and the frames that it dropped.
pub(crate) fn drops_here() -> Result<Vec<(String, u64)>> {
    let listing = tell(NFT, &["-j", "list", "ruleset"], "")?;
    let objects = objects_of(&listing)?;
    Ok(objects.iter().filter_map(|object| drop_of(&object["rule"])).collect())
}

fn drop_of(rule: &serde_json::Value) -> Option<(String, u64)> {
    let counter = counter_of(rule).filter(|counter| counter.drops)?;
    let handle = rule["handle"].as_u64()?;
    let [table, chain] = ["table", "chain"].map(|key| rule[key].as_str().unwrap_or_default());
    let place = format!("{} {table} {chain}", counter.family);
    let name = match counter.rule.as_str() {
        "" => format!("rule {handle} of {place}"),
        comment => format!("rule {comment} ({handle} of {place})"),
    };
    Some((name, counter.frames))
}

fn objects_of(listing: &str) -> Result<Vec<serde_json::Value>> {
    let mut listing: serde_json::Value = serde_json::from_str(listing).map_err(|e| {
        TestbedError::Program { program: "nft", message: format!("unreadable JSON: {e}") }
    })?;
    Ok(listing["nftables"].as_array_mut().map(std::mem::take).unwrap_or_default())
}

fn counter_of(rule: &serde_json::Value) -> Option<RuleCounter> {
    let parts = rule["expr"].as_array()?;
    let counter = parts.iter().find_map(|part| part.get("counter"))?;
    Some(RuleCounter {
        family: rule["family"].as_str()?.to_owned(),
        rule: rule["comment"].as_str().unwrap_or_default().to_owned(),
        frames: counter["packets"].as_u64()?,
        bytes: counter["bytes"].as_u64()?,
        drops: parts.iter().any(|part| part.get("drop").is_some()),
    })
}

/// A match and what it is called.
struct Condition {
    expression: String,
    name: String,
}

fn filter_tables(config: &TestbedConfig) -> String {
    let denies = match config.filter {
        FilterRules::None => return String::new(),
        FilterRules::One => 0,
        FilterRules::Ten => 9,
        FilterRules::TwentyFive => 24,
    };
    let families: &[(&str, ConditionsOf)] = match config.device {
        DeviceKind::LinuxBridge => &[("bridge", bridge_conditions)],
        _ => &[("ip", ipv4_conditions), ("ip6", ipv6_conditions)],
    };
    families
        .iter()
        .map(|(family, conditions)| {
            let (denied, permitted) = conditions(config, denies);
            filter_table(family, &in_order(config.permit, denied, permitted))
        })
        .collect()
}

type ConditionsOf = fn(&TestbedConfig, u8) -> (Vec<Condition>, Vec<Condition>);

fn ipv4_conditions(_: &TestbedConfig, denies: u8) -> (Vec<Condition>, Vec<Condition>) {
    let deny = |k: u8| Condition {
        expression: format!("ip saddr 198.18.{k}.{k} ip daddr 198.18.{}.{k}", 100 + k),
        name: format!("deny {k}"),
    };
    let permit = |from: &str, to: &str, name: &str| Condition {
        expression: format!("ip saddr {from} ip daddr {to}"),
        name: name.into(),
    };
    let permits = vec![
        permit("198.18.0.0/16", "198.19.0.0/16", "permit input to output"),
        permit("198.19.0.0/16", "198.18.0.0/16", "permit output to input"),
    ];
    ((1..=denies).map(deny).collect(), permits)
}

fn ipv6_conditions(_: &TestbedConfig, denies: u8) -> (Vec<Condition>, Vec<Condition>) {
    let deny = |k: u8| Condition {
        expression: format!(
            "ip6 saddr 2001:2:0:{k:x}::{k:x} ip6 daddr 2001:2:0:{:x}::{k:x}",
            100 + k
        ),
        name: format!("deny {k}"),
    };
    let permit = |from: &str, to: &str, name: &str| Condition {
        expression: format!("ip6 saddr {from} ip6 daddr {to}"),
        name: name.into(),
    };
    let permits = vec![
        permit("2001:2::/49", "2001:2:0:8000::/49", "permit input to output"),
        permit("2001:2:0:8000::/49", "2001:2::/49", "permit output to input"),
    ];
    ((1..=denies).map(deny).collect(), permits)
}

fn bridge_conditions(config: &TestbedConfig, denies: u8) -> (Vec<Condition>, Vec<Condition>) {
    let deny = |k: u8| Condition {
        expression: format!("ether daddr 02:4e:41:f0:00:{k:02x}"),
        name: format!("deny {k}"),
    };
    let permit = |port: usize| Condition {
        expression: format!("ether daddr {}", mac_text(tester_mac(port))),
        name: format!("permit to port {port}"),
    };
    // Ports of the output side (odd) first: frames from input to output meet their permit first.
    let (outputs, inputs): (Vec<usize>, Vec<usize>) = (0..config.ports).partition(|p| p % 2 == 1);
    let permits = outputs.into_iter().chain(inputs).map(permit).collect();
    ((1..=denies).map(deny).collect(), permits)
}

/// Rules as (expression, verdict, name), the permits where the configuration wants them.
fn in_order(
    position: PermitPosition,
    denied: Vec<Condition>,
    permitted: Vec<Condition>,
) -> Vec<(Condition, &'static str)> {
    let before = match position {
        PermitPosition::Last => denied.len(),
        PermitPosition::Middle => denied.len() / 2,
    };
    let mut rules: Vec<_> = denied.into_iter().map(|c| (c, "drop")).collect();
    rules.splice(before..before, permitted.into_iter().map(|c| (c, "accept")));
    rules
}

fn filter_table(family: &str, rules: &[(Condition, &str)]) -> String {
    let rules: String = rules
        .iter()
        .map(|(c, verdict)| {
            format!("    {} counter {verdict} comment \"{}\"\n", c.expression, c.name)
        })
        .collect();
    format!(
        "table {family} netanvil-filter {{\n  chain forward {{\n    \
         type filter hook forward priority 0; policy drop;\n{rules}  }}\n}}\n"
    )
}

/// Limits that are rules, behind the filters (priority 10).
fn limit_table(config: &TestbedConfig) -> String {
    let rules: String = config.impairments.iter().filter_map(limit_rule).collect();
    if rules.is_empty() {
        return String::new();
    }
    // A bridge forwards the tester's learning frames too (ARP, and those of an EtherType for
    // experiments, IEEE 802 section 9.2.3); they are no test frames.
    let (family, spared) = match config.device {
        DeviceKind::LinuxBridge => ("bridge", "    ether type { arp, 0x88b6 } accept\n"),
        _ => ("inet", ""),
    };
    format!(
        "table {family} netanvil-limits {{\n  chain forward {{\n    \
         type filter hook forward priority 10; policy accept;\n{spared}{rules}  }}\n}}\n"
    )
}

fn limit_rule(impairment: &Impairment) -> Option<String> {
    match *impairment {
        Impairment::FrameRateLimit { frames_per_second, burst_frames } => Some(format!(
            "    limit rate over {frames_per_second}/second burst {burst_frames} packets \
             counter drop comment \"over {frames_per_second} frames/s\"\n"
        )),
        Impairment::DropEvery { every } => Some(format!(
            "    numgen inc mod {every} == {} counter drop comment \"1 in {every}\"\n",
            every - 1
        )),
        Impairment::RateLimit { .. } => None,
    }
}

fn mac_text(mac: [u8; 6]) -> String {
    mac.map(|octet| format!("{octet:02x}")).join(":")
}

/// Runs nft inside a namespace.
fn nft(namespace: &Namespace, arguments: &[&str], input: &str) -> Result<String> {
    namespace.run(|| tell(NFT, arguments, input))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules_of(config: &TestbedConfig) -> Vec<String> {
        let text = rule_set(config).expect("rules");
        text.lines().filter(|l| l.contains("counter")).map(|l| l.trim().to_owned()).collect()
    }

    #[test]
    fn no_rules_no_text() {
        assert_eq!(rule_set(&TestbedConfig::default()), None);
    }

    #[test]
    fn the_permit_is_number_25_or_13() {
        let last = TestbedConfig { filter: FilterRules::TwentyFive, ..TestbedConfig::default() };
        let rules = rules_of(&last);
        assert_eq!(rules.len(), 2 * 26, "24 denies and a permit each way, in two families");
        assert_eq!(
            rules[24],
            "ip saddr 198.18.0.0/16 ip daddr 198.19.0.0/16 counter accept comment \"permit input to output\""
        );
        let middle = TestbedConfig { permit: PermitPosition::Middle, ..last };
        let rules = rules_of(&middle);
        assert!(rules[11].contains("deny 12"), "{}", rules[11]);
        assert!(rules[12].contains("permit input to output"), "{}", rules[12]);
        assert!(
            rules[25].contains("ip saddr 198.18.24.24 ip daddr 198.18.124.24"),
            "{}",
            rules[25]
        );
    }

    #[test]
    fn a_bridge_permits_destination_addresses() {
        let config = TestbedConfig {
            device: DeviceKind::LinuxBridge,
            filter: FilterRules::One,
            ..TestbedConfig::default()
        };
        assert_eq!(
            rules_of(&config)[0],
            "ether daddr 02:4e:41:00:01:02 counter accept comment \"permit to port 1\""
        );
    }
}
