//! `netanvil serve`: runs in a browser while they go on.

use crate::failure::{Exit, Failure, Outcome};
use crate::{interrupt, output};
use clap::Args;
use serve::{Config, ServeError, Server, Tls, Token, TokenError};
use std::net::SocketAddr;
use std::path::PathBuf;
use units::text::BitRate;

#[derive(Args, Debug)]
pub struct Serve {
    /// Address and port to listen on. Beyond loopback, TLS and a token are required
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:2544")]
    pub listen: SocketAddr,
    /// Folder that holds the run folders
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub runs: PathBuf,
    /// File with a token of at least 16 characters, readable by its owner only. Clients must send it
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Certificate chain for TLS, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Private key for TLS, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Serve the Open Traffic Generator API, too, below /otg
    #[arg(long)]
    pub otg: bool,
    /// Rate of its ports whose driver reports none, such as veth; percentages are of this rate
    #[arg(long, value_name = "RATE", default_value = "10G", requires = "otg")]
    pub line_rate: BitRate,
}

pub fn run(arguments: &Serve) -> Outcome {
    let tls = arguments.tls_cert.as_ref().zip(arguments.tls_key.as_ref());
    let tls = tls.map(|(certificate, key)| Tls::read(certificate, key)).transpose()?;
    let token = arguments.token_file.as_deref().map(Token::read).transpose()?;
    let program = std::env::current_exe()
        .map_err(|error| Failure::new(format!("cannot find this program: {error}")))?;
    let (listen, runs) = (arguments.listen, arguments.runs.clone());
    let mut server = Server::bind(Config { listen, runs, program, token, tls })?;
    let engine = arguments.otg.then(|| super::otg::engine(arguments.line_rate)).transpose()?;
    if let Some(engine) = &engine {
        server = server.nest("/otg", otg::router(engine.clone()));
    }
    let stop = interrupt::watch()?;
    output::print(&format!("{}\n", server.url()))?;
    let served = server.run(&stop);
    if let Some(engine) = engine {
        engine.shut_down();
    }
    served?;
    Ok(Exit::Done)
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        let help = match &error {
            ServeError::Open(_) => {
                "give --tls-cert, --tls-key and --token-file, or listen on 127.0.0.1 and use a tunnel: \
                 ssh -L 2544:127.0.0.1:2544 HOST"
            }
            ServeError::Tls { .. } => "give --tls-cert and --tls-key as PEM files",
            ServeError::Listen { .. } => {
                "give another address with --listen, such as 127.0.0.1:8080"
            }
            ServeError::Folder { .. } => "give the folder that holds the run folders with --runs",
            ServeError::System(_) => return Failure::new(error),
        };
        Failure::new(error).help(help)
    }
}

impl From<TokenError> for Failure {
    fn from(error: TokenError) -> Self {
        let help = match &error {
            TokenError::Public { file, .. } => format!("chmod 600 {}", file.display()),
            TokenError::Unreadable { file, .. } | TokenError::Short { file, .. } => {
                format!("(umask 077; head -c 24 /dev/urandom | base64 > {})", file.display())
            }
        };
        Failure::new(error).help(help)
    }
}
