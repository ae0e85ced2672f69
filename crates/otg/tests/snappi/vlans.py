"""Devices in VLANs on both sides of a router, pinged and with flows: URL, sides as JSON, FILE for the capture.

A side has mac, vlans (tpid, id, priority), ipv4, gateway4, ipv6, gateway6.
"""

import json
import sys
import time

from common import capture, client, flows, plain, say, traffic, until_stopped

_, _, sides, path = sys.argv
sides = json.loads(sides)
api = client()
config = api.config()
for number, side in enumerate(sides):
    config.ports.add(name="p%d" % number, location=side["location"])
    device = config.devices.add(name="d%d" % number)
    ethernet = device.ethernets.add(name="e%d" % number, mac=side["mac"])
    ethernet.connection.port_name = "p%d" % number
    for level, tag in enumerate(side["vlans"]):
        ethernet.vlans.add(name="vlan%d-%d" % (number, level), **tag)
    ethernet.ipv4_addresses.add(name="v4-%d" % number, address=side["ipv4"], gateway=side["gateway4"])
    ethernet.ipv6_addresses.add(name="v6-%d" % number, address=side["ipv6"], gateway=side["gateway6"])
config.captures.add(name="c", port_names=["p1"]).format = "pcap"
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


def ping(version, requests):
    action = api.control_action()
    wanted = getattr(action.protocol, version).ping.requests
    for source, target in requests:
        wanted.add(src_name=source, dst_ip=target)
    answer = api.set_control_action(action)
    responses = getattr(answer.response.protocol, version).ping.responses
    return [[one.src_name, one.dst_ip, one.result] for one in responses]


pings = ping("ipv4", [("v4-0", sides[0]["gateway4"]), ("v4-0", sides[1]["gateway4"]), ("v4-1", sides[1]["nobody4"])])
pings += ping("ipv6", [("v6-1", sides[1]["gateway6"]), ("v6-1", sides[0]["gateway6"]), ("v6-0", sides[0]["nobody6"])])
# The router asks for hosts that it does not know while the first frames wait: it holds back few.
traffic(api, "start")
until_stopped(api)
capture(api, "start", ["p1"])
traffic(api, "start")
until_stopped(api)
capture(api, "stop", ["p1"])
request = api.capture_request()
request.port_name = "p1"
with open(path, "wb") as file:
    file.write(api.get_capture(request).read())
say(neighbours=neighbours, pings=pings, flows=plain(flows(api)))
