//! RFC 4814: hash and stuffing. What it recommends and RFC 2544 appendix C fixes is for another run.

use super::rfc2544::has_sizes;
use super::{Clause, Level, Rule, Ruling};
use crate::Protocol;

pub(super) static CLAUSES: &[Clause] = &[
    Clause::new(
        ("RFC 4814", "4.2"),
        Level::Should,
        "MAC addresses are pseudo-random.",
        has_sizes,
        Rule::Of(|p| {
            Ruling::met_if(p.config.traffic.random_macs, || {
                "each port has one fixed address".into()
            })
        }),
    )
    .of_series(),
    Clause::new(
        ("RFC 4814", "4.5"),
        Level::Should,
        "UDP ports are pseudo-random.",
        has_sizes,
        Rule::Of(|p| {
            let traffic = &p.config.traffic;
            match traffic.protocol {
                Protocol::UdpIpv4 | Protocol::UdpIpv6 => {
                    Ruling::met_if(traffic.random_ports, || "one pair of UDP ports".into())
                }
                _ => Ruling::not_applicable("frames have no UDP ports"),
            }
        }),
    )
    .of_series(),
];
