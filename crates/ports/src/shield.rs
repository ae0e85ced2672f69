//! Keeps what arrives on a port from the kernel's own stack.
//!
//! Packet sockets only get copies. The frame itself goes on to IP, which looks up a route for it
//! and sets up an error that nobody receives; on an AF_PACKET port that costs a third of the rate.
//! A chain of nftables at the interface's ingress drops frames right after the copies were taken.
//! Its table belongs to a socket (NFT_TABLE_F_OWNER): the kernel removes it with the socket,
//! however the process ends.

use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_NETFILTER};
use std::io;

/// linux/netfilter/nfnetlink.h: requests between these two are carried out together or not at all.
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
/// NFNL_SUBSYS_NFTABLES.
const NFTABLES: u16 = 10;
/// linux/netfilter/nf_tables.h.
const NEW_TABLE: u16 = NFTABLES << 8;
const NEW_CHAIN: u16 = NFTABLES << 8 | 3;
const TABLE_NAME: u16 = 1;
const TABLE_FLAGS: u16 = 2;
const TABLE_OWNER: u32 = 2;
const CHAIN_TABLE: u16 = 1;
const CHAIN_NAME: u16 = 3;
const CHAIN_HOOK: u16 = 4;
const CHAIN_POLICY: u16 = 5;
const CHAIN_TYPE: u16 = 7;
const HOOK_NUMBER: u16 = 1;
const HOOK_PRIORITY: u16 = 2;
const HOOK_DEVICE: u16 = 3;
/// linux/netfilter.h.
const FAMILY_NETDEV: u8 = 5;
const HOOK_INGRESS: u32 = 0;
const POLICY_DROP: u32 = 0;
/// Before whatever else is hooked in there.
const PRIORITY: i32 = -500;

const NESTED: u16 = libc::NLA_F_NESTED as u16;
const REQUEST: u16 = libc::NLM_F_REQUEST as u16;
const CREATE: u16 = REQUEST | (libc::NLM_F_CREATE | libc::NLM_F_ACK) as u16;

/// While it lives, frames that arrive on the interface reach packet sockets and nobody else.
pub(crate) struct Shield {
    _owner: Socket,
}

impl Shield {
    /// Puts it up in the network namespace of the calling thread.
    pub fn raise(interface: &str, ifindex: u32) -> io::Result<Self> {
        let mut owner = Socket::new(NETLINK_NETFILTER)?;
        owner.bind_auto()?;
        owner.connect(&SocketAddr::new(0, 0))?;
        owner.set_non_blocking(true)?;
        owner.send(&batch(interface, ifindex), 0)?;
        // The kernel has answered before sending returned.
        for _ in 0..2 {
            let (answer, _) = owner.recv_from_full()?;
            acknowledged(&answer)?;
        }
        Ok(Shield { _owner: owner })
    }
}

/// A table with one chain, whose policy is to drop.
fn batch(interface: &str, ifindex: u32) -> Vec<u8> {
    let table = format!("netanvil-{ifindex}\0");
    let device = format!("{interface}\0");
    let hook = [
        attribute(HOOK_NUMBER, &HOOK_INGRESS.to_be_bytes()),
        attribute(HOOK_PRIORITY, &PRIORITY.to_be_bytes()),
        attribute(HOOK_DEVICE, device.as_bytes()),
    ]
    .concat();
    let new_table = [
        attribute(TABLE_NAME, table.as_bytes()),
        attribute(TABLE_FLAGS, &TABLE_OWNER.to_be_bytes()),
    ]
    .concat();
    let new_chain = [
        attribute(CHAIN_TABLE, table.as_bytes()),
        attribute(CHAIN_NAME, b"ingress\0"),
        attribute(CHAIN_HOOK | NESTED, &hook),
        attribute(CHAIN_POLICY, &POLICY_DROP.to_be_bytes()),
        attribute(CHAIN_TYPE, b"filter\0"),
    ]
    .concat();
    [
        message(BATCH_BEGIN, REQUEST, 0, NFTABLES, &[]),
        message(NEW_TABLE, CREATE, FAMILY_NETDEV, 0, &new_table),
        message(NEW_CHAIN, CREATE, FAMILY_NETDEV, 0, &new_chain),
        message(BATCH_END, REQUEST, 0, NFTABLES, &[]),
    ]
    .concat()
}

/// An nlmsghdr and an nfgenmsg with their attributes.
fn message(kind: u16, flags: u16, family: u8, resource: u16, attributes: &[u8]) -> Vec<u8> {
    let length = 16 + 4 + attributes.len() as u32;
    let mut message = length.to_ne_bytes().to_vec();
    message.extend(kind.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    // Sequence number and port: the kernel asks for neither.
    message.extend([0; 8]);
    message.extend([family, 0]);
    message.extend(resource.to_be_bytes());
    message.extend(attributes);
    message
}

/// An nlattr, padded to four bytes.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut attribute = (4 + value.len() as u16).to_ne_bytes().to_vec();
    attribute.extend(kind.to_ne_bytes());
    attribute.extend(value);
    attribute.resize(attribute.len().next_multiple_of(4), 0);
    attribute
}

/// The error in an NLMSG_ERROR, which is 0 for an acknowledgement.
fn acknowledged(answer: &[u8]) -> io::Result<()> {
    match answer.get(16..20) {
        Some(error) => match i32::from_ne_bytes(error.try_into().expect("four bytes")) {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(-error)),
        },
        None => Err(io::Error::new(io::ErrorKind::InvalidData, "a short answer of the kernel")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// struct nlattr: length without padding, type, value.
    #[test]
    fn attributes_are_padded_but_do_not_count_it() {
        assert_eq!(
            attribute(3, b"abc"),
            [&7u16.to_ne_bytes()[..], &3u16.to_ne_bytes(), b"abc\0"].concat()
        );
    }

    #[test]
    fn every_message_of_the_batch_has_its_length() {
        let batch = batch("eth0", 7);
        let (mut at, mut kinds) = (0, vec![]);
        while at < batch.len() {
            let length = u32::from_ne_bytes(batch[at..at + 4].try_into().unwrap()) as usize;
            kinds.push(u16::from_ne_bytes(batch[at + 4..at + 6].try_into().unwrap()));
            assert_eq!(length % 4, 0);
            at += length;
        }
        assert_eq!((at, kinds), (batch.len(), vec![BATCH_BEGIN, NEW_TABLE, NEW_CHAIN, BATCH_END]));
    }

    #[test]
    fn a_refusal_is_an_error() {
        let answer = |error: i32| [&[0; 16][..], &error.to_ne_bytes()].concat();
        assert!(acknowledged(&answer(0)).is_ok());
        assert_eq!(acknowledged(&answer(-1)).unwrap_err().raw_os_error(), Some(libc::EPERM));
        assert!(acknowledged(&[]).is_err());
    }
}
