//! A way to the device of a test bed.

use ports::{DeviceControl, DeviceCounts, DeviceLink, DeviceThread, PlaceCount};
use std::sync::Arc;
use testbed::{Device, DeviceReadings, PlaceCounters};
use trial::{DeviceAction, DeviceCount, DeviceSetup, TesterError};

/// The device of a test bed, as far as these tests ask it.
pub struct Control(pub Arc<Device>);

impl DeviceControl for Control {
    fn act(&mut self, action: &DeviceAction) -> Result<(), TesterError> {
        let DeviceAction::LinkReset { port, down_for } = action else { panic!("not asked for") };
        self.0.link_reset(usize::from(port.0), *down_for).expect("reset");
        Ok(())
    }
    fn check(&mut self) -> Result<(), TesterError> {
        Ok(())
    }
    fn configure(&mut self, _setup: &DeviceSetup) -> Result<(), TesterError> {
        Ok(())
    }
    fn counters(&mut self) -> Result<Vec<DeviceCount>, TesterError> {
        Ok(vec![])
    }
    fn counts(&mut self) -> Result<DeviceCounts, TesterError> {
        let DeviceReadings { links, places } = self.0.readings().expect("counters");
        let links = links.into_iter().map(|link| DeviceLink {
            rx_frames: link.counters.rx_frames,
            rx_dropped: link.counters.rx_dropped,
            tx_frames: link.counters.tx_frames,
            tx_dropped: link.counters.tx_dropped,
            carrier_changes: link.carrier_changes,
            carrier: link.carrier,
        });
        let place = |place: PlaceCounters| {
            let PlaceCounters { name, dropped, waiting, of_machine } = place;
            PlaceCount { name, dropped, waiting, of_machine }
        };
        let places = places.into_iter().map(place).collect();
        Ok(DeviceCounts { links: links.collect(), places, notes: vec![] })
    }
    fn threads(&mut self) -> Vec<DeviceThread> {
        let threads = self.0.forwarding_threads();
        threads.into_iter().map(|(id, name)| DeviceThread { id, name }).collect()
    }
}
