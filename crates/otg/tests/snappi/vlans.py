"""Devices in VLANs on both sides of a router, pinged and with flows: URL, sides as JSON, FILE for the capture.

A side has mac, vlans (tpid, id, priority), ipv4, gateway4, ipv6, gateway6.
"""

import json
import sys

from common import (
    add_flows_both_ways,
    add_side,
    capture,
    client,
    flows,
    neighbours_known,
    plain,
    say,
    traffic,
    until_stopped,
)

_, _, sides, path = sys.argv
sides = json.loads(sides)
api = client()
config = api.config()
for number, side in enumerate(sides):
    add_side(config, number, side)
config.captures.add(name="c", port_names=["p1"]).format = "pcap"
add_flows_both_ways(config)
api.set_config(config)
neighbours = neighbours_known(api)


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
