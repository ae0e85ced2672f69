//! IPv4 fragmentation (RFC 791 section 3.2), and bursts of fragments as file servers send them.

use crate::template::{Payload, Signature};
use std::net::Ipv4Addr;
use thiserror::Error;
use wire::checksum::PseudoHeader;
use wire::ethernet::{self, EtherType, MacAddr};
use wire::ipv4::{self, Protocol};
use wire::signature::{self, Form, Stamp};
use wire::udp;

/// Offsets count in units of so many bytes.
const UNIT: usize = 8;
/// The bit of an option's type that says: in every fragment.
const COPIED: u8 = 0x80;
const END_OF_OPTIONS: u8 = 0;
const NO_OPERATION: u8 = 1;

/// Why there are no fragments.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum FragmentError {
    /// What was to be cut is no IPv4 packet.
    #[error(transparent)]
    Packet(#[from] wire::DecodeError),
    /// The packet forbids it.
    #[error("the packet has its don't-fragment bit set")]
    DontFragment,
    /// The MTU does not hold a header and a unit of payload, or the payload of a frame of 64 bytes
    /// where each fragment is to have a signature.
    #[error("an MTU of {mtu_bytes} bytes holds no fragment: at least {minimum_bytes} are needed")]
    Mtu {
        /// The MTU.
        mtu_bytes: usize,
        /// What would do.
        minimum_bytes: usize,
    },
    /// The last fragment would be so short that its frame needs padding, behind which the
    /// signature would be lost; or an odd byte would put the signatures' sums out of step.
    #[error(
        "{data_bytes} bytes of data leave a last fragment of {last_bytes} bytes, which must be an \
         even number of at least 26: take {suggested_bytes}"
    )]
    LastFragment {
        /// The data asked for.
        data_bytes: usize,
        /// Bytes behind the last fragment's IP header.
        last_bytes: usize,
        /// The next larger amount of data that does.
        suggested_bytes: usize,
    },
    /// An IPv4 packet has at most 65,535 bytes.
    #[error("{0} bytes of data are more than a UDP datagram over IPv4 carries")]
    TooMuchData(usize),
}

/// Cuts a packet into fragments of at most `mtu_bytes` each; one that fits stays as it is. Options
/// that are not to be copied stand in the first fragment only.
pub fn fragments(packet: &[u8], mtu_bytes: usize) -> Result<Vec<Vec<u8>>, FragmentError> {
    let (header, payload) = ipv4::Repr::parse(packet)?;
    let header_len = header.header_len();
    if header_len + payload.len() <= mtu_bytes {
        return Ok(vec![packet[..header_len + payload.len()].to_vec()]);
    }
    if header.dont_fragment {
        return Err(FragmentError::DontFragment);
    }
    let minimum_bytes = header_len + UNIT;
    if mtu_bytes < minimum_bytes {
        return Err(FragmentError::Mtu { mtu_bytes, minimum_bytes });
    }
    let later_options = copied_options(&header.options);
    let mut cut = vec![];
    let mut at = 0;
    while at < payload.len() {
        let options = if at == 0 { header.options.clone() } else { later_options.clone() };
        let room = (mtu_bytes - ipv4::HEADER_LEN - options.len()) / UNIT * UNIT;
        let part = &payload[at..payload.len().min(at + room)];
        let is_last = at + part.len() == payload.len();
        let fragment = ipv4::Repr {
            more_fragments: !is_last || header.more_fragments,
            fragment_offset: header.fragment_offset + (at / UNIT) as u16,
            options,
            payload_len: part.len() as u16,
            ..header.clone()
        };
        cut.push(fragment.packet(part));
        at += part.len();
    }
    Ok(cut)
}

/// The options that stand in every fragment, padded; malformed ones end the list.
fn copied_options(options: &[u8]) -> Vec<u8> {
    let mut copied = vec![];
    let mut rest = options;
    while let [kind, ..] = rest {
        let len = match (*kind, rest.get(1)) {
            (END_OF_OPTIONS, _) => break,
            (NO_OPERATION, _) => 1,
            (_, Some(len)) if (2..=rest.len()).contains(&usize::from(*len)) => usize::from(*len),
            _ => break,
        };
        if kind & COPIED != 0 {
            copied.extend_from_slice(&rest[..len]);
        }
        rest = &rest[len..];
    }
    copied.resize(copied.len().next_multiple_of(4), END_OF_OPTIONS);
    copied
}

/// A burst such as a file server's answer to a read: UDP datagrams in fragments, back to back.
///
/// Each fragment ends with a signature of its own, so that the tester accounts for each; the
/// datagrams' UDP checksums remain good whatever is stamped, for a reassembled datagram as well.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Burst {
    /// Source.
    pub src: (MacAddr, Ipv4Addr),
    /// Next hop, and destination.
    pub dst: (MacAddr, Ipv4Addr),
    /// Source and destination port.
    pub ports: (u16, u16),
    /// Data of each datagram in bytes, without the UDP header.
    pub data_bytes: usize,
    /// What an IP packet may have on the link, in bytes.
    pub mtu_bytes: usize,
    /// Datagrams in a burst; their identifications count up from 1.
    pub datagrams: u16,
    /// Time to live.
    pub ttl: u8,
}

/// A frame of a burst.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BurstFrame {
    /// Without FCS.
    pub bytes: Vec<u8>,
    /// The signature that it ends with.
    pub form: Option<Form>,
}

/// Port of NFS (RFC 1094).
const NFS_PORT: u16 = 2049;
/// The largest read of NFS version 2, with the headers of RPC and NFS before it: 8192 + 96 + 32.
const NFS_READ_BYTES: usize = 8_320;
/// Behind the IP header of a frame of 64 bytes.
const SMALLEST_LAST: usize =
    ethernet::MIN_LEN_WITHOUT_FCS - ethernet::HEADER_LEN - ipv4::HEADER_LEN;

impl Burst {
    /// Answers to reads of 8 KiB, each in six fragments on Ethernet.
    pub fn nfs(src: (MacAddr, Ipv4Addr), dst: (MacAddr, Ipv4Addr), datagrams: u16) -> Burst {
        let (data_bytes, mtu_bytes, ttl) = (NFS_READ_BYTES, 1_500, 64);
        Burst { src, dst, ports: (NFS_PORT, 1_023), data_bytes, mtu_bytes, datagrams, ttl }
    }
    /// The frames in order.
    pub fn frames(&self, signature: Option<Signature>) -> Result<Vec<BurstFrame>, FragmentError> {
        let mut frames = vec![];
        for identification in 1..=self.datagrams {
            let packet = self.packet(identification, signature)?;
            for fragment in fragments(&packet, self.mtu_bytes)? {
                let ethernet = ethernet::Repr {
                    dst: self.dst.0,
                    src: self.src.0,
                    ether_type: EtherType::IPV4,
                };
                let form = signature.and_then(|_| Form::fitting(fragment.len() - ipv4::HEADER_LEN));
                frames.push(BurstFrame { bytes: ethernet.frame(&fragment), form });
            }
        }
        Ok(frames)
    }

    /// A whole packet, with a signature where each fragment will end.
    fn packet(
        &self,
        identification: u16,
        signature: Option<Signature>,
    ) -> Result<Vec<u8>, FragmentError> {
        let datagram_len = udp::HEADER_LEN + self.data_bytes;
        if datagram_len > usize::from(u16::MAX) - ipv4::HEADER_LEN {
            return Err(FragmentError::TooMuchData(self.data_bytes));
        }
        let room = self.mtu_bytes.saturating_sub(ipv4::HEADER_LEN) / UNIT * UNIT;
        if room < SMALLEST_LAST {
            let minimum_bytes = ipv4::HEADER_LEN + SMALLEST_LAST.next_multiple_of(UNIT);
            let mtu_bytes = self.mtu_bytes;
            return Err(FragmentError::Mtu { mtu_bytes, minimum_bytes });
        }
        self.check_last(datagram_len, room)?;
        let mut datagram = vec![0; datagram_len];
        let (src_port, dst_port) = self.ports;
        udp::Repr { src_port, dst_port, payload_len: self.data_bytes as u16 }.emit(&mut datagram);
        Payload::Incrementing.fill(&mut datagram[udp::HEADER_LEN..]);
        if let Some((key, stream)) = signature {
            for part in datagram.chunks_mut(room) {
                if let Some(form) = Form::fitting(part.len()) {
                    let stamp = Stamp { stream, sequence: 0, transmit_ticks: 0 };
                    signature::write(form, key, stamp, part);
                }
            }
        }
        udp::fill_checksum(PseudoHeader::V4(self.src.1, self.dst.1), &mut datagram);
        let ip = ipv4::Repr {
            identification,
            ttl: self.ttl,
            ..ipv4::Repr::new(self.src.1, self.dst.1, Protocol::UDP, datagram_len as u16)
        };
        Ok(ip.packet(&datagram))
    }

    fn check_last(&self, datagram_len: usize, room: usize) -> Result<(), FragmentError> {
        let last_bytes = (datagram_len - 1) % room + 1;
        if last_bytes >= SMALLEST_LAST && last_bytes.is_multiple_of(2) {
            return Ok(());
        }
        let missing = SMALLEST_LAST.saturating_sub(last_bytes).max(last_bytes % 2);
        let suggested_bytes = (self.data_bytes + missing).next_multiple_of(2);
        Err(FragmentError::LastFragment {
            data_bytes: self.data_bytes,
            last_bytes,
            suggested_bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wire::decode::summarize;
    use wire::signature::Key;

    const SRC: (MacAddr, Ipv4Addr) = (MacAddr([2, 0, 0, 0, 0, 1]), Ipv4Addr::new(198, 18, 1, 2));
    const DST: (MacAddr, Ipv4Addr) = (MacAddr([2, 0, 0, 0, 0, 2]), Ipv4Addr::new(198, 19, 1, 2));

    /// RFC 791 appendix A, example 2: a packet of 472 bytes (header 20) on an MTU of 280 becomes
    /// one of 276, 256 of data, and one of 216, 196 of data at offset 32.
    #[test]
    fn the_example_of_rfc791() {
        let header = ipv4::Repr {
            identification: 111,
            ttl: 123,
            ..ipv4::Repr::new(SRC.1, DST.1, Protocol::TCP, 452)
        };
        let data: Vec<u8> = (0..452).map(|i| i as u8).collect();
        let cut = fragments(&header.packet(&data), 280).unwrap();
        let parsed: Vec<_> = cut.iter().map(|packet| ipv4::Repr::parse(packet).unwrap()).collect();
        let lengths: Vec<_> = cut.iter().map(Vec::len).collect();
        assert_eq!(lengths, [276, 216]);
        let [(first, head), (second, tail)] = &parsed[..] else { panic!("{}", parsed.len()) };
        assert_eq!((first.fragment_offset, first.more_fragments), (0, true));
        assert_eq!((second.fragment_offset, second.more_fragments), (32, false));
        assert_eq!((first.identification, second.identification, second.ttl), (111, 111, 123));
        assert_eq!([*head, *tail].concat(), data);
    }

    /// The same section: an option is copied where the high bit of its type says so. Security
    /// (0x82) is, record route (0x07) is not.
    #[test]
    fn options_are_copied_where_they_say_so() {
        let options = [vec![0x07, 7, 4, 0, 0, 0, 0], vec![0x01], vec![0x82, 4, 9, 9]].concat();
        assert_eq!(copied_options(&options), [0x82, 4, 9, 9]);
        assert_eq!(copied_options(&[0x82, 3, 9, 0]), [0x82, 3, 9, 0]);
        assert!(copied_options(&[0x82, 9, 9, 9]).is_empty(), "cut short");
        let header = ipv4::Repr { options, ..ipv4::Repr::new(SRC.1, DST.1, Protocol::UDP, 100) };
        let cut = fragments(&header.packet(&[7; 100]), 60).unwrap();
        let lens: Vec<_> =
            cut.iter().map(|p| ipv4::Repr::parse(p).unwrap().0.options.len()).collect();
        assert_eq!(lens, [12, 4, 4, 4]);
    }

    #[test]
    fn what_cannot_be_cut_is_refused() {
        let header = ipv4::Repr::new(SRC.1, DST.1, Protocol::UDP, 100);
        let whole = ipv4::Repr { dont_fragment: true, ..header.clone() }.packet(&[0; 100]);
        assert_eq!(fragments(&whole, 60), Err(FragmentError::DontFragment));
        assert_eq!(fragments(&whole, 120), Ok(vec![whole]));
        let error = fragments(&header.packet(&[0; 100]), 27);
        assert_eq!(error, Err(FragmentError::Mtu { mtu_bytes: 27, minimum_bytes: 28 }));
        assert!(matches!(fragments(&[0x45], 60), Err(FragmentError::Packet(_))));
        let burst = Burst { data_bytes: 70_000, ..Burst::nfs(SRC, DST, 1) };
        assert_eq!(burst.frames(None), Err(FragmentError::TooMuchData(70_000)));
    }

    /// 8328 bytes behind IP: five times 1480 and 928.
    #[test]
    fn a_read_of_8_kib_is_a_burst_of_six() {
        let frames = Burst::nfs(SRC, DST, 2).frames(Some((Key::from_seed(9), 4))).unwrap();
        let lengths: Vec<_> = frames.iter().map(|frame| frame.bytes.len() + 4).collect();
        assert_eq!(lengths, [1518, 1518, 1518, 1518, 1518, 966].repeat(2));
        for BurstFrame { bytes, form } in &frames {
            assert_eq!(*form, Some(Form::Full));
            assert_eq!(signature::read(Form::Full, Key::from_seed(9), bytes).unwrap().stream, 4);
            let summary = summarize(bytes);
            assert_eq!(summary.fault, None, "{summary}");
        }
        assert!(summarize(&frames[1].bytes).to_string().contains("fragment at 1480+"));
    }

    /// Puts the fragments of the datagram of each identification together again.
    fn reassembled(frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let mut datagrams: Vec<Vec<u8>> = vec![];
        for frame in frames {
            let (header, payload) = ipv4::Repr::parse(&frame[14..]).unwrap();
            if header.fragment_offset == 0 {
                datagrams.push(vec![]);
            }
            let datagram = datagrams.last_mut().unwrap();
            assert_eq!(datagram.len(), usize::from(header.fragment_offset) * 8);
            datagram.extend_from_slice(payload);
        }
        datagrams
    }

    proptest! {
        /// Whatever is stamped, the reassembled datagram's checksum is good.
        #[test]
        fn stamping_leaves_the_datagram_whole(
            data in 0usize..5_000, mtu in 52usize..1_500, sequences: [u64; 4], ticks: u64,
        ) {
            let mut burst = Burst::nfs(SRC, DST, 3);
            (burst.data_bytes, burst.mtu_bytes) = (data, mtu);
            if let Err(FragmentError::LastFragment { suggested_bytes, .. }) = burst.frames(None) {
                prop_assert!((data..data + 26).contains(&suggested_bytes));
                burst.data_bytes = suggested_bytes;
            }
            let frames = burst.frames(Some((Key::from_seed(0x1234), 7))).unwrap();
            let stamped: Vec<Vec<u8>> = frames.into_iter().enumerate().map(|(i, BurstFrame { bytes: mut frame, form })| {
                let (sequence, transmit_ticks) = (sequences[i % 4], ticks);
                let stamp = Stamp { stream: 7, sequence, transmit_ticks };
                signature::write(form.unwrap(), Key::from_seed(0x1234), stamp, &mut frame);
                frame
            }).collect();
            let datagrams = reassembled(&stamped);
            prop_assert_eq!(datagrams.len(), 3);
            for datagram in datagrams {
                let addresses = PseudoHeader::V4(SRC.1, DST.1);
                prop_assert_eq!(udp::verify(addresses, &datagram), Ok(()));
                prop_assert_eq!(datagram.len(), 8 + burst.data_bytes);
            }
        }

        #[test]
        fn no_packet_makes_it_panic(mut bytes: Vec<u8>, mtu in 0usize..100) {
            let _ = fragments(&bytes, mtu);
            if bytes.len() >= 20 {
                let header_len = (usize::from(bytes[0] & 0xf) * 4).clamp(20, bytes.len() / 4 * 4);
                bytes[0] = 0x40 | (header_len / 4) as u8;
                let len = bytes.len() as u16;
                bytes[2..4].copy_from_slice(&len.to_be_bytes());
                bytes[10..12].fill(0);
                let field = wire::checksum::checksum(&bytes[..header_len]);
                bytes[10..12].copy_from_slice(&field.to_be_bytes());
                let _ = fragments(&bytes, mtu);
            }
        }
    }
}
