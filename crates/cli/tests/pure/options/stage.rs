//! For each suite a small simulated device and a short run of one of its tests.

use crate::common::Scratch;
use method::registry::{SuiteName, TestMethod};
use std::process::Output;

/// What all devices have: a slow link, few places, a processor that the link outruns.
const SLOW: &str = "line-rate = \"1M\"\ndelay = \"5us\"\n[input]\nframes = 8\n\
                    [cpu]\nservers = \"per-port\"\ncost = { per-frame = \"2ms\" }\n";

const ROUTER: &str = "ports = 4\nroute = [\"ipv4\", \"ipv6\"]\nbridge = true\n";
const PAIR: &str = "route = [\"ipv4\", \"ipv6\"]\nbridge = true\n";
const SWITCH: &str = "ports = 4\nbridge = true\n";
const GROUPS: &str = "ports = 4\nroute = [\"ipv4\", \"ipv6\"]\n";

const OF_ROUTER: &str = "[reset]\nrestart = \"300ms\"\n";
const OF_SWITCH: &str = "[output]\nframes = 8\n[learning]\nentries = 24\nageing = \"5s\"\n\
                         [arp-server]\nper-request = \"20ms\"\nrequests = 2\n";
const OF_GROUPS: &str = "[multicast]\ngroups = 12\njoin = \"250us\"\nnew-group = \"750us\"\n\
                         leave = \"20ms\"\nmembership = \"260s\"\nper-copy = \"100us\"\n\
                         per-encapsulation = \"200us\"\nper-decapsulation = \"300us\"\ntunnels = true\n";

/// Another device for options that this one would not show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Device {
    Usual,
    /// It has room for every burst.
    Deep,
    /// Usual, but the tester is weak.
    Weak,
    /// It takes half as long again for each frame, and fewer groups.
    Slower,
    /// Usual, with more ports where that has two.
    Wide,
}

impl Device {
    const ALL: [Device; 5] =
        [Device::Usual, Device::Deep, Device::Weak, Device::Slower, Device::Wide];

    pub fn file(self, suite: SuiteName) -> String {
        format!("{suite}-{self:?}.toml").to_lowercase()
    }

    fn text(self, suite: SuiteName) -> String {
        let (kind, more) = match suite {
            SuiteName::Rfc2544 if self == Device::Wide => (ROUTER, OF_ROUTER),
            SuiteName::Rfc2544 | SuiteName::Harvard1989 => (PAIR, OF_ROUTER),
            SuiteName::Harvard1990 => (ROUTER, OF_ROUTER),
            SuiteName::Rfc2889 | SuiteName::Gigaswitch => (SWITCH, OF_SWITCH),
            SuiteName::Rfc3918 | SuiteName::Tolly => (GROUPS, OF_GROUPS),
        };
        let slow = match self {
            Device::Deep => SLOW.replace("frames = 8", "frames = 100000"),
            // Slower than the link carries the mix of 1989.
            Device::Slower if suite == SuiteName::Harvard1989 => SLOW.replace("2ms", "6ms"),
            _ if suite == SuiteName::Harvard1989 => SLOW.replace("2ms", "4ms"),
            Device::Slower => SLOW.replace("2ms", "3ms"),
            _ => SLOW.to_owned(),
        };
        let weakness = match self {
            Device::Weak => "[tester]\nframes-per-second = 400\n",
            _ => "",
        };
        let more = match self {
            Device::Slower => more.replace("groups = 12", "groups = 9").replace("20ms", "30ms"),
            _ => more.to_owned(),
        };
        format!("{kind}{slow}{more}{weakness}")
    }
}

/// Writes the devices of every suite.
pub fn devices(scratch: &Scratch) {
    for suite in SuiteName::ALL {
        for device in Device::ALL {
            scratch.file(&device.file(suite), &device.text(suite));
        }
    }
}

/// Settings that make a run short, or possible with such a device.
fn settings(suite: SuiteName) -> &'static [&'static str] {
    match suite {
        SuiteName::Rfc2544 | SuiteName::Harvard1990 | SuiteName::Harvard1989 => &[],
        SuiteName::Rfc2889 => &[
            "chassis.addresses.initial_addresses=8",
            "chassis.addresses.max_addresses=65",
            "chassis.addresses.ageing_s=6.0",
            "chassis.addresses.rate_addresses=20",
        ],
        SuiteName::Rfc3918 => &[
            "chassis.multicast.groups=2",
            "chassis.multicast.matrix_initial=2",
            "chassis.multicast.matrix_step=3",
            "chassis.multicast.matrix_max=5",
            "chassis.multicast.matrix_load_percent=50.0",
            "chassis.multicast.capacity_initial=2",
            "chassis.multicast.capacity_step=5",
        ],
        SuiteName::Gigaswitch => &[
            "chassis.fanout.ports=[3]",
            "chassis.fanout.extrapolate_to=4",
            "chassis.arp_server.max_fps=100",
            "chassis.arp_server.requests=20",
            "chassis.arp_server.addresses=5",
        ],
        SuiteName::Tolly => &[
            "chassis.tolly.routed_inputs=[1]",
            "chassis.tolly.routed_outputs=2",
            "chassis.tolly.hosts_per_output=20",
            "chassis.tolly.unicast_streams=2",
            "chassis.tolly.multicast_outputs=[2]",
            "chassis.tolly.multicast_packets=20",
            "chassis.tolly.mesh_ports=3",
            "chassis.tolly.groups=10",
            "chassis.tolly.group_outputs=2",
        ],
    }
}

/// Sizes that the tests have in common; the IP9000 tests have sizes of their own.
fn size(suite: SuiteName) -> &'static str {
    if suite == SuiteName::Tolly { "64" } else { "128" }
}

/// A run's arguments: `more` in place of what it says otherwise; `--set -KEY` and
/// `--FLAG -` take one away.
pub fn arguments(test: &TestMethod, device: Device, more: &[&str]) -> Vec<String> {
    let mut given: Vec<[String; 2]> = vec![
        ["--sim".into(), device.file(test.suite)],
        ["--test".into(), test.id.into()],
        ["--profile".into(), "quick".into()],
    ];
    if test.supports("sizes") {
        given.push(["--sizes".into(), size(test.suite).into()]);
    }
    if test.supports("seed") {
        given.push(["--seed".into(), "3".into()]);
    }
    let used = settings(test.suite).iter().filter(|s| test.supports(name_of_setting(s)));
    given.extend(used.map(|setting| ["--set".into(), (*setting).into()]));
    let mut more = more.iter().peekable();
    let mut flags = vec![];
    while let Some(word) = more.next() {
        if let Some(name) = more.next_if(|next| *word == "--set" && next.starts_with('-')) {
            given.retain(|[_, value]| name_of_setting(value) != &name[1..]);
            continue;
        }
        if more.next_if(|next| **next == "-").is_some() {
            given.retain(|[flag, _]| flag != word);
            continue;
        }
        match more.next_if(|next| word.starts_with("--") && !next.starts_with("--")) {
            Some(value) => {
                let name = [(*word).to_owned(), name_of_setting(value).to_owned()];
                given.retain(|[flag, value]| {
                    let is_setting = *word == "--set";
                    // Which may be given several times.
                    let is_goal = *word == "--goal";
                    flag != word || is_goal || (is_setting && name_of_setting(value) != name[1])
                });
                given.push([(*word).into(), (*value).into()]);
            }
            None => flags.push((*word).to_owned()),
        }
    }
    let start = ["run".to_owned(), test.suite.to_string(), "--quiet".to_owned()];
    start.into_iter().chain(given.into_iter().flatten()).chain(flags).collect()
}

fn name_of_setting(setting: &str) -> &str {
    setting.split_once('=').map_or(setting, |(name, _)| name)
}

/// Runs the program, its run folder and its cache of self-tests in a folder of that name.
pub fn run(scratch: &Scratch, arguments: &[String], folder: &str) -> Output {
    let mut command = scratch.command("");
    command.args(arguments).args(["--out", folder]);
    command.env("XDG_CACHE_HOME", scratch.path().join(format!("{folder}-cache")));
    command.output().expect("the program starts")
}
