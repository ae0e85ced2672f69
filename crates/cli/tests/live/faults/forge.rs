//! A device, or somebody in it, that copies and changes test frames: what it may do to a tester's counts
//! is nothing.

use super::chance::Chance;
use super::injure::offer;
use kernel::PacketSocket;
use nix::sys::socket::{MsgFlags, recv};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Frames of this and earlier trials that may be sent again.
const REMEMBERED: usize = 4_096;
const SIGNATURE_BYTES: usize = 18;

/// Hears what comes in at the device's first port and sends its forgeries out of the second.
pub fn forge(chance: &mut Chance, stop: &AtomicBool) {
    let heard = PacketSocket::open("dut0").expect("a socket at the first port");
    let out = PacketSocket::open("dut1").expect("a socket at the second port");
    let mut memory: Vec<Vec<u8>> = vec![];
    let mut buffer = vec![0; 2_048];
    while !stop.load(Ordering::Relaxed) {
        let Ok(len) = recv(heard.as_fd().as_raw_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT) else {
            std::thread::sleep(Duration::from_millis(1));
            continue;
        };
        let frame = buffer[..len].to_vec();
        if frame.get(12..14) != Some(&[8, 0]) || frame.len() < 42 + SIGNATURE_BYTES {
            continue;
        }
        if chance.once_in(8) {
            offer(&out, &forged(&frame, &memory, chance));
        }
        if memory.len() < REMEMBERED {
            memory.push(frame);
        } else {
            let at = chance.between(0, REMEMBERED as u64) as usize;
            memory[at] = frame;
        }
    }
}

/// A copy of a frame, or of one before it, mostly changed.
fn forged(frame: &[u8], memory: &[Vec<u8>], chance: &mut Chance) -> Vec<u8> {
    let mut copy = frame.to_vec();
    let signature = copy.len() - SIGNATURE_BYTES;
    match chance.between(0, 8) {
        // As it is: a duplicate.
        0 => return copy,
        // One of long ago, rarely: it makes its trial's successor invalid.
        1 if chance.once_in(40) && !memory.is_empty() => {
            return memory[chance.between(0, memory.len() as u64) as usize].clone();
        }
        // The sequence number of a frame to come, or of one that was before.
        1..=4 => {
            let at = signature + 10;
            let number = u32::from_be_bytes(copy[at..at + 4].try_into().expect("four bytes"));
            let step = chance.between(1, 64) as u32;
            let number = if chance.once_in(2) {
                number.wrapping_add(step)
            } else {
                number.wrapping_sub(step)
            };
            copy[at..at + 4].copy_from_slice(&number.to_be_bytes());
        }
        // The transmit time.
        5 => copy[signature + 9] ^= chance.between(1, 256) as u8,
        // The tag.
        6 => copy[signature + 14] ^= chance.between(1, 256) as u8,
        // The stream.
        _ => copy[signature + 3] ^= chance.between(1, 4) as u8,
    }
    mend(&mut copy[signature..], &frame[signature..]);
    copy
}

/// Makes the ones' complement sum of a changed signature what it was (RFC 1624): the frame's checksum stays
/// good, and so does the signature's own check.
fn mend(changed: &mut [u8], original: &[u8]) {
    let sum = |bytes: &[u8]| -> u32 {
        let words = bytes.chunks_exact(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
        words.sum()
    };
    let fold = |mut sum: u32| {
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    };
    let check = fold(sum(original) + u32::from(!fold(sum(&changed[2..]))));
    changed[..2].copy_from_slice(&check.to_be_bytes());
}
