//! The agent: a server that lends ports to one tester at a time.

use crate::Certificates;
use crate::codec::Json;
use crate::host_time::HostTime;
use crate::lend::{Lender, Replies};
use crate::message::{self, MESSAGE_MAX, Reply, Request};
use ports::scheduling::Priority;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio_stream::StreamExt;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::codegen::{BoxFuture, Context, Poll, Service, StdError, http};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Status, Streaming};

/// The one method: a session, from its hello to its end.
pub(crate) const METHOD: &str = "/netanvil.Agent/Session";
/// A tester that is silent for the sum of both is gone.
pub(crate) const ASK_ALIVE_EVERY: Duration = Duration::from_secs(1);
pub(crate) const ALIVE_WITHIN: Duration = Duration::from_secs(3);

/// Why an agent cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The address.
    #[error("listen on {address}: {error}; choose another one with --listen")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// The certificates, or the server itself.
    #[error("serve: {}", crate::connection::chain(.0))]
    Serve(#[from] tonic::transport::Error),
    /// The runtime.
    #[error("start the agent: {0}")]
    Start(#[from] io::Error),
}

/// An agent that listens.
pub struct Agent {
    listener: TcpListener,
    certificates: Certificates,
    lender: Arc<Lender>,
    time: Arc<HostTime>,
    end: (oneshot::Sender<()>, oneshot::Receiver<()>),
}

/// Ends an agent from another thread.
pub struct Ender(oneshot::Sender<()>);

impl Ender {
    /// Closes every session and gives all ports back.
    pub fn end(self) {
        // An agent that has ended by itself needs no end.
        let _ = self.0.send(());
    }
}

impl Agent {
    /// Listens; sessions begin with [`run`](Self::run). `host` is what testers and reports call this host, `ports` are
    /// the interfaces that it lends, of the network namespace of the thread that runs it.
    ///
    /// # Errors
    /// If the address cannot be had.
    pub fn listen(
        address: SocketAddr,
        certificates: Certificates,
        host: String,
        ports: Vec<String>,
    ) -> Result<Self, AgentError> {
        let listen = || -> io::Result<TcpListener> {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        };
        let listener = listen().map_err(|error| AgentError::Listen { address, error })?;
        let lender = Arc::new(Lender::new(host, ports));
        let time = Arc::new(HostTime::of_this_host());
        Ok(Agent { listener, certificates, lender, time, end: oneshot::channel() })
    }

    /// The same with another time of day than this host's.
    pub fn with_time(self, time: HostTime) -> Self {
        Agent { time: Arc::new(time), ..self }
    }

    /// Where it listens.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until the function that is given an [`Ender`] has it end.
    ///
    /// # Errors
    /// If certificates are unfit, or the server fails.
    pub fn run(self, give_ender: impl FnOnce(Ender)) -> Result<(), AgentError> {
        let Agent { listener, certificates, lender, time, end: (sender, ended) } = self;
        give_ender(Ender(sender));
        // As a run does on its own host: whoever waits for a processor measures that.
        let _priority = Priority::raise();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let incoming = TcpIncoming::from(tokio::net::TcpListener::from_std(listener)?)
                .with_nodelay(Some(true))
                .with_keepalive(Some(ALIVE_WITHIN));
            let mut server = Server::builder()
                .tls_config(certificates.server())?
                .http2_keepalive_interval(Some(ASK_ALIVE_EVERY))
                .http2_keepalive_timeout(Some(ALIVE_WITHIN));
            let sessions = Sessions { lender: lender.clone(), time };
            let served = server.add_service(sessions).serve_with_incoming(incoming);
            tokio::select! {
                served = served => served?,
                _ = ended => {}
            }
            Ok::<(), AgentError>(())
        })?;
        // Sessions have ended with the runtime; their ports are given back in threads of theirs.
        drop(runtime);
        lender.await_free();
        Ok(())
    }
}

/// The gRPC service.
#[derive(Clone)]
struct Sessions {
    lender: Arc<Lender>,
    time: Arc<HostTime>,
}

impl tonic::server::NamedService for Sessions {
    const NAME: &'static str = "netanvil.Agent";
}

impl<B> Service<http::Request<B>> for Sessions
where
    B: tonic::codegen::Body + Send + 'static,
    B::Error: Into<StdError> + Send + 'static,
{
    type Response = http::Response<tonic::body::Body>;
    type Error = std::convert::Infallible;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let sessions = self.clone();
        Box::pin(async move {
            if request.uri().path() != METHOD {
                return Ok(Status::unimplemented("an agent has sessions only").into_http());
            }
            let codec = Json::<Reply, Request>::reading(message::read_request);
            let mut grpc = tonic::server::Grpc::new(codec)
                .max_decoding_message_size(MESSAGE_MAX)
                .max_encoding_message_size(MESSAGE_MAX);
            Ok(grpc.streaming(sessions, request).await)
        })
    }
}

impl tonic::server::StreamingService<Request> for Sessions {
    type Response = Reply;
    type ResponseStream = UnboundedReceiverStream<Result<Reply, Status>>;
    type Future = BoxFuture<tonic::Response<Self::ResponseStream>, Status>;

    fn call(&mut self, request: tonic::Request<Streaming<Request>>) -> Self::Future {
        let Sessions { lender, time } = self.clone();
        Box::pin(async move {
            let (to_tester, replies) = mpsc::unbounded_channel();
            let mut requests = request.into_inner();
            tokio::spawn(async move {
                let failed = to_tester.clone();
                let mut loan = lender.begin(Replies { to_tester, time });
                // However it ends, the loan ends with it.
                while let Some(request) = requests.next().await {
                    match request {
                        Ok(request) => loan.take(request),
                        Err(status) => {
                            // A tester that is gone does not hear why.
                            let _ = failed.send(Err(status));
                            break;
                        }
                    }
                }
            });
            Ok(tonic::Response::new(UnboundedReceiverStream::new(replies)))
        })
    }
}
