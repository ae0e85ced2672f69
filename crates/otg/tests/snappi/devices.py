"""Devices on both sides of a router: URL, then address, gateway and MAC of each side, IPv4 and IPv6."""

import json
import sys

from common import add_flows_both_ways, add_side, client, flows, neighbours_known, plain, say, traffic, until_stopped

api = client()
config = api.config()
for number, side in enumerate(json.loads(sys.argv[2])):
    add_side(config, number, side)
add_flows_both_ways(config)
api.set_config(config)
neighbours = neighbours_known(api)
# The router asks for hosts that it does not know while the first frames wait: it holds back few.
traffic(api, "start")
until_stopped(api)
first = plain(flows(api))
traffic(api, "start")
until_stopped(api)
say(neighbours=neighbours, first=first, flows=plain(flows(api)))
