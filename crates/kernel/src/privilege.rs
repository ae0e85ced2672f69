//! What this process may do, and the way for an ordinary user: a user namespace of its own.

use crate::error::{KernelError, Result, read_file};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};
use serde::Serialize;

/// Under which rights the process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Privilege {
    /// Root of the machine: named namespaces, kernel threads pinned, XDP.
    Root,
    /// Root inside a user namespace only: anonymous namespaces, AF_PACKET.
    UserNamespace,
    /// An ordinary user: no device can be built before [`enter_user_namespace`].
    Ordinary,
}

impl Privilege {
    /// Finds out.
    pub fn current() -> Self {
        match (geteuid().is_root(), in_initial_user_namespace()) {
            (true, true) => Privilege::Root,
            (true, false) => Privilege::UserNamespace,
            (false, _) => Privilege::Ordinary,
        }
    }
}

/// In the initial user namespace every user id maps to itself.
fn in_initial_user_namespace() -> bool {
    read_file("/proc/self/uid_map")
        .is_ok_and(|map| map.split_whitespace().eq(["0", "0", "4294967295"]))
}

/// Moves the whole process into a user and network namespace of its own, in which it is root.
///
/// Call it first in `main`, while there is one thread only (the kernel refuses it otherwise). After
/// it, test beds can be built by an ordinary user; they vanish with the process.
pub fn enter_user_namespace() -> Result<()> {
    let (uid, gid) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET).map_err(|errno| {
        KernelError::NotPermitted {
            doing: format!("create a user namespace ({errno})"),
            remedy: remedy(errno).into(),
        }
    })?;
    // The kernel lets an ordinary user write its group map only after giving up setgroups.
    let maps = [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("0 {uid} 1")),
        ("/proc/self/gid_map", format!("0 {gid} 1")),
    ];
    for (path, text) in maps {
        std::fs::write(path, &text).map_err(|error| KernelError::NotPermitted {
            doing: format!("write {path} of the new user namespace ({error})"),
            remedy: remedy(nix::errno::Errno::EPERM).into(),
        })?;
    }
    // A security module may grant the namespace and withhold its rights: find out here, not later.
    unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| KernelError::NotPermitted {
        doing: format!("use the rights of the new user namespace ({errno})"),
        remedy: remedy(errno).into(),
    })
}

/// The sentence that helps, from what the kernel says about itself.
fn remedy(errno: nix::errno::Errno) -> &'static str {
    let setting = |path: &str| read_file(path).ok().map(|text| text.trim().to_owned());
    let is = |path: &str, value: &str| setting(path).as_deref() == Some(value);
    if errno == nix::errno::Errno::EINVAL {
        return "The process already has several threads; enter the user namespace first in main";
    }
    if is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        return "This kernel keeps user namespaces from ordinary users. Allow them with \
                `sudo sysctl kernel.unprivileged_userns_clone=1`, or run as root";
    }
    if is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
        return "AppArmor keeps user namespaces from ordinary users. Allow them with \
                `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`, or run as root";
    }
    if is("/proc/sys/user/max_user_namespaces", "0") {
        return "No user namespaces are allowed here. Allow them with \
                `sudo sysctl user.max_user_namespaces=10000`, or run as root";
    }
    "This kernel or container forbids user namespaces (seccomp or a security module). Run as root"
}
