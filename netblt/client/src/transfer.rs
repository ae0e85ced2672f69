//! A transfer as a future: it runs in a thread of its own, which wakes whoever waits.

use crate::address::resolve;
use crate::error::Error;
use crate::follow::{CANCELLED, Following, Wanted, Watch};
use crate::options::Options;
use crate::outcome::Outcome;
use futures_channel::oneshot;
use futures_core::Stream;
use netblt_io::Progress;
use netblt_io::files::Wish;
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;

/// Makes what a transfer gives of how it ended.
type Extract<T> = Box<dyn FnOnce(Outcome) -> Result<T, Error> + Send>;
/// Looks at files, and says what to ask the other end for.
type Prepare<T> = Box<dyn FnOnce() -> Result<(Wish, Extract<T>), Error> + Send>;

/// What is to be done.
struct Work<T> {
    host: String,
    options: Options,
    prepare: Prepare<T>,
}

impl<T> Work<T> {
    /// Does it in this thread. The result is delivered at once; then the other end may ask for last packets again.
    fn run(self, watch: Watch<'_>, deliver: impl FnOnce(Result<T, Error>)) {
        let mut following = None;
        deliver(self.result(watch, &mut following));
        if let Some(mut following) = following {
            following.linger();
        }
    }

    fn result(self, watch: Watch<'_>, following: &mut Option<Following>) -> Result<T, Error> {
        let (wish, extract) = (self.prepare)()?;
        let peer = resolve(&self.host, self.options.carrier)?;
        let mut under_way = Following::open(&self.options, peer, wish)?;
        let followed = under_way.watch(watch)?;
        *following = Some(under_way);
        extract(Outcome::of(followed)?)
    }
}

/// What the thread of a transfer and those outside it share.
#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    progress: Option<Progress>,
    /// Counts changes.
    version: u64,
    over: bool,
    at_most_bps: Option<f64>,
    wakers: Vec<Waker>,
}

impl Shared {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// News for those who wait.
    fn change(&self, change: impl FnOnce(&mut Seen)) {
        let mut seen = self.seen();
        change(&mut seen);
        seen.version += 1;
        let wakers = std::mem::take(&mut seen.wakers);
        drop(seen);
        wakers.into_iter().for_each(Waker::wake);
    }
    fn look(&self, progress: Option<Progress>) -> Wanted {
        if progress.is_some() && self.seen().progress != progress {
            self.change(|seen| seen.progress = progress);
        }
        let stop = self.stop.load(Ordering::SeqCst).then_some(CANCELLED);
        Wanted { stop, at_once: false, at_most_bps: self.seen().at_most_bps }
    }
}

/// Says that a transfer is over, however its thread ends.
struct Over(Arc<Shared>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.change(|seen| seen.over = true);
    }
}

/// A transfer. It begins when it is first polled, or waited for, and gives what it came to.
///
/// Dropping it cancels it: the other end hears of that, and the transfer's thread ends within seconds, at once in
/// most cases. What arrived is kept.
#[must_use = "a transfer begins when it is awaited"]
pub struct Transfer<T = Outcome> {
    state: State<T>,
    shared: Arc<Shared>,
}

enum State<T> {
    Waiting(Work<T>),
    Running(oneshot::Receiver<Result<T, Error>>),
    Over,
}

impl<T: Send + 'static> Transfer<T> {
    pub(crate) fn new(host: &str, options: &Options, prepare: Prepare<T>) -> Transfer<T> {
        let work = Work { host: host.to_owned(), options: options.clone(), prepare };
        Transfer { state: State::Waiting(work), shared: Arc::default() }
    }

    /// A handle by which the transfer can be watched, slowed down and cancelled while somebody awaits it.
    pub fn handle(&self) -> Handle {
        Handle(self.shared.clone())
    }

    /// Runs the transfer in this thread, for programs without an executor.
    pub fn wait(self) -> Result<T, Error> {
        self.wait_with(|_| true)
    }

    /// The same; `go_on` hears about every 50 ms how far it is, and cancels it by `false`. Stays until the other end
    /// needs nothing more.
    pub fn wait_with(
        mut self,
        mut go_on: impl FnMut(Option<Progress>) -> bool,
    ) -> Result<T, Error> {
        let shared = self.shared.clone();
        let _over = Over(shared.clone());
        match std::mem::replace(&mut self.state, State::Over) {
            State::Waiting(work) => {
                let mut result = Err(Error::Cancelled { kept: false });
                let mut watch = |progress| {
                    let wanted = shared.look(progress);
                    Wanted {
                        stop: if go_on(progress) { wanted.stop } else { Some(CANCELLED) },
                        ..wanted
                    }
                };
                work.run(&mut watch, |came_to| result = came_to);
                result
            }
            // It was polled before.
            State::Running(mut result) => loop {
                match result.try_recv() {
                    Ok(Some(result)) => return result,
                    Ok(None) => thread::sleep(std::time::Duration::from_millis(10)),
                    Err(oneshot::Canceled) => return Err(broken()),
                }
                if !go_on(shared.seen().progress) {
                    shared.stop.store(true, Ordering::SeqCst);
                }
            },
            State::Over => Err(Error::Cancelled { kept: false }),
        }
    }

    fn start(&self, work: Work<T>) -> Result<oneshot::Receiver<Result<T, Error>>, Error> {
        let (result_by, result) = oneshot::channel();
        let shared = self.shared.clone();
        let run = move || {
            let over = Over(shared.clone());
            work.run(&mut |progress| shared.look(progress), |result| {
                // Nobody may wait any more.
                let _ = result_by.send(result);
                drop(over);
            });
        };
        let thread = thread::Builder::new().name("netblt-transfer".to_owned());
        thread.spawn(run).map_err(Error::System)?;
        Ok(result)
    }
}

fn broken() -> Error {
    Error::System(std::io::Error::other("the transfer's thread broke"))
}

impl<T> Unpin for Transfer<T> {}

impl<T: Send + 'static> Future for Transfer<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if matches!(self.state, State::Waiting(_))
            && let State::Waiting(work) = std::mem::replace(&mut self.state, State::Over)
        {
            match self.start(work) {
                Ok(result) => self.state = State::Running(result),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        let State::Running(result) = &mut self.state else {
            return Poll::Ready(Err(Error::Cancelled { kept: false }));
        };
        match Pin::new(result).poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(result) => {
                self.state = State::Over;
                Poll::Ready(result.unwrap_or_else(|oneshot::Canceled| Err(broken())))
            }
        }
    }
}

impl<T> Drop for Transfer<T> {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
    }
}

impl<T> fmt::Debug for Transfer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transfer").field("progress", &self.shared.seen().progress).finish()
    }
}

/// Watches and steers a transfer from anywhere.
#[derive(Clone, Debug)]
pub struct Handle(Arc<Shared>);

impl Handle {
    /// Has the transfer end; it gives [`Error::Cancelled`]. What arrived is kept. Unlike dropping the transfer, awaiting
    /// it then says when the other end knows.
    pub fn cancel(&self) {
        self.0.stop.store(true, Ordering::SeqCst);
    }
    /// From now on the transfer is no faster than this, in bits of data a second; None for what [`Options::rate`]
    /// allows, which bounds it in any case. It takes effect within 50 ms and a round trip.
    pub fn cap_rate(&self, at_most_bps: Option<f64>) {
        self.0.seen().at_most_bps = at_most_bps.filter(|bps| bps.is_finite());
    }
    /// How far the transfer is; None before both ends have agreed.
    pub fn progress(&self) -> Option<Progress> {
        self.0.seen().progress
    }
    /// How far it is, each time that this has changed, at most about 20 times a second. Who reads slowly gets the
    /// newest. The stream ends with the transfer.
    pub fn progress_stream(&self) -> ProgressStream {
        ProgressStream { shared: self.0.clone(), version: 0 }
    }
}

/// See [`Handle::progress_stream`].
#[derive(Debug)]
pub struct ProgressStream {
    shared: Arc<Shared>,
    /// What was given.
    version: u64,
}

impl Stream for ProgressStream {
    type Item = Progress;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Progress>> {
        let shared = self.shared.clone();
        let mut seen = shared.seen();
        if seen.version > self.version
            && let Some(progress) = seen.progress.filter(|_| !seen.over)
        {
            self.version = seen.version;
            return Poll::Ready(Some(progress));
        }
        if seen.over {
            return Poll::Ready(None);
        }
        if !seen.wakers.iter().any(|waker| waker.will_wake(context.waker())) {
            seen.wakers.push(context.waker().clone());
        }
        Poll::Pending
    }
}
