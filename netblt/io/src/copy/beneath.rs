//! A directory that no name and no symbolic link leads out of: no link is followed at all.
//!
//! The kernel sees to it (openat2 with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS, Linux 5.6), so that
//! nobody can put a link into the way between a check and its use.

use super::format::Attributes;
use super::names;
use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, OpenHow, ResolveFlag, openat2};
use nix::sys::stat::{FileStat, Mode, SFlag, fstatat};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Directories that are held open.
const MAX_OPEN: usize = 64;

/// See the module.
#[derive(Debug)]
pub struct Beneath {
    top: Arc<OwnedFd>,
    open: BTreeMap<Vec<u8>, Arc<OwnedFd>>,
}

impl Beneath {
    /// The directory at `path`, which may itself be reached by links.
    pub fn open(path: &Path) -> io::Result<Beneath> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let top = nix::fcntl::open(path, flags, Mode::empty())?;
        Ok(Beneath { top: Arc::new(top), open: BTreeMap::new() })
    }

    /// A directory in it; of an empty path it itself.
    pub fn directory(&mut self, path: &[u8]) -> io::Result<Arc<OwnedFd>> {
        if path.is_empty() {
            return Ok(self.top.clone());
        }
        if let Some(known) = self.open.get(path) {
            return Ok(known.clone());
        }
        let found = Arc::new(open_at(&self.top, path, OFlag::O_DIRECTORY, Mode::empty())?);
        if self.open.len() >= MAX_OPEN {
            self.open.clear();
        }
        self.open.insert(path.to_vec(), found.clone());
        Ok(found)
    }

    /// Holds no directory open but itself.
    pub fn let_go(&mut self) {
        self.open.clear();
    }

    /// A file in it, to read; neither waits for a FIFO nor follows a link.
    pub fn read(&mut self, path: &[u8]) -> io::Result<File> {
        let (directory, name) = names::split(path);
        let directory = self.directory(directory)?;
        Ok(open_at(&directory, name, OFlag::O_NONBLOCK, Mode::empty())?.into())
    }
}

/// Opens a path below a directory.
pub fn open_at(at: &OwnedFd, path: &[u8], flags: OFlag, mode: Mode) -> io::Result<OwnedFd> {
    let how = OpenHow::new()
        .flags(flags | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW)
        .mode(mode)
        .resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS);
    openat2(at, path, how).map_err(|errno| match errno {
        Errno::ELOOP => io::Error::other("a symbolic link is in the way, and none is followed"),
        Errno::ENOSYS => io::Error::other("this kernel has no openat2 (Linux 5.6)"),
        errno => errno.into(),
    })
}

/// What a name in a directory is; of a link the link.
pub fn look(at: &OwnedFd, name: &[u8]) -> io::Result<Option<FileStat>> {
    match fstatat(at, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::ENOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// The kind of what was found.
pub fn kind(found: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT
}

/// Time and mode of what was found.
pub fn attributes(found: &FileStat) -> Attributes {
    Attributes {
        modified_s: found.st_mtime,
        modified_ns: found.st_mtime_nsec.clamp(0, 999_999_999) as u32,
        mode: (found.st_mode & 0o777) as u16,
    }
}

/// The names in a directory, in their order.
pub fn list(at: &OwnedFd) -> io::Result<Vec<Vec<u8>>> {
    let mut directory = Dir::from_fd(open_at(at, b".", OFlag::O_DIRECTORY, Mode::empty())?)?;
    let mut all = Vec::new();
    for entry in directory.iter() {
        let name = entry?.file_name().to_bytes().to_vec();
        if name != b"." && name != b".." {
            all.push(name);
        }
    }
    all.sort_unstable();
    Ok(all)
}

/// The time of modification of attributes.
pub fn modified(attributes: &Attributes) -> Option<SystemTime> {
    let whole = Duration::from_secs(attributes.modified_s.unsigned_abs());
    let second = match attributes.modified_s >= 0 {
        true => UNIX_EPOCH.checked_add(whole),
        false => UNIX_EPOCH.checked_sub(whole),
    };
    second?.checked_add(Duration::from_nanos(attributes.modified_ns.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::fs::symlink;

    #[test]
    fn no_link_is_followed_below_the_top() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().join("top");
        std::fs::create_dir_all(top.join("d")).unwrap();
        std::fs::write(top.join("d/f"), "in").unwrap();
        std::fs::write(folder.path().join("secret"), "out").unwrap();
        symlink("..", top.join("up")).unwrap();
        symlink("d", top.join("inside")).unwrap();
        symlink("../../secret", top.join("d/link")).unwrap();
        let mut beneath = Beneath::open(&top).unwrap();
        let mut text = String::new();
        beneath.read(b"d/f").unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "in");
        for path in
            ["up/secret", "inside/f", "d/link", "../secret", "/etc/passwd", "d/../../secret"]
        {
            assert!(beneath.read(path.as_bytes()).is_err(), "{path}");
        }
        symlink(&top, folder.path().join("to-top")).unwrap();
        let mut beneath = Beneath::open(&folder.path().join("to-top")).unwrap();
        assert!(beneath.read(b"d/f").is_ok(), "the top may be reached by a link");
    }

    #[test]
    fn times_before_1970_are_times() {
        let attributes = Attributes { modified_s: -2, modified_ns: 250_000_000, mode: 0 };
        let expected = UNIX_EPOCH - Duration::from_millis(1750);
        assert_eq!(modified(&attributes), Some(expected));
    }
}
