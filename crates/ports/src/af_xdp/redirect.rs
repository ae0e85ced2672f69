//! The XDP program of an AF_XDP port: hands every frame to the socket of its queue, with the time
//! of its arrival before it, but leaves to the kernel what the tester's control side answers or
//! collects: ARP, IPv6 neighbour and router discovery, IGMP and MLD queries, and replies of SNMP agents. A test frame
//! may look like one of those; its signature tells it from them.

use super::assembler::{Assembler, Instruction, Label, Register, When, Width};
use std::os::fd::RawFd;
use wire::signature;

/// Bytes before a frame: the time of its arrival, in ns of the tester's clock, and its complement.
pub(super) const STAMP_BYTES: usize = 16;

const XDP_PASS: i32 = 2;
const MAP_LOOKUP: i32 = 1;
const KTIME_GET_NS: i32 = 5;
const REDIRECT_MAP: i32 = 51;
const ADJUST_META: i32 = 54;
/// Fields of struct xdp_md.
const DATA: i16 = 0;
const DATA_END: i16 = 4;
const DATA_META: i16 = 8;
const RX_QUEUE: i16 = 16;

const CONTEXT: Register = 6;
const FRAME: Register = 7;
const END: Register = 8;
/// What is loaded from the frame.
const FIELD: Register = 2;
/// A pointer to be compared with the frame's end.
const LIMIT: Register = 3;
/// Of the program's memory, at its end.
const STACK: Register = 10;
const FULL_BYTES: i32 = signature::Form::Full.len_bytes() as i32;
/// No frame is longer.
const LONGEST_BYTES: i32 = 0x3fff;

const ETHERNET_BYTES: i32 = 14;
const TAG_BYTES: i32 = 4;
const ICMPV6: i32 = 58;
const UDP: i32 = 17;
const IGMP: i32 = 2;
const IGMP_QUERY: i32 = 0x11;
const MLD_QUERY: i32 = 130;
const IPV4_WITHOUT_OPTIONS: i32 = 0x45;
const ROUTER_SOLICITATION: i32 = 133;
const REDIRECT: i32 = 137;
const SNMP_PORT: u16 = 161;

/// The program, for this map of sockets and this one of sums.
pub(super) fn program(sockets: RawFd, sums: RawFd) -> Vec<Instruction> {
    let mut code = Assembler::default();
    let ours = code.label();
    let kernels = code.label();
    code.copy(CONTEXT, 1);
    code.load(Width::U32, FRAME, CONTEXT, DATA);
    code.load(Width::U32, END, CONTEXT, DATA_END);
    need(&mut code, ETHERNET_BYTES, ours);
    for _ in 0..2 {
        skip_tag(&mut code, ours);
    }
    // FRAME points to the Ethernet header as if there were no tags.
    code.load(Width::U16, FIELD, FRAME, 12);
    let (ipv4, ipv6) = (code.label(), code.label());
    code.jump_if(FIELD, When::Equal, network_order(0x0806), kernels);
    code.jump_if(FIELD, When::Equal, network_order(0x0800), ipv4);
    code.jump_if(FIELD, When::Equal, network_order(0x86dd), ipv6);
    code.jump(ours);

    code.bind(ipv4);
    need(&mut code, ETHERNET_BYTES + 28, ours);
    let igmp = code.label();
    code.load(Width::U8, FIELD, FRAME, 23);
    code.jump_if(FIELD, When::Equal, IGMP, igmp);
    code.jump_if(FIELD, When::NotEqual, UDP, ours);
    code.load(Width::U8, FIELD, FRAME, 14);
    code.jump_if(FIELD, When::NotEqual, IPV4_WITHOUT_OPTIONS, ours);
    code.load(Width::U16, FIELD, FRAME, 34);
    code.jump_if(FIELD, When::Equal, network_order(SNMP_PORT), kernels);
    code.jump(ours);

    // Behind a header without options, or with the router alert alone.
    code.bind(igmp);
    let with_alert = code.label();
    code.load(Width::U8, FIELD, FRAME, 14);
    code.jump_if(FIELD, When::Equal, IPV4_WITHOUT_OPTIONS + 1, with_alert);
    code.jump_if(FIELD, When::NotEqual, IPV4_WITHOUT_OPTIONS, ours);
    code.load(Width::U8, FIELD, FRAME, 34);
    code.jump_if(FIELD, When::Equal, IGMP_QUERY, kernels);
    code.jump(ours);
    code.bind(with_alert);
    code.load(Width::U8, FIELD, FRAME, 38);
    code.jump_if(FIELD, When::Equal, IGMP_QUERY, kernels);
    code.jump(ours);

    code.bind(ipv6);
    need(&mut code, ETHERNET_BYTES + 44, ours);
    code.load(Width::U8, FIELD, FRAME, 20);
    let icmpv6 = code.label();
    code.jump_if(FIELD, When::Equal, ICMPV6, icmpv6);
    let options = code.label();
    code.jump_if(FIELD, When::Equal, 0, options);
    code.jump_if(FIELD, When::NotEqual, UDP, ours);
    code.load(Width::U16, FIELD, FRAME, 54);
    code.jump_if(FIELD, When::Equal, network_order(SNMP_PORT), kernels);
    code.jump(ours);
    // The shortest hop-by-hop header, and MLD behind it.
    code.bind(options);
    need(&mut code, ETHERNET_BYTES + 49, ours);
    code.load(Width::U16, FIELD, FRAME, 54);
    code.jump_if(FIELD, When::NotEqual, network_order((ICMPV6 as u16) << 8), ours);
    code.load(Width::U8, FIELD, FRAME, 62);
    code.jump_if(FIELD, When::Equal, MLD_QUERY, kernels);
    code.jump(ours);
    code.bind(icmpv6);
    code.load(Width::U8, FIELD, FRAME, 54);
    code.jump_if(FIELD, When::Above, REDIRECT, ours);
    code.jump_if(FIELD, When::Above, ROUTER_SOLICITATION - 1, kernels);

    code.bind(ours);
    stamp(&mut code);
    code.load_map(1, sockets);
    code.load(Width::U32, 2, CONTEXT, RX_QUEUE);
    code.set(3, XDP_PASS);
    code.call(REDIRECT_MAP);
    code.exit();
    code.bind(kernels);
    jump_if_signed(&mut code, sums, ours);
    code.set(0, XDP_PASS);
    code.exit();
    code.finish()
}

/// Goes to `ours` if the last bytes of the frame add up to what those of a test frame do: in a full signature nine words,
/// in a short one the last seven.
fn jump_if_signed(code: &mut Assembler, sums: RawFd, ours: Label) {
    const SUMS: Register = 9;
    const TRAILER: Register = 2;
    const SUM: Register = 0;
    let (unsigned, short_bytes) = (code.label(), signature::Form::Short.len_bytes() as i32);
    code.set(1, 0);
    code.store(Width::U32, STACK, -4, 1);
    code.copy(2, STACK);
    code.add(2, -4);
    code.load_map(1, sums);
    code.call(MAP_LOOKUP);
    code.jump_if(0, When::Equal, 0, unsigned);
    code.copy(SUMS, 0);
    code.load(Width::U32, TRAILER, CONTEXT, DATA);
    code.copy(1, END);
    code.subtract(1, TRAILER);
    code.add(1, -FULL_BYTES);
    code.jump_if(1, When::Above, LONGEST_BYTES, unsigned);
    code.add_register(TRAILER, 1);
    code.copy(LIMIT, TRAILER);
    code.add(LIMIT, FULL_BYTES);
    code.jump_if_above(LIMIT, END, unsigned);
    code.set(SUM, 0);
    add_words(code, FULL_BYTES - short_bytes..FULL_BYTES);
    jump_if_sum(code, SUMS, 4, ours);
    add_words(code, 0..FULL_BYTES - short_bytes);
    jump_if_sum(code, SUMS, 0, ours);
    code.bind(unsigned);

    fn add_words(code: &mut Assembler, bytes: std::ops::Range<i32>) {
        for at in bytes.step_by(2) {
            code.load(Width::U16, 4, TRAILER, at as i16);
            code.add_register(SUM, 4);
        }
    }
    /// Leaves the sum as it is.
    fn jump_if_sum(code: &mut Assembler, sums: Register, at: i16, ours: Label) {
        let low = code.label();
        code.copy(4, SUM);
        for _ in 0..2 {
            code.copy(5, 4);
            code.shift_right(5, 16);
            code.and(4, 0xffff);
            code.add_register(4, 5);
        }
        // Two numbers stand for zero.
        code.jump_if(4, When::NotEqual, 0xffff, low);
        code.set(4, 0);
        code.bind(low);
        code.load(Width::U32, 5, sums, at);
        code.subtract(4, 5);
        code.jump_if(4, When::Equal, 0, ours);
    }
}

/// A 16-bit field of a frame as a little-endian load shows it.
fn network_order(value: u16) -> i32 {
    i32::from(u16::from_ne_bytes(value.to_be_bytes()))
}

/// Goes on only if so many bytes of the frame are there.
fn need(code: &mut Assembler, bytes: i32, otherwise: Label) {
    code.copy(LIMIT, FRAME);
    code.add(LIMIT, bytes);
    code.jump_if_above(LIMIT, END, otherwise);
}

/// If a VLAN tag follows the addresses, lets FRAME point behind it.
fn skip_tag(code: &mut Assembler, too_short: Label) {
    let (tagged, done) = (code.label(), code.label());
    code.load(Width::U16, FIELD, FRAME, 12);
    code.jump_if(FIELD, When::Equal, network_order(0x8100), tagged);
    code.jump_if(FIELD, When::NotEqual, network_order(0x88a8), done);
    code.bind(tagged);
    code.add(FRAME, TAG_BYTES);
    need(code, ETHERNET_BYTES, too_short);
    code.bind(done);
}

/// Puts the time and its complement before the frame, where the driver has room for it.
fn stamp(code: &mut Assembler) {
    let without = code.label();
    code.copy(1, CONTEXT);
    code.set(2, -(STAMP_BYTES as i32));
    code.call(ADJUST_META);
    code.jump_if(0, When::NotEqual, 0, without);
    code.call(KTIME_GET_NS);
    code.load(Width::U32, 2, CONTEXT, DATA_META);
    code.load(Width::U32, 3, CONTEXT, DATA);
    code.copy(4, 2);
    code.add(4, STAMP_BYTES as i32);
    code.jump_if_above(4, 3, without);
    code.store(Width::U64, 2, 0, 0);
    code.xor(0, -1);
    code.store(Width::U64, 2, 8, 0);
    code.bind(without);
}
