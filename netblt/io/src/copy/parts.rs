//! Hidden files that hold what has come of a file, each locked by the copy that writes it: nobody else removes or
//! writes it.

use super::beneath::{kind, look, open_at};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::stat::{FileStat, Mode, SFlag, fstat};
use nix::unistd::{LinkatFlags, UnlinkatFlags, geteuid, linkat, unlinkat};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

/// How long to wait for an older attempt that still holds a file: its death timer is 30 s.
const PATIENCE: Duration = Duration::from_secs(60);

/// The hidden file, to read and write, held against other copies. An older attempt may still hold it, and
/// lets go of it when it notices that it is alone.
pub fn open(directory: &OwnedFd, part: &str) -> io::Result<File> {
    let started = Instant::now();
    loop {
        if let Some(file) = held(directory, part)? {
            return Ok(file);
        }
        if started.elapsed() > PATIENCE {
            return Err(io::Error::other("another copy writes this file"));
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// The hidden file; None where another try is needed.
fn held(directory: &OwnedFd, part: &str) -> io::Result<Option<File>> {
    let new = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_EXCL;
    let (file, is_new) = match open_at(directory, part.as_bytes(), new, owners()) {
        Ok(file) => (File::from(file), true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            match look(directory, part.as_bytes())? {
                Some(found) if is_ours(&found) => {}
                Some(_) => return remove(directory, part),
                None => return Ok(None),
            }
            match open_at(directory, part.as_bytes(), OFlag::O_RDWR, Mode::empty()) {
                Ok(file) => (File::from(file), false),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Err(error) => return Err(error),
    };
    if file.try_lock().is_err() {
        return Ok(None);
    }
    let mine = fstat(&file)?;
    let there = look(directory, part.as_bytes())?;
    // It may have got its final name between opening and locking.
    let same =
        there.is_some_and(|there| (there.st_ino, there.st_dev) == (mine.st_ino, mine.st_dev));
    let may_serve =
        (is_new || is_ours(&mine)) && mine.st_nlink == 1 && kind(&mine) == SFlag::S_IFREG;
    match (same, may_serve) {
        (true, true) => Ok(Some(file)),
        (true, false) => remove(directory, part),
        (false, _) => Ok(None),
    }
}

fn remove(directory: &OwnedFd, part: &str) -> io::Result<Option<File>> {
    match unlinkat(directory, part, UnlinkatFlags::NoRemoveDir) {
        Ok(()) | Err(Errno::ENOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Whether a hidden file that is there is this user's: who else may write to the directory may have put it there, and
/// would own what gets the file's name. (Some file systems give all files to one user; there nothing is gone on with.)
pub fn is_ours(found: &FileStat) -> bool {
    found.st_uid == geteuid().as_raw()
}

/// A file without a name, which is gone when nobody holds it open: for what nothing goes on with. Some file systems
/// have none.
pub fn open_nameless(directory: &OwnedFd) -> io::Result<File> {
    let flags = OFlag::O_RDWR | OFlag::O_TMPFILE;
    Ok(open_at(directory, b".", flags, owners())?.into())
}

fn owners() -> Mode {
    Mode::S_IRUSR | Mode::S_IWUSR
}

/// Gives a file of [`open_nameless`] its hidden name; one of [`open`] has it.
pub fn name(file: &File, directory: &OwnedFd, part: &str) -> io::Result<()> {
    if fstat(file)?.st_nlink > 0 {
        return Ok(());
    }
    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    let here = nix::fcntl::AT_FDCWD;
    Ok(linkat(here, own.as_str(), directory, part, LinkatFlags::AT_SYMLINK_FOLLOW)?)
}

/// The mode of a file that comes of an input, which has none: of the file whose place it takes, else as any new file.
pub fn mode_of_input(directory: &OwnedFd, name: &[u8]) -> io::Result<u32> {
    let there = look(directory, name)?.filter(|found| kind(found) == SFlag::S_IFREG);
    Ok(there.map_or_else(|| 0o666 & !umask(), |found| found.st_mode & 0o777))
}

/// The system call that tells it sets it, for all threads.
fn umask() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let said = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    said.and_then(|octal| u32::from_str_radix(octal.trim(), 8).ok()).unwrap_or(0o077)
}

/// Removes a hidden file that an ended attempt left, and none that a copy writes now.
pub fn remove_abandoned(directory: &OwnedFd, part: &[u8]) {
    let flags = OFlag::O_RDWR | OFlag::O_NONBLOCK;
    let opened = open_at(directory, part, flags, Mode::empty()).map(File::from);
    let is_held = match &opened {
        Ok(file) => file.try_lock().is_err(),
        // Nobody writes a link.
        Err(_) => !look(directory, part)
            .is_ok_and(|found| found.is_some_and(|found| kind(&found) == SFlag::S_IFLNK)),
    };
    if !is_held {
        // (Under the lock.)
        let _ = unlinkat(directory, part, UnlinkatFlags::NoRemoveDir);
    }
}
