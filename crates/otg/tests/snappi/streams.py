"""A configuration and answers that are too long for one message, streamed: URL, then the messages that were made.

snappi streams a request that is longer than its chunk, and every answer.
"""

from common import capture, client, flows, ports, say, traffic, until_stopped

FRAMES = 15000
api = client()
api.enable_grpc_streaming = True
api.chunk_size = 1
calls = []
stub = api._get_stub()
for name in list(vars(stub)):
    def counted(*given, call=getattr(stub, name), name=name, **more):
        calls.append(name)
        return call(*given, **more)

    setattr(stub, name, counted)
config = api.config()
config.ports.add(name="p1", location="af_packet:tester0")
config.ports.add(name="p2", location="af_packet:tester1")
config.captures.add(name="c", port_names=["p2"]).format = "pcap"
flow = config.flows.add(name="f")
flow.tx_rx.port.set(tx_name="p1", rx_names=["p2"])
ethernet, ip, udp = flow.packet.ethernet().ipv4().udp()
ethernet.src.value, ethernet.dst.value = "02:00:00:00:00:01", "02:00:00:00:00:02"
numbers = [(number // 256, number % 256) for number in range(FRAMES)]
ip.src.values = ["10.1.%d.%d" % pair for pair in numbers]
ip.dst.values = ["10.2.%d.%d" % pair for pair in numbers]
udp.dst_port.values = list(range(1, FRAMES + 1))
flow.size.fixed = 256
flow.rate.pps = 10000
flow.duration.fixed_packets.packets = FRAMES
flow.metrics.enable = True
# Two more like it make the configuration longer than a chunk; they are not started.
for name in ("again", "more"):
    config.flows.add(name=name).deserialize(flow.serialize())
    config.flows[-1].name = name
length = len(config.serialize(encoding="json"))
api.set_config(config)
fetched = api.get_config()
capture(api, "start", ["p2"])
traffic(api, "start", ["f"])
until_stopped(api)
capture(api, "stop", ["p2"])
request = api.capture_request()
request.port_name = "p2"
captured = api.get_capture(request).read()
states = api.states_request()
states.ipv4_neighbors.ethernet_names = []
api.get_states(states)
found = flows(api)["f"]
say(calls=sorted(set(calls)), length=length, flows=[flow.name for flow in fetched.flows],
    same=fetched.flows[0].packet[1].src.values == ip.src.values,
    sent=found.frames_tx, received=found.frames_rx, captured=len(captured), ports=len(ports(api)))
