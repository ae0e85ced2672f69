//! `netanvil otg`: serves the Open Traffic Generator API.

use crate::failure::{Exit, Failure, Outcome};
use crate::{host, interrupt, output};
use clap::Args;
use otg::{Engine, EngineOptions, Server};
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;
use units::text::BitRate;

/// How soon a signal is noticed.
const LOOK: Duration = Duration::from_millis(50);

#[derive(Args, Debug)]
pub struct Otg {
    /// Address and port to listen on
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8443")]
    pub listen: SocketAddr,
    /// Listen beyond loopback: whoever reaches the address can send from this host's ports
    #[arg(long)]
    pub trust: bool,
    /// Serve HTTP instead of HTTPS with a self-signed certificate
    #[arg(long)]
    pub plain_http: bool,
    /// Rate of ports whose driver reports none, such as veth; percentages are of this rate
    #[arg(long, value_name = "RATE", default_value = "10G")]
    pub line_rate: BitRate,
}

/// The API's tester; `line_rate` is that of ports whose driver reports none.
pub fn engine(line_rate: BitRate) -> Result<Engine, Failure> {
    let run_key = host::random_run_key()?;
    Ok(Engine::new(EngineOptions { nominal_rate: line_rate.line_rate(), run_key }))
}

pub fn run(arguments: &Otg) -> Outcome {
    if !arguments.listen.ip().is_loopback() && !arguments.trust {
        let what = format!("listen on {}: the API asks nobody who they are", arguments.listen);
        return Err(Failure::new(what).help(
            "add --trust on a network of your own, or listen on 127.0.0.1 and use a tunnel, or \
             netanvil serve --otg with --tls-cert, --tls-key and --token-file",
        ));
    }
    let engine = engine(arguments.line_rate)?;
    let interrupted = interrupt::watch()?;
    let server = Server::listen(arguments.listen, arguments.plain_http).map_err(|error| {
        Failure::new(format!("listen on {}: {error}", arguments.listen))
            .help("choose another address with --listen")
    })?;
    let address = server.address().map_err(Failure::new)?;
    let scheme = if arguments.plain_http { "http" } else { "https" };
    output::print(&format!("serving the Open Traffic Generator API on {scheme}://{address}\n"))?;
    let ender = server.ender();
    std::thread::spawn(move || {
        while !interrupted.load(Ordering::SeqCst) {
            std::thread::sleep(LOOK);
        }
        ender.end();
    });
    server.run(&engine).map_err(|error| Failure::new(format!("serve on {address}: {error}")))?;
    Ok(Exit::Done)
}
