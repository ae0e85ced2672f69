//! Who gets a processor first while a run lasts, and how the report says it.

use crate::options::Options;
use ports::RealTime;
use ports::scheduling::{
    CONTROL_PRIORITY, DEVICE_PRIORITY, Priority, RECEIVER_PRIORITY, Scheduling, real_time_pause,
    real_time_shortfall,
};

/// Under which name it stands among the run's conditions.
pub const NAME: &str = "scheduling";

fn is_own(options: &Options) -> bool {
    options.scheduling.unwrap_or_default() == Scheduling::Own
}

/// The weight of this run over other work, where it is to have any.
pub fn own(options: &Options) -> Option<Priority> {
    is_own(options).then(Priority::raise)
}

/// The real-time priority of a built device's threads, where they are to have one and may.
pub fn device_priority(options: &Options) -> Option<i32> {
    (is_own(options) && real_time_shortfall().is_none()).then_some(DEVICE_PRIORITY)
}

/// The real-time priority of the tester's threads, likewise. Transmitters have none: they spin, and the
/// kernel stops real-time threads that never sleep.
pub fn real_time(options: &Options) -> RealTime {
    match device_priority(options) {
        None => RealTime::default(),
        Some(_) => RealTime {
            transmit: None,
            receive: Some(RECEIVER_PRIORITY),
            control: Some(CONTROL_PRIORITY),
        },
    }
}

/// What was had, for the report.
pub fn in_words(own: Option<&Priority>, of_device: Option<String>) -> String {
    let Some(own) = own else {
        return "normal: processors are shared with all other work of this host; tester threads at \
                nice -20 within their session"
            .into();
    };
    let mut parts = vec![own.note.clone(), "transmitters at nice -20".into()];
    match real_time_shortfall() {
        Some(why) => parts.push(format!("no real-time priority for receivers and device ({why})")),
        None => {
            parts.push(format!("receivers at SCHED_FIFO {RECEIVER_PRIORITY}"));
            parts.extend(of_device);
            parts.extend(real_time_pause());
        }
    }
    format!("own: {}", parts.join("; "))
}
