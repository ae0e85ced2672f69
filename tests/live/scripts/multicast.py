#!/usr/bin/env python3
"""Looks at the wire between a listening port and its device, by tshark alone.

    multicast.py JOINS.pcap DATA.pcap GROUPS

JOINS.pcap has what came into the device at the port, DATA.pcap what went out there. Of the first so many
groups from 239.192.0.1 on it holds the port to RFC 3376 and RFC 1112: every group is joined before any
frame of it comes, by a report with TTL 1 and the router alert option to 224.0.0.22; every group is left
again; every frame goes to the hardware address of its group, one hop on from where it was sent; no frame
comes of a group that was not joined; nothing is malformed, no checksum is bad.
"""
import collections
import subprocess
import sys

RECORD_JOIN, RECORD_LEAVE = "4", "3"
# The state of a group, as a host tells it when it is asked (RFC 3376 section 4.2.12).
RECORD_ANSWER = "2"
CHECKS = ["ip.checksum.status", "udp.checksum.status", "igmp.checksum.status"]


def fields(path, names):
    """A list of the values of each field, for each frame."""
    command = ["tshark", "-n", "-r", path, "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]
    command += ["-d", "udp.port==1-65535,data", "-T", "fields", "-E", "separator=/t", "-E", "occurrence=a"]
    for name in names:
        command += ["-e", name]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for line in output.splitlines():
        values = (line.split("\t") + [""] * len(names))[: len(names)]
        yield [value.split(",") if value else [] for value in values]


def demand(is_so, why):
    if not is_so:
        sys.exit(f"multicast.py: {why}")


def sound(path):
    for number, (malformed, *checks) in enumerate(fields(path, ["_ws.malformed"] + CHECKS), 1):
        demand(not malformed, f"{path}: frame {number} is malformed")
        # 0 is bad; 1 good; 2 not to be told.
        demand(all("0" not in status for status in checks), f"{path}: frame {number} has a bad checksum")


def said(path):
    """When each group was first joined and last left."""
    joined, left = {}, {}
    names = ["frame.time_epoch", "ip.src", "ip.dst", "ip.ttl", "ip.opt.ra", "igmp.type", "igmp.record_type",
             "igmp.maddr"]
    for time, source, target, ttl, alert, kind, records, groups in fields(path, names):
        if not kind:
            continue
        demand(kind == ["0x22"], f"a message of type {kind}, not a report of version 3")
        demand(target == ["224.0.0.22"] and ttl == ["1"] and alert, f"report to {target}, TTL {ttl}, {alert}")
        demand(len(records) == len(groups), f"{len(records)} records of {len(groups)} groups")
        for record, group in zip(records, groups):
            demand(record in (RECORD_JOIN, RECORD_LEAVE, RECORD_ANSWER), f"record of type {record}")
            if record == RECORD_ANSWER:
                demand(group in joined, f"an answer for {group}, which nobody has joined")
            elif record == RECORD_JOIN:
                joined.setdefault(group, float(time[0]))
            else:
                left[group] = float(time[0])
    return joined, left


def hardware_address(group):
    _, b, c, d = (int(part) for part in group.split("."))
    return f"01:00:5e:{b & 0x7F:02x}:{c:02x}:{d:02x}"


def main():
    joins, data, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    sound(joins)
    sound(data)
    groups = [f"239.192.{(n + 1) >> 8}.{(n + 1) & 255}" for n in range(count)]
    joined, left = said(joins)
    frames = collections.Counter()
    names = ["frame.time_epoch", "eth.dst", "ip.dst", "ip.ttl", "igmp.type"]
    for time, address, target, ttl, query in fields(data, names):
        # The device asks a group that was left whether somebody is still there.
        if query or not target or not target[0].startswith("239."):
            continue
        group = target[0]
        demand(group in joined and joined[group] <= float(time[0]), f"a frame of {group}, which was not joined")
        demand(address == [hardware_address(group)], f"a frame of {group} went to {address}")
        demand(ttl == ["9"], f"a frame of {group} has TTL {ttl}, not one less than the 10 it left with")
        frames[group] += 1
    for group in groups:
        demand(group in joined, f"{group} was never joined")
        demand(left.get(group, 0) > joined[group], f"{group} was never left")
        demand(frames[group] > 0, f"no frame of {group} came")
    print(f"ok: {len(joined)} groups joined, {len(left)} left, {sum(frames.values())} frames")


main()
