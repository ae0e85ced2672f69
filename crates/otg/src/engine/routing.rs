//! What clients are told of devices that speak BGP.

use super::active::ActiveConfiguration;
use crate::bgp::SessionState;
use crate::error::Refused;
use crate::model::*;

/// The columns that BIRD has no count for, at their places in the request.
fn refuse_columns<T: Copy>(
    columns: &[T],
    is_known: impl Fn(T) -> bool,
    path: &str,
) -> Result<(), Refused> {
    let unknown = |(at, _): (usize, &T)| {
        format!("{path}.column_names[{at}]: netanvil's devices count routes, and no messages")
    };
    let all = columns.iter().enumerate().filter(|(_, column)| !is_known(**column));
    let errors: Vec<String> = all.map(unknown).collect();
    if errors.is_empty() { Ok(()) } else { Err(Refused::request(errors)) }
}

/// The metrics of one version of IP: the model has two alike.
macro_rules! metrics {
    ($name:ident, $request:ident, $metric:ident, $columns:ident, $session:ident, $fsm:ident, $ipv4:expr, $path:literal) => {
        /// What is told of sessions.
        ///
        /// # Errors
        /// Where there is no such peer, or a column is asked for that nobody counts.
        pub fn $name(
            active: &ActiveConfiguration,
            request: &$request,
        ) -> Result<Vec<$metric>, Refused> {
            use $columns as Column;
            let served = [
                Column::SessionState,
                Column::FsmState,
                Column::RoutesAdvertised,
                Column::RoutesReceived,
                Column::RouteWithdrawsSent,
                Column::RouteWithdrawsReceived,
            ];
            refuse_columns(&request.column_names, |column| served.contains(&column), $path)?;
            let has = |column: Column| {
                request.column_names.is_empty() || request.column_names.contains(&column)
            };
            let names = (&request.peer_names[..], concat!($path, ".peer_names"));
            let told = active.speakers.told($ipv4, names)?;
            let metric = |(name, told): (String, crate::bgp::PeerTold)| $metric {
                name: Some(name),
                session_state: has(Column::SessionState).then_some(match told.state {
                    SessionState::Established => $session::Up,
                    _ => $session::Down,
                }),
                fsm_state: has(Column::FsmState).then_some(match told.state {
                    SessionState::Idle => $fsm::Idle,
                    SessionState::Connect => $fsm::Connect,
                    SessionState::Active => $fsm::Active,
                    SessionState::OpenSent => $fsm::Opensent,
                    SessionState::OpenConfirm => $fsm::Openconfirm,
                    SessionState::Established => $fsm::Established,
                }),
                routes_advertised: has(Column::RoutesAdvertised).then_some(told.routes_advertised),
                routes_received: has(Column::RoutesReceived).then_some(told.routes_received),
                route_withdraws_sent: has(Column::RouteWithdrawsSent)
                    .then_some(told.withdraws_sent),
                route_withdraws_received: has(Column::RouteWithdrawsReceived)
                    .then_some(told.withdraws_received),
            };
            Ok(told.into_iter().map(metric).collect())
        }
    };
}

metrics!(
    bgpv4_metrics,
    Bgpv4MetricsRequest,
    Bgpv4Metric,
    Bgpv4MetricsRequestColumnNames,
    Bgpv4MetricSessionState,
    Bgpv4MetricFsmState,
    true,
    "bgpv4"
);
metrics!(
    bgpv6_metrics,
    Bgpv6MetricsRequest,
    Bgpv6Metric,
    Bgpv6MetricsRequestColumnNames,
    Bgpv6MetricSessionState,
    Bgpv6MetricFsmState,
    false,
    "bgpv6"
);

/// Routes that devices have learned.
///
/// # Errors
/// Where there is no such peer, or routes with MPLS labels are asked for.
pub fn bgp_prefixes(
    active: &ActiveConfiguration,
    request: &BgpPrefixStateRequest,
) -> Result<Vec<BgpPrefixesState>, Refused> {
    use BgpPrefixStateRequestPrefixFilters as Filter;
    let filters = &request.prefix_filters;
    let is_mpls =
        |filter: &Filter| matches!(filter, Filter::Ipv4MplsUnicast | Filter::Ipv6MplsUnicast);
    if let Some(at) = filters.iter().position(is_mpls) {
        let what =
            format!("bgp_prefixes.prefix_filters[{at}]: netanvil's devices learn no MPLS labels");
        return Err(Refused::request(vec![what]));
    }
    let wants = |filter: Filter| filters.is_empty() || filters.contains(&filter);
    let families = (wants(Filter::Ipv4Unicast), wants(Filter::Ipv6Unicast));
    let names = (&request.bgp_peer_names[..], "bgp_prefixes.bgp_peer_names");
    let mut states = active.speakers.learned(families, names)?;
    for state in &mut states {
        state
            .ipv4_unicast_prefixes
            .retain(|prefix| passes_ipv4(prefix, &request.ipv4_unicast_filters));
        state
            .ipv6_unicast_prefixes
            .retain(|prefix| passes_ipv6(prefix, &request.ipv6_unicast_filters));
    }
    Ok(states)
}

/// Whether a prefix passes one of the filters, or there is none.
macro_rules! passes {
    ($name:ident, $state:ident, $filter:ident, $address:ident) => {
        fn $name(prefix: &$state, filters: &[$filter]) -> bool {
            let is_same = |text: &String| {
                let parsed = |text: &str| text.parse::<std::net::IpAddr>().ok();
                prefix.$address.as_deref().is_some_and(|own| parsed(own) == parsed(text))
            };
            let passes = |filter: &$filter| {
                (filter.addresses.is_empty() || filter.addresses.iter().any(is_same))
                    && filter
                        .prefix_length
                        .is_none_or(|length| prefix.prefix_length == Some(length))
                    && filter.origin.is_none_or(|origin| {
                        // Two types of the same words.
                        let word = serde_json::to_value(origin).ok();
                        prefix.origin.is_some_and(|own| serde_json::to_value(own).ok() == word)
                    })
            };
            filters.is_empty() || filters.iter().any(passes)
        }
    };
}

passes!(passes_ipv4, BgpPrefixIpv4UnicastState, BgpPrefixIpv4UnicastFilter, ipv4_address);
passes!(passes_ipv6, BgpPrefixIpv6UnicastState, BgpPrefixIpv6UnicastFilter, ipv6_address);
