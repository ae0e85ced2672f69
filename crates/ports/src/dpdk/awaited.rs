//! A device of DPDK that serves a socket of vhost-user (`net_virtio_user` with `server=1`) and that DPDK does not give back
//! before somebody has connected there: with an end to that wait.

use std::os::unix::net::UnixStream;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a far end is waited for.
pub(super) const CONNECTS_WITHIN: Duration = Duration::from_secs(10);
/// After that, how often DPDK is called off again, should it wait once more.
const AGAIN_AFTER: Duration = Duration::from_millis(100);

/// Connects to the socket itself once the far end has had its time, and hangs up: DPDK takes that for a far end that fails,
/// and gives an error. Until this is dropped.
pub(super) struct Awaited {
    done: Option<Sender<()>>,
    caller: Option<JoinHandle<()>>,
}

impl Awaited {
    /// Whoever connects to `socket` has `within`.
    pub fn at(socket: &str, within: Duration) -> Self {
        let (done, is_done) = channel();
        let socket = socket.to_owned();
        let caller = std::thread::spawn(move || {
            let mut wait = within;
            while is_done.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                drop(UnixStream::connect(&socket));
                wait = AGAIN_AFTER;
            }
        });
        Awaited { done: Some(done), caller: Some(caller) }
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        self.done = None;
        if let Some(caller) = self.caller.take() {
            let _ = caller.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::net::UnixListener;

    fn socket() -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s").display().to_string();
        (folder, path)
    }

    #[test]
    fn who_waits_in_vain_is_called_and_hung_up_on() {
        let (_folder, path) = socket();
        let listener = UnixListener::bind(&path).expect("bound");
        let awaited = Awaited::at(&path, Duration::from_millis(20));
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().expect("a call");
            assert_eq!(stream.read(&mut [0]).expect("its end"), 0);
        }
        drop(awaited);
    }

    #[test]
    fn nobody_calls_where_the_far_end_came_in_time() {
        let (_folder, path) = socket();
        let listener = UnixListener::bind(&path).expect("bound");
        drop(Awaited::at(&path, Duration::from_secs(600)));
        listener.set_nonblocking(true).expect("set");
        assert!(listener.accept().is_err(), "a call");
    }
}
