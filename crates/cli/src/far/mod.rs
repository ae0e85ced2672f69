//! The device's side of links that were not built here: its counters, as this host's kernel has them or
//! as an SNMP agent tells them. They are read, and nothing is ever changed there.

mod by_snmp;
mod told;

use crate::control;
use crate::failure::{Failure, Outcome};
use crate::options::Options;
use by_snmp::BySnmp;
use ports::{DeviceControl, DeviceCounts, DeviceLink, OpenPort};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use testbed::FarSide;
use trial::{DeviceAction, DeviceCount, DeviceSetup, TesterError};

/// What the report calls it.
pub const NAME: &str = "far side";
/// Net-SNMP's agent reads its interfaces anew 15 s after the last time.
const LAG: Duration = Duration::from_secs(16);
const COMMUNITY: &str = "public";

/// A way to the far side's counters.
pub struct Far {
    words: String,
    by: By,
}

enum By {
    Kernel { side: FarSide, last: Vec<DeviceLink> },
    Snmp(BySnmp),
}

/// The far side that the options name; none where they name none.
pub fn side(
    options: &Options,
    names: &[String],
    ports: &[OpenPort],
    stop: &Arc<AtomicBool>,
) -> Outcome<Option<Far>> {
    let Some(interfaces) = &options.far_ports else { return Ok(None) };
    if let Some(port) = ports.iter().find(|port| port.interface().is_none()) {
        return Err(Failure::new(format!(
            "--far-ports do not go with {}, which is no interface of this host",
            port.describe().name
        ))
        .help("leave them out: the far end of a dpdk port has counters of its own program"));
    }
    if interfaces.len() != names.len() {
        return Err(Failure::new(format!("--far-ports names {} interfaces", interfaces.len()))
            .help(format!("name those at the other ends of {}, in this order", names.join(","))));
    }
    match &options.far_snmp {
        Some(host) => {
            let lag =
                options.far_lag.map_or(LAG, |lag| Duration::from_secs_f64(lag.0.as_secs_f64()));
            let community = options.far_community.as_deref().unwrap_or(COMMUNITY);
            let near = FarSide::open(None, names)?;
            let by = BySnmp::open((host, community), interfaces, near, lag, stop)?;
            Ok(Some(Far { words: by.in_words(), by: By::Snmp(by) }))
        }
        None => by_kernel(options.far_netns.as_deref(), interfaces, ports).map(Some),
    }
}

fn by_kernel(namespace: Option<&str>, names: &[String], ports: &[OpenPort]) -> Outcome<Far> {
    let side = FarSide::open(namespace, names)?;
    let near: Vec<u32> = ports.iter().map(|port| port.link().index()).collect();
    if side.is_crossed(&near) {
        return Err(Failure::new(format!("--far-ports {} are crossed", names.join(",")))
            .help("name them in the order of the ports at their other ends"));
    }
    let place =
        namespace.map_or("on this host".into(), |name| format!("in network namespace {name}"));
    let rules = match side.reads_rules() {
        true => "",
        false => "; rules that drop are not read: nft is not installed",
    };
    let words = format!("{} {place}, by the kernel's counters{rules}", names.join(", "));
    Ok(Far { words, by: By::Kernel { side, last: vec![] } })
}

impl Far {
    /// For the report.
    pub fn in_words(&self) -> String {
        self.words.clone()
    }
}

impl DeviceControl for Far {
    fn acts(&self) -> bool {
        false
    }

    fn act(&mut self, _: &DeviceAction) -> Result<(), TesterError> {
        Err(unsupported("to act on a device that was not built here"))
    }

    fn check(&mut self) -> Result<(), TesterError> {
        match &self.by {
            By::Kernel { side, .. } => side.links().map(|_links| ()).map_err(control::gone),
            By::Snmp(_) => Ok(()),
        }
    }

    fn configure(&mut self, _: &DeviceSetup) -> Result<(), TesterError> {
        Err(unsupported("to configure a device that was not built here"))
    }

    fn counters(&mut self) -> Result<Vec<DeviceCount>, TesterError> {
        Ok(vec![])
    }

    fn counts(&mut self) -> Result<DeviceCounts, TesterError> {
        match &mut self.by {
            By::Kernel { side, last } => {
                let counts = side.readings().map(control::counts).map_err(control::gone)?;
                let went_back = has_fallen(last, &counts.links);
                last.clone_from(&counts.links);
                if went_back {
                    let why = "the device's counters were not read: one of them went backward";
                    return Ok(DeviceCounts { notes: vec![why.into()], ..DeviceCounts::default() });
                }
                Ok(counts)
            }
            By::Snmp(agent) => agent.counts(),
        }
    }

    fn is_rough(&self) -> bool {
        matches!(self.by, By::Snmp(_))
    }

    fn untimed(&self) -> Option<String> {
        Some("the device was not built here: its processors are its own".into())
    }
}

fn unsupported(what: &str) -> TesterError {
    TesterError::Unsupported {
        port: "any".into(),
        what: what.into(),
        remedy: "do it by hand and repeat the run".into(),
    }
}

/// An interface that was made anew counts from zero.
fn has_fallen(before: &[DeviceLink], now: &[DeviceLink]) -> bool {
    before.iter().zip(now).any(|(before, now)| {
        now.rx_frames < before.rx_frames
            || now.tx_frames < before.tx_frames
            || now.rx_dropped < before.rx_dropped
            || now.tx_dropped < before.tx_dropped
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_that_counts_from_zero_again_has_fallen() {
        let link = |rx_frames, tx_frames| DeviceLink { rx_frames, tx_frames, ..Default::default() };
        assert!(!has_fallen(&[], &[link(9, 9)]));
        assert!(!has_fallen(&[link(5, 5)], &[link(5, 6)]));
        assert!(has_fallen(&[link(5, 5), link(5, 5)], &[link(9, 9), link(9, 4)]));
    }
}
