//! Layer 1 of ports: what a configuration asks for, and what netanvil makes of it. It changes no setting of a line.

use super::active::Port;
use crate::error::Refusal;
use crate::model::{Config, Layer1, Layer1Speed};
use std::collections::BTreeMap;
use trial::PortId;
use units::LineRate;

/// The specification's default.
const MTU_BYTES: u32 = 1500;

/// What is asked of each port, with its place in the request.
pub struct Layer1s<'a> {
    of_port: BTreeMap<PortId, (usize, &'a Layer1)>,
}

impl<'a> Layer1s<'a> {
    /// Of a configuration.
    ///
    /// # Errors
    /// Where a port is not there, or named twice.
    pub fn of(
        config: &'a Config,
        ports: &BTreeMap<String, PortId>,
    ) -> Result<Layer1s<'a>, Vec<Refusal>> {
        let (mut of_port, mut errors) = (BTreeMap::new(), vec![]);
        for (at, layer1) in config.layer1.iter().enumerate() {
            for (index, name) in layer1.port_names.iter().enumerate() {
                let path = format!("layer1[{at}].port_names[{index}]");
                let Some(port) = ports.get(name) else {
                    errors.push(Refusal::new(&path, format!("there is no port `{name}`")));
                    continue;
                };
                if of_port.insert(*port, (at, layer1)).is_some() {
                    errors.push(Refusal::new(&path, format!("port `{name}` has a layer1 already")));
                }
            }
        }
        if errors.is_empty() { Ok(Layer1s { of_port }) } else { Err(errors) }
    }

    /// Rate of each port whose driver reports none: percentages are of it.
    pub fn nominal_rates(&self, otherwise: LineRate, ports: usize) -> Vec<LineRate> {
        let asked = |port: usize| self.of_port.get(&PortId(port as u16));
        let rate = |port| asked(port).and_then(|(_, layer1)| layer1.speed).map(rate_of);
        (0..ports).map(|port| rate(port).unwrap_or(otherwise)).collect()
    }

    /// What is otherwise than asked for.
    pub fn warnings(&self, ports: &[Port]) -> Vec<String> {
        let mut warnings: Vec<String> = vec![];
        for (port, (at, layer1)) in &self.of_port {
            let port = &ports[usize::from(port.0)];
            let mut warn = |property: &str, what: String| {
                warnings.push(format!("layer1[{at}].{property}: port {} {what}", port.name));
            };
            let asked = layer1.speed.map(rate_of).filter(|asked| *asked != port.line);
            if let Some(asked) = asked.filter(|_| port.is_physical) {
                warn("speed", format!("runs at {}, not at {asked}", port.line));
            }
            if layer1.mtu != MTU_BYTES && layer1.mtu != port.mtu_bytes {
                warn("mtu", format!("has {} bytes; netanvil does not change it", port.mtu_bytes));
            }
            if !layer1.promiscuous {
                warn("promiscuous", "takes all frames, whoever they are for".into());
            }
            if layer1.media.is_some() {
                warn("media", "has the medium that its driver has chosen".into());
            }
            if layer1.auto_negotiate.is_some() || layer1.ieee_media_defaults.is_some() {
                warn("auto_negotiate", "negotiates as its driver is set".into());
            }
        }
        warnings
    }
}

fn rate_of(speed: Layer1Speed) -> LineRate {
    let mbps = match speed {
        Layer1Speed::Speed10FdMbps | Layer1Speed::Speed10HdMbps => 10,
        Layer1Speed::Speed100FdMbps | Layer1Speed::Speed100HdMbps => 100,
        Layer1Speed::Speed1Gbps => 1_000,
        Layer1Speed::Speed10Gbps => 10_000,
        Layer1Speed::Speed25Gbps => 25_000,
        Layer1Speed::Speed40Gbps => 40_000,
        Layer1Speed::Speed50Gbps => 50_000,
        Layer1Speed::Speed100Gbps => 100_000,
        Layer1Speed::Speed200Gbps => 200_000,
        Layer1Speed::Speed400Gbps => 400_000,
        Layer1Speed::Speed800Gbps => 800_000,
    };
    LineRate::from_mbps(mbps)
}
