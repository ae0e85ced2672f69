//! `--page` of `run` and `traffic`: the command as a child of a server that shows it.

use crate::failure::{Exit, Failure, Outcome};
use crate::{interrupt, output};
use serve::{Config, OwnCommand, ServeError, Server};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Where `netanvil serve` listens, too.
pub const LISTEN: &str = "127.0.0.1:2544";

/// Runs this command line without `--page`, and shows it until it ends. `out` is the folder that it names.
pub fn run(listen: SocketAddr, out: Option<&Path>) -> Outcome {
    let program = std::env::current_exe()
        .map_err(|error| Failure::new(format!("cannot find this program: {error}")))?;
    let own =
        OwnCommand { words: words(std::env::args().skip(1)), name: out.map(name).transpose()? };
    let runs = out.and_then(Path::parent).filter(|runs| !runs.as_os_str().is_empty());
    let runs = match (runs, out) {
        (Some(runs), _) => runs.to_owned(),
        (None, Some(_)) => PathBuf::from("."),
        (None, None) => PathBuf::from("runs"),
    };
    let config = Config { listen, runs, program, token: None, tls: None };
    let server = Server::bind(config).map_err(of_page)?;
    let stop = interrupt::watch()?;
    output::say(format!("page: {}", server.url()));
    match server.run_command(&own, &stop)? {
        Some(0) => Ok(Exit::Done),
        Some(1) => Ok(Exit::NotAccepted),
        Some(3) => Ok(Exit::Invalid),
        _ => Ok(Exit::Failed),
    }
}

fn name(out: &Path) -> Outcome<String> {
    let name = out.file_name().and_then(|name| name.to_str());
    let name = name.filter(|name| !name.starts_with('.'));
    name.map(str::to_owned).ok_or_else(|| {
        Failure::new(format!("--out {}: no name for a folder", out.display()))
            .help("give a folder such as runs/first")
    })
}

/// The command without `--page`, and without `--out`, which the server gives it.
fn words(all: impl Iterator<Item = String>) -> Vec<String> {
    let (mut words, mut skips) = (vec![], false);
    for word in all {
        let is_ours = ["--page", "--out"].iter().any(|name| {
            word == *name || word.strip_prefix(name).is_some_and(|rest| rest.starts_with('='))
        });
        if !is_ours && !skips {
            words.push(word.clone());
        }
        skips = word == "--out";
    }
    words
}

fn of_page(error: ServeError) -> Failure {
    let help = match &error {
        ServeError::Open(_) => "other hosts see the page of netanvil serve, with TLS and a token",
        ServeError::Listen { .. } => "give another address, such as --page=127.0.0.1:0",
        _ => return error.into(),
    };
    Failure::new(error).help(help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_and_the_folder_are_not_the_commands_own() {
        let of = |line: &str| words(line.split(' ').map(str::to_owned)).join(" ");
        assert_eq!(of("run --page --sim router"), "run --sim router");
        assert_eq!(of("run --page=127.0.0.1:0 --out runs/x --sim router"), "run --sim router");
        assert_eq!(of("run --out=x --sim router --output y"), "run --sim router --output y");
    }
}
