"""Devices on both sides of a router: URL, then address, gateway and MAC of each side, IPv4 and IPv6."""

import json
import sys
import time

from common import client, flows, plain, say, traffic, until_stopped

sides = json.loads(sys.argv[2])
api = client()
config = api.config()
for number, side in enumerate(sides):
    config.ports.add(name="p%d" % number, location="tester%d" % number)
    device = config.devices.add(name="d%d" % number)
    ethernet = device.ethernets.add(name="e%d" % number, mac=side["mac"])
    ethernet.connection.port_name = "p%d" % number
    ethernet.ipv4_addresses.add(name="v4-%d" % number, address=side["ipv4"], gateway=side["gateway4"])
    ethernet.ipv6_addresses.add(name="v6-%d" % number, address=side["ipv6"], gateway=side["gateway6"])
for version in ["v4", "v6"]:
    flow = config.flows.add(name=version)
    flow.tx_rx.device.set(tx_names=[version + "-0"], rx_names=[version + "-1"], bidirectional=True)
    if version == "v4":
        flow.packet.ethernet().ipv4().udp()
    else:
        flow.packet.ethernet().ipv6().udp()
    flow.size.fixed = 128
    flow.rate.pps = 500
    flow.duration.fixed_packets.packets = 200
    flow.metrics.set(enable=True, loss=True)
api.set_config(config)
neighbours = {}
for _ in range(50):
    for version in ("ipv4_neighbors", "ipv6_neighbors"):
        request = api.states_request()
        getattr(request, version).ethernet_names = []
        for state in getattr(api.get_states(request), version):
            address = getattr(state, version.split("_")[0] + "_address")
            neighbours[address] = state.link_layer_address
    if all(neighbours.values()):
        break
    time.sleep(0.1)
# The router asks for hosts that it does not know while the first frames wait: it holds back few.
traffic(api, "start")
until_stopped(api)
first = plain(flows(api))
traffic(api, "start")
until_stopped(api)
say(neighbours=neighbours, first=first, flows=plain(flows(api)))
