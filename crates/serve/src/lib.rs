//! The live page of netanvil: what runs, trial by trial and second by second, in a browser and for Prometheus.
//!
//! ```text
//! netanvil run | traffic        a child process, or any other process that writes into the folder
//!        |  events.jsonl | traffic.jsonl
//!        v
//!      feed      the lines of one record, each with its place in the file as its id
//!      /    \
//!  digest  gauges
//!     |       |
//!  page     /metrics
//! ```
//!
//! There is no second engine: a run that is started here is the same program with the same options, and the page
//! reads what it saves. The record is the only state, so a page that is loaded again, a client that comes back and
//! a server that is started again find everything.
//!
//! A child takes its orders from its standard input and ends with it: when this process goes, however it goes, the
//! run stops as with Ctrl-C and gives its ports back.
//!
//! This crate is an edge: it waits for files, children and clients.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod access;
mod api;
mod digest;
mod feed;
mod folder;
mod gauges;
mod job;
mod metrics;
mod refusal;

pub use access::{Token, TokenError};
pub use folder::TRAFFIC;
pub use job::OwnCommand;

use access::Access;
use axum::Router;
use axum_server::Handle;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use feed::Feeds;
use folder::Folder;
use job::Jobs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// A client has so long to send the head of its request.
const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// Clients have so long to take what is under way when the server ends.
const GOODBYE: Duration = Duration::from_secs(1);
/// Pages have so long to read the end of a command that has a page of its own: they ask every second.
const LAST_LOOK: Duration = Duration::from_millis(1500);
/// How often the wish to end is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// What to serve, and to whom.
#[derive(Debug)]
pub struct Config {
    /// Where to listen.
    pub listen: SocketAddr,
    /// The folder of runs; it is made when the first run starts.
    pub runs: PathBuf,
    /// The program that runs tests: as a rule this one.
    pub program: PathBuf,
    /// What clients must know; everybody on this host may come where there is none.
    pub token: Option<Token>,
    /// Certificate chain and private key.
    pub tls: Option<Tls>,
}

/// Certificate chain and private key.
#[derive(Debug)]
pub struct Tls(rustls::ServerConfig);

impl Tls {
    /// Reads both from PEM files.
    ///
    /// # Errors
    /// Names the file that cannot be read or does not fit.
    pub fn read(certificate: &Path, key: &Path) -> Result<Tls, ServeError> {
        let bad = |file: &Path, detail: String| ServeError::Tls { file: file.to_owned(), detail };
        let chain = CertificateDer::pem_file_iter(certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| bad(certificate, error.to_string()))?;
        if chain.is_empty() {
            return Err(bad(certificate, "it holds no certificate".into()));
        }
        let secret =
            PrivateKeyDer::from_pem_file(key).map_err(|error| bad(key, error.to_string()))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret))
            .map_err(|error| bad(certificate, error.to_string()))?;
        Ok(Tls(config))
    }
}

/// Why nothing can be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Somebody could drive this host who should not.
    #[error("{0} is reachable from other hosts: that needs TLS and a token")]
    Open(SocketAddr),
    /// A file of TLS.
    #[error("cannot use {}: {detail}", file.display())]
    Tls {
        /// Which.
        file: PathBuf,
        /// Why.
        detail: String,
    },
    /// The address.
    #[error("cannot listen on {address}: {detail}")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// Why.
        detail: String,
    },
    /// The folder of runs.
    #[error("{} is no folder of runs: {detail}", folder.display())]
    Folder {
        /// Which.
        folder: PathBuf,
        /// Why.
        detail: String,
    },
    /// Anything else.
    #[error("cannot serve: {0}")]
    System(String),
}

/// What all requests share.
struct Shared {
    access: Access,
    folder: Folder,
    feeds: Feeds,
    jobs: Jobs,
    /// Becomes true when the server ends, so that streams end.
    closing: watch::Sender<bool>,
}

/// Listens, and has yet to answer.
pub struct Server {
    listener: TcpListener,
    tls: Option<Tls>,
    shared: Arc<Shared>,
    more: Router,
}

impl Server {
    /// Opens the address.
    ///
    /// # Errors
    /// If others than this host could come without TLS and token, the address is taken, or the folder is a run.
    pub fn bind(config: Config) -> Result<Server, ServeError> {
        let Config { listen, runs, program, token, tls } = config;
        if !listen.ip().is_loopback() && (token.is_none() || tls.is_none()) {
            return Err(ServeError::Open(listen));
        }
        let folder = Folder::new(runs)?;
        let fail = |error: std::io::Error| ServeError::Listen {
            address: listen,
            detail: error.to_string(),
        };
        let listener = TcpListener::bind(listen).map_err(fail)?;
        let address = listener.local_addr().map_err(fail)?;
        let access = Access::new(address, token, tls.is_some())
            .map_err(|error| ServeError::System(error.to_string()))?;
        let (jobs, feeds) = (Jobs::new(program), Feeds::default());
        let closing = watch::Sender::new(false);
        let shared = Arc::new(Shared { access, folder, feeds, jobs, closing });
        Ok(Server { listener, tls, shared, more: Router::new() })
    }

    /// With more routes under this path. The same checks of host, origin and token stand before them.
    #[must_use]
    pub fn nest(mut self, path: &str, more: Router) -> Self {
        self.more = self.more.nest(path, more);
        self
    }

    /// Where to point a browser.
    pub fn url(&self) -> String {
        let address =
            self.listener.local_addr().map_or_else(|_| String::new(), |at| at.to_string());
        format!("{}://{address}/", if self.tls.is_some() { "https" } else { "http" })
    }

    /// Answers until `stop` becomes true; then stops what runs, and returns when it has ended.
    ///
    /// # Errors
    /// If the system gives no runtime or takes the listener back.
    pub fn run(self, stop: &AtomicBool) -> Result<(), ServeError> {
        self.until(|| stop.load(Ordering::SeqCst))
    }

    /// Runs one command and answers for as long as it runs, and a moment longer, so that pages hear of its end. `stop`
    /// asks it to stop. Gives its exit code; none where it was killed.
    ///
    /// # Errors
    /// If the command cannot be started; and as [`run`](Self::run).
    pub fn run_command(
        self,
        own: &OwnCommand,
        stop: &AtomicBool,
    ) -> Result<Option<i32>, ServeError> {
        let shared = self.shared.clone();
        let job = shared.jobs.start_own(own, &shared.folder);
        let job = job.map_err(|refusal| ServeError::System(refusal.to_string()))?;
        let mut ended = None;
        self.until(|| {
            if stop.load(Ordering::SeqCst) {
                job.stop();
            }
            if job.has_ended() && ended.is_none() {
                ended = Some(Instant::now());
            }
            ended.is_some_and(|at| at.elapsed() > LAST_LOOK)
        })?;
        Ok(job.exit_code())
    }

    fn until(self, mut is_over: impl FnMut() -> bool) -> Result<(), ServeError> {
        let failed = |error: std::io::Error| ServeError::System(error.to_string());
        // One thread: the processors are the tester's.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(failed)?;
        let shared = self.shared.clone();
        let served = runtime.block_on(async {
            let handle = Handle::new();
            let server = tokio::spawn(self.answer(handle.clone()));
            while !is_over() && !server.is_finished() {
                tokio::time::sleep(LOOK).await;
            }
            shared.closing.send_replace(true);
            handle.graceful_shutdown(Some(GOODBYE));
            server.await.map_err(|error| ServeError::System(error.to_string()))?.map_err(failed)
        });
        shared.jobs.end();
        // Readers of files may still sleep for a moment.
        runtime.shutdown_background();
        served
    }

    async fn answer(self, handle: Handle<SocketAddr>) -> std::io::Result<()> {
        let routes = api::routes(self.shared, self.more).into_make_service();
        match self.tls {
            None => {
                let mut server = axum_server::from_tcp(self.listener)?.handle(handle);
                server.http_builder().http1().header_read_timeout(HEAD_WITHIN);
                server.http1_only().serve(routes).await
            }
            Some(Tls(mut config)) => {
                config.alpn_protocols = vec![b"http/1.1".to_vec()];
                let acceptor = RustlsAcceptor::new(RustlsConfig::from_config(Arc::new(config)));
                let mut server = axum_server::from_tcp(self.listener)?.handle(handle);
                server.http_builder().http1().header_read_timeout(HEAD_WITHIN);
                server.http1_only().acceptor(acceptor).serve(routes).await
            }
        }
    }
}
