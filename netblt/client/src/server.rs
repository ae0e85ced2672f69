//! A folder that is served in the background.

use crate::error::Error;
use crate::follow::Followed;
use crate::outcome::Outcome;
use crate::serving::{ServerOptions, Serving};
use futures_channel::{mpsc, oneshot};
use futures_core::Stream;
use netblt_io::Ended;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::thread;
use units::Duration;

/// How often the server looks whether it is to end.
const LOOK: Duration = Duration::from_ms(50);
/// Ends of transfers that are kept for who does not read them.
const KEPT_ENDS: usize = 1000;

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    cap_bps: Mutex<Option<f64>>,
}

/// A folder that others read from and write to, and never leave. A thread serves it until [`Server::shutdown`], or until
/// this is dropped.
#[derive(Debug)]
#[must_use = "a server ends when it is dropped"]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    over: oneshot::Receiver<Result<(), Error>>,
    transfers: Option<mpsc::Receiver<Result<Outcome, Error>>>,
}

impl Server {
    /// Serves `folder` from now on.
    pub fn start(folder: impl AsRef<Path>, options: &ServerOptions) -> Result<Server, Error> {
        let serving = Serving::open(folder.as_ref(), options)?;
        let address = serving.address();
        let shared = Arc::new(Shared::default());
        let (ends, transfers) = mpsc::channel(KEPT_ENDS);
        let (over_by, over) = oneshot::channel();
        let theirs = shared.clone();
        let run = move || {
            let _ = over_by.send(serve(serving, &theirs, ends));
        };
        let thread = thread::Builder::new().name("netblt-server".to_owned());
        thread.spawn(run).map_err(Error::System)?;
        Ok(Server { address, shared, over, transfers: Some(transfers) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
    /// From now on all connections together send at most so many bits a second.
    pub fn cap_rate(&self, bits_per_s: f64) {
        let mut cap = self.shared.cap_bps.lock().unwrap_or_else(PoisonError::into_inner);
        *cap = Some(bits_per_s).filter(|bps| bps.is_finite());
    }
    /// Transfers as they end, complete or not; None if somebody took them before. It ends with the server. Who does not
    /// read them misses those after the first thousand.
    pub fn transfers(&mut self) -> Option<Transfers> {
        self.transfers.take().map(Transfers)
    }
    /// Ends it: whoever is connected is told, and what arrived of unfinished transfers is kept. When this is over, so
    /// are socket and thread.
    pub async fn shutdown(mut self) -> Result<(), Error> {
        self.shared.stop.store(true, Ordering::SeqCst);
        let over = (&mut self.over).await;
        over.unwrap_or_else(|oneshot::Canceled| Err(broken()))
    }
    /// The same for programs without an executor: waits in this thread.
    pub fn stop(mut self) -> Result<(), Error> {
        self.shared.stop.store(true, Ordering::SeqCst);
        loop {
            match self.over.try_recv() {
                Ok(Some(result)) => return result,
                Ok(None) => thread::sleep(std::time::Duration::from_millis(5)),
                Err(oneshot::Canceled) => return Err(broken()),
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
    }
}

fn broken() -> Error {
    Error::System(std::io::Error::other("the server's thread broke"))
}

fn serve(
    mut serving: Serving,
    shared: &Shared,
    mut ends: mpsc::Sender<Result<Outcome, Error>>,
) -> Result<(), Error> {
    let mut tell = |ended: Vec<Ended>| {
        for ended in ended {
            // Nobody may listen, or not fast enough.
            let _ = ends.try_send(Outcome::of(Followed::at_a_server(ended)));
        }
    };
    while !shared.stop.load(Ordering::SeqCst) {
        if let Some(bps) = shared.cap_bps.lock().unwrap_or_else(PoisonError::into_inner).take() {
            serving.cap_rate(bps);
        }
        tell(serving.turn(LOOK)?);
    }
    tell(serving.close());
    Ok(())
}

/// See [`Server::transfers`].
#[derive(Debug)]
pub struct Transfers(mpsc::Receiver<Result<Outcome, Error>>);

impl Stream for Transfers {
    type Item = Result<Outcome, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.0).poll_next(context)
    }
}
