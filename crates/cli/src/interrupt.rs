//! Ctrl-C, SIGTERM and SIGHUP: the first one asks the trial to stop, the second one forces.

use crate::failure::{Exit, Failure, Outcome};
use crate::{keys, output};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Watches from a thread of its own; the flag becomes true with the first signal.
///
/// Call it after a user namespace was entered: that is refused to a process with threads.
pub fn watch() -> Outcome<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])
        .map_err(|error| Failure::new(format!("cannot watch for signals: {error}")))?;
    let raised = flag.clone();
    std::thread::spawn(move || {
        for _signal in signals.forever() {
            if raised.swap(true, Ordering::SeqCst) {
                keys::restore();
                output::say("stopped by force; `netanvil clean` removes what is left");
                std::process::exit(Exit::Failed.code().into());
            }
            output::say("stopping: results taken so far are kept; once more to force");
        }
    });
    Ok(flag)
}
