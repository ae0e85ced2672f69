//! Open vSwitch's user-space datapath: a switch that is no part of the kernel. Frames come to it and leave
//! it by packet sockets on the device's ports, and a thread of its own forwards them.
//!
//! Its database, control sockets and processes are the run's own, in a folder and a namespace of the run: an
//! Open vSwitch of the system is never spoken to.

mod home;

pub(crate) use home::{Home, STARTS_WITHIN};

use crate::config::TestbedConfig;
use crate::device::Device;
use crate::error::{Result, TestbedError};
use crate::program::{Program, ProgramName, find_program};
use crate::registry::program_folder;
use home::SCHEMA;
use kernel::read_file;
use std::path::{Path, PathBuf};

const PACKAGE: &str = "openvswitch-switch";
const DATABASE: ProgramName = ProgramName { program: "ovsdb-server", package: PACKAGE };
const SWITCH: ProgramName = ProgramName { program: "ovs-vswitchd", package: PACKAGE };
/// What makes a datapath of user space with packet sockets: every port has a TAP for the switch itself.
const TUN: &str = "/dev/net/tun";
/// What the kernel charges a packet socket for a frame beside its bytes, at most (sk_buff and its frame's tail).
const BOOKKEEPING_BYTES: usize = 768;
/// What it makes of its settings outside of these (lib/mac-learning.h).
const AGEING_S: std::ops::RangeInclusive<u32> = 15..=3_600;
const TABLE: std::ops::RangeInclusive<u32> = 10..=1_000_000;

/// Why no Open vSwitch can be had on this host; `None` where it can.
pub fn ovs_shortfall() -> Option<String> {
    shortfall_of(SWITCH)
}

/// Why no Open vSwitch with this switch can be had.
pub(crate) fn shortfall_of(switch: ProgramName) -> Option<String> {
    let programs = [DATABASE.program, "ovs-vsctl", "ovsdb-tool"];
    let missing = programs.iter().find(|name| find_program(name).is_none());
    match missing {
        Some(name) => Some(format!("{name} is not installed: `apt install {PACKAGE}`")),
        None if find_program(switch.program).is_none() => {
            Some(format!("{} is not installed: `apt install {}`", switch.program, switch.package))
        }
        None if !Path::new(SCHEMA).exists() => {
            Some(format!("{SCHEMA} is missing: `apt install {PACKAGE}`"))
        }
        None if !Path::new(TUN).exists() => Some(format!("{TUN} is missing: `modprobe tun`")),
        None => None,
    }
}

/// Refuses what it cannot be given.
pub(crate) fn check(config: &TestbedConfig) -> Result<()> {
    let refuse = |message: String| Err(TestbedError::Configuration(message));
    match (config.address_ageing_s, config.address_table) {
        (Some(ageing), _) if !AGEING_S.contains(&ageing) => refuse(format!(
            "address_ageing_s = {ageing}: Open vSwitch has {} to {}",
            AGEING_S.start(),
            AGEING_S.end()
        )),
        (_, Some(entries)) if !TABLE.contains(&entries) => refuse(format!(
            "address_table = {entries}: Open vSwitch has {} to {}",
            TABLE.start(),
            TABLE.end()
        )),
        _ => Ok(()),
    }
}

/// What makes a learning switch without ports, as words of ovs-vsctl.
pub(crate) fn bridge(config: &TestbedConfig) -> String {
    let mut words = "add-br br0 -- set bridge br0 datapath_type=netdev fail-mode=standalone \
                     other-config:disable-in-band=true"
        .to_owned();
    if let Some(ageing) = config.address_ageing_s {
        words += &format!(" other-config:mac-aging-time={ageing}");
    }
    if let Some(entries) = config.address_table {
        words += &format!(" other-config:mac-table-size={entries}");
    }
    words
}

/// The switch, running. Its folder goes with it.
#[derive(Debug)]
pub(crate) struct Switch {
    /// The switch first: it would else complain that its database has gone.
    switch: Program,
    database: Program,
    folder: Folder,
    /// Of the frames that wait for it at each port.
    room: String,
}

impl Switch {
    /// Starts it in a device whose ports are up, and waits until it forwards between them.
    pub fn start(device: &Device) -> Result<Self> {
        if let Some(message) = ovs_shortfall() {
            return Err(TestbedError::Program { program: SWITCH.program, message });
        }
        let folder = Folder::create(device)?;
        let (home, namespace) = (&folder.home, device.namespace());
        let database = home.start_database(namespace, &[])?;
        let arguments = [&home.database()[..], "--disable-system"];
        let switch = home.start(namespace, SWITCH, &[], &arguments, "switch.ctl")?;
        if let Some(cpu) = device.config().device_cpu {
            // Before it has made its threads, which take after it.
            let _ = kernel::thread::pin(switch.id(), cpu);
        }
        let mut switch = Switch { switch, database, folder, room: String::new() };
        switch.add_ports(device)?;
        switch.give_room(device.config());
        Ok(switch)
    }

    /// Returns when the switch has done as the database says.
    fn add_ports(&mut self, device: &Device) -> Result<()> {
        let config = device.config();
        let mut words = vec![format!("--timeout={}", STARTS_WITHIN.as_secs())];
        let mut add = |text: &str| words.extend(text.split_whitespace().map(str::to_owned));
        add(&bridge(config));
        for port in 0..config.ports {
            add(&format!("-- add-port br0 {}", device.interface(port)));
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let added = self.folder.home.configure(&words);
        self.switch.check()?;
        self.database.check()?;
        added?;
        for port in 0..config.ports {
            let interface = device.interface(port);
            let number = self.folder.home.configure(&["get", "interface", &interface, "ofport"])?;
            if number.trim().parse::<u32>().is_err() {
                let why = self.folder.home.configure(&["get", "interface", &interface, "error"])?;
                let message = format!("it does not take {interface}: {}", why.trim());
                return Err(TestbedError::Program { program: SWITCH.program, message });
            }
        }
        Ok(())
    }

    /// Room for as many frames of the MTU as an input queue of the other devices has. Where that cannot be had
    /// it is said: the switch is a real one without it, too.
    fn give_room(&mut self, config: &TestbedConfig) {
        let frames = config.input_queue_frames as usize;
        let of_frame = (config.mtu_bytes as usize + BOOKKEEPING_BYTES).next_power_of_two();
        self.room = match frames {
            0 => "packet sockets as the kernel makes them".into(),
            _ => match kernel::give_room(self.switch.id(), frames * of_frame) {
                Ok(sockets) => format!("{sockets} packet sockets with room for {frames} frames"),
                Err(error) => format!("packet sockets as the kernel makes them ({error})"),
            },
        };
    }

    /// Process id of the program that forwards.
    pub fn process(&self) -> u32 {
        self.switch.id()
    }

    /// Its version, where it runs, and what waits for it.
    pub fn facts(&self) -> String {
        let version = self.folder.home.run(SWITCH.program, &["--version"]).unwrap_or_default();
        let status = read_file(format!("/proc/{}/status", self.switch.id())).unwrap_or_default();
        let cpus = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let version = version.lines().next().unwrap_or(SWITCH.program).to_owned();
        format!("{version}, on processors {}, {}", cpus.unwrap_or("unknown").trim(), self.room)
    }
}

/// Where a switch keeps everything.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    home: Home,
}

impl Folder {
    fn create(device: &Device) -> Result<Self> {
        let path = program_folder(device.namespace(), "ovs");
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path)
            .map_err(|error| TestbedError::system(format!("create {}", path.display()), error))?;
        Ok(Folder { home: Home::new(path.clone()), path })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
