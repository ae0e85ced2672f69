//! The faults, one row each: on which device, what it does, what a trial should say of it.

use super::bout::Plan;
use super::chance::Chance;
use super::injure::Injury;
use super::verdicts::Truth;
use std::time::Duration;

/// One row of the rig.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// By which it is chosen.
    pub name: &'static str,
    /// The command line: device and what else.
    pub arguments: &'static str,
    pub injury: Injury,
    pub second_tester: bool,
    /// Frames that taps leave out.
    pub but: &'static str,
    pub truth: Truth,
    /// Reasons that name the fault in an invalid trial.
    pub named: &'static [&'static str],
    /// Share of the trials that are valid at least, in percent.
    pub valid_percent: usize,
    /// Share of the invalid trials during the fault that name it at least, in percent.
    pub named_percent: usize,
    pub trials: usize,
    /// Trials within the ordinary tests; none where 0.
    pub trials_of_a_short_run: usize,
}

/// A device that loses nothing by itself.
const LOSSLESS: Truth = Truth { loses: false, copied: false };
const LOSSY: Truth = Truth { loses: true, copied: false };

const PORT_TYPE: &str = "--port-type";
const PORT_TYPES: [&str; 3] = ["xdp", "af_xdp", "af_packet"];
const ROUTER: &str = "--device linux-router --line-rate 2M";
const BRIDGE: &str = "--device linux-bridge --line-rate 2M";
/// What a tester says that was kept from its processor.
const TESTER_HELD_UP: &[&str] =
    &["shortfall", "tester_dropped", "not_sent", "start_skew", "too_fast"];
const ANY_HELD_UP: &[&str] = &[
    "shortfall",
    "tester_dropped",
    "not_sent",
    "start_skew",
    "too_fast",
    "device_held_up",
    "still_arriving",
];

const NOTHING: Fault = Fault {
    name: "nothing",
    arguments: ROUTER,
    injury: Injury::Nothing,
    second_tester: false,
    but: "",
    truth: LOSSLESS,
    named: ANY_HELD_UP,
    valid_percent: 50,
    named_percent: 0,
    trials: 12,
    trials_of_a_short_run: 0,
};

pub const FAULTS: [Fault; 13] = [
    NOTHING,
    Fault {
        name: "busy",
        injury: Injury::BusyLoops,
        valid_percent: 10,
        named_percent: 50,
        trials: 20,
        ..NOTHING
    },
    Fault {
        name: "busy-normal",
        arguments: "--device linux-router --line-rate 2M --scheduling normal",
        injury: Injury::BusyLoops,
        valid_percent: 0,
        named_percent: 50,
        trials: 16,
        ..NOTHING
    },
    Fault {
        name: "stop-tester",
        injury: Injury::StopTester,
        named: TESTER_HELD_UP,
        valid_percent: 15,
        named_percent: 60,
        trials: 24,
        trials_of_a_short_run: 10,
        ..NOTHING
    },
    Fault {
        name: "stop-daemon",
        arguments: "--device ovs-userspace --line-rate 2M",
        injury: Injury::StopDaemon,
        named: &["device_stopped", "still_arriving", "leftovers"],
        valid_percent: 15,
        named_percent: 60,
        trials: 24,
        ..NOTHING
    },
    Fault {
        name: "link-down",
        arguments: BRIDGE,
        injury: Injury::LinkDown,
        named: &["link_changed"],
        valid_percent: 15,
        named_percent: 80,
        trials: 24,
        trials_of_a_short_run: 8,
        ..NOTHING
    },
    Fault {
        name: "chatter-10",
        arguments: BRIDGE,
        injury: Injury::Chatter(Some(10)),
        valid_percent: 50,
        trials: 14,
        trials_of_a_short_run: 6,
        ..NOTHING
    },
    Fault {
        name: "chatter-1000",
        arguments: BRIDGE,
        injury: Injury::Chatter(Some(1_000)),
        valid_percent: 40,
        trials: 14,
        ..NOTHING
    },
    Fault {
        name: "chatter-flood",
        arguments: BRIDGE,
        injury: Injury::Chatter(None),
        but: "not ether proto 0x88b5",
        truth: LOSSY,
        valid_percent: 0,
        trials: 14,
        ..NOTHING
    },
    Fault {
        name: "second-tester",
        arguments: BRIDGE,
        second_tester: true,
        valid_percent: 15,
        trials: 16,
        ..NOTHING
    },
    Fault {
        name: "forged",
        arguments: "--device linux-bridge --line-rate 2M --drop-every 10",
        injury: Injury::Forge,
        truth: Truth { loses: true, copied: true },
        named: &["leftovers", "forged"],
        valid_percent: 20,
        trials: 24,
        trials_of_a_short_run: 8,
        ..NOTHING
    },
    Fault {
        name: "leftovers",
        // A queue of five seconds, and no patience: 85 frames/s of 64 bytes leave, (64 + 24) x 8 bits each.
        arguments: "--device linux-router --line-rate 2M --port-type af_packet --tbf-rate 60k \
                    --tbf-queue 400 --set trial.drain_max_s=0.05",
        truth: LOSSY,
        named: &["leftovers", "still_arriving"],
        valid_percent: 0,
        named_percent: 60,
        trials: 20,
        trials_of_a_short_run: 8,
        ..NOTHING
    },
    Fault {
        name: "deep-queue",
        arguments: "--device linux-router --line-rate 8M --port-type af_packet --tbf-rate 2M \
                    --tbf-queue 400",
        truth: LOSSY,
        named: &["leftovers", "still_arriving"],
        valid_percent: 40,
        trials: 16,
        ..NOTHING
    },
];

impl Fault {
    /// Its run; ports are of any type where the row names none.
    pub fn plan(&self, trials: usize, chance: &mut Chance) -> Plan {
        let any = PORT_TYPES[chance.between(0, PORT_TYPES.len() as u64) as usize];
        let mut arguments = self.arguments.to_owned();
        if !arguments.contains(PORT_TYPE) {
            arguments += &format!(" {PORT_TYPE} {any}");
        }
        Plan {
            arguments,
            injury: self.injury,
            second: self.second_tester,
            but: self.but,
            trials,
            longest: Duration::from_secs(60),
        }
    }

    /// Whether this host lacks what it takes.
    pub fn lacks(&self) -> bool {
        self.injury == Injury::StopDaemon && testbed::ovs_shortfall().is_some()
    }
}
