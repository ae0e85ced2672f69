//! The API on a socket of its own, with a certificate that nobody has signed or in plain.

use crate::engine::Engine;
use axum_server::Handle;
use axum_server::tls_rustls::RustlsConfig;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

/// Calls that run when the server ends have so long to end.
const GRACE: Duration = Duration::from_secs(2);

/// A server, listening.
pub struct Server {
    listener: TcpListener,
    runtime: tokio::runtime::Runtime,
    tls: Option<RustlsConfig>,
    handle: Handle<SocketAddr>,
}

/// Ends a server from any thread.
#[derive(Clone)]
pub struct Ender(Handle<SocketAddr>);

impl Ender {
    /// No more calls; those that run end first.
    pub fn end(&self) {
        self.0.graceful_shutdown(Some(GRACE));
    }
}

impl Server {
    /// Listens, without answering yet. Clients of HTTPS must not ask who signed the certificate.
    ///
    /// # Errors
    /// Where the address is taken, or no certificate can be made.
    pub fn listen(address: SocketAddr, plain: bool) -> io::Result<Server> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("otg")
            .enable_all()
            .build()?;
        let tls = if plain { None } else { Some(certificate(address)?) };
        Ok(Server { listener, runtime, tls, handle: Handle::new() })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// Where the system cannot say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// What ends it.
    pub fn ender(&self) -> Ender {
        Ender(self.handle.clone())
    }

    /// Answers until it is ended; then nothing is sent any more and all ports are free.
    ///
    /// # Errors
    /// Where the socket fails.
    pub fn run(self, engine: &Engine) -> io::Result<()> {
        let service = crate::service(engine.clone()).into_make_service();
        let Server { listener, runtime, tls, handle } = self;
        let ended = runtime.block_on(async {
            match tls {
                Some(tls) => {
                    axum_server::from_tcp_rustls(listener, tls)?.handle(handle).serve(service).await
                }
                None => axum_server::from_tcp(listener)?.handle(handle).serve(service).await,
            }
        });
        engine.shut_down();
        ended
    }
}

/// Made anew at each start: nobody checks it, and nobody can steal it.
fn certificate(address: SocketAddr) -> io::Result<RustlsConfig> {
    let names = vec!["localhost".to_owned(), address.ip().to_string()];
    let made = rcgen::generate_simple_self_signed(names).map_err(io::Error::other)?;
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der());
    let key = key.map_err(io::Error::other)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .map_err(io::Error::other)?;
    // gRPC needs HTTP/2.
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(RustlsConfig::from_config(Arc::new(config)))
}
