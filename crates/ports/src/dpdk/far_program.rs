//! The program at the far end of a virtual device: whoever holds the socket at which both met.
//!
//! The kernel lists a socket with the path that it was bound to (`/proc/net/unix`, proc(5)): those of whoever serves it,
//! the accepted ones too. A far end that connected to us has no path, and stays unknown; so does one of another user.

use crate::DeviceThread;
use std::fs;

/// The processes that hold sockets of this path, but for this one.
pub(super) fn holders(path: &str) -> Vec<u32> {
    let sockets = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let links: Vec<String> =
        inodes(&sockets, path).map(|inode| format!("socket:[{inode}]")).collect();
    if links.is_empty() {
        return vec![];
    }
    let own = std::process::id();
    let others = numbers("/proc").filter(|process| *process != own);
    others.filter(|process| holds(*process, &links)).collect()
}

/// Numbers of the sockets bound to a path; a name without a file begins with `@` there.
fn inodes<'a>(sockets: &'a str, path: &'a str) -> impl Iterator<Item = &'a str> {
    sockets.lines().filter_map(move |line| {
        let mut words = line.split_whitespace();
        let inode = words.nth(6)?;
        let bound = words.next()?;
        (bound.strip_prefix('@').unwrap_or(bound) == path).then_some(inode)
    })
}

fn numbers(folder: &str) -> impl Iterator<Item = u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn holds(process: u32, links: &[String]) -> bool {
    let open = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    let mut links_of = open.filter_map(|entry| fs::read_link(entry.path()).ok());
    links_of.any(|to| links.iter().any(|link| to.as_os_str() == link.as_str()))
}

/// All threads of a program, each with its name.
pub(super) fn threads(process: u32) -> Vec<DeviceThread> {
    let tasks = format!("/proc/{process}/task");
    let name = |id: u32| fs::read_to_string(format!("{tasks}/{id}/comm"));
    numbers(&tasks)
        .filter_map(|id| Some(DeviceThread { id, name: name(id).ok()?.trim().to_owned() }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;
    use std::process::{Command, Stdio};

    /// As the kernel writes them: a named one, one without a file, one without a name.
    #[test]
    fn sockets_are_found_by_the_path_that_they_are_bound_to() {
        let sockets = "Num       RefCount Protocol Flags    Type St Inode Path\n\
             ffff8881: 00000002 00000000 00010000 0005 01 20311 /run/memif.sock\n\
             ffff8882: 00000003 00000000 00000000 0005 03 20312 /run/memif.sock\n\
             ffff8883: 00000002 00000000 00010000 0001 01 20313 @/run/memif.sock\n\
             ffff8884: 00000003 00000000 00000000 0001 03 20314\n\
             ffff8885: 00000002 00000000 00010000 0001 01 20315 /run/memif.sock2\n";
        assert_eq!(
            inodes(sockets, "/run/memif.sock").collect::<Vec<_>>(),
            ["20311", "20312", "20313"]
        );
    }

    #[test]
    fn the_holder_of_a_socket_is_another_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s").display().to_string();
        let listener = UnixListener::bind(&path).unwrap();
        assert_eq!(holders(&path), [], "this process holds it");
        // It is inherited as standard input.
        let input = Stdio::from(std::os::fd::OwnedFd::from(listener));
        let mut other = Command::new("sleep").arg("60").stdin(input).spawn().unwrap();
        assert_eq!(holders(&path), [other.id()]);
        let names: Vec<String> = threads(other.id()).into_iter().map(|it| it.name).collect();
        assert_eq!(names, ["sleep"]);
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!(holders(&path), [], "it is gone");
    }
}
