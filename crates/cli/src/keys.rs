//! Single keys, from a terminal without Enter, or from another program.

use nix::sys::termios::{self, LocalFlags, SetArg, Termios};
use std::io::{self, IsTerminal, Read};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Mutex, PoisonError};

/// How the terminal was before.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Keys as they are typed; the terminal is as before when this goes.
pub struct Keys(Receiver<u8>);

impl Keys {
    /// Listens, where both standard input and output are a terminal and this program is in its foreground.
    pub fn listen() -> Option<Keys> {
        let stdin = io::stdin();
        if !stdin.is_terminal() || !io::stdout().is_terminal() {
            return None;
        }
        let in_front = nix::unistd::tcgetpgrp(&stdin).ok()? == nix::unistd::getpgrp();
        let before = termios::tcgetattr(&stdin).ok().filter(|_| in_front)?;
        let mut raw = before.clone();
        raw.local_flags.remove(LocalFlags::ICANON | LocalFlags::ECHO);
        termios::tcsetattr(&stdin, SetArg::TCSANOW, &raw).ok()?;
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            for key in io::stdin().lock().bytes().map_while(Result::ok) {
                if sender.send(key).is_err() {
                    return;
                }
            }
        });
        Some(Keys(receiver))
    }

    /// Keys from another program.
    pub fn received(keys: Receiver<u8>) -> Keys {
        Keys(keys)
    }

    /// The next key, if one was typed.
    pub fn next(&self) -> Option<u8> {
        self.0.try_recv().ok()
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back as it was.
pub fn restore() {
    if let Some(before) = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take() {
        let _ = termios::tcsetattr(io::stdin(), SetArg::TCSANOW, &before);
    }
}
