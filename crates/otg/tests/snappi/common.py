"""What the scripts share: a client, and waiting until flows have ended."""

import json
import sys
import time

import snappi
import urllib3

urllib3.disable_warnings()


def client():
    location = sys.argv[1]
    if location.startswith("grpc://"):
        return snappi.api(location=location[len("grpc://") :], transport="grpc", version_check=True)
    return snappi.api(location=location, verify=False, version_check=True)


def traffic(api, state, names=()):
    request = api.control_state()
    request.traffic.flow_transmit.set(state=state, flow_names=list(names))
    return api.set_control_state(request).warnings


def capture(api, state, names):
    request = api.control_state()
    request.port.capture.set(state=state, port_names=names)
    api.set_control_state(request)


def flows(api, names=()):
    request = api.metrics_request()
    request.flow.flow_names = list(names)
    return {metric.name: metric for metric in api.get_metrics(request).flow_metrics}


def ports(api):
    request = api.metrics_request()
    request.port.port_names = []
    return {metric.name: metric for metric in api.get_metrics(request).port_metrics}


def add_side(config, number, side):
    """A port and a device on it: mac, ipv4, gateway4, ipv6, gateway6, perhaps location and vlans."""
    config.ports.add(name="p%d" % number, location=side.get("location", "tester%d" % number))
    device = config.devices.add(name="d%d" % number)
    ethernet = device.ethernets.add(name="e%d" % number, mac=side["mac"])
    ethernet.connection.port_name = "p%d" % number
    for level, tag in enumerate(side.get("vlans", [])):
        ethernet.vlans.add(name="vlan%d-%d" % (number, level), **tag)
    for version, digit in (("ipv4", "4"), ("ipv6", "6")):
        addresses = getattr(ethernet, version + "_addresses")
        addresses.add(name="v%s-%d" % (digit, number), address=side[version], gateway=side["gateway" + digit])
    return device


def add_flow(config, name, version, pps, frames):
    """UDP over this version of IP, 128 bytes, with loss."""
    flow = config.flows.add(name=name)
    if version == "v4":
        flow.packet.ethernet().ipv4().udp()
    else:
        flow.packet.ethernet().ipv6().udp()
    flow.size.fixed = 128
    flow.rate.pps = pps
    flow.duration.fixed_packets.packets = frames
    flow.metrics.set(enable=True, loss=True)
    return flow


def add_flows_both_ways(config):
    for version in ("v4", "v6"):
        flow = add_flow(config, version, version, pps=500, frames=200)
        flow.tx_rx.device.set(tx_names=[version + "-0"], rx_names=[version + "-1"], bidirectional=True)


def neighbours_known(api):
    """Hardware addresses of all gateways, by address; waits some seconds for them."""
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
    return neighbours


def until_stopped(api, seconds=120):
    deadline = time.time() + seconds
    while time.time() < deadline:
        now = flows(api)
        if all(metric.transmit == "stopped" for metric in now.values()):
            return now
        time.sleep(0.2)
    raise SystemExit("flows did not end: %s" % now)


def plain(objects):
    return {name: json.loads(metric.serialize(encoding="json")) for name, metric in objects.items()}


def say(**what):
    print(json.dumps(what))
