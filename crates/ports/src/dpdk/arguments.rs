//! A device as a user names it, and DPDK with it (`net_memif0,role=client,socket=/run/x.sock`, `0000:3b:00.0`):
//! pure.

use trial::TesterError;

/// Where memif sockets are unless `socket=` says otherwise (DPDK's memif driver).
const MEMIF_SOCKET: &str = "/run/memif.sock";

/// A device and its arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct DeviceArguments {
    /// As they are passed to DPDK.
    pub whole: String,
    /// Name of the device: all before the first comma.
    pub name: String,
    /// Whether it is a PCI device; all others are virtual ones.
    pub is_pci: bool,
}

impl DeviceArguments {
    /// Takes apart what a user wrote.
    ///
    /// # Errors
    /// If no device of DPDK can have that name; with examples of those that can.
    pub fn parse(text: &str) -> Result<Self, TesterError> {
        let (name, rest) = match text.split_once(',') {
            Some((name, rest)) => (name, Some(rest)),
            None => (text, None),
        };
        let pci = pci_address(name);
        let is_virtual = name.starts_with("net_") || name.starts_with("eth_");
        if pci.is_none() && !is_virtual {
            return Err(TesterError::Unsupported {
                port: text.into(),
                what: format!("{name:?} as a device of DPDK"),
                remedy: "write a virtual device with its arguments, such as \
                         dpdk:net_memif0,role=client,socket=/run/x.sock or \
                         dpdk:net_af_packet0,iface=eth1, or the address of a PCI device, such as \
                         dpdk:0000:3b:00.0"
                    .into(),
            });
        }
        let is_pci = pci.is_some();
        let name = pci.unwrap_or_else(|| name.into());
        let whole = rest.map_or(name.clone(), |rest| format!("{name},{rest}"));
        Ok(DeviceArguments { whole, name, is_pci })
    }

    /// The same with so many queues each way: a virtual device has as many as its arguments say.
    ///
    /// # Errors
    /// If it cannot have them.
    pub fn with_queues(mut self, queues: u16) -> Result<Self, TesterError> {
        if queues == 1 {
            return Ok(self);
        }
        if self.driver() == "net_memif" && self.is_memif_server() {
            return Err(TesterError::Unsupported {
                port: self.whole,
                what: format!("{queues} queues on a memif server, whose rings are the client's"),
                remedy: "be the client (role=client), with as many queues at the device".into(),
            });
        }
        let wanted: &[(&str, u16)] = match self.driver() {
            "net_vhost" => &[("queues", queues)],
            // The driver wants the control queue for more than one.
            "net_virtio_user" => &[("queues", queues), ("cq", 1)],
            "net_af_packet" => &[("qpairs", queues)],
            _ => &[],
        };
        for (key, value) in wanted {
            match self.value(key) {
                None => self.whole.push_str(&format!(",{key}={value}")),
                Some(given) if *given == value.to_string() => {}
                Some(given) => {
                    return Err(TesterError::Unsupported {
                        what: format!("{queues} queues with {key}={given}"),
                        remedy: format!("leave {key}= out, or --queues"),
                        port: self.whole,
                    });
                }
            }
        }
        Ok(self)
    }

    /// Name of the driver of a virtual device: `net_memif0` is one of `net_memif`.
    pub fn driver(&self) -> &str {
        self.name.trim_end_matches(|c: char| c.is_ascii_digit())
    }

    /// The value of an argument.
    pub fn value(&self, key: &str) -> Option<&str> {
        let mut pairs = self.whole.split(',').skip(1).filter_map(|pair| pair.split_once('='));
        pairs.find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// Where it meets its far end on this machine: ports with the same place are joined.
    pub fn meeting_place(&self) -> Option<String> {
        match self.driver() {
            "net_memif" => {
                let (socket, id) = (self.socket()?, self.value("id").unwrap_or("0"));
                Some(format!("memif {socket} id {id}"))
            }
            "net_vhost" | "net_virtio_user" => {
                self.socket().map(|path| format!("vhost-user {path}"))
            }
            "net_ring" => Some(format!("ring {}", self.name)),
            _ => None,
        }
    }

    /// Path of the socket at which it meets its far end.
    pub fn socket(&self) -> Option<&str> {
        match self.driver() {
            "net_memif" => Some(self.value("socket").unwrap_or(MEMIF_SOCKET)),
            "net_vhost" => self.value("iface"),
            "net_virtio_user" => self.value("path"),
            _ => None,
        }
    }

    /// The socket that it serves itself, at which DPDK waits for somebody to connect.
    pub fn served_socket(&self) -> Option<&str> {
        let is_server =
            self.driver() == "net_virtio_user" && self.value("server").is_some_and(|on| on != "0");
        self.socket().filter(|_| is_server)
    }

    /// Whether what it sends goes into a queue of its far end's, which can be full.
    pub fn sends_into_far_queue(&self) -> bool {
        matches!(self.driver(), "net_memif" | "net_vhost" | "net_virtio_user" | "net_ring")
            && !self.is_pci
    }

    /// Whether what was sent is still in its buffer when that comes back: these drivers read frames, and those that
    /// they pass a buffer on to do. Of others nobody has looked.
    pub fn leaves_frames_alone(&self) -> bool {
        matches!(
            self.driver(),
            "net_memif" | "net_vhost" | "net_virtio_user" | "net_ring" | "net_af_packet"
        ) && !self.is_pci
    }

    /// Frames that its receive queue holds, where whoever fills it does not tell what found no room.
    pub fn queue_frames(&self) -> Option<usize> {
        let number = |key| self.value(key).and_then(|frames| frames.parse().ok());
        match self.driver() {
            "net_memif" => {
                let bits = self.value("rsize").and_then(|bits| bits.parse::<u32>().ok());
                // The client makes the rings, and no server can ask how long they are: no longer than by default.
                let longest = if self.is_memif_server() { 10 } else { 14 };
                Some(1 << bits.unwrap_or(10).min(longest))
            }
            "net_virtio_user" => number("queue_size").or(Some(256)),
            // The guest decides; this is the length that virtio devices have unless they are told.
            "net_vhost" => Some(256),
            // The kernel drops what finds no room, and the driver does not ask it how much.
            "net_af_packet" => number("framecnt").or(Some(512)),
            // The sender is this process, which is told what found no room.
            "net_ring" => None,
            // Nobody has looked whether these count what they drop.
            _ if !self.is_pci => Some(256),
            _ => None,
        }
    }

    fn is_memif_server(&self) -> bool {
        matches!(self.value("role"), Some("server" | "master"))
    }

    /// Bytes of a frame that take a slot of that queue.
    pub fn slot_bytes(&self) -> usize {
        let given = self.value("bsize").and_then(|bytes| bytes.parse().ok());
        match self.driver() {
            "net_memif" => given.filter(|bytes| *bytes > 0).unwrap_or(2_048),
            _ => usize::MAX,
        }
    }

    /// Whether it carries frames longer than its driver says: memif says 1,518 bytes, and cuts every frame into
    /// as many slots as it takes.
    pub fn carries_any_length(&self) -> bool {
        self.driver() == "net_memif"
    }

    /// Why its link may be down, and what to do.
    pub fn why_no_link(&self) -> String {
        let place = self.meeting_place().unwrap_or_default();
        match self.driver() {
            "net_memif" if self.is_memif_server() => format!(
                "nobody has connected to {place}; start the device, with role=client on that \
                 socket, and check socket=, id= and socket-abstract="
            ),
            // Without a role it is a client, too.
            "net_memif" => format!(
                "nobody serves {place}; start the device first, with role=server on that socket, \
                 and check socket=, id= and socket-abstract="
            ),
            "net_vhost" => format!(
                "no guest and no virtio-user device has connected to {place}; start the device"
            ),
            "net_virtio_user" if self.served_socket().is_some() => format!(
                "nobody has connected to {place}; start the device, as a client of that socket"
            ),
            "net_virtio_user" => format!("{place} does not answer; start the device"),
            _ => "its link is down; look at the cable and at the device's port".into(),
        }
    }
}

/// A PCI address with its domain, from one with or without it.
fn pci_address(text: &str) -> Option<String> {
    let hex = |part: &str, digits: usize| {
        part.len() == digits && part.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let parts: Vec<&str> = text.split(':').collect();
    let (domain, bus, rest) = match parts[..] {
        [domain, bus, rest] => (domain, bus, rest),
        [bus, rest] => ("0000", bus, rest),
        _ => return None,
    };
    let (device, function) = rest.split_once('.')?;
    let is_function = function.len() == 1 && function.bytes().all(|b| (b'0'..=b'7').contains(&b));
    let is_address = hex(domain, 4) && hex(bus, 2) && hex(device, 2) && is_function;
    is_address.then(|| format!("{domain}:{bus}:{rest}").to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> DeviceArguments {
        DeviceArguments::parse(text).expect("a device")
    }

    #[test]
    fn a_virtual_device_has_a_driver_and_arguments() {
        let memif = of("net_memif12,role=client,socket=/run/x.sock,id=3");
        assert_eq!((memif.name.as_str(), memif.driver()), ("net_memif12", "net_memif"));
        assert_eq!(memif.value("socket"), Some("/run/x.sock"));
        assert_eq!((memif.value("sock"), memif.is_pci), (None, false));
        assert_eq!(memif.whole, "net_memif12,role=client,socket=/run/x.sock,id=3");
    }

    #[test]
    fn a_pci_address_may_lack_its_domain() {
        for text in ["0000:3b:00.0", "3b:00.0", "0000:3B:00.0"] {
            let device = of(text);
            assert_eq!((device.name.as_str(), device.is_pci), ("0000:3b:00.0", true), "{text}");
        }
        assert_eq!(of("3b:00.1,representor=0").whole, "0000:3b:00.1,representor=0");
    }

    #[test]
    fn what_is_no_device_is_refused_with_examples() {
        for wrong in ["", "eth1", "0000:3b:00.8", "0000:3b:00", "3b:zz.0", "memif0", "1:2:3:4.0"] {
            let error = DeviceArguments::parse(wrong).unwrap_err().to_string();
            assert!(error.contains("dpdk:net_af_packet0,iface=eth1"), "{wrong}: {error}");
        }
    }

    /// The defaults of DPDK 22.11: 2^10 slots of memif, 256 of virtio, 512 of packet sockets.
    #[test]
    fn a_shared_queue_has_the_length_that_was_asked_for() {
        assert_eq!(of("net_memif0").queue_frames(), Some(1_024));
        assert_eq!(of("net_memif0,rsize=14").queue_frames(), Some(16_384));
        assert_eq!(of("net_memif0").slot_bytes(), 2_048);
        assert_eq!(of("net_memif0,bsize=4096").slot_bytes(), 4_096);
        assert_eq!(of("net_virtio_user0,path=/x").queue_frames(), Some(256));
        assert_eq!(of("net_virtio_user0,path=/x,queue_size=1024").queue_frames(), Some(1_024));
        assert_eq!(of("net_af_packet0,iface=eth1").queue_frames(), Some(512));
        assert_eq!(of("net_af_packet0,iface=eth1,framecnt=64").queue_frames(), Some(64));
        // A server's rings are the client's.
        assert_eq!(of("net_memif0,role=server,rsize=14").queue_frames(), Some(1_024));
        assert_eq!(of("net_memif0,role=server,rsize=8").queue_frames(), Some(256));
        assert_eq!(
            (of("net_ring0").queue_frames(), of("net_tap0").queue_frames()),
            (None, Some(256))
        );
        assert_eq!(of("0000:3b:00.0").queue_frames(), None);
    }

    /// DPDK's memif is a client unless it is told otherwise.
    #[test]
    fn a_link_that_is_down_says_what_the_other_end_has_to_be() {
        for (text, role) in [
            ("net_memif0", "role=server"),
            ("net_memif0,role=slave", "role=server"),
            ("net_memif0,role=server", "role=client"),
        ] {
            let why = of(text).why_no_link();
            assert!(why.contains(role), "{text}: {why}");
        }
    }

    #[test]
    fn a_virtual_device_is_made_with_as_many_queues() {
        let whole = |text: &str| of(text).with_queues(2).map(|device| device.whole);
        for (text, made) in [
            ("net_vhost0,iface=/v", "net_vhost0,iface=/v,queues=2"),
            ("net_vhost0,iface=/v,queues=2", "net_vhost0,iface=/v,queues=2"),
            ("net_virtio_user0,path=/v", "net_virtio_user0,path=/v,queues=2,cq=1"),
            ("net_af_packet0,iface=e", "net_af_packet0,iface=e,qpairs=2"),
            ("net_memif0,role=client", "net_memif0,role=client"),
            ("0000:3b:00.0", "0000:3b:00.0"),
        ] {
            assert_eq!(whole(text).unwrap(), made);
        }
        for (wrong, why) in [
            ("net_vhost0,iface=/v,queues=4", "leave queues= out"),
            ("net_memif0,role=server", "role=client"),
        ] {
            let error = whole(wrong).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        assert_eq!(
            of("net_memif0,role=server").with_queues(1).unwrap().whole,
            "net_memif0,role=server"
        );
    }

    #[test]
    fn a_device_of_virtio_may_serve_its_socket() {
        assert_eq!(of("net_virtio_user0,path=/x,server=1").served_socket(), Some("/x"));
        for other in ["net_virtio_user0,path=/x,server=0", "net_virtio_user0,path=/x", "net_vhost0"]
        {
            assert_eq!(of(other).served_socket(), None, "{other}");
        }
    }

    #[test]
    fn ports_that_meet_are_those_with_one_place() {
        let place = |text: &str| of(text).meeting_place();
        assert_eq!(
            place("net_memif0"),
            place("net_memif1,role=client,socket=/run/memif.sock,id=0")
        );
        assert_ne!(place("net_memif0,id=1"), place("net_memif0,id=2"));
        assert_eq!(place("net_vhost0,iface=/tmp/v"), place("net_virtio_user3,path=/tmp/v"));
        assert_eq!(place("net_af_packet0,iface=eth1"), None);
        assert_ne!(place("net_ring0"), place("net_ring1"));
    }
}
