//! What can be asked of a server.

use crate::error::Error;
use crate::options::Options;
use crate::outcome::Outcome;
use crate::transfer::Transfer;
use netblt_io::files::{self, Wish};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where files are sent to and fetched from: a server, and what transfers with it are to be like.
///
/// It holds no connection: each transfer has a socket and a thread of its own.
#[derive(Clone, Debug)]
pub struct Client {
    host: String,
    options: Options,
}

/// A file that was fetched into memory.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// Its bytes, whole and verified.
    pub bytes: Vec<u8>,
    /// What the transfer came to.
    pub outcome: Outcome,
}

impl Client {
    /// Of the server at `host`, a name or an address: `lab2`, `192.0.2.7:20030`, `[2001:db8::7]:20030`. It is looked up
    /// anew for each transfer.
    pub fn new(host: &str, options: Options) -> Client {
        Client { host: host.to_owned(), options }
    }
    /// What its transfers are like.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Sends the file at `path` under `name`. It is opened when the transfer begins, and may not change meanwhile.
    pub fn send_file(&self, path: impl Into<PathBuf>, name: &str) -> Transfer {
        let (path, name) = (path.into(), name.to_owned());
        self.send(move || {
            files::send(&path, &name).map_err(|error| Error::CannotRead { path, error })
        })
    }

    /// Sends `bytes` as a file under `name`.
    pub fn send_bytes(&self, bytes: impl Into<Arc<[u8]>>, name: &str) -> Transfer {
        let (bytes, name) = (bytes.into(), name.to_owned());
        self.send(move || Ok(files::send_bytes(bytes, &name)))
    }

    fn send(&self, wish: impl FnOnce() -> Result<Wish, Error> + Send + 'static) -> Transfer {
        let resume = self.options.resume;
        let prepare = move || {
            let (mode, mut offer, opener) = wish()?;
            if let (false, netblt_io::Offer::Put { version, .. }) = (resume, &mut offer) {
                // As if it were another one: what is left of this one does not fit.
                *version += &format!("#{:x}", crate::follow::random());
            }
            Ok(((mode, offer, opener), Box::new(Ok) as _))
        };
        Transfer::new(&self.host, &self.options, Box::new(prepare))
    }

    /// Fetches the file `name` to `path`. While it is on its way it has a hidden name beside that; it gets its own once
    /// it is whole, verified and on the disk.
    pub fn fetch_file(&self, name: &str, path: impl Into<PathBuf>) -> Transfer {
        let (name, path) = (name.to_owned(), path.into());
        let Options { resume, overwrite, .. } = self.options;
        let prepare = move || {
            let wish = fetch(&name, &path, resume, overwrite)
                .map_err(|error| Error::CannotWrite { path, error })?;
            Ok((wish, Box::new(Ok) as _))
        };
        Transfer::new(&self.host, &self.options, Box::new(prepare))
    }

    /// Fetches the file `name` into memory. A larger one than `most_bytes` is refused.
    pub fn fetch_bytes(&self, name: &str, most_bytes: u64) -> Transfer<Fetched> {
        let name = name.to_owned();
        let prepare = move || {
            let (wish, bytes) = files::receive_bytes(&name, most_bytes);
            let extract = move |outcome| {
                let lost = |_| Error::System(io::Error::other("the bytes are gone"));
                Ok(Fetched { bytes: bytes.try_recv().map_err(lost)?, outcome })
            };
            Ok((wish, Box::new(extract) as _))
        };
        Transfer::new(&self.host, &self.options, Box::new(prepare))
    }
}

fn fetch(name: &str, path: &Path, resume: bool, overwrite: bool) -> io::Result<Wish> {
    let (directory, local_name) = place(path)?;
    if !resume {
        files::forget(directory, local_name)?;
    }
    files::receive(directory, local_name, name, overwrite)
}

/// The folder and the name of a file.
pub fn place(path: &Path) -> io::Result<(&Path, &str)> {
    let no_name = || io::Error::new(io::ErrorKind::InvalidInput, "no name for a file");
    let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(no_name)?;
    Ok(match path.parent() {
        Some(parent) if parent != Path::new("") => (parent, name),
        _ => (Path::new("."), name),
    })
}
