//! Ctrl-C, SIGTERM and SIGHUP: the first one asks the trial to stop, the second one forces. So does the end of
//! standard input, where another program holds it. A command that can say at once what it came to is asked to, at the
//! second one, and forced a second later.

use crate::failure::{Exit, Failure, Outcome};
use crate::{keys, output};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

/// How long a command has to end at once.
const AT_ONCE: Duration = Duration::from_secs(1);

/// What signals want.
#[derive(Clone, Debug, Default)]
pub struct Signalled {
    stop: Arc<AtomicBool>,
    at_once: Arc<AtomicBool>,
}

impl Signalled {
    /// The command is to end.
    pub fn stop(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }
    /// It is to end without waiting for anybody.
    pub fn at_once(&self) -> bool {
        self.at_once.load(Ordering::SeqCst)
    }
}

/// Watches from a thread of its own. The second signal asks once more; who has not ended a second later, or at the third,
/// is forced.
pub fn watch_twice() -> Outcome<Signalled> {
    let signalled = Signalled::default();
    let raised = signalled.clone();
    let forced = || force("stopped by force");
    on_signals(move || {
        if !raised.stop.swap(true, Ordering::SeqCst) {
            output::say("stopping; once more to stop at once");
        } else if !raised.at_once.swap(true, Ordering::SeqCst) {
            std::thread::spawn(move || {
                std::thread::sleep(AT_ONCE);
                forced()
            });
        } else {
            forced();
        }
    })?;
    Ok(signalled)
}

/// Ends the program now.
pub fn force(why: &str) {
    keys::restore();
    output::say(why);
    std::process::exit(Exit::Failed.code().into());
}

fn on_signals(mut act: impl FnMut() + Send + 'static) -> Outcome<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])
        .map_err(|error| Failure::new(format!("cannot watch for signals: {error}")))?;
    std::thread::spawn(move || signals.forever().for_each(|_signal| act()));
    Ok(())
}

/// Watches from a thread of its own; the flag becomes true with the first signal.
///
/// Call it after a user namespace was entered: that is refused to a process with threads.
pub fn watch() -> Outcome<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = flag.clone();
    on_signals(move || {
        if raised.swap(true, Ordering::SeqCst) {
            force("stopped by force; `netanvil clean` removes what is left");
        }
        output::say("stopping: results taken so far are kept; once more to force");
    })?;
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
