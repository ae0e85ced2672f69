//! The network namespace of a port: its threads run inside, whoever starts them.

use crate::sys;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

const OF_THIS_THREAD: &str = "/proc/thread-self/ns/net";

/// A network namespace.
#[derive(Debug)]
pub(crate) struct NetworkNamespace {
    file: File,
    inode: u64,
}

impl NetworkNamespace {
    /// That of the calling thread.
    pub fn current() -> io::Result<Self> {
        let file = File::open(OF_THIS_THREAD)?;
        let inode = file.metadata()?.ino();
        Ok(NetworkNamespace { file, inode })
    }

    /// Tells namespaces apart.
    pub fn number(&self) -> u64 {
        self.inode
    }

    /// Moves the calling thread inside; nothing to do, and no privilege needed, if it is there.
    pub fn enter(&self) -> io::Result<()> {
        if std::fs::metadata(OF_THIS_THREAD)?.ino() == self.inode {
            return Ok(());
        }
        // SAFETY: no pointers; the descriptor is open.
        sys::check(unsafe { libc::setns(self.file.as_raw_fd(), libc::CLONE_NEWNET) }).map(drop)
    }

    /// Runs `act` inside, on a thread that ends with it.
    #[cfg_attr(not(xdp_programs), allow(dead_code))]
    pub fn run<T: Send>(&self, act: impl FnOnce() -> T + Send) -> io::Result<T> {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| self.enter().map(|()| act()));
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}
