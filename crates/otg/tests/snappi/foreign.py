"""What scripts of other authors ask for: patterns of all kinds, rates, sizes, durations, pause, update, links, filters.

URL FILE: the capture goes into FILE. Prints what the flows and ports told.
"""

import sys
import time

import urllib3
from common import capture, client, flows, plain, say, traffic, until_stopped

api = client()
config = api.config()
p1 = config.ports.add(name="p1", location="af_packet:tester0")
p2 = config.ports.add(name="p2", location="af_packet:tester1")
layer1 = config.layer1.add(name="ly", port_names=["p1", "p2"], speed="speed_1_gbps")
layer1.media = "copper"
cap = config.captures.add(name="c", port_names=["p2"])
cap.format = cap.PCAP
ethernet, ip = cap.filters.ethernet().ipv4()
ethernet.dst.value, ethernet.dst.mask = "020000000002", "FFFFFFFFFFFF"
ip.protocol.value, ip.protocol.mask = "11", "FF"


def flow(name, frames, sender="p1"):
    made = config.flows.add(name=name)
    made.tx_rx.port.tx_name = sender
    made.tx_rx.port.rx_names = ["p2" if sender == "p1" else "p1"]
    made.metrics.enable = True
    made.metrics.loss = True
    made.duration.fixed_packets.packets = frames
    made.rate.pps = 500
    return made


def ends(ethernet):
    ethernet.src.value, ethernet.dst.value = "02:00:00:00:00:01", "02:00:00:00:00:02"


# A stack of tags, and each kind of pattern.
stack = flow("stack", 60)
ethernet, outer, inner, ip, udp = stack.packet.ethernet().vlan().vlan().ipv4().udp()
ends(ethernet)
outer.tpid.value = outer.tpid.X88A8
outer.id.value, inner.id.values = 100, [1, 2, 3]
outer.priority.increment.set(start=0, step=1, count=8)
ip.src.decrement.set(start="10.0.0.9", step="0.0.0.1", count=3)
ip.dst.random.set(min="10.0.1.1", max="10.0.1.9", seed=7, count=4)
ip.time_to_live.value = 9
ip.priority.raw.value = 0xB8
udp.src_port.random.set(min=1024, max=2000, seed=1, count=5)
udp.dst_port.increment.set(start=4000, step=10, count=6)
stack.size.increment.set(start=128, end=256, step=64)

# IPv6 and TCP flags; the opposite way, so that a bridge learns both.
six = flow("six", 40, sender="p2")
ethernet, ip, tcp = six.packet.ethernet().ipv6().tcp()
ethernet.src.value, ethernet.dst.value = "02:00:00:00:00:02", "02:00:00:00:00:01"
ip.src.value = "2001:db8::1"
ip.dst.increment.set(start="2001:db8:1::1", step="::1", count=4)
ip.traffic_class.value, ip.flow_label.value, ip.hop_limit.value = 46, 1234, 3
tcp.ctl_syn.value, tcp.seq_num.value = 1, 4294967295
six.size.random.set(min=128, max=512)
six.rate.percentage = 0.05

# Plain UDP that the filters of the capture let through; a payload of words, and tests of pause and resume.
udp_only = flow("plain", 200)
ethernet, ip, _ = udp_only.packet.ethernet().ipv4().udp()
ends(ethernet)
ip.src.value, ip.dst.value = "10.0.0.1", "10.0.0.2"
udp_only.payload.choice = udp_only.payload.INCREMENT_WORD
pairs = udp_only.size.weight_pairs.custom
pairs.add(size=128, weight=3)
pairs.add(size=512, weight=1)
udp_only.rate.pps = 200

timed = flow("timed", 1, sender="p2")
ethernet = timed.packet.ethernet()[0]
ethernet.src.value, ethernet.dst.value = "02:00:00:00:00:02", "02:00:00:00:00:01"
timed.duration.fixed_seconds.seconds = 0.5
timed.rate.kbps = 200
timed.size.fixed = 230

bursts = flow("bursts", 1)
ends(bursts.packet.ethernet()[0])
burst = bursts.duration.burst
burst.bursts, burst.packets = 5, 4
burst.inter_burst_gap.microseconds = 10000
bursts.rate.pps = 1000
bursts.metrics.latency.set(enable=True, mode="cut_through")
bursts.size.fixed = 100

warnings = list(api.set_config(config).warnings)
told = {"warnings": warnings}

# Each in turn: the flows of a port take turns by their rates only where they are sent together.
for name in ("stack", "six", "timed", "bursts"):
    if name in ("stack", "bursts"):
        capture(api, "start", ["p2"])
    traffic(api, "start", [name])
    until_stopped(api)
    if name in ("stack", "bursts"):
        capture(api, "stop", ["p2"])
told["flows"] = plain(flows(api))
# Ours alone, beside what the specification has.
url = sys.argv[1].replace("grpc://", "http://") + "/netanvil/flows"
details = urllib3.PoolManager(cert_reqs="CERT_NONE").request("GET", url).json()
told["details"] = {flow["name"]: flow for flow in details}

# Pause and resume lose nothing and send nothing twice.
capture(api, "start", ["p2"])
traffic(api, "start", ["plain"])
while int(flows(api, ["plain"])["plain"].frames_tx) < 20:
    time.sleep(0.02)
traffic(api, "pause", ["plain"])
paused = flows(api, ["plain"])["plain"]
time.sleep(0.3)
still = flows(api, ["plain"])["plain"]
told["paused"] = [paused.transmit, paused.frames_tx, still.frames_tx]
traffic(api, "resume", ["plain"])
until_stopped(api)
capture(api, "stop", ["p2"])
told["resumed"] = plain(flows(api, ["plain"]))["plain"]
request = api.capture_request()
request.port_name = "p2"
with open(sys.argv[2], "wb") as file:
    file.write(api.get_capture(request).read())

# Another size and rate for a flow that is stopped.
update = api.config_update()
update.flows.property_names = ["size", "rate"]
udp_only.size.fixed = 300
udp_only.rate.pps = 400
update.flows.flows.append(udp_only)
api.update_config(update)
traffic(api, "start", ["plain"])
until_stopped(api)
told["updated"] = plain(flows(api, ["plain"]))["plain"]


def link(state, names):
    control = api.control_state()
    control.port.link.set(state=state, port_names=names)
    api.set_control_state(control)
    request = api.metrics_request()
    request.port.port_names = names
    request.port.column_names = ["link"]
    deadline = time.time() + 5
    while True:
        found = [metric.link for metric in api.get_metrics(request).port_metrics]
        if found == [state] * len(names) or time.time() > deadline:
            return found
        time.sleep(0.05)


told["down"] = link("down", ["p2"])
told["up"] = link("up", ["p2"])
time.sleep(0.1)
traffic(api, "start", ["timed"])
until_stopped(api)
told["after_up"] = plain(flows(api, ["timed"]))["timed"]

# What is not there is refused with its path.
refused = api.config()
refused.ports.add(name="p1", location="tester0")
refused.devices.add(name="d").ipv4_loopbacks.add(name="l", eth_name="e")
try:
    api.set_config(refused)
    told["refused"] = []
except Exception as error:
    told["refused"] = api.from_exception(error).errors
say(**told)
