//! Ctrl-C, SIGTERM and SIGHUP: the first one asks the trial to stop, the second one forces. So does the end of
//! standard input, where another program holds it.

use crate::failure::{Exit, Failure, Outcome};
use crate::{keys, output};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};

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

/// Also stops at `q` and at the end of standard input; gives the other keys.
pub fn stop_with_stdin(flag: &Arc<AtomicBool>) -> Receiver<u8> {
    let (keys, received) = mpsc::channel();
    let flag = flag.clone();
    std::thread::spawn(move || {
        let bytes = std::io::stdin().lock().bytes().map_while(Result::ok);
        for key in bytes.take_while(|key| *key != b'q') {
            // Whoever takes no keys has dropped the other end; the end of the input counts all the same.
            let _ = keys.send(key);
        }
        flag.store(true, Ordering::SeqCst);
    });
    received
}
