#!/usr/bin/env python3
"""Looks at the wire of the Internet-scale test of 1998, by tshark alone.

    tolly.py INPUT FIRST OUTPUTS HOSTS INTO.pcap OUTPUT OUT.pcap

INTO.pcap has what came into the router from port INPUT, OUT.pcap what went out of it at port OUTPUT; ports
count from 0, outputs are OUTPUTS ports from FIRST on, with HOSTS hosts behind each: host h behind port p has
the address 100.64.0.0 + p * 65536 + h. In every trial, which begins with an ARP request of the port, packet k
goes to host k // OUTPUTS behind the output that is INPUT + k places after the first, counted round; there is
one packet for each host, no more. What leaves is for hosts behind that output alone, all of them, each as
often in order, one hop on; nothing is malformed and no checksum is bad. Prints the trials and the packets.
"""
import collections
import ipaddress
import subprocess
import sys

HOSTS_FROM = int(ipaddress.ip_address("100.64.0.0"))
TTL = 10
FIELDS = ["_ws.malformed", "ip.checksum.status", "udp.checksum.status", "arp.opcode", "ip.dst", "ip.ttl"]


def frames(path):
    command = ["tshark", "-n", "-r", path, "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]
    command += ["-d", "udp.port==1-65535,data", "-T", "fields", "-E", "separator=;"]
    for field in FIELDS:
        command += ["-e", field]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for number, line in enumerate(output.splitlines(), 1):
        malformed, ip, udp, arp, to, ttl = line.split(";")
        demand(not malformed, f"{path}: frame {number} is malformed")
        demand("0" not in (ip, udp), f"{path}: frame {number} has a bad checksum")
        yield arp, int(ipaddress.ip_address(to)) - HOSTS_FROM if to else -1, ttl


def demand(is_so, why):
    if not is_so:
        sys.exit(f"tolly.py: {why}")


def into(path, port, first, outputs, hosts):
    """Packets of each trial that had any."""
    trials = []
    for arp, host, ttl in frames(path):
        if arp == "1":
            trials.append(0)
        if not 0 <= host < 1 << 22:
            continue
        demand(trials, "a packet before any ARP request")
        k = trials[-1]
        expected = ((first + (port + k) % outputs) << 16) + k // outputs
        demand(host == expected, f"packet {k} goes to host {host:#x}, not {expected:#x}")
        demand(ttl == str(TTL), f"packet {k} leaves with TTL {ttl}")
        trials[-1] += 1
    trials = [packets for packets in trials if packets > 0]
    demand(all(packets == outputs * hosts for packets in trials), f"packets of the trials: {trials}")
    return trials


def out(path, port, hosts):
    counts = collections.Counter()
    for _, host, ttl in frames(path):
        if not 0 <= host < 1 << 22:
            continue
        demand(host >> 16 == port, f"a packet for a host behind port {host >> 16} leaves at port {port}")
        demand(ttl == str(TTL - 1), f"a packet leaves the router with TTL {ttl}")
        counts[host & 0xFFFF] += 1
    demand(sorted(counts) == list(range(hosts)), f"packets for {len(counts)} hosts, not {hosts}")
    return sum(counts.values())


def main():
    port, first, outputs, hosts = (int(number) for number in sys.argv[1:5])
    trials = into(sys.argv[5], port, first, outputs, hosts)
    print(len(trials), sum(trials), out(sys.argv[7], int(sys.argv[6]), hosts))


main()
