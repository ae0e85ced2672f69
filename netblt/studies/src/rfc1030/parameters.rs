//! What RFC 1030 leaves open and the models need: each free parameter, what it is chosen by, and between which values.

use super::campaign::Constants;

/// A free parameter.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// As in [`Constants`], its unit last.
    pub name: &'static str,
    /// How its value was chosen.
    pub chosen_by: &'static str,
    /// The least and the most that it may be.
    pub range: (f64, f64),
    /// Where it stands.
    pub of: fn(&mut Constants) -> &mut f64,
}

impl Parameter {
    /// Its value there.
    pub fn value(&self, constants: &Constants) -> f64 {
        let mut copy = *constants;
        *(self.of)(&mut copy)
    }
    /// The constants with this one times a factor.
    pub fn scaled(&self, constants: &Constants, factor: f64) -> Constants {
        let mut changed = *constants;
        *(self.of)(&mut changed) *= factor;
        changed
    }
}

const TURN_AROUND: &str = "by hand: together the 19 and 27 ms that a buffer takes beyond its packets \
    in lock-step, appendix II";
const BY_HAND: &str = "by hand: speeds and losses of two buffers, appendix III";
const DESCENT_LANS: &str = "coordinate descent on the rows of appendices II and III";
const DESCENT_WIDEBAND: &str = "coordinate descent on the rows of appendix IV";

macro_rules! parameters {
    ($($name:ident: $chosen_by:expr, $least:expr, $most:expr;)*) => {
        [$(Parameter {
            name: stringify!($name),
            chosen_by: $chosen_by,
            range: ($least, $most),
            of: |constants| &mut constants.$name,
        }),*]
    };
}

/// All of them.
pub const PARAMETERS: [Parameter; 20] = parameters! {
    send_control_ms: TURN_AROUND, 0.5, 6.0;
    receive_control_ms: TURN_AROUND, 0.5, 6.0;
    start_buffer_ms: TURN_AROUND, 0.0, 6.0;
    take_byte_us: TURN_AROUND, 0.0, 1.5;
    jitter: BY_HAND, 0.0, 0.5;
    timer_latency_per_buffer_ms: DESCENT_WIDEBAND, 0.0, 0.5;
    receive_per_further_buffer_ms: "by hand: the speed of two buffers on the ring, appendix II", 0.0, 1.5;
    ethernet_byte_us: DESCENT_LANS, 1.0, 4.0;
    copy_byte_us: DESCENT_LANS, 0.2, 2.0;
    // Below 4.8 ms less the read-out: else every second packet of a burst, 6 ms apart, would be lost.
    reenable_ms: DESCENT_LANS, 0.1, 3.5;
    reenable_after_sending_ms: BY_HAND, 0.1, 3.5;
    broadcast_interval_ms: DESCENT_LANS, 50.0, 3000.0;
    broadcast_bytes: "a guess: a short broadcast such as ARP or rwho", 46.0, 500.0;
    damage: DESCENT_LANS, 0.0, 0.02;
    data_timer_margin_ms: DESCENT_LANS, 1.0, 60.0;
    sun_packet_ms: "a guess: the SUN is \"able to handle the incoming packets quite well\"", 0.2, 5.0;
    wideband_loss: DESCENT_WIDEBAND, 0.005, 0.06;
    another_reservation: DESCENT_WIDEBAND, 0.0, 0.02;
    another_reservation_for_fragment: DESCENT_WIDEBAND, 0.0, 0.3;
    queue_frames: "a guess: about a second of packets", 10.0, 200.0;
};
