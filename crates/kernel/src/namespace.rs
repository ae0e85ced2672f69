//! Network namespaces: created, entered by one thread for one closure, removed.
//!
//! A *named* namespace is bind-mounted under /run/netns as `ip netns` does it, so that an engineer
//! can `ip netns exec` into it and whoever cleans up after a dead process can find it. It is not held open otherwise:
//! whoever deletes the name deletes the namespace, and the next use says so. An *anonymous* one (in a
//! user namespace, where nothing may be mounted for others to see) is held by a file descriptor
//! and vanishes with the process.

use crate::error::{KernelError, Result};
use crate::netlink::Rtnetlink;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::statfs::{FsType, statfs};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;

/// Where `ip netns` keeps the names of network namespaces.
pub const NETNS_DIRECTORY: &str = "/run/netns";

const OF_THIS_THREAD: &str = "/proc/thread-self/ns/net";
const NO_SOURCE: Option<&str> = None;

/// A network namespace.
#[derive(Debug)]
pub struct Namespace {
    label: String,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Named(PathBuf),
    Anonymous(File),
}

impl Namespace {
    /// Creates a namespace known under /run/netns by `name`.
    pub fn create_named(name: &str) -> Result<Self> {
        let path = Path::new(NETNS_DIRECTORY).join(name);
        prepare_netns_directory()?;
        File::options()
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(|e| KernelError::system(format!("create {}", path.display()), e))?;
        let made = on_a_thread_of_its_own(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            mount(Some(OF_THIS_THREAD), &path, NO_SOURCE, MsFlags::MS_BIND, NO_SOURCE)
        });
        if let Err(errno) = made {
            let _ = std::fs::remove_file(&path);
            return Err(KernelError::system(format!("create network namespace {name}"), errno));
        }
        Ok(Namespace { label: name.to_owned(), place: Place::Named(path) })
    }

    /// Creates a namespace that only this process knows; `label` is its name in messages.
    pub fn create_anonymous(label: &str) -> Result<Self> {
        let doing = || format!("create network namespace {label}");
        let made = on_a_thread_of_its_own(|| -> io::Result<File> {
            unshare(CloneFlags::CLONE_NEWNET)?;
            File::open(OF_THIS_THREAD)
        });
        let file = made.map_err(|e| KernelError::system(doing(), e))?;
        Ok(Namespace { label: label.to_owned(), place: Place::Anonymous(file) })
    }

    /// That of the calling thread.
    pub fn current() -> Result<Self> {
        let file = File::open(OF_THIS_THREAD).map_err(|e| KernelError::system("open it", e))?;
        Ok(Namespace { label: "of the calling thread".into(), place: Place::Anonymous(file) })
    }

    /// A namespace that exists already and that `ip netns` knows by this name; it is not removed.
    pub fn named(name: &str) -> Result<Self> {
        let path = Path::new(NETNS_DIRECTORY).join(name);
        match is_namespace_mount(&path) {
            true => Ok(Namespace { label: name.to_owned(), place: Place::Named(path) }),
            false => Err(KernelError::NoSuchNamespace { name: name.to_owned() }),
        }
    }

    /// Its name, for messages and (when named) for `ip netns exec`.
    pub fn name(&self) -> &str {
        &self.label
    }

    /// Whether `ip netns` knows it.
    pub fn is_named(&self) -> bool {
        matches!(self.place, Place::Named(_))
    }

    /// A descriptor of the namespace. While it is open the namespace lives on even if its name is
    /// deleted, therefore do not keep it.
    pub fn open(&self) -> Result<File> {
        let opened = match &self.place {
            Place::Anonymous(file) => file.try_clone(),
            Place::Named(path) => {
                if !is_namespace_mount(path) {
                    return Err(KernelError::NamespaceGone { name: self.label.clone() });
                }
                File::open(path)
            }
        };
        opened.map_err(|e| KernelError::system(format!("open network namespace {}", self.label), e))
    }

    /// Tells namespaces apart; `None` of one that is gone.
    pub fn number(&self) -> Option<u64> {
        number_of(&self.open().ok()?)
    }

    /// Puts the calling thread inside for the rest of its life.
    pub fn enter(&self) -> Result<()> {
        self.enterer()?.enter()
    }

    /// Runs a closure on a thread inside the namespace and returns what it returns. Sockets opened
    /// there stay in the namespace wherever they are used later. Panics are passed on.
    pub fn run<T: Send>(&self, body: impl FnOnce() -> T + Send) -> Result<T> {
        let inside = self.enterer()?;
        on_a_thread_of_its_own(|| {
            inside.enter()?;
            Ok(body())
        })
    }

    /// A way into the namespace for a thread that stays there.
    pub fn enterer(&self) -> Result<Enterer> {
        Ok(Enterer { label: self.label.clone(), file: self.open()? })
    }

    /// As [`Namespace::run`], and /sys shows this namespace's interfaces (on that thread only:
    /// sysfs shows the network namespace it was mounted from).
    pub fn run_with_sysfs<T: Send>(&self, body: impl FnOnce() -> T + Send) -> Result<T> {
        self.run(|| {
            mount_own_sysfs().map_err(|e| {
                KernelError::system(
                    format!("mount the sysfs of network namespace {}", self.label),
                    e,
                )
            })?;
            Ok(body())
        })?
    }

    /// An rtnetlink socket inside the namespace.
    pub fn netlink(&self) -> Result<Rtnetlink> {
        self.run(Rtnetlink::here)?
    }

    /// Removes the name (the namespace itself goes when nothing uses it any more). A name that is
    /// already gone is no error.
    pub fn remove(&self) -> Result<()> {
        match &self.place {
            Place::Anonymous(_) => Ok(()),
            Place::Named(path) => remove_name(path),
        }
    }
}

fn number_of(file: &File) -> Option<u64> {
    file.metadata().ok().map(|namespace| namespace.ino())
}

/// Leads one thread into a namespace.
pub struct Enterer {
    label: String,
    file: File,
}

impl Enterer {
    /// Puts the calling thread into the namespace for the rest of its life; nothing to do, and no privilege
    /// needed, if it is there.
    pub fn enter(self) -> Result<()> {
        let here = std::fs::metadata(OF_THIS_THREAD).ok().map(|here| here.ino());
        if here.is_some() && here == number_of(&self.file) {
            return Ok(());
        }
        setns(&self.file, CloneFlags::CLONE_NEWNET)
            .map_err(|e| KernelError::system(format!("enter network namespace {}", self.label), e))
    }
}

/// Unmounts and deletes one name under /run/netns.
pub fn remove_name(path: &Path) -> Result<()> {
    if is_namespace_mount(path) {
        umount2(path, MntFlags::MNT_DETACH)
            .map_err(|e| KernelError::system(format!("unmount {}", path.display()), e))?;
    }
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            Err(KernelError::system(format!("delete {}", path.display()), e))
        }
        _ => Ok(()),
    }
}

/// Whether a path is a mounted namespace, rather than missing or the empty file left by an unmount.
fn is_namespace_mount(path: &Path) -> bool {
    const NSFS: FsType = FsType(0x6e73_6673);
    statfs(path).is_ok_and(|fs| fs.filesystem_type() == NSFS)
}

/// Makes /run/netns a shared mount, as `ip netns` does, so that a name removed in one mount
/// namespace is removed in all.
fn prepare_netns_directory() -> Result<()> {
    let directory = Path::new(NETNS_DIRECTORY);
    std::fs::create_dir_all(directory)
        .map_err(|e| KernelError::system(format!("create {NETNS_DIRECTORY}"), e))?;
    let share =
        || mount(NO_SOURCE, directory, NO_SOURCE, MsFlags::MS_SHARED | MsFlags::MS_REC, NO_SOURCE);
    if share().is_ok() {
        return Ok(());
    }
    // Not a mount point yet: bind it upon itself first.
    let bind = MsFlags::MS_BIND | MsFlags::MS_REC;
    mount(Some(directory), directory, NO_SOURCE, bind, NO_SOURCE)
        .and_then(|()| share())
        .map_err(|e| KernelError::system(format!("share the mount {NETNS_DIRECTORY}"), e))
}

fn mount_own_sysfs() -> nix::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount(NO_SOURCE, "/", NO_SOURCE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NO_SOURCE)?;
    mount(Some("netanvil"), "/sys", Some("sysfs"), MsFlags::empty(), NO_SOURCE)
}

/// Namespaces belong to threads: whatever changes one runs on a thread that ends with it.
fn on_a_thread_of_its_own<T: Send>(body: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| match scope.spawn(body).join() {
        Ok(value) => value,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}
