#!/usr/bin/env python3
"""NETBLT by RFC 998 alone, in Python's standard library alone.

It shares no code with netanvil and was written from the RFC, so that a reading of ours that is wrong shows.
It does what the document says and nothing else: no cookies, no identifiers, no rate of its own.
One connection, one file: run with --help. Prints what happened as JSON on the last line.
"""

import argparse
import ipaddress
import json
import os
import random
import select
import socket
import struct
import sys
import time

PROTOCOL = 30
VERSION = 4
(OPEN, RESPONSE, KEEPALIVE, QUIT, QUITACK, ABORT, DATA, LDATA, NULL_ACK, CONTROL, REFUSED, DONE) = range(12)
GO, OK, RESEND = range(3)
HEADER = struct.Struct(">HBBHHHH")
OPENING = struct.Struct(">IIIHHHHHH")
WRITE_FLAG, CHECKSUM_FLAG, LAST_FLAG = 1, 2, 1
DATA_HEADER_BYTES = 24


def checksum(data):
    """The complement of the ones' complement sum of 16-bit words."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(">%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def padded(data):
    return data + bytes(-len(data) % 4)


def text(string):
    """A string field ends with a zero byte and is a multiple of four bytes."""
    return padded(string.encode() + b"\0")


class Wire:
    """Datagrams of NETBLT over UDP or IP, some of them lost, doubled or held back by this end."""

    def __init__(self, options):
        self.raw, self.faults = options.raw, random.Random(options.seed)
        self.loss, self.duplicates, self.reorder = options.loss, options.duplicates, options.reorder
        address = ipaddress.ip_address(options.bind)
        family = socket.AF_INET if address.version == 4 else socket.AF_INET6
        kind = (socket.SOCK_RAW, PROTOCOL) if self.raw else (socket.SOCK_DGRAM, 0)
        self.socket = socket.socket(family, *kind)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.socket.bind((options.bind, 0 if self.raw else options.udp_port))
        self.socket.setblocking(False)
        self.held = []

    def send(self, packet, peer):
        if self.faults.random() < self.loss:
            return
        if self.faults.random() < self.reorder:
            self.held.append((time.monotonic() + self.faults.uniform(0.001, 0.03), packet, peer))
            return
        for _ in range(2 if self.faults.random() < self.duplicates else 1):
            self.give(packet, peer)

    def give(self, packet, peer):
        try:
            self.socket.sendto(packet, peer)
        except (BlockingIOError, ConnectionRefusedError, PermissionError):
            pass  # as if lost

    def release(self, now):
        due, self.held = [h for h in self.held if h[0] <= now], [h for h in self.held if h[0] > now]
        for _, packet, peer in due:
            self.give(packet, peer)

    def receive(self):
        """What has come, without what this end loses of it."""
        for _ in range(64):
            try:
                packet, peer = self.socket.recvfrom(70000)
            except BlockingIOError:
                return
            except ConnectionRefusedError:
                continue
            if self.raw and self.socket.family == socket.AF_INET:
                packet = packet[(packet[0] & 15) * 4:]
            if self.faults.random() >= self.loss:
                yield packet, peer


class Over(Exception):
    """The connection has ended."""


class Connection:
    """What both directions share: opening, closing, death and keepalive."""

    def __init__(self, wire, options):
        self.wire, self.options = wire, options
        self.local, self.foreign, self.peer = options.port, options.foreign_port, None
        self.sends = None
        self.open = False
        self.quitting = None
        self.heard = self.said = time.monotonic()
        self.id = random.Random().getrandbits(32)
        self.facts = {"null_acks": [], "offers": [], "asked": 0, "asked_never_left": 0, "resent": 0,
                      "data_sent": 0, "data_received": 0, "duplicates": 0, "bursts": []}
        self.role = None

    def packet(self, kind, body=b"", data=None):
        body = padded(body)
        length = HEADER.size + len(body) + (len(data) if data is not None else 0)
        header = HEADER.pack(0, VERSION, kind, length, self.local, self.foreign, 0)
        total = header + body
        covered = checksum(total)
        total = struct.pack(">H", covered) + total[2:]
        return total + (padded(data) if data is not None else b"")

    def say(self, kind, body=b"", data=None):
        self.said = time.monotonic()
        self.wire.send(self.packet(kind, body, data), self.peer)

    def introduce(self, kind):
        o = self.options
        flags = (WRITE_FLAG if self.mode == "write" else 0) | (CHECKSUM_FLAG if o.checksum else 0)
        body = OPENING.pack(self.id, o.buffer_size, 0, o.packet_size, o.burst_size, o.burst_ms,
                            o.death, flags, o.buffers)
        self.say(kind, body + text(o.name if kind == OPEN else ""))

    def agree(self, body):
        """Takes the other end's values, which may only be more restrictive than ours, or makes them so."""
        o = self.options
        (number, size, _, packet, burst, ms, death, flags, buffers) = OPENING.unpack(body[:OPENING.size])
        if self.options.active:
            if number != self.id:
                return False
            assert size <= o.buffer_size and packet <= o.packet_size and burst <= o.burst_size, "RESPONSE"
            assert ms >= o.burst_ms and buffers <= o.buffers, "RESPONSE less restrictive than OPEN"
        else:
            self.id, self.mode = number, "write" if flags & WRITE_FLAG else "read"
            self.facts["proposed"] = [burst, ms]
            o.name = body[OPENING.size:].split(b"\0")[0].decode()
        o.buffer_size, o.packet_size = min(size, o.buffer_size), min(packet, o.packet_size)
        o.burst_size, o.burst_ms = min(burst, o.burst_size), max(ms, o.burst_ms)
        o.buffers, o.checksum = min(buffers, o.buffers), o.checksum or bool(flags & CHECKSUM_FLAG)
        self.peer_death = death
        self.sends = o.active == (self.mode == "write")
        self.role = Sender(self) if self.sends else Receiver(self)
        self.open = True
        return True

    def handle(self, packet, peer):
        if len(packet) < HEADER.size:
            return
        (_, _, kind, length, there, here, _) = HEADER.unpack(packet[:HEADER.size])
        covered = DATA_HEADER_BYTES if kind in (DATA, LDATA) else len(packet)
        if checksum(packet[:covered]) != 0 or here != self.local or length > len(packet):
            return
        body = packet[HEADER.size:length]
        if kind == OPEN and not self.options.active:
            if not self.open:
                self.peer, self.foreign = peer, there
                self.agree(body)
            if peer == self.peer and there == self.foreign:
                self.introduce(RESPONSE)
            return
        if self.peer is None or there != self.foreign or ipaddress.ip_address(
                peer[0].split("%")[0]) != ipaddress.ip_address(self.peer[0].split("%")[0]):
            return
        self.heard = time.monotonic()
        if kind == RESPONSE and self.options.active and not self.open:
            self.agree(body)
        elif kind == REFUSED and not self.open:
            raise Over("refused: " + body.split(b"\0")[0].decode())
        elif kind == ABORT:
            raise Over("aborted by peer: " + body.split(b"\0")[0].decode())
        elif not self.open:
            return
        elif kind == QUIT:
            for _ in range(3):
                self.say(QUITACK)
            raise Over("quit by peer: " + body.split(b"\0")[0].decode())
        elif kind == QUITACK and self.quitting:
            raise Over("quit")
        else:
            self.role.handle(kind, body)

    def run(self):
        o = self.options
        again, wait, tries = 0.0, 0.5, 0
        if o.active:
            self.mode, self.peer = o.mode, (o.peer, 0 if o.raw else o.peer_udp_port)
        began = time.monotonic()
        while True:
            now = time.monotonic()
            if now - began > o.limit:
                raise Over("too long")
            self.wire.release(now)
            for packet, peer in self.wire.receive():
                self.handle(packet, peer)
            now = time.monotonic()
            timeout = 0.05
            if not self.open:
                if o.active and now >= again:
                    tries += 1
                    if tries > 12:
                        raise Over("no answer")
                    self.introduce(OPEN)
                    again = now + wait
            elif self.quitting:
                if now >= self.quitting:
                    self.say(QUIT, text("enough"))
                    self.quitting = now + 0.2
            else:
                if o.death and now - self.heard > o.death:
                    raise Over("peer dead")
                if self.peer_death and now - self.said > self.peer_death / 4:
                    self.say(KEEPALIVE)
                timeout = min(timeout, self.role.turn(now))
                if self.role.progress() >= o.quit_after:
                    self.quitting = now
                if self.role.progress() >= o.abort_after:
                    self.say(ABORT, text("enough, at once"))
                    raise Over("aborted")
            held = min((h[0] for h in self.wire.held), default=now + 1)
            select.select([self.wire.socket], [], [], max(0.0, min(timeout, held - now)))


class Sender:
    """Section 5.2: does as it is told, in bursts."""

    def __init__(self, connection):
        self.c, self.o = connection, connection.options
        with open(self.o.file, "rb") as file:
            data = file.read()
        size = self.o.buffer_size
        self.buffers = [data[at:at + size] for at in range(0, max(len(data), 1), size)]
        self.first = None  # the number of the first buffer
        self.seen, self.high = set(), 0
        self.permitted, self.begun, self.safe, self.left = set(), set(), set(), {}
        self.queue = set()
        self.burst = [self.o.burst_size, self.o.burst_ms]
        self.burst_at, self.burst_left = 0.0, 0
        self.null_ack = False
        self.supplied = 0
        self.stalled_until = None
        self.done_at, self.dally = None, 4.0

    def progress(self):
        return len(self.safe)

    def packets(self, index):
        return max(1, -(-len(self.buffers[index]) // self.o.packet_size))

    def accept(self, sequence):
        ahead = (sequence - self.high) & 0xFFFF
        if ahead == 0 or ahead >= 1 << 15 or sequence in self.seen:
            return False
        self.seen.add(sequence)
        while (self.high + 1) & 0xFFFF in self.seen:
            self.high = (self.high + 1) & 0xFFFF
            self.seen.discard(self.high)
        return True

    def handle(self, kind, body):
        if kind == DONE and self.done_at:
            raise Over("complete")
        if kind != CONTROL:
            return
        at = 0
        while at + 8 <= len(body):
            what, _, sequence, number = struct.unpack(">BBHI", body[at:at + 8])
            if what == GO:
                at, rest = at + 8, ()
            elif what == OK:
                at, rest = at + 16, struct.unpack(">HHH", body[at + 8:at + 14])
                self.dally = max(4.0, 4 * rest[2] / 1000)
            else:
                (count,) = struct.unpack(">H", body[at + 8:at + 10])
                rest = struct.unpack(">%dH" % count, body[at + 12:at + 12 + 2 * count])
                at += 12 + 2 * (count + count % 2)
            if sequence == 1 and self.first is None:
                self.first = number
            if self.first is None or not self.accept(sequence):
                continue
            self.obey(what, number - self.first, rest)
        self.null_ack = self.null_ack or not self.queue
        if self.done_at:
            self.done_at = time.monotonic() + self.dally

    def obey(self, what, index, rest):
        if what == GO:
            self.permitted.add(index)
        elif what == RESEND:
            self.c.facts["asked"] += len(rest)
            for packet in rest:
                if packet in self.left.get(index, ()):
                    self.c.facts["resent"] += 1
                    self.queue.add((index, packet))
                else:
                    self.c.facts["asked_never_left"] += 1
        elif what == OK:
            self.safe.add(index)
            self.queue = {item for item in self.queue if item[0] != index}
            self.left.pop(index, None)
            offer = [rest[0], rest[1]]
            self.c.facts["offers"].append(offer)
            mine = [min(offer[0], self.o.most_size), max(offer[1], self.o.most_ms)]
            if 0 not in offer and mine != self.burst:
                self.burst, self.null_ack = mine, True

    def turn(self, now):
        stall_at = len(self.buffers) // 2
        if self.o.stall and self.supplied >= stall_at and self.stalled_until is None:
            self.stalled_until = now + self.o.stall
        if not self.stalled_until or now >= self.stalled_until:
            self.supplied = min(len(self.buffers), len(self.safe) + self.o.buffers)
        else:
            self.supplied = min(self.supplied or stall_at, len(self.buffers))
            self.supplied = max(self.supplied, min(stall_at, len(self.safe) + self.o.buffers))
        for index in sorted(self.permitted):
            if index < self.supplied and index not in self.begun and index not in self.safe:
                self.begun.add(index)
                self.queue |= {(index, packet) for packet in range(self.packets(index))}
        self.permitted -= self.begun
        if self.null_ack:
            self.null_ack = False
            self.c.facts["null_acks"].append(self.burst)
            self.c.say(NULL_ACK, struct.pack(">HHHH", self.high, *self.burst, 0))
        if len(self.safe) == len(self.buffers):
            self.done_at = self.done_at or now + self.dally
            if self.o.expect and not self.checked():
                raise Over("told of success before the file was there")
            if now >= self.done_at:
                raise Over("complete, without DONE")
            return 0.05
        return self.send_burst(now)

    def checked(self):
        if not getattr(self, "was_checked", False):
            with open(self.o.file, "rb") as mine:
                content = mine.read()
            try:
                with open(self.o.expect, "rb") as file:
                    self.was_checked = file.read() == content
            except FileNotFoundError:
                return False
        return self.was_checked

    def send_burst(self, now):
        if not self.queue:
            return 0.02
        interval = self.burst[1] * self.o.slower / 1000
        if now < self.burst_at + interval:
            return self.burst_at + interval - now
        self.burst_at = now if now > self.burst_at + 2 * interval else self.burst_at + interval
        for index, packet in sorted(self.queue)[:self.burst[0]]:
            self.queue.discard((index, packet))
            self.left.setdefault(index, set()).add(packet)
            self.send(index, packet)
        return 0.0

    def send(self, index, packet):
        size = self.o.packet_size
        data = self.buffers[index][packet * size:(packet + 1) * size]
        sum_ = checksum(data) if self.o.checksum else 0
        flags = LAST_FLAG if index == len(self.buffers) - 1 else 0
        kind = LDATA if packet == self.packets(index) - 1 else DATA
        number = (self.first + index) & 0xFFFFFFFF
        self.c.facts["data_sent"] += 1
        self.c.say(kind, struct.pack(">IHHHH", number, self.high, packet, sum_, flags), data)


class Receiver:
    """Section 5.2: owns the timers."""

    def __init__(self, connection):
        self.c, self.o = connection, connection.options
        self.list = []  # unacknowledged messages: (sequence, bytes)
        self.sequence, self.unsent = 0, False
        self.control_at, self.control_timer = None, 0.5
        self.next, self.last = 1, None
        self.buffers, self.timers = {}, {}
        self.waiting = {}  # buffer -> the message that it waits to have acknowledged
        self.stored, self.safe, self.ended = {}, 0, set()
        self.stalled_until = None
        self.burst = [self.o.burst_size, self.o.burst_ms]
        self.arrivals = []
        self.malfunctioned = False

    def progress(self):
        return self.safe

    def push(self, what, number, rest=b""):
        self.sequence = (self.sequence + 1) & 0xFFFF
        message = struct.pack(">BBHI", what, 0, self.sequence, number) + padded(rest)
        self.list.append((self.sequence, message))
        self.unsent = True
        self.waiting[number] = self.sequence

    def acknowledge(self, high, now):
        while self.list and (high - self.list[0][0]) & 0xFFFF < 1 << 15:
            self.list.pop(0)
        if not self.list:
            self.control_at = None
        for number, sequence in list(self.waiting.items()):
            if (high - sequence) & 0xFFFF < 1 << 15:
                del self.waiting[number]
                if number in self.buffers and number not in self.timers:
                    self.timers[number] = now + self.data_timer(number)

    def missing(self, number):
        here, packets = self.buffers[number]
        return [packet for packet in range(packets) if packet not in here]

    def data_timer(self, number):
        """Bursts that are to come for this buffer and lower ones, times the burst rate, and a variance."""
        count = sum(len(self.missing(lower)) for lower in self.buffers if lower <= number)
        bursts = -(-count // self.burst[0]) + 2
        return bursts * max(self.burst[1], 1) / 1000 * 1.5 + 0.05

    def handle(self, kind, body):
        now = time.monotonic()
        if kind == NULL_ACK:
            high, size, ms, _ = struct.unpack(">HHHH", body[:8])
            self.c.facts["null_acks"].append([size, ms])
            if size:
                self.burst = [size, ms]
            self.acknowledge(high, now)
        elif kind in (DATA, LDATA):
            number, high, packet, sum_, flags = struct.unpack(">IHHHH", body[:12])
            self.acknowledge(high, now)
            data = body[12:]
            if self.o.checksum and checksum(data) != sum_:
                return
            self.arrivals.append(now)
            if number not in self.buffers:
                self.c.facts["duplicates"] += 1
                return
            self.take(now, number, packet, data, kind == LDATA, flags & LAST_FLAG)

    def take(self, now, number, packet, data, ends, last):
        here, packets = self.buffers[number]
        if packet in here:
            self.c.facts["duplicates"] += 1
            return
        first = not here
        here[packet] = data
        self.c.facts["data_received"] += 1
        if ends:
            packets = packet + 1
        self.buffers[number] = (here, packets)
        if last:
            self.last = number
            for beyond in [n for n in self.buffers if n > number]:
                for known in (self.buffers, self.timers, self.waiting):
                    known.pop(beyond, None)
        if ends:
            self.ended.add(number)
        if number in self.ended and len(here) == packets:
            self.stored[number] = b"".join(here[n] for n in range(packets))
            self.buffers.pop(number)
            self.timers.pop(number, None)
            self.safe += 1
            offer = [self.o.offer_size or self.o.burst_size, self.o.offer_ms or self.o.burst_ms]
            self.c.facts["offers"].append(offer)
            self.push(OK, number, struct.pack(">HHHH", *offer, int(self.control_timer * 1000), 0))
        elif first:
            for lower in [n for n in self.buffers if n <= number]:
                if lower == number or not self.buffers[lower][0]:
                    self.timers[lower] = now + self.data_timer(lower)

    def turn(self, now):
        if self.o.stall and self.safe >= 2 and self.stalled_until is None:
            self.stalled_until = now + self.o.stall
        stalled = self.stalled_until and now < self.stalled_until
        if self.o.malfunction and self.safe >= 2 and not self.malfunctioned:
            self.malfunctioned = True
            self.push(OK, self.next + 1000, struct.pack(">HHHH", 1, 1, 500, 0))
        while len(self.buffers) < self.o.buffers and self.last is None and not stalled:
            packets = -(-self.o.buffer_size // self.o.packet_size)
            self.buffers[self.next] = ({}, packets)
            self.push(GO, self.next)
            self.next += 1
        for number in [n for n, at in self.timers.items() if at <= now]:
            del self.timers[number]
            missing = self.missing(number)[:400]
            self.c.facts["asked"] += len(missing)
            self.push(RESEND, number, struct.pack(">HH%dH" % len(missing), len(missing), 0, *missing))
        if self.control_at and now >= self.control_at:
            self.unsent = True
        if self.unsent:
            self.unsent = False
            self.control_at = now + self.control_timer
            body = b""
            for _, message in self.list:
                if len(body) + len(message) > 1200:
                    self.c.say(CONTROL, body)
                    body = b""
                body += message
            if body:
                self.c.say(CONTROL, body)
        if self.last is not None and not self.buffers and not self.list:
            with open(self.o.file, "wb") as file:
                for number in range(1, self.last + 1):
                    file.write(self.stored[number])
            self.c.say(DONE)
            raise Over("complete")
        due = min([*self.timers.values(), self.control_at or now + 1])
        return max(0.0, due - now)


def fastest(arrivals, span):
    """Most packets that came within any span."""
    most = start = 0
    for end, at in enumerate(arrivals):
        while at - arrivals[start] > span:
            start += 1
        most = max(most, end - start + 1)
    return most


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    add = parser.add_argument
    add("--active", action="store_true", help="open; else wait to be opened")
    add("--mode", choices=["read", "write"], default="write", help="of the active end")
    add("--file", required=True, help="to send, or to write what comes to")
    add("--name", default="", help="client string of OPEN")
    add("--expect", help="where the file must be when the other end says that it has it")
    add("--raw", action="store_true", help="IP protocol 30 instead of UDP")
    add("--bind", default="127.0.0.1")
    add("--udp-port", type=int, default=0)
    add("--peer", default="127.0.0.1")
    add("--peer-udp-port", type=int, default=20030)
    add("--port", type=int, default=30, help="NETBLT's own port here")
    add("--foreign-port", type=int, default=30)
    add("--buffer-size", type=int, default=10000)
    add("--packet-size", type=int, default=1000)
    add("--buffers", type=int, default=4)
    add("--burst-size", type=int, default=8)
    add("--burst-ms", type=int, default=4)
    add("--most-size", type=int, default=8, help="what this sender can do at most")
    add("--most-ms", type=int, default=1)
    add("--offer-size", type=int, default=0)
    add("--offer-ms", type=int, default=0)
    add("--slower", type=float, default=1.0, help="sends so many times slower than agreed on")
    add("--checksum", action="store_true")
    add("--death", type=int, default=20)
    add("--loss", type=float, default=0.0)
    add("--duplicates", type=float, default=0.0)
    add("--reorder", type=float, default=0.0)
    add("--seed", type=int, default=1)
    add("--stall", type=float, default=0.0, help="the client does nothing for so many seconds in the middle")
    add("--quit-after", type=int, default=1 << 40, help="buffers")
    add("--abort-after", type=int, default=1 << 40, help="buffers")
    add("--malfunction", action="store_true", help="a receiver that says OK for what never was")
    add("--limit", type=float, default=60.0, help="seconds in all")
    options = parser.parse_args()
    wire = Wire(options)
    connection = Connection(wire, options)
    print(json.dumps({"bound": wire.socket.getsockname()[:2]}), flush=True)
    began = time.monotonic()
    try:
        connection.run()
    except Over as over:
        outcome = str(over)
    for _, packet, peer in wire.held:
        wire.give(packet, peer)
    facts = connection.facts
    facts.update(outcome=outcome, seconds=time.monotonic() - began, pid=os.getpid())
    if isinstance(connection.role, Receiver):
        facts["most_in_100_ms"] = fastest(connection.role.arrivals, 0.1)
    print(json.dumps(facts))
    return 0 if outcome.startswith("complete") else 1


if __name__ == "__main__":
    sys.exit(main())
