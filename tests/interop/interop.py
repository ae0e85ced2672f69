#!/usr/bin/env python3
"""netanvil's NETBLT against a second implementation, tests/interop/netblt998.py, which knows RFC 998 alone.

Usage: interop.py path/to/netanvil [--full] [--only WORDS]

Both ways, each end opening, over UDP and IP protocol 30, IPv4 and IPv6, with loss, duplicates and packets that
overtake others. Each case has a name and checks. Exit code 1 if one fails. As root it runs in a network
namespace of its own; for others raw IP is left out, and said to be.
"""

import argparse
import concurrent.futures
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "netblt998.py")
BUFFER, PACKET = 10_000, 1_000
LIMIT_S = 120
# Any address of two networks is this host's.
OWN_NETWORK = """ip link set lo up && echo 1 > /proc/sys/net/ipv6/ip_nonlocal_bind &&
ip -6 route add local fd00:1::/64 dev lo && ip -6 route add local fd00:2::/64 dev lo && exec "$@" """


class Failed(Exception):
    pass


def check(condition, what):
    if not condition:
        raise Failed(what)


class Case:
    """One transfer: `how` is put or get (the peer opens), send or recv (netanvil opens)."""

    def __init__(self, how, size, carrier="udp", ip=4, faults=False, ours="", theirs="", verify=None, name=""):
        self.how, self.size, self.carrier, self.ip, self.faults = how, size, carrier, ip, faults
        self.ours, self.theirs, self.verify = ours.split(), theirs.split(), verify or whole
        self.interrupt = False
        marks = [how, f"{size} bytes", carrier, f"IPv{ip}", "bad path" if faults else "good path", name]
        self.name = ", ".join(mark for mark in marks if mark)

    def run(self, program, number):
        with tempfile.TemporaryDirectory() as folder:
            self.folder = folder
            os.mkdir(self.path("served"))
            content = random.Random(self.size).randbytes(self.size)
            with open(self.path("there"), "wb") as file:
                file.write(content)
            self.content = content
            # Raw sockets hear all of their protocol: each case has addresses of its own.
            anywhere = f"fd00:1::{number:x}" if os.geteuid() == 0 else "::1"
            host = f"127.1.{number // 250}.{number % 250 + 1}" if self.ip == 4 else anywhere
            if self.how in ("put", "get"):
                self.passive(program, host)
            else:
                self.active(program, host)
            self.verify(self)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def peer(self, host, number, *more):
        command = [sys.executable, PEER, "--seed", str(number), "--bind", host, *more, *self.theirs]
        if self.carrier == "raw":
            command.append("--raw")
        if self.faults:
            command += "--loss 0.08 --duplicates 0.05 --reorder 0.1 --checksum".split()
        return command

    def start(self, command, **more):
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=self.folder, **more)

    def passive(self, program, host):
        """netanvil serves, the peer opens."""
        listen = f"{host}:0" if self.ip == 4 else f"[{host}]:0"
        serve = [program, "netblt", "serve", "served", "--trust", "--listen", listen, "--json", "--once"]
        # NETBLT's ports tell connections on raw IP apart.
        port = 100 + random.Random(self.name).randrange(60_000)
        serve += ["--port", str(port)] + (["--raw-ip"] if self.carrier == "raw" else []) + self.ours
        server = self.start(serve, stderr=subprocess.PIPE)
        try:
            line = server.stderr.readline()
            bound = re.search(r"on (\S+);", line)
            check(bound, f"netanvil said {line!r}")
            udp_port = bound[1].rsplit(":", 1)[1]
            here = host.replace("127.1.", "127.2.").replace("fd00:1:", "fd00:2:")
            mode = ["--mode", "write" if self.how == "put" else "read"]
            if self.how == "put":
                mode += ["--file", "there", "--name", "x", "--expect", self.path("served", "x")]
            else:
                os.rename(self.path("there"), self.path("served", "x"))
                mode += ["--file", "back", "--name", "x"]
            command = self.peer(here, len(self.name), "--active", "--peer", host, "--peer-udp-port", udp_port,
                                "--port", str(port % 40_000 + 1), "--foreign-port", str(port), *mode)
            self.listen_to(self.start(command))
            out, err = server.communicate(timeout=LIMIT_S)
            self.code, self.said = server.returncode, out + line + err
        finally:
            server.kill()

    def active(self, program, host):
        """The peer listens, netanvil opens."""
        what = ["--file", "back"] if self.how == "send" else ["--file", "there"]
        port = 100 + random.Random(self.name).randrange(60_000)
        peer = self.start(self.peer(host, len(self.name), "--port", str(port), "--foreign-port", "0", *what))
        bound = json.loads(peer.stdout.readline())["bound"]
        shown = host if self.ip == 4 else f"[{host}]"
        where = host if self.carrier == "raw" else f"{shown}:{bound[1]}"
        ours = ["send", "there", where, "--as", "x"] if self.how == "send" else ["recv", "x", where, "--out", "got"]
        ours += ["--plain", "--json", "--quiet", "--port", str(port)] + (["--raw-ip"] if self.carrier == "raw" else []) + self.ours
        client = self.start([program, "netblt", *ours], stderr=subprocess.PIPE)
        try:
            if self.interrupt:
                time.sleep(1.5)
                client.send_signal(signal.SIGINT)
            out, err = client.communicate(timeout=LIMIT_S)
            self.code, self.said = client.returncode, out + err
            self.listen_to(peer)
        finally:
            client.kill()
            peer.kill()

    def listen_to(self, peer):
        out, _ = peer.communicate(timeout=LIMIT_S)
        lines = out.strip().splitlines()
        check(lines and lines[-1].startswith("{\"null"), f"the peer broke: {out}")
        self.facts = json.loads(lines[-1])

    def arrived(self):
        name = {"put": ("served", "x"), "get": ("back",), "send": ("back",), "recv": ("got",)}[self.how]
        try:
            with open(self.path(*name), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None


def named_rates(case):
    """What netanvil says of its rate is in whole milliseconds and within what the peer offered."""
    if case.how not in ("get", "send"):
        return
    offers = [[8, 4]] + case.facts["offers"]
    for size, ms in case.facts["null_acks"]:
        check(size > 0 and ms > 0, f"NULL-ACK announces {size} packets in {ms} ms")
        allowed = any(size <= offer[0] and ms >= offer[1] for offer in offers)
        check(allowed, f"NULL-ACK announces {size}/{ms}, offered were {offers[:3]}")


def whole(case):
    """The file is there, byte for byte, and both ends say so."""
    check(case.facts["outcome"].startswith("complete"), f"peer: {case.facts['outcome']}; netanvil: {case.said}")
    check(case.code == 0, f"netanvil: {case.code}, {case.said}")
    check(case.arrived() == case.content, "what arrived is not what was sent")
    named_rates(case)
    if not case.faults and case.how in ("put", "recv"):
        check(case.facts["outcome"] == "complete", "without DONE")
    if case.how in ("get", "send") and case.size > 20 * BUFFER:
        # 8 packets in 4 ms were agreed on, or less was offered.
        fastest = max(o[0] / o[1] for o in [[8, 4]] + case.facts["offers"]) * 1e3
        rate = case.facts["data_received"] / case.facts["seconds"]
        check(rate <= 1.1 * fastest, f"{rate:.0f} packets a second, {fastest:.0f} were agreed on")


def asked_for_what_is(most):
    def verify(case):
        whole(case)
        never = case.facts["asked_never_left"]
        check(never <= most, f"{never} packets asked for that had not left; {case.facts['asked']} in all")
    return verify


def proposed_little(case):
    whole(case)
    size, ms = case.facts["proposed"]
    check(size * 1e3 / ms <= 300, f"proposed {size} packets in {ms} ms over a path that it does not know")


def ended(theirs, ours):
    def verify(case):
        outcome = case.facts["outcome"]
        check(outcome.startswith(theirs), f"peer: {outcome}; netanvil: {case.said}")
        check(ours in case.said, f"netanvil: {case.said}")
        check(case.arrived() is None or case.how in ("get", "send"), "a part has the file's name")
        check("is kept" not in case.said, "nothing is kept of a plain transfer")
    return verify


def sizes(full):
    edges = [0, 1, BUFFER - 1, BUFFER, BUFFER + 1, 3 * BUFFER - 1, 3 * BUFFER, 3 * BUFFER + 1, 123_457]
    return edges if full else [0, 1, BUFFER - 1, BUFFER, BUFFER + 1, 123_457]


def cases(full):
    carriers = [("udp", 4), ("udp", 6), ("raw", 4), ("raw", 6)]
    hows = ["put", "get", "send", "recv"]
    turn = 0
    for how in hows:
        rate = {"send": "--burst 8/4 --buffer-size 10000 --packet-size 1000 --buffers 4",
                "recv": "--burst 8/4 --buffer-size 10000 --packet-size 1000 --buffers 4"}.get(how, "")
        for carrier, ip in carriers:
            for faults in (False, True):
                for size in sizes(full) if full else [sizes(full)[turn % len(sizes(full))]]:
                    yield Case(how, size, carrier, ip, faults, rate)
                turn += 1
        stall = 12 if full else 2
        stalled = asked_for_what_is(300)
        yield Case(how, 300_000, ours=rate, theirs=f"--stall {stall}", name=f"stalls {stall} s", verify=stalled)
        quits = ended("quit", "")
        yield Case(how, 300_000, ours=rate, theirs="--quit-after 5", name="peer quits", verify=quits)
        aborts = ended("aborted", "abort" if how in ("send", "recv") else "")
        yield Case(how, 300_000, ours=rate, theirs="--abort-after 5", name="peer aborts", verify=aborts)
    slow = Case("recv", 400_000, ours="--burst 16/1 --buffer-size 10000 --buffers 64 --packet-size 1000",
                theirs="--slower 30 --most-size 16 --burst-size 16 --burst-ms 1 --buffers 64",
                name="slow sender", verify=asked_for_what_is(200))
    yield slow
    yield Case("recv", 200_000, theirs="--most-size 64 --burst-size 64 --burst-ms 1 --buffers 64",
               name="no rate given", verify=proposed_little)
    yield Case("send", 300_000, theirs="--offer-size 3 --offer-ms 2 --buffers 4", name="finds its rate, 3 / 2 offered")
    mad = Case("send", 300_000, ours="--burst 8/4", theirs="--malfunction", name="peer malfunctions",
               verify=ended("aborted by peer", "abort"))
    yield mad
    leaves = Case("send", 3_000_000, ours="--burst 8/20", name="netanvil is interrupted",
                  verify=ended("quit by peer: interrupted", "interrupted"))
    leaves.interrupt = True
    yield leaves
    if full:
        small = "--buffer-size 40 --packet-size 40"
        for how in hows:
            ours = f"--burst 64/1 --buffers 64 {small}" if how in ("send", "recv") else ""
            theirs = f"--burst-size 64 --most-size 64 --burst-ms 1 --buffers 64 {small} --limit 110"
            # Two messages a buffer: their numbers wrap.
            yield Case(how, 40 * 35_000, ours=ours, theirs=theirs, name="sequence numbers wrap")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("program")
    parser.add_argument("--full", action="store_true", help="all sizes, stalls of 12 s, sequence wrap")
    parser.add_argument("--only", default="", help="cases whose names have all of these words")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    root = os.geteuid() == 0
    if root and not options.inside:
        inside = [sys.executable, os.path.abspath(__file__), "--inside", program, *sys.argv[2:]]
        shell = ["unshare", "--net", "sh", "-c", OWN_NETWORK, "sh"]
        os.execvp("unshare", shell + inside)
    all_cases = [case for case in cases(options.full) if all(word in case.name for word in options.only.split())]
    chosen = [case for case in all_cases if root or case.carrier == "udp"]
    failed, began = 0, time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        futures = {pool.submit(case.run, program, number): case for number, case in enumerate(chosen, 1)}
        for future in concurrent.futures.as_completed(futures):
            case = futures[future]
            try:
                future.result()
                print(f"ok      {case.name}")
            except Exception as error:  # each failure is told, whatever it is
                failed += 1
                print(f"FAILED  {case.name}: {type(error).__name__}: {error}")
    skipped = len(all_cases) - len(chosen)
    note = f"; {skipped} over raw IP skipped, which take root" if skipped else ""
    print(f"{len(chosen) - failed} of {len(chosen)} cases in {time.monotonic() - began:.0f} s{note}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
