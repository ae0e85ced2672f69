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
