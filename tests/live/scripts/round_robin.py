#!/usr/bin/env python3
"""Checks the wire of tests of many ports against the text of RFC 2889, by tshark.

    round_robin.py PORT PORTS RECEIVERS,... CAPTURE

PORT counts from 1, as the RFC does. CAPTURE holds what came into the device from that port. Hardware
addresses are 02:4e:41:00:<port from 0>:02. Every trial must begin with the port's learning frame, which
goes to all, and go on with test frames in the RFC's order (section 5.1.3): the destination of frame k of
port i is ((i - 1) + 1 + (k mod (n - 1))) mod n + 1. RECEIVERS has, for each trial, how many ports take their
turn: n - 1 of a full mesh, fewer of a fan-out to those that follow. Prints the number of test frames of each trial.
"""
import subprocess
import sys

FIELDS = ["eth.src", "eth.dst", "eth.type", "_ws.malformed", "frame.protocols"]


def address(port):
    return f"02:4e:41:00:{port - 1:02x}:02"


def frames(capture):
    command = ["tshark", "-n", "-r", capture, "-T", "fields", "-E", "separator=;"]
    for field in FIELDS:
        command += ["-e", field]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line.split(";") for line in output.splitlines()]


def main():
    port, ports, capture = int(sys.argv[1]), int(sys.argv[2]), sys.argv[4]
    receivers = [int(number) for number in sys.argv[3].split(",")]
    trials = []
    for number, (source, target, kind, malformed, protocols) in enumerate(frames(capture)):
        where = f"frame {number + 1} of port {port}"
        assert malformed == "", f"{where} is malformed"
        assert source == address(port), f"{where} comes from {source}"
        if target == "ff:ff:ff:ff:ff:ff":
            assert kind == "0x88b6", f"{where}: a learning frame of type {kind}"
            trials.append(0)
            continue
        assert trials, f"{where}: a test frame before any learning frame"
        assert protocols.startswith("eth:ethertype:ip:udp"), f"{where} is {protocols}"
        k = trials[-1]
        to = ((port - 1) + 1 + (k % receivers[len(trials) - 1])) % ports + 1
        assert target == address(to), f"{where}: frame {k} of the trial goes to {target}, not {address(to)}"
        trials[-1] += 1
    print(*trials)


main()
