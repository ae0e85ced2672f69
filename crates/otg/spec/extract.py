#!/usr/bin/env python3
"""Takes the specification of the Open Traffic Generator API out of the Python client generated from it.

    pip download snappi==1.62.0 --no-deps && unzip snappi-1.62.0-py3-none-any.whl snappi/snappi.py
    python3 extract.py snappi/snappi.py > otg-1.62.0.json

The client holds every schema (types, formats, bounds, defaults, required and deprecated properties) and every
path. Its module is parsed, not run. A property in NOT_SERVED stays with `x-not-served`, and what it alone refers
to is left out.
"""

import ast
import json
import sys

VERSION = "1.62.0"

OF_PEERS = ["evpn_ethernet_segments", "traditional_nlri_for_ipv4_routes", "v4_srte_policies", "v6_srte_policies",
            "graceful_restart", "replay_updates"]
OF_ROUTES = ["add_path", "ext_communities", "extended_communities", "mpls_labels"]
# BIRD counts routes, and no messages.
OF_BGP_METRICS = ["session_flap_count", "updates_sent", "updates_received", "opens_sent", "opens_received",
                  "keepalives_sent", "keepalives_received", "notifications_sent", "notifications_received",
                  "end_of_rib_received"]
# Schema -> properties and choices that netanvil refuses.
NOT_SERVED = {
    "Config": ["lags", "events", "lldp", "stateful_flows", "egress_only_tracking"],
    "ConfigOptions": ["protocol_options", "per_port_options", "flow_options"],
    "Device": ["ipv4_loopbacks", "ipv6_loopbacks", "isis", "vxlan", "rsvp", "dhcp_server", "ospfv2",
               "macsec", "ospfv3", "rocev2", "bmp"],
    "DeviceEthernet": ["dhcpv4_interfaces", "dhcpv6_interfaces"],
    "Layer1": ["auto_negotiation", "flow_control"],
    "CaptureEthernet": ["pfc_queue"],
    "EthernetConnection": ["lag_name", "vxlan_name", "simulated_link"],
    "PortOptions": ["data_integrity", "frame_ordering_mode"],
    "ControlAction": ["port"],
    "ActionProtocol": ["bgp", "isis"],
    "Flow": ["egress_packet"],
    "FlowMetrics": ["rx_tx_ratio", "predefined_metric_tags"],
    "FlowHeader": ["gtpv1", "gtpv2", "snmpv2c", "rsvp", "macsec", "lacp", "ipv6_extension_header", "cfm"],
    "FlowEthernet": ["pfc_queue"],
    "FlowIpv4": ["options"],
    "FlowIpv6": ["dst_usids"],
    "StateProtocol": ["lacp", "isis", "ospfv2", "ospfv3", "rocev2"],
    "ConfigUpdate": ["protocols"],
    "FlowMetricsRequest": ["tagged_metrics"],
    "FlowMetric": ["tagged_metrics", "packet_loss_duration"],
    "PortMetric": ["data_integrity"],
    "BgpV4Peer": OF_PEERS,
    "BgpV6Peer": [*OF_PEERS, "segment_routing"],
    "BgpV4RouteRange": OF_ROUTES,
    "BgpV6RouteRange": OF_ROUTES,
    "BgpAdvanced": ["update_interval", "listen_port", "neighbor_port"],
    "BgpLearnedInformationFilter": ["ipv4_mpls_unicast_prefix", "ipv6_mpls_unicast_prefix"],
    "Bgpv4Metric": OF_BGP_METRICS,
    "Bgpv6Metric": OF_BGP_METRICS,
    "BgpPrefixesState": ["ipv4_mpls_unicast_prefixes", "ipv6_mpls_unicast_prefixes"],
    "BgpPrefixIpv4UnicastFilter": ["path_id"],
    "BgpPrefixIpv6UnicastFilter": ["path_id"],
    "BgpPrefixIpv4UnicastState": ["path_id", "extended_communities"],
    "BgpPrefixIpv6UnicastState": ["path_id", "extended_communities"],
    # Every pattern has them.
    "*": ["metric_tags"],
}
# Of the choices of a request, those that are served.
SERVED_ALONE = {
    "MetricsRequest": ["port", "flow", "bgpv4", "bgpv6"],
    "MetricsResponse": ["port_metrics", "flow_metrics", "bgpv4_metrics", "bgpv6_metrics"],
    "StatesRequest": ["ipv4_neighbors", "ipv6_neighbors", "bgp_prefixes"],
    "StatesResponse": ["ipv4_neighbors", "ipv6_neighbors", "bgp_prefixes"],
    "ControlActionResponse": ["warnings", "response"],
    "BgpCapability": ["ipv4_unicast", "ipv6_unicast", "route_refresh"],
    "CaptureRequestPackets": [],
}
PATHS = [
    ("get", "/config", None, "Config"),
    ("post", "/config", "Config", "Warning"),
    ("patch", "/config", "ConfigUpdate", "Warning"),
    ("patch", "/config/append", "ConfigAppend", "Warning"),
    ("patch", "/config/delete", "ConfigDelete", "Warning"),
    ("post", "/control/state", "ControlState", "Warning"),
    ("post", "/control/action", "ControlAction", "ControlActionResponse"),
    ("post", "/monitor/metrics", "MetricsRequest", "MetricsResponse"),
    ("post", "/monitor/states", "StatesRequest", "StatesResponse"),
    ("post", "/monitor/capture", "CaptureRequest", None),
    ("get", "/capabilities/version", None, "Version"),
]
SCALARS = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array"}


def value(node):
    if isinstance(node, ast.Name):
        return SCALARS[node.id]
    if isinstance(node, ast.Dict):
        return {value(k): value(v) for k, v in zip(node.keys, node.values)}
    if isinstance(node, (ast.List, ast.Tuple)):
        return [value(item) for item in node.elts]
    return ast.literal_eval(node)


def classes(module):
    found = {}
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            fields = {}
            for line in node.body:
                if isinstance(line, ast.Assign) and getattr(line.targets[0], "id", "")[:1] == "_":
                    name = line.targets[0].id
                    if name in ("_TYPES", "_REQUIRED", "_DEFAULTS", "_STATUS"):
                        fields[name] = value(line.value)
            if "_TYPES" in fields:
                found[node.name] = fields
    return found


def reference(name, known):
    if name in known:
        return {"$ref": "#/components/schemas/" + name}
    if name.endswith("Iter") and name[:-4] in known:
        return {"type": "array", "items": {"$ref": "#/components/schemas/" + name[:-4]}}
    raise SystemExit("no schema " + name)


def scalar(kind, form, source):
    schema = {"type": kind}
    if form:
        schema["format"] = form
    for key in ("enum", "minimum", "maximum", "minLength", "maxLength", "pattern"):
        if key in source:
            schema[key] = source[key]
    return schema


def property_schema(types, known):
    kind = types["type"]
    if kind not in SCALARS.values():
        return reference(kind, known)
    if kind != "array":
        return scalar(kind, types.get("format"), types)
    items = types["itemtype"]
    if items not in SCALARS.values():
        return {"type": "array", "items": {"$ref": "#/components/schemas/" + items}}
    return {"type": "array", "items": scalar(items, types.get("itemformat") or types.get("format"), types)}


def is_served(schema, name):
    if schema in SERVED_ALONE and name != "choice":
        return name in SERVED_ALONE[schema]
    return name not in (NOT_SERVED.get(schema, [])) and name not in NOT_SERVED["*"]


def schema_of(name, fields, known):
    types, defaults, status = fields["_TYPES"], fields.get("_DEFAULTS", {}), fields.get("_STATUS", {})
    properties = {}
    for prop, type_ in types.items():
        served = is_served(name, prop)
        schema = property_schema(type_, known) if served else {"x-not-served": True}
        # That of a property that is not served is what clients write who leave it as it is.
        if prop in defaults:
            schema["default"] = defaults[prop]
        if prop in status:
            schema["x-status"] = status[prop]
        properties[prop] = schema
    schema = {"type": "object", "additionalProperties": False, "properties": properties}
    if fields.get("_REQUIRED"):
        schema["required"] = list(fields["_REQUIRED"])
    return schema


def referred(schema):
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"].rsplit("/", 1)[1]
        for inner in schema.values():
            yield from referred(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from referred(inner)


def paths():
    def body(schema):
        return {"application/json": {"schema": {"$ref": "#/components/schemas/" + schema}}}

    found = {}
    for verb, path, request, response in PATHS:
        content = body(response) if response else {
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
        operation = {
            "operationId": verb + path.replace("/", "_"),
            "responses": {"200": {"description": "Done.", "content": content},
                          "default": {"description": "Not done.", "content": body("Error")}},
        }
        if request:
            operation["requestBody"] = {"required": True, "content": body(request)}
        found.setdefault(path, {})[verb] = operation
    return found


def main():
    known = classes(ast.parse(open(sys.argv[1]).read()))
    wanted = [name for _, _, *ends in PATHS for name in ends if name] + ["Error"]
    schemas = {}
    while wanted:
        name = wanted.pop()
        if name in schemas:
            continue
        schemas[name] = schema_of(name, known[name], known)
        wanted += referred(schemas[name])
    document = {
        "openapi": "3.0.3",
        "info": {
            "title": "Open Traffic Generator API",
            "version": VERSION,
            "license": {"name": "MIT"},
            "description": "Taken from snappi " + VERSION + " (PyPI, Copyright Open Traffic Generator, MIT licence: "
            "spec/LICENSE) by extract.py. `x-not-served` marks what netanvil refuses.",
        },
        "paths": paths(),
        "components": {"schemas": dict(sorted(schemas.items()))},
    }
    json.dump(document, sys.stdout, indent=1)
    print()


main()
