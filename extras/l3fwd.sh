#!/bin/sh
# DPDK's example l3fwd, built out of the source that the distribution has of the DPDK that is installed here:
# l3fwd.sh FOLDER leaves FOLDER/dpdk-l3fwd. Debian has the examples in dpdk-doc; without it the package is fetched, not installed.
#
# One line is changed. l3fwd of DPDK 22.11 asks every port to check checksums of IP, UDP and TCP, and ends where a driver
# cannot: that of memif cannot. Later releases have the option --relax-rx-offload instead.
set -eu

folder=$1
examples=/usr/share/dpdk/examples
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

pkg-config --exists libdpdk || { echo "l3fwd: no libdpdk here: sudo apt-get install libdpdk-dev pkg-config" >&2; exit 1; }
if [ ! -d "$examples/l3fwd" ]; then
    command -v apt-get >/dev/null || { echo "l3fwd: $examples/l3fwd is missing: install the examples of DPDK" >&2; exit 1; }
    version=$(dpkg-query -W -f='${Version}' libdpdk-dev)
    (cd "$folder" && rm -f dpdk-doc_*.deb && apt-get download "dpdk-doc=$version")
    dpkg-deb -x "$folder"/dpdk-doc_*.deb "$folder/package"
    examples=$folder/package/usr/share/dpdk/examples
fi
rm -rf "$folder/examples"
mkdir "$folder/examples"
cp -r "$examples/l3fwd" "$examples/common" "$folder/examples/"
line='\.offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM,'
main=$folder/examples/l3fwd/main.c
[ "$(grep -c "$line" "$main")" = 1 ] || { echo "l3fwd: $main is not the one of DPDK 22.11" >&2; exit 1; }
sed -i "s/$line/.offloads = 0,/" "$main"
make --no-print-directory -C "$folder/examples/l3fwd" shared >"$folder/log" 2>&1 || { tail -20 "$folder/log" >&2; exit 1; }
cp "$folder/examples/l3fwd/build/l3fwd-shared" "$folder/dpdk-l3fwd"
echo "$folder/dpdk-l3fwd"
