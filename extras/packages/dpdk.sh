#!/bin/sh
# Makes netanvil-dpdk_*.deb: the program with dpdk ports, for glibc, against this distribution's DPDK. The static program of
# the other packages cannot load DPDK's libraries. It has the same files, hence it takes the place of netanvil.
#
# Usage: extras/packages/dpdk.sh FOLDER [PROGRAM]        PROGRAM is one that is built already
set -eu
umask 022
here=$(cd "$(dirname "$0")/../.." && pwd -P)
cd "$here"
. extras/packages/need.sh
need git:git gzip:gzip readelf:binutils strip:binutils python3:python3 dpkg-shlibdeps:dpkg-dev dpkg-deb:dpkg
mkdir -p "$1"
out=$(cd "$1" && pwd -P)
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct)}"
export SOURCE_DATE_EPOCH
refuse() { echo "dpdk: $*" >&2; exit 2; }

program=${2:-}
if [ -z "$program" ]; then
    need cargo:cargo clang:clang gcc:gcc pkg-config:pkg-config
    target=$(uname -m)-unknown-linux-gnu
    . extras/packages/flags.sh
    cargo build --profile dist --target "$target" --package netanvil --locked >&2
    program=${CARGO_TARGET_DIR:-$here/target}/$target/dist/netanvil
fi
"$program" --version | grep -q '^ports: .*dpdk$' ||
    refuse "$program has no dpdk ports; on Debian: sudo apt-get install libdpdk-dev pkg-config gcc, and build again"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$("$program" -V | cut -d ' ' -f 2)
stage=$work/stage
documents=$stage/usr/share/doc/netanvil-dpdk
bill=$out/netanvil-$version.cdx.json
[ -f "$bill" ] || bill=
extras/packages/install.sh "$program" "$stage" /usr "$bill"
mv "$stage/usr/share/doc/netanvil" "$documents"
mkdir -p "$stage/usr/share/zsh/vendor-completions"
mv "$stage/usr/share/zsh/site-functions/_netanvil" "$stage/usr/share/zsh/vendor-completions/"
rm -r "$stage/usr/share/zsh/site-functions" "$documents/CHANGELOG.md" "$documents"/LICENSE-*
# That program has no musl in it.
sed -e 's/ with libraries under licences of their own, musl$/ with libraries under licences of their own,/' \
    -e 's/^ (MIT) and those that/ those that/' extras/packages/copyright > "$documents/copyright"
printf 'netanvil (%s-1) unstable; urgency=medium\n\n  * Changes are listed in CHANGELOG.md of the sources.\n\n -- %s  %s\n' \
    "$version" "The netanvil authors <authors@netanvil.invalid>" \
    "$(LC_ALL=C date --utc --date "@$SOURCE_DATE_EPOCH" '+%a, %d %b %Y %H:%M:%S +0000')" |
    gzip -9n > "$documents/changelog.Debian.gz"

# What the program needs at once, and what its part for DPDK, an ELF file within it, needs when a dpdk port is opened.
extras/packages/dpdk-part.py "$program" > "$work/part.so"
mkdir -p "$work/debian"
printf 'Source: netanvil\n\nPackage: netanvil-dpdk\nArchitecture: any\n' > "$work/debian/control"
libraries=$(cd "$work" && dpkg-shlibdeps -O -e "$stage/usr/bin/netanvil" -e part.so 2>"$work/said" | sed -n 's/^shlibs:Depends=//p')
case $libraries in
    *librte-ethdev*) ;;
    *) cat "$work/said" >&2; refuse "dpkg-shlibdeps names no library of DPDK: $libraries" ;;
esac
# Drivers are no libraries: DPDK looks for them in a folder. Those of virtual devices, and what none of them works without.
abi=$(readelf --dynamic --wide "$work/part.so" | sed -n 's/.*\[librte_eal\.so\.\([0-9]*\)\].*/\1/p')
drivers=''
for driver in bus-vdev bus-pci mempool-ring net-af-packet net-memif net-ring net-vhost net-virtio; do
    drivers="$drivers, librte-$driver$abi"
done

mkdir -p "$stage/DEBIAN"
(cd "$stage" && find usr -type f -exec md5sum {} + | sort -k 2 > DEBIAN/md5sums)
cat > "$stage/DEBIAN/control" <<END
Package: netanvil-dpdk
Source: netanvil
Version: $version-1
Architecture: $(dpkg --print-architecture)
Maintainer: The netanvil authors <authors@netanvil.invalid>
Installed-Size: $(du -sk --apparent-size "$stage/usr" | cut -f 1)
Depends: $libraries$drivers
Recommends: dpdk, ethtool, iproute2, librte-meta-net, nftables, procps
Suggests: bird2, dpdk-dev, frr, openvswitch-switch-dpdk, snmpd, tayga
Provides: netanvil (= $version-1)
Conflicts: netanvil
Replaces: netanvil
Section: net
Priority: optional
Homepage: https://github.com/netanvil/netanvil
Description: Tester of network devices: RFC 2544 and later benchmarks (DPDK)
 netanvil runs the benchmarks of RFC 2544 and of the RFCs that followed against
 a device between two network interfaces, against a device that it builds from
 the Linux kernel, or against a simulated one. Each trial also measures the
 tester itself.
 .
 This program has ports on DPDK beside those of the kernel: memif, vhost-user,
 and network cards that were taken from the kernel. It takes the place of the
 package netanvil.
END
find "$stage" -exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} +
rm -f "$out"/netanvil-dpdk_*.deb
dpkg-deb --root-owner-group --build "$stage" "$out/netanvil-dpdk_$version-1_$(dpkg --print-architecture).deb"
