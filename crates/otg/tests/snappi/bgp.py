"""Devices that speak BGP with a router: URL, what there is as JSON, and how to ask the router.

The JSON has sides (location, mac, vlans, ipv4, gateway4, ipv6, gateway6, prefixes) and vtysh, a command line.
"""

import json
import subprocess
import sys
import time

from common import add_flow, add_side, client, flows, plain, say, traffic, until_stopped

given = json.loads(sys.argv[2])
sides = given["sides"]
api = client()
config = api.config()
for number, side in enumerate(sides):
    device = add_side(config, number, side)
    device.bgp.router_id = side["ipv4"]

# An external neighbour over IPv4 and another over IPv6.
bgp = config.devices[0].bgp
peer = bgp.ipv4_interfaces.add(ipv4_name="v4-0").peers.add(name="ext4", as_type="ebgp", as_number=65001)
peer.peer_address = sides[0]["gateway4"]
peer.learned_information_filter.unicast_ipv4_prefix = True
peer.advanced.md5_key = "as-in-RFC-2385"
routes = peer.v4_routes.add(name="routes4")
routes.addresses.add(address="100.70.0.0", prefix=24, count=3, step=2)
routes.advanced.multi_exit_discriminator = 50
routes.advanced.origin = "egp"
routes.as_path.as_set_mode = "include_as_seq"
routes.as_path.segments.add(type="as_seq", as_numbers=[65100, 65200])
routes.communities.add(type="manual_as_number", as_number=65001, as_custom=77)
peer.v4_routes.add(name="more4").addresses.add(address="100.71.0.1", prefix=32)
peer = bgp.ipv6_interfaces.add(ipv6_name="v6-0").peers.add(name="ext6", as_type="ebgp", as_number=65001)
peer.peer_address = sides[0]["gateway6"]
peer.learned_information_filter.unicast_ipv6_prefix = True
peer.v6_routes.add(name="routes6").addresses.add(address="2001:db8:70::", prefix=64, count=2)
# One in the router's own autonomous system.
bgp = config.devices[1].bgp
peer = bgp.ipv4_interfaces.add(ipv4_name="v4-1").peers.add(name="int4", as_type="ibgp", as_number=65000)
peer.peer_address = sides[1]["gateway4"]
peer.learned_information_filter.unicast_ipv4_prefix = True
routes = peer.v4_routes.add(name="inside4")
routes.addresses.add(address="100.80.0.0", prefix=16)
routes.advanced.local_preference = 150

for name, sender, receiver in (("to4", "v4-1", "routes4"), ("to6", "v6-1", "routes6")):
    flow = add_flow(config, name, "v" + name[-1], pps=600, frames=300)
    flow.tx_rx.device.set(tx_names=[sender], rx_names=[receiver])
told = {"warnings": list(api.set_config(config).warnings)}


def protocol(state):
    request = api.control_state()
    request.protocol.all.state = state
    api.set_control_state(request)


def routes_are(state, names):
    request = api.control_state()
    request.protocol.route.set(names=names, state=state)
    api.set_control_state(request)


def peers_are(state, names):
    request = api.control_state()
    request.protocol.bgp.peers.set(peer_names=names, state=state)
    api.set_control_state(request)


def metrics():
    found = {}
    for version in ("bgpv4", "bgpv6"):
        request = api.metrics_request()
        getattr(request, version).peer_names = []
        for metric in getattr(api.get_metrics(request), version + "_metrics"):
            found[metric.name] = metric
    return found


def until(what, is_so, seconds=60):
    deadline = time.time() + seconds
    while True:
        now = what()
        if is_so(now):
            return now
        if time.time() > deadline:
            raise SystemExit("not so within %d s: %s" % (seconds, now))
        time.sleep(0.2)


def vtysh(command):
    output = subprocess.run(given["vtysh"] + ["-c", command], capture_output=True, text=True, check=True)
    return json.loads(output.stdout)


def kernel(version):
    output = subprocess.run(given["kernel"] + [version, "-j", "route", "show", "proto", "bgp"], capture_output=True,
                            text=True, check=True)
    return sorted(route["dst"] for route in json.loads(output.stdout or "[]"))


told["before"] = {name: metric.session_state for name, metric in metrics().items()}
protocol("start")
expected = {"ext4": 4, "ext6": 2, "int4": 1}


def is_complete(now):
    return all(now[name].session_state == "up" and int(now[name].routes_advertised) == routes
               for name, routes in expected.items())


until(metrics, is_complete)
until(lambda: kernel("-4"), lambda found: len(found) == 5)
until(lambda: kernel("-6"), lambda found: len(found) == 2)
# The router tells each neighbour what it knows of others, some of it later.
expected = {"ext4": 2, "ext6": 1, "int4": 5}
until(metrics, lambda now: all(int(now[name].routes_received) == routes for name, routes in expected.items()))
told["metrics"] = plain(metrics())
told["kernel"] = {"ipv4": kernel("-4"), "ipv6": kernel("-6")}
told["route"] = vtysh("show bgp ipv4 unicast 100.70.2.0/24 json")
told["inside"] = vtysh("show bgp ipv4 unicast 100.80.0.0/16 json")
told["route6"] = vtysh("show bgp ipv6 unicast 2001:db8:70:1::/64 json")
request = api.states_request()
request.bgp_prefixes.bgp_peer_names = []
states = api.get_states(request).bgp_prefixes
told["learned"] = {state.bgp_peer_name: json.loads(state.serialize(encoding="json")) for state in states}

traffic(api, "start")
until_stopped(api)
# The router looks for the next hop while the first frames wait.
traffic(api, "start")
until_stopped(api)
told["flows"] = plain(flows(api))

# Another rate for a flow, and the sessions go on.
update = api.config_update()
update.flows.property_names = ["rate"]
config.flows[0].rate.pps = 500
update.flows.flows.append(config.flows[0])
api.update_config(update)
told["updated"] = {name: metric.session_state for name, metric in metrics().items()}

routes_are("withdraw", ["routes4"])
until(lambda: kernel("-4"), lambda found: len(found) == 2)
told["withdrawn"] = {"kernel": kernel("-4"), "metrics": plain(metrics())["ext4"]}
routes_are("advertise", ["routes4"])
until(lambda: kernel("-4"), lambda found: len(found) == 5)
peers_are("down", ["ext6"])
until(lambda: kernel("-6"), lambda found: found == [])
told["down"] = {name: metric.session_state for name, metric in metrics().items()}
protocol("stop")
until(lambda: kernel("-4"), lambda found: found == [])
told["stopped"] = {name: metric.session_state for name, metric in metrics().items()}


def refused(call):
    try:
        call()
        return []
    except Exception as error:
        return api.from_exception(error).errors


def column(name):
    request = api.metrics_request()
    request.bgpv4.column_names = ["session_state", name]
    api.get_metrics(request)


told["wrong"] = refused(lambda: peers_are("up", ["no such peer"]))
told["column"] = refused(lambda: column("opens_sent"))
for port in config.ports:
    port.location = "af_xdp:" + port.location.split(":")[1]
told["af_xdp"] = refused(lambda: api.set_config(config))
say(**told)
