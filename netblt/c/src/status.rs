//! How a call ended, and the words for it.

use netblt_client::Error;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// `netblt_status`. The numbers are part of the interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub enum NetbltStatus {
    /// Done.
    Ok = 0,
    /// A pointer is NULL, or an option cannot be meant.
    InvalidArgument = 1,
    /// The host has no address.
    UnknownHost = 2,
    /// No socket.
    Socket = 3,
    /// A file or folder cannot be read.
    CannotRead = 4,
    /// A file cannot be written here.
    CannotWrite = 5,
    /// The file is here already.
    Exists = 6,
    /// A server would be open to others without a key.
    NotTrusted = 7,
    /// Nobody answers.
    NoAnswer = 8,
    /// The other end has another key, or none.
    OtherKey = 9,
    /// The server does not want this transfer.
    Refused = 10,
    /// The other end fell silent.
    Silent = 11,
    /// The other end gave up.
    PeerGaveUp = 12,
    /// This end gave up.
    GaveUp = 13,
    /// The callback cancelled it.
    Cancelled = 14,
    /// This host's network or system does not work.
    System = 15,
    /// A defect of this library.
    Defect = 16,
}

impl NetbltStatus {
    fn of(error: &Error) -> NetbltStatus {
        match error {
            Error::Options { .. } | Error::SealedRawIp => NetbltStatus::InvalidArgument,
            Error::UnknownHost { .. } => NetbltStatus::UnknownHost,
            Error::Socket { .. } => NetbltStatus::Socket,
            Error::CannotRead { .. } => NetbltStatus::CannotRead,
            Error::CannotWrite { error, .. } if error.kind() == io::ErrorKind::AlreadyExists => {
                NetbltStatus::Exists
            }
            Error::CannotWrite { .. } => NetbltStatus::CannotWrite,
            Error::NotTrusted { .. } => NetbltStatus::NotTrusted,
            Error::NoAnswer { .. } => NetbltStatus::NoAnswer,
            Error::OtherKey { .. } => NetbltStatus::OtherKey,
            Error::Refused { .. } => NetbltStatus::Refused,
            Error::Silent { .. } => NetbltStatus::Silent,
            Error::PeerGaveUp { .. } => NetbltStatus::PeerGaveUp,
            Error::GaveUp { .. } => NetbltStatus::GaveUp,
            Error::Cancelled { .. } => NetbltStatus::Cancelled,
            _ => NetbltStatus::System,
        }
    }
}

/// Why a call fails before anything was done.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An argument that cannot be meant.
    Argument(String),
    /// Of the transfer.
    Transfer(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Transfer(error)
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

fn keep(message: &str) {
    // What a peer says may hold zeros.
    let message = CString::new(message.replace('\0', " ")).unwrap_or_default();
    LAST.with(|last| *last.borrow_mut() = message);
}

/// Runs what a function does; a panic becomes a status.
pub(crate) fn guarded(act: impl FnOnce() -> Result<(), Failure>) -> NetbltStatus {
    let (status, message) = match catch_unwind(AssertUnwindSafe(act)) {
        Ok(Ok(())) => (NetbltStatus::Ok, String::new()),
        Ok(Err(Failure::Argument(what))) => (NetbltStatus::InvalidArgument, what),
        Ok(Err(Failure::Transfer(error))) => (NetbltStatus::of(&error), error.to_string()),
        Err(_) => (NetbltStatus::Defect, "a defect of this library; please report it".to_owned()),
    };
    keep(&message);
    status
}

/// What the last call in this thread came to, as [`netblt_last_error`] gives it.
pub fn last_error() -> String {
    LAST.with(|last| last.borrow().to_string_lossy().into_owned())
}

/// `netblt_last_error` of netblt.h: valid until the next call in this thread.
#[unsafe(no_mangle)]
pub extern "C" fn netblt_last_error() -> *const c_char {
    LAST.with(|last| last.borrow().as_ptr())
}

/// `netblt_version` of netblt.h.
#[unsafe(no_mangle)]
pub extern "C" fn netblt_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_status_with_words() {
        assert_eq!(guarded(|| panic!("on purpose")), NetbltStatus::Defect);
        assert!(last_error().contains("defect"));
        assert_eq!(guarded(|| Ok(())), NetbltStatus::Ok);
        assert_eq!(last_error(), "", "of the call before nothing is left");
        assert_eq!(
            guarded(|| Err(Error::Cancelled { kept: false }.into())),
            NetbltStatus::Cancelled
        );
        assert!(last_error().starts_with("cancelled; "), "with the remedy: {}", last_error());
    }

    #[test]
    fn words_are_of_the_thread_that_called() {
        guarded(|| Err(Failure::Argument("here\0there".to_owned())));
        std::thread::spawn(|| assert_eq!(last_error(), "")).join().unwrap();
        assert_eq!(last_error(), "here there");
    }
}
