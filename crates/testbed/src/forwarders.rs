//! Every forwarder of DPDK that can be started, by its kind.

use crate::config::{DeviceKind, TestbedConfig};
use crate::error::{Result, TestbedError};
use crate::l3fwd::{L3fwd, l3fwd_shortfall};
use crate::ovs_dpdk::{OvsDpdk, ovs_dpdk_shortfall};
use crate::polling::PollingDevice;
use crate::testpmd::{Testpmd, testpmd_shortfall};

/// Starts the forwarder that the configuration describes and waits until it forwards. `before_others` gives it nice -20,
/// where this process may.
///
/// # Errors
/// If it is missing, or ends; with what it said.
pub fn start_polling(
    config: &TestbedConfig,
    before_others: bool,
) -> Result<Box<dyn PollingDevice>> {
    Ok(match config.device {
        DeviceKind::L3fwd => Box::new(L3fwd::start(config, before_others)?),
        DeviceKind::OvsDpdk => Box::new(OvsDpdk::start(config, before_others)?),
        DeviceKind::Testpmd => Box::new(Testpmd::start(config, before_others)?),
        _ => {
            let why = "an interface of the kernel joins this device: build it with Testbed::build";
            return Err(TestbedError::Configuration(why.into()));
        }
    })
}

/// Why there can be none of this kind on this host; `None` where there can, or where it is no forwarder of DPDK.
pub fn polling_shortfall(kind: DeviceKind) -> Option<String> {
    match kind {
        DeviceKind::L3fwd => l3fwd_shortfall(),
        DeviceKind::OvsDpdk => ovs_dpdk_shortfall(),
        DeviceKind::Testpmd => testpmd_shortfall(),
        _ => None,
    }
}
