//! `netanvil agent`: lends ports of this host to a tester on another one.

use crate::failure::{Exit, Failure, Outcome};
use crate::{hardware, host, interrupt, output};
use ::agent::{Agent, Certificates, Validity, make_certificates};
use clap::{Args, Subcommand};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How soon a signal is noticed.
const LOOK: Duration = Duration::from_millis(50);

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct AgentArgs {
    #[command(subcommand)]
    pub make: Option<Make>,
    /// Address and port to listen on
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8719")]
    pub listen: SocketAddr,
    /// Folder with ca.pem, agent.pem and agent.key
    #[arg(long, value_name = "DIR", required = true)]
    pub certificates: Option<PathBuf>,
    /// Interfaces to lend
    #[arg(long, value_name = "IF,...", required = true, value_delimiter = ',')]
    pub ports: Vec<String>,
    /// Answer yes to every question
    #[arg(long)]
    pub yes: bool,
}

#[derive(Subcommand, Debug)]
pub enum Make {
    /// Make an authority, a certificate for agents and one for testers
    #[command(after_help = "\
Examples:
  netanvil agent certificates lab-certificates
  scp lab-certificates/{ca.pem,agent.pem,agent.key} lab-b:/etc/netanvil/

An agent needs ca.pem, agent.pem and agent.key; a tester ca.pem, controller.pem and controller.key.
The key of the authority is not stored: for another certificate, make all of them again.
")]
    Certificates(CertificateArgs),
}

#[derive(Args, Debug)]
pub struct CertificateArgs {
    /// Folder to write to; files in it are not replaced
    pub folder: PathBuf,
    /// Days until they expire
    #[arg(long, value_name = "N", default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub days: u32,
}

pub fn run(arguments: &AgentArgs) -> Outcome {
    match (&arguments.make, &arguments.certificates) {
        (Some(Make::Certificates(arguments)), _) => certificates(&arguments.folder, arguments.days),
        (None, Some(folder)) => serve(arguments, folder),
        (None, None) => Err(Failure::new("an agent needs certificates")
            .help("write --certificates DIR; `netanvil agent certificates DIR` makes them")),
    }
}

fn certificates(folder: &Path, days: u32) -> Outcome {
    for path in make_certificates(folder, Validity::of_days(days)).map_err(Failure::new)? {
        output::print(&format!("{}\n", path.display()))?;
    }
    Ok(Exit::Done)
}

fn serve(arguments: &AgentArgs, folder: &Path) -> Outcome {
    let certificates = Certificates::of_agent(folder).map_err(Failure::new)?;
    let interrupted = interrupt::watch()?;
    let hardware = hardware::take(&arguments.ports, arguments.yes)?;
    let ports = arguments.ports.clone();
    let agent = Agent::listen(arguments.listen, certificates, host::name(), ports);
    let agent = agent.map_err(Failure::new)?;
    let address = agent.address().map_err(Failure::new)?;
    output::print(&format!("lending {} on {address}\n", arguments.ports.join(", ")))?;
    let served = agent.run(|ender| {
        std::thread::spawn(move || {
            while !interrupted.load(Ordering::SeqCst) {
                std::thread::sleep(LOOK);
            }
            ender.end();
        });
    });
    let given_back = hardware.give_back();
    served.map_err(Failure::new)?;
    given_back
        .map_err(|error| Failure::from(error).help("`netanvil clean` removes what is left"))?;
    Ok(Exit::Done)
}
