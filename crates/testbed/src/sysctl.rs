//! Kernel settings of a namespace, written by a thread inside it (/proc/sys/net shows the reader's).

use kernel::{Result, set_sysctls};
use std::path::Path;

/// Settings of the tester's namespace: the kernel there is silent, so that every frame on a tester
/// port is the tester's or the device's.
pub(crate) fn silence_tester() -> Result<()> {
    set_sysctls(&[
        ("net/ipv6/conf/all/disable_ipv6", "1"),
        ("net/ipv6/conf/default/disable_ipv6", "1"),
    ])
}

/// Settings of a router before its ports exist. Forwarding itself is switched by
/// [`set_forwarding`].
pub(crate) fn prepare_router() -> Result<()> {
    set_sysctls(&[
        ("net/ipv4/conf/all/rp_filter", "0"),
        ("net/ipv4/conf/default/rp_filter", "0"),
        ("net/ipv4/conf/all/send_redirects", "0"),
        ("net/ipv4/conf/default/send_redirects", "0"),
        // No duplicate address detection and no router discovery: frames nobody asked for.
        ("net/ipv6/conf/all/accept_dad", "0"),
        ("net/ipv6/conf/default/accept_dad", "0"),
        ("net/ipv6/conf/default/accept_ra", "0"),
        ("net/ipv6/conf/default/router_solicitations", "0"),
        // The membership reports of a routing daemon's groups, and the multicast listener reports of a port's own groups are sent at once, not for seconds
        // into a trial.
        ("net/ipv4/conf/all/igmpv2_unsolicited_report_interval", "1"),
        ("net/ipv4/conf/all/igmpv3_unsolicited_report_interval", "1"),
        ("net/ipv4/conf/default/igmpv2_unsolicited_report_interval", "1"),
        ("net/ipv4/conf/default/igmpv3_unsolicited_report_interval", "1"),
        ("net/ipv6/conf/default/mldv1_unsolicited_report_interval", "1"),
        ("net/ipv6/conf/default/mldv2_unsolicited_report_interval", "1"),
    ])
}

/// Switches IPv4 and IPv6 forwarding of the namespace.
pub(crate) fn set_forwarding(on: bool) -> Result<()> {
    let value = if on { "1" } else { "0" };
    set_sysctls(&[("net/ipv4/ip_forward", value), ("net/ipv6/conf/all/forwarding", value)])
}

/// Settings of a bridge's namespace: it has no addresses at all.
pub(crate) fn prepare_bridge() -> Result<()> {
    silence_tester()?;
    // A kernel with br_netfilter would have what is bridged pass the filters of a router, and drop frames
    // whose IP header it dislikes.
    let filters = ["iptables", "ip6tables", "arptables"];
    let keys = filters.map(|filter| format!("net/bridge/bridge-nf-call-{filter}"));
    let there = keys.iter().filter(|key| Path::new("/proc/sys").join(key).exists());
    set_sysctls(&there.map(|key| (key.as_str(), "0")).collect::<Vec<_>>())
}

/// Keeps IPv6 from one interface of the calling thread's namespace.
pub(crate) fn disable_ipv6(interface: &str) -> Result<()> {
    set_sysctls(&[(&format!("net/ipv6/conf/{interface}/disable_ipv6"), "1")])
}

/// Gives one interface of the calling thread's namespace IPv6, and nothing to say by itself.
pub(crate) fn enable_ipv6(interface: &str) -> Result<()> {
    let key = |name: &str| format!("net/ipv6/conf/{interface}/{name}");
    let settings = [("accept_dad", "0"), ("router_solicitations", "0"), ("disable_ipv6", "0")];
    settings.iter().try_for_each(|(name, value)| set_sysctls(&[(&key(name), value)]))
}
