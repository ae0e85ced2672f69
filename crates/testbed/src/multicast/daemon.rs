//! FRR's pimd (and its zebra) in the device's namespace: a real daemon that hears IGMP and tells the
//! kernel what to forward.
//!
//! They run under a shell that reads from a pipe which we hold: when this process ends, however it does,
//! the pipe closes, and the shell ends them and removes their folder. (The parent-death signal would not
//! do: it is lost when they change their user.)

use super::MULTICAST_INTERFACES;
use crate::addressing::PortAddresses;
use crate::error::{Result, TestbedError};
use kernel::{Namespace, read_file, write_file};
use nix::unistd::User;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const FOLDER: &str = "/usr/lib/frr";
const USER: &str = "frr";
const PROGRAM: &str = "pimd";
/// The device's first address is the rendezvous point of all groups: nothing has to be agreed with
/// anybody.
const GROUPS: &str = "224.0.0.0/4";
/// How long pimd may take until the kernel knows every interface.
const STARTS_WITHIN: Duration = Duration::from_secs(15);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// `$1` is the folder, `$2` that of FRR.
const SUPERVISOR: &str = "
    common='-i'
    \"$2\"/zebra $common \"$1\"/zebra.pid -z \"$1\"/z.api --vty_socket \"$1\" -P 0 -f /dev/null \\
        --log file:\"$1\"/zebra.log & zebra=$!
    sleep 0.3
    \"$2\"/pimd $common \"$1\"/pimd.pid -z \"$1\"/z.api --vty_socket \"$1\" -P 0 -f \"$1\"/pimd.conf \\
        --log file:\"$1\"/pimd.log & pimd=$!
    read _
    kill -9 $pimd $zebra
    wait
    rm -rf \"$1\"";

/// The running daemons; dropping ends them.
#[derive(Debug)]
pub(crate) struct Daemon {
    supervisor: Child,
    folder: PathBuf,
}

impl Daemon {
    /// Starts them, and waits until the kernel forwards between all of these interfaces.
    pub(crate) fn start(namespace: &Namespace, interfaces: &[String]) -> Result<Self> {
        let user = user()?;
        let folder = Path::new("/run").join(format!("{}-frr", namespace.name()));
        let made = std::fs::create_dir(&folder)
            .and_then(|()| chown(&folder, Some(user.uid.as_raw()), Some(user.gid.as_raw())));
        made.map_err(|e| TestbedError::system(format!("create {}", folder.display()), e))?;
        write_file(folder.join("pimd.conf"), &configuration(interfaces))?;
        let spawned = namespace.run(|| {
            Command::new("/bin/sh")
                .args(["-c", SUPERVISOR, "netanvil"])
                .args([folder.as_path(), Path::new(FOLDER)])
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
        })?;
        let supervisor = spawned.map_err(|e| TestbedError::system("start pimd", e))?;
        let daemon = Daemon { supervisor, folder };
        daemon.wait_for(namespace, interfaces)?;
        Ok(daemon)
    }

    fn wait_for(&self, namespace: &Namespace, interfaces: &[String]) -> Result<()> {
        let looks = STARTS_WITHIN.as_nanos() / LOOK_EVERY.as_nanos();
        let mut known = vec![];
        for _ in 0..looks {
            known = namespace.run(multicast_interfaces)??;
            if interfaces.iter().all(|name| known.contains(name)) {
                return Ok(());
            }
            std::thread::sleep(LOOK_EVERY);
        }
        let log = std::fs::read_to_string(self.folder.join("pimd.log")).unwrap_or_default();
        let tail: Vec<&str> = log.lines().rev().take(3).collect();
        Err(TestbedError::Program {
            program: PROGRAM,
            message: format!(
                "the kernel forwards between {} of {} interfaces after {} s; pimd's last words: {}",
                known.len(),
                interfaces.len(),
                STARTS_WITHIN.as_secs(),
                tail.join(" / ")
            ),
        })
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(self.supervisor.stdin.take());
        let _ = self.supervisor.wait();
    }
}

/// FRR's user, or how to get FRR.
fn user() -> Result<User> {
    let missing = |what: &str| TestbedError::Program {
        program: PROGRAM,
        message: format!(
            "{what}: linux-mcast forwards by FRR's pimd. Install it with `sudo apt-get install frr`"
        ),
    };
    let there = ["zebra", PROGRAM].iter().all(|name| Path::new(FOLDER).join(name).exists());
    if !there {
        return Err(missing("there is no /usr/lib/frr/pimd"));
    }
    User::from_name(USER).ok().flatten().ok_or_else(|| missing("there is no user `frr`"))
}

fn configuration(interfaces: &[String]) -> String {
    let rendezvous_point = PortAddresses::of_port(0).ipv4.device;
    let of_interface = |name: &String| format!("interface {name}\n ip pim\n ip igmp\n");
    let all: String = interfaces.iter().map(of_interface).collect();
    format!("hostname netanvil\nip pim rp {rendezvous_point} {GROUPS}\n{all}")
}

/// Names of the interfaces that multicast is forwarded between, of the calling thread's namespace.
fn multicast_interfaces() -> Result<Vec<String>> {
    let text = read_file("/proc/thread-self/net/ip_mr_vif")?;
    let name = |line: &str| line.split_whitespace().nth(1).map(str::to_owned);
    Ok(text.lines().skip(1).take(MULTICAST_INTERFACES).filter_map(name).collect())
}
