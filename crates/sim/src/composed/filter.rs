//! A list of filter rules: the first that matches decides, and what none matches is not permitted.

use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;
use trial::PacketFilter;

/// What a rule does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FilterAction {
    /// Lets it pass.
    #[default]
    Permit,
    /// Drops it.
    Deny,
}

/// A rule on IPv4 packets: source and destination, each one address or, where left out, any.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct FilterRule {
    /// What it does.
    pub action: FilterAction,
    /// Source.
    pub from: Option<Ipv4Addr>,
    /// Destination.
    pub to: Option<Ipv4Addr>,
}

impl FilterRule {
    /// Permits packets of one pair of addresses.
    pub const fn permit(from: Ipv4Addr, to: Ipv4Addr) -> Self {
        FilterRule { action: FilterAction::Permit, from: Some(from), to: Some(to) }
    }
    fn matches(&self, src: Ipv4Addr, dst: Ipv4Addr) -> bool {
        self.from.is_none_or(|from| from == src) && self.to.is_none_or(|to| to == dst)
    }
}

impl From<&PacketFilter> for FilterRule {
    fn from(filter: &PacketFilter) -> Self {
        let action = if filter.permit { FilterAction::Permit } else { FilterAction::Deny };
        FilterRule { action, from: Some(filter.from), to: Some(filter.to) }
    }
}

/// Whether the rules let a packet pass, and how many were looked at.
pub(crate) fn decide(rules: &[FilterRule], src: Ipv4Addr, dst: Ipv4Addr) -> (bool, u64) {
    match rules.iter().position(|rule| rule.matches(src, dst)) {
        Some(at) => (rules[at].action == FilterAction::Permit, at as u64 + 1),
        None => (rules.is_empty(), rules.len() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_match_decides_and_no_match_is_no() {
        let host = |n| Ipv4Addr::new(192, 32, 100, n);
        let any_to = |to, action| FilterRule { action, from: None, to: Some(to) };
        let rules = [
            FilterRule::permit(host(1), host(2)),
            any_to(host(2), FilterAction::Deny),
            any_to(host(2), FilterAction::Permit),
        ];
        assert_eq!(decide(&rules, host(1), host(2)), (true, 1));
        assert_eq!(decide(&rules, host(9), host(2)), (false, 2));
        assert_eq!(decide(&rules, host(9), host(3)), (false, 3));
        assert_eq!(decide(&[], host(9), host(3)), (true, 0));
    }
}
