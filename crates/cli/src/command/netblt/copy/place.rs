//! What the words of the command line mean: paths here, paths at a host, standard input and output.

use super::super::args::Copy;
use crate::failure::{Failure, Outcome};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// A word of the command line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// A path here.
    Here(PathBuf),
    /// A path at a host.
    There { host: String, path: String },
    /// `-`.
    Standard,
}

impl Place {
    /// `HOST:PATH` has its colon before any slash; `./a:b` is a path here.
    pub fn read(word: &OsStr) -> Outcome<Place> {
        let bytes = word.as_bytes();
        if bytes == b"-" {
            return Ok(Place::Standard);
        }
        let Some((host, path)) = split(bytes) else { return Ok(Place::Here(word.into())) };
        let utf8 = |bytes: &[u8]| {
            String::from_utf8(bytes.to_vec())
                .map_err(|_| Failure::new("host and path at a host are UTF-8"))
        };
        let (host, path) = (utf8(host)?, utf8(path)?);
        // As the remote shell gets it: with a hyphen first it would take it for an option.
        let given = bare(&host);
        if given.starts_with('-') || given.is_empty() || given.chars().any(char::is_whitespace) {
            return Err(Failure::new(format!("no host: {host:?}"))
                .help("for example user@lab2:/srv; a path here with a colon: ./a:b"));
        }
        let path = if path.is_empty() { ".".to_owned() } else { path };
        Ok(Place::There { host, path })
    }
}

fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    // An IPv6 address is in brackets, perhaps behind a user.
    let from = match bytes.iter().position(|byte| *byte == b'[') {
        Some(open) if !bytes[..open].contains(&b'/') && !bytes[..open].contains(&b':') => {
            bytes.iter().position(|byte| *byte == b']').unwrap_or(0)
        }
        _ => 0,
    };
    let colon = from + bytes[from..].iter().position(|byte| *byte == b':')?;
    (!bytes[..colon].contains(&b'/')).then(|| (&bytes[..colon], &bytes[colon + 1..]))
}

/// The host as a remote shell wants it: IPv6 addresses without brackets.
pub fn bare(host: &str) -> String {
    host.replace(['[', ']'], "")
}

/// What is to be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Plan {
    /// Files to a directory of a host.
    Push { sources: Vec<PathBuf>, host: String, directory: String },
    /// Standard input to a file of a host.
    PushInput { host: String, file: String },
    /// Files of a host to a directory.
    Pull { host: String, sources: Vec<String>, directory: PathBuf },
    /// A file of a host to standard output.
    PullOutput { host: String, source: String },
}

impl Plan {
    /// Sources and a destination, in that order.
    pub fn read(words: &[OsString]) -> Outcome<Plan> {
        let places = words.iter().map(|word| Place::read(word)).collect::<Outcome<Vec<_>>>()?;
        let wrong = |what: &str| {
            Err(Failure::new(what)
                .help("SRC... HOST:DIR, or HOST:SRC... DIR; - for standard input or output"))
        };
        let Some((destination, sources)) = places.split_last() else { return wrong("no paths") };
        match (destination, sources) {
            (_, []) => wrong("something to copy and where to copy it are needed"),
            (Place::There { host, path }, [Place::Standard]) => {
                let is_file = !path.ends_with('/') && path != "." && !path.ends_with("..");
                match is_file {
                    true => Ok(Plan::PushInput { host: host.clone(), file: path.clone() }),
                    false => wrong("standard input needs a file to go to: HOST:DIR/FILE"),
                }
            }
            (Place::There { host, path }, sources) => {
                let here = |place: &Place| match place {
                    Place::Here(path) => Some(path.clone()),
                    _ => None,
                };
                match sources.iter().map(here).collect() {
                    Some(sources) => {
                        Ok(Plan::Push { sources, host: host.clone(), directory: path.clone() })
                    }
                    None => wrong("all sources of a copy to a host are files of this one"),
                }
            }
            (destination, sources) => {
                let mut hosts = Vec::new();
                let mut paths = Vec::new();
                for place in sources {
                    let Place::There { host, path } = place else {
                        return wrong("one end of a copy is another host");
                    };
                    hosts.push(host.clone());
                    paths.push(path.clone());
                }
                hosts.dedup();
                match (&hosts[..], destination, &paths[..]) {
                    ([host], Place::Standard, [source]) => {
                        Ok(Plan::PullOutput { host: host.clone(), source: source.clone() })
                    }
                    (_, Place::Standard, _) => wrong("one file can go to standard output"),
                    ([host], Place::Here(directory), _) => Ok(Plan::Pull {
                        host: host.clone(),
                        sources: paths,
                        directory: directory.clone(),
                    }),
                    _ => wrong("all sources are files of one host"),
                }
            }
        }
    }
    /// Refuses options that mean nothing for it.
    pub fn check(&self, arguments: &Copy) -> Outcome<()> {
        let (stream, is_input) = match self {
            Plan::PushInput { .. } => ("input", true),
            Plan::PullOutput { .. } => ("output", false),
            Plan::Push { .. } | Plan::Pull { .. } => return Ok(()),
        };
        let of_no_use = [
            ("--checksum", arguments.checksum),
            ("--links", arguments.links.is_some()),
            ("--exclude", is_input && !arguments.exclude.is_empty()),
            ("--include", is_input && !arguments.include.is_empty()),
            ("--sparse", is_input && arguments.sparse.is_some()),
        ];
        match of_no_use.iter().find(|(_, given)| *given) {
            Some((option, _)) => {
                Err(Failure::new(format!("{option} means nothing for standard {stream} (-)"))
                    .help(format!("leave {option} out, or name a file in place of -")))
            }
            None => Ok(()),
        }
    }
    /// The other host, with the user.
    pub fn host(&self) -> &str {
        match self {
            Plan::Push { host, .. }
            | Plan::PushInput { host, .. }
            | Plan::Pull { host, .. }
            | Plan::PullOutput { host, .. } => host,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there(host: &str, path: &str) -> Option<Place> {
        Some(Place::There { host: host.to_owned(), path: path.to_owned() })
    }

    #[test]
    fn a_colon_before_any_slash_makes_a_host() {
        for (word, place) in [
            ("a", Some(Place::Here("a".into()))),
            ("./a:b", Some(Place::Here("./a:b".into()))),
            ("d/a:b", Some(Place::Here("d/a:b".into()))),
            ("-", Some(Place::Standard)),
            ("lab2:", there("lab2", ".")),
            ("u@lab2:a:b", there("u@lab2", "a:b")),
            ("[2001:db8::7]:/srv", there("[2001:db8::7]", "/srv")),
            ("u@[::1]:x", there("u@[::1]", "x")),
            ("lab2:x[1]", there("lab2", "x[1]")),
            ("-oProxyCommand=x:y", None),
            ("[-oProxyCommand=x]:y", None),
            ("[]-oProxyCommand=x:y", None),
            ("[]:x", None),
            (":x", None),
        ] {
            assert_eq!(Place::read(OsStr::new(word)).ok(), place, "{word}");
        }
        assert_eq!(bare("u@[::1]"), "u@::1");
    }

    #[test]
    fn plans_have_one_other_host() {
        let read =
            |words: &[&str]| Plan::read(&words.iter().map(OsString::from).collect::<Vec<_>>());
        assert!(
            matches!(read(&["a", "b", "h:d"]), Ok(Plan::Push { sources, .. }) if sources.len() == 2)
        );
        assert!(
            matches!(read(&["h:a", "h:b", "d"]), Ok(Plan::Pull { sources, .. }) if sources.len() == 2)
        );
        assert!(matches!(read(&["-", "h:d/f"]), Ok(Plan::PushInput { .. })));
        assert!(matches!(read(&["h:f", "-"]), Ok(Plan::PullOutput { .. })));
        for wrong in [
            &["a"][..],
            &["a", "b"],
            &["h:a", "i:b", "d"],
            &["h:a", "i:b"],
            &["-", "h:d/"],
            &["-", "a", "h:d"],
            &["h:a", "h:b", "-"],
            &["-", "-"],
        ] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}
