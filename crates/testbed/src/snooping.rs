//! IGMP and MLD snooping and the querier of a Linux bridge (RFC 4541).

use crate::device::{BRIDGE, Device};
use crate::error::Result;
use kernel::read_file;

use crate::config::TestbedConfig;
use netlink_packet_route::link::{BridgeStpState, InfoBridge};
use std::time::Duration;

/// From its first query on a bridge waits so long for answers, and floods as long.
const ANSWERS_WITHIN: Duration = Duration::from_secs(1);
const ANSWERS_WITHIN_TICKS: u64 = ANSWERS_WITHIN.as_secs() * TICKS as u64;
/// A second in the ticks of the kernel's interface (USER_HZ).
const TICKS: u32 = 100;
/// With more groups than it has room for (4096 by itself) the bridge would give up snooping.
const MULTICAST_GROUPS_MAX: u32 = 1 << 17;
const STEP: Duration = Duration::from_millis(10);

/// A bridge that only forwards by learned address, and by IGMP and MLD where it snoops: no spanning tree,
/// no netfilter for IP (rules sit in the bridge family), no VLANs.
pub(crate) fn bridge_settings(config: &TestbedConfig) -> Vec<InfoBridge> {
    let mut settings = vec![
        InfoBridge::StpState(BridgeStpState::Disabled),
        InfoBridge::ForwardDelay(0),
        InfoBridge::MulticastSnooping(config.snooping),
    ];
    settings.extend(config.address_ageing_s.map(|ageing| InfoBridge::AgeingTime(ageing * TICKS)));
    settings.extend(config.address_table.map(InfoBridge::FdbMaxLearned));
    if config.snooping {
        settings.extend([
            InfoBridge::MulticastHashMax(MULTICAST_GROUPS_MAX),
            InfoBridge::MulticastQueryResponseInterval(ANSWERS_WITHIN_TICKS),
            InfoBridge::MulticastIgmpVersion(3),
            InfoBridge::MulticastMldVersion(2),
        ]);
        settings.extend(config.group_membership_s.into_iter().flat_map(membership));
    }
    settings
}

/// Members that do not report again are forgotten after so long. The bridge asks twice in that time, and the
/// second query is answered before it ends (RFC 3376 section 8.4).
fn membership(seconds: u32) -> [InfoBridge; 3] {
    let ticks = u64::from(seconds * TICKS);
    let interval = (ticks - ANSWERS_WITHIN_TICKS) / 2;
    [
        InfoBridge::MulticastMembershipInterval(ticks),
        InfoBridge::MulticastQueryInterval(interval),
        InfoBridge::MulticastStartupQueryInterval(interval),
    ]
}

impl Device {
    /// Has the bridge ask who is there, and returns when it goes by what it has heard.
    #[allow(clippy::disallowed_methods, reason = "a querier has timers of the kernel's")]
    pub(crate) fn start_querier(&self) -> Result<()> {
        self.wait_for_own_address()?;
        self.namespace().netlink()?.start_querier(BRIDGE)?;
        std::thread::sleep(ANSWERS_WITHIN + 10 * STEP);
        Ok(())
    }

    /// Queries of MLD come from a link-local address (RFC 3810 section 5.1.14), which the bridge has once a
    /// port of it has a carrier. Without it there are none, and groups of IPv6 would be flooded.
    #[allow(clippy::disallowed_methods, reason = "an address comes in real time")]
    fn wait_for_own_address(&self) -> Result<()> {
        if !kernel::has_ipv6() {
            return Ok(());
        }
        for _ in 0..500 {
            let addresses =
                self.namespace().run(|| read_file("/proc/thread-self/net/if_inet6"))??;
            if addresses.lines().any(|line| line.starts_with("fe80") && line.ends_with(BRIDGE)) {
                return Ok(());
            }
            std::thread::sleep(STEP);
        }
        let name = BRIDGE.into();
        let waited_ms = 500 * STEP.as_millis() as u32;
        Err(kernel::KernelError::NoCarrier { name, waited_ms }.into())
    }
}
