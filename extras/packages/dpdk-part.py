#!/usr/bin/env python3
"""Writes the part for DPDK of a program of netanvil to standard output: the shared object among its bytes.

Usage: extras/packages/dpdk-part.py PROGRAM

It is an ELF file of 64 bits (System V ABI, chapter 4) that has the function nv_abi (crates/ports/dpdk/shim.c); BPF programs
are such files, too, without it. It ends with its table of section headers, as linkers lay it out.
"""

import struct
import sys

MAGIC = b"\x7fELF\x02\x01"
SECTIONS_AT, SECTION_BYTES_AT = 0x28, 0x3A
ABI = b"\0nv_abi\0"


def files(program):
    """Every ELF file within a program but itself."""
    at = program.find(MAGIC, 1)
    while at > 0:
        (sections,) = struct.unpack_from("<Q", program, at + SECTIONS_AT)
        section_bytes, count = struct.unpack_from("<HH", program, at + SECTION_BYTES_AT)
        yield program[at : at + sections + section_bytes * count]
        at = program.find(MAGIC, at + 1)


def main():
    with open(sys.argv[1], "rb") as file:
        program = file.read()
    parts = [part for part in files(program) if ABI in part]
    if len(parts) != 1:
        sys.exit(f"dpdk-part: {sys.argv[1]} has {len(parts)} parts for DPDK, not one")
    sys.stdout.buffer.write(parts[0])


main()
