//! Generic netlink, as much of it as asking the `netdev` family for an interface's NAPI threads takes.

use crate::error::{KernelError, Result};
use crate::netlink::Netlink;
use netlink_packet_core::{
    DecodeError, DefaultNla, Emitable, NetlinkDeserializable, NetlinkHeader, NetlinkSerializable,
    NlasIterator,
};
use netlink_sys::protocols::NETLINK_GENERIC;

const CONTROLLER: u16 = 16;
const CONTROLLER_GET_FAMILY: u8 = 3;
const CONTROLLER_FAMILY_ID: u16 = 1;
const CONTROLLER_FAMILY_NAME: u16 = 2;
/// linux/netdev.h.
const NETDEV_NAPI_GET: u8 = 11;
const NAPI_INTERFACE: u16 = 1;
const NAPI_ID: u16 = 2;
const NAPI_THREAD: u16 = 4;

/// A generic netlink message whose attributes stay raw.
#[derive(Debug)]
pub struct GenericMessage {
    family: u16,
    command: u8,
    attributes: Vec<u8>,
}

impl GenericMessage {
    fn new(family: u16, command: u8, attributes: &[DefaultNla]) -> Self {
        let mut bytes = vec![0; attributes.buffer_len()];
        attributes.emit(&mut bytes);
        GenericMessage { family, command, attributes: bytes }
    }

    /// The bytes of the first attribute of a kind, if it has that many.
    fn attribute<const BYTES: usize>(&self, kind: u16) -> Option<[u8; BYTES]> {
        let mut attributes = NlasIterator::new(&self.attributes[..]).flatten();
        attributes.find(|a| a.kind() == kind)?.value().try_into().ok()
    }

    fn attribute_u32(&self, kind: u16) -> Option<u32> {
        self.attribute(kind).map(u32::from_ne_bytes)
    }
}

impl NetlinkSerializable for GenericMessage {
    fn message_type(&self) -> u16 {
        self.family
    }
    fn buffer_len(&self) -> usize {
        4 + self.attributes.len()
    }
    fn serialize(&self, buffer: &mut [u8]) {
        buffer[..4].copy_from_slice(&[self.command, 1, 0, 0]);
        buffer[4..].copy_from_slice(&self.attributes);
    }
}

impl NetlinkDeserializable for GenericMessage {
    type Error = DecodeError;
    fn deserialize(header: &NetlinkHeader, payload: &[u8]) -> Result<Self, DecodeError> {
        let [command, _, _, _, attributes @ ..] = payload else {
            return Err(DecodeError::from("generic netlink message shorter than its header"));
        };
        Ok(GenericMessage {
            family: header.message_type,
            command: *command,
            attributes: attributes.to_vec(),
        })
    }
}

/// A NAPI instance (receive context) of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Napi {
    /// Its number.
    pub id: u32,
    /// Its kernel thread, when it is threaded.
    pub thread: Option<u32>,
}

/// NAPI instances of an interface in the calling thread's namespace; none while it is down.
pub fn napis(interface_index: u32) -> Result<Vec<Napi>> {
    let mut netlink = Netlink::open(NETLINK_GENERIC)?;
    let family = family_id(&mut netlink, "netdev")?;
    let interface = DefaultNla::new(NAPI_INTERFACE, interface_index.to_ne_bytes().to_vec());
    let request = GenericMessage::new(family, NETDEV_NAPI_GET, &[interface]);
    let answers = netlink.dump(request, "list the NAPI instances of an interface")?;
    let napi = |answer: &GenericMessage| {
        Some(Napi { id: answer.attribute_u32(NAPI_ID)?, thread: answer.attribute_u32(NAPI_THREAD) })
    };
    Ok(answers.iter().filter_map(napi).collect())
}

fn family_id(netlink: &mut Netlink<GenericMessage>, name: &str) -> Result<u16> {
    let doing = format!("look up the generic netlink family {name}");
    let name_nla = DefaultNla::new(CONTROLLER_FAMILY_NAME, [name.as_bytes(), b"\0"].concat());
    let request = GenericMessage::new(CONTROLLER, CONTROLLER_GET_FAMILY, &[name_nla]);
    let answers = netlink.query(request, &doing)?;
    answers
        .iter()
        .find_map(|answer| answer.attribute(CONTROLLER_FAMILY_ID))
        .map(u16::from_ne_bytes)
        .ok_or_else(|| KernelError::System {
            doing,
            source: std::io::Error::new(std::io::ErrorKind::InvalidData, "an answer without an id"),
        })
}
