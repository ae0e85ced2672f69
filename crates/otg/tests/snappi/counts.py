"""Two flows of one port with patterns, counted and captured: URL KIND FORMAT FILE."""

import sys

from common import capture, client, flows, plain, ports, say, traffic, until_stopped

_, _, kind, form, path = sys.argv
api = client()
config = api.config()
config.ports.add(name="p1", location=kind + "tester0")
config.ports.add(name="p2", location=kind + "tester1")
config.captures.add(name="c", port_names=["p2"]).format = form
one = config.flows.add(name="one")
one.tx_rx.port.set(tx_name="p1", rx_names=["p2"])
ethernet, ip, udp = one.packet.ethernet().ipv4().udp()
ethernet.src.value, ethernet.dst.value = "02:00:00:00:00:01", "02:00:00:00:00:02"
ip.src.value = "10.0.0.1"
ip.dst.increment.set(start="10.0.1.1", step="0.0.0.1", count=5)
ip.priority.dscp.phb.value = 46
udp.src_port.value = 1000
udp.dst_port.values = [2000, 2001]
one.size.fixed = 128
one.rate.pps = 2000
one.duration.fixed_packets.packets = 1001
one.metrics.set(enable=True, loss=True, timestamps=True)
one.metrics.latency.enable = True
two = config.flows.add(name="two")
two.tx_rx.port.set(tx_name="p1", rx_names=["p2"])
ethernet, vlan, ip, tcp = two.packet.ethernet().vlan().ipv6().tcp()
ethernet.src.value, ethernet.dst.value = "02:00:00:00:00:01", "02:00:00:00:00:02"
vlan.id.value = 7
ip.src.value, ip.dst.value = "2001:db8::1", "2001:db8::2"
tcp.src_port.value, tcp.dst_port.value = 5, 80
two.size.weight_pairs.predefined = "tcp_imix"
two.rate.pps = 500
two.duration.fixed_packets.packets = 300
two.metrics.enable = True
silent = config.flows.add(name="silent")
silent.tx_rx.port.set(tx_name="p2", rx_names=["p1"])
silent.packet.ethernet()
silent.packet[0].src.value = "02:00:00:00:00:02"
silent.packet[0].dst.value = "02:00:00:00:00:01"
silent.duration.fixed_packets.packets = 10
api.set_config(config)
capture(api, "start", ["p2"])
traffic(api, "start")
ended = until_stopped(api)
# `silent` has no metrics: stopping waits for it too.
traffic(api, "stop")
capture(api, "stop", ["p2"])
request = api.capture_request()
request.port_name = "p2"
with open(path, "wb") as file:
    file.write(api.get_capture(request).read())
fetched = api.get_config()
say(flows=plain(flows(api)), ports=plain(ports(api)), silent="silent" in ended,
    fetched=[flow.duration.fixed_packets.packets for flow in fetched.flows])
