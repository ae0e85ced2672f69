#!/usr/bin/env python3
"""Takes what gRPC needs of the specification out of the Python client generated from it: field numbers and types.

    pip install snappi==1.62.0
    python3 extract_grpc.py > otg-1.62.0.binpb

Messages that the JSON specification here (made by extract.py) does not have are left out. A field that netanvil
does not serve stays, with an empty type, so that a request that has it is refused with its path.
"""

import json
import os
import sys

from google.protobuf import descriptor_pb2, empty_pb2
from snappi import otg_pb2

SPECIFICATION = os.path.join(os.path.dirname(os.path.abspath(__file__)), "otg-1.62.0.json")
EMPTY = "NotServed"
PREFIX = ".otg."


def refused(schemas):
    return {
        (name, field)
        for name, schema in schemas.items()
        for field, kind in schema["properties"].items()
        if "x-not-served" in kind
    }


def types_of(message):
    for field in message.field:
        if field.type_name.startswith(PREFIX):
            yield field.type_name[len(PREFIX) :].split(".")[0]
    for inner in message.nested_type:
        yield from types_of(inner)


def main():
    with open(SPECIFICATION) as file:
        not_served = refused(json.load(file)["components"]["schemas"])
    whole = descriptor_pb2.FileDescriptorProto()
    otg_pb2.DESCRIPTOR.CopyToProto(whole)
    messages = {message.name: message for message in whole.message_type}
    for name, message in messages.items():
        for field in message.field:
            is_message = field.type == descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE
            if is_message and (name, field.name) in not_served:
                field.type_name = PREFIX + EMPTY
    wanted = [
        name[len(PREFIX) :]
        for method in whole.service[0].method
        for name in (method.input_type, method.output_type)
        if name.startswith(PREFIX)
    ]
    # The text of an error that a call ends with.
    wanted.append("Error")
    kept = set()
    while wanted:
        name = wanted.pop()
        if name not in kept and name != EMPTY:
            kept.add(name)
            wanted += types_of(messages[name])
    del whole.message_type[:]
    whole.message_type.extend(messages[name] for name in sorted(kept))
    whole.message_type.add(name=EMPTY)
    # Requests without content are Google's `Empty`; what describes descriptors is imported and not used.
    del whole.dependency[:]
    whole.dependency.append(empty_pb2.DESCRIPTOR.name)
    empty = descriptor_pb2.FileDescriptorProto()
    empty_pb2.DESCRIPTOR.CopyToProto(empty)
    files = descriptor_pb2.FileDescriptorSet(file=[empty, whole])
    sys.stdout.buffer.write(files.SerializeToString(deterministic=True))


main()
