//! What is true of a device, by arithmetic. No line of it is the tester's, the simulator's or a
//! method's.

use super::device::{Device, medium_fps};

/// Picoseconds of a second.
const PS: u128 = 1_000_000_000_000;

impl Device {
    /// What the processor does in a second, or the line behind it, if there is always something
    /// to do.
    pub fn service_fps(&self) -> f64 {
        let output = medium_fps(self.out_line_bps, self.frame_bytes);
        match self.service_ns {
            0 => output,
            service_ns => output.min(1e9 / service_ns as f64),
        }
    }

    /// What the device carries for ever: its processor or its medium.
    pub fn capacity_fps(&self) -> f64 {
        self.service_fps().min(self.medium_fps())
    }

    /// The same with a share of loss allowed: of r frames, r - c are lost, so r = c / (1 - p).
    /// What a device with pauses does not take it does not lose.
    pub fn capacity_with_loss_fps(&self, loss: f64) -> f64 {
        let loss = if self.has_pause { 0.0 } else { loss };
        (self.service_fps() / (1.0 - loss)).min(self.medium_fps())
    }

    /// Of `sent` frames, at `frames` in `seconds` and one after the other, so many find room.
    ///
    /// Frame k comes at k x seconds / frames. Before it, work until `done` has been taken on, so
    /// that ceil((done - now) / service) frames are in the device: one of them in service, the
    /// others wait.
    pub fn forwards(&self, (frames, seconds): (u64, u64), sent: u64) -> u64 {
        if self.has_pause {
            return sent;
        }
        let service = u128::from(self.service_ns) * 1_000;
        let (mut done, mut taken) = (0u128, 0);
        for k in 0..sent {
            let now = u128::from(k) * u128::from(seconds) * PS / u128::from(frames);
            let inside = done.saturating_sub(now).div_ceil(service);
            if inside > u128::from(self.room_frames) {
                continue;
            }
            done = done.max(now) + service;
            taken += 1;
        }
        taken
    }

    /// From the first bit out of the tester to the last bit back in it, with nothing else on the
    /// way: both wires and their lengths, the processor, the delay.
    pub fn latency_alone_ns(&self) -> f64 {
        let wire = |bps: u64| 8e9 * f64::from(self.frame_bytes) / bps as f64;
        wire(self.line_bps)
            + wire(self.out_line_bps)
            + 2.0 * self.propagation_ns as f64
            + (self.service_ns + self.delay_ns) as f64
    }

    /// The same latency behind a full queue.
    pub fn latency_most_ns(&self) -> f64 {
        let waiting = match self.has_pause {
            // Room for what was on its way when it asked for a pause.
            true => f64::INFINITY,
            false => (self.room_frames + 1) as f64 * self.service_ns as f64,
        };
        self.latency_alone_ns() + waiting + self.delay_varies_by_ns as f64
    }
}

#[test]
fn by_hand() {
    let mut device = Device::new(1);
    (device.service_ns, device.room_frames, device.has_pause) = (10_000, 1, false);
    device.out_line_bps = 10_000_000;
    // Every 4 us: served at 0, 10 and 20; those at 8, 12 and 16 find the one from 4 waiting.
    assert_eq!(device.forwards((250_000, 1), 3), 2);
    assert_eq!(device.forwards((250_000, 1), 4), 3, "at 12 the one from 4 is in service");
    assert_eq!(device.forwards((100_000, 1), 1_000), 1_000, "as fast as it is");
    device.room_frames = 100;
    // 110,000 a second for 10 ms: 1,100 come and 1,000 are served, of 100 that wait none is lost.
    assert_eq!(device.forwards((110_000, 1), 1_100), 1_100);
    (device.line_bps, device.frame_bytes) = (10_000_000, 64);
    (device.propagation_ns, device.delay_ns) = (1_000, 5_000);
    assert_eq!(device.latency_alone_ns(), 2.0 * 51_200.0 + 2_000.0 + 10_000.0 + 5_000.0);
    assert!((device.medium_fps() - 14_880.952).abs() < 0.001);
}
