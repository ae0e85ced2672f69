#!/bin/bash
# Checks what dpdk.sh has made: fields, and that it works in a root that has what its Depends bring and nothing else, where
# two memif ports are joined. As root; apt fetches the packages that it needs.
#
# Usage: extras/packages/dpdk-test.sh FOLDER        exit code 1 if anything is not as it should be
set -euo pipefail
. "$(dirname "$0")/need.sh"
need apt-get:apt dpkg-deb:dpkg jq:jq chroot:coreutils unshare:util-linux
if [ "$(id -u)" -ne 0 ]; then
    echo "dpdk-test: it installs packages and mounts file systems; run it as root" >&2
    exit 2
fi
package=$(readlink -f "$1"/netanvil-dpdk_*.deb) && [ -f "$package" ] || {
    echo "dpdk-test: there is no netanvil-dpdk in $1; make packages-dpdk makes it" >&2
    exit 2
}
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root
failed=0
fail() { echo "FAILED: $*" >&2; failed=1; }
field() { dpkg-deb --field "$package" "$1"; }

# The same program may come from one package alone.
fields() {
    field Depends
    [[ "$(field Depends)" == *"libc6 (>= "*librte-ethdev*librte-net-memif* ]] || fail "Depends"
    [[ "$(field Conflicts),$(field Replaces),$(field Provides)" == "netanvil,netanvil,netanvil (= $(field Version))" ]] || fail "Conflicts"
}

# What apt installs where nothing is installed: of the package's own Depends, without what is only recommended. Their scripts
# would need a shell in the root, hence they are unpacked.
install_in_an_empty_root() {
    mkdir -p "$work/apt/archives/partial" "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/triggers" "$root/usr/lib"
    touch "$work/apt/status" "$root/var/lib/dpkg/status"
    # Debian's merged /usr.
    for folder in bin sbin lib lib64; do mkdir -p "$root/usr/$folder"; ln -s "usr/$folder" "$root/$folder"; done
    apt-get --quiet --quiet --yes --no-install-recommends --download-only \
        -o Dir::State::status="$work/apt/status" -o Dir::Cache::archives="$work/apt/archives" \
        -o APT::Sandbox::User=root -o Debug::NoLocking=1 install "$package" >"$work/apt/said" 2>&1 || {
        cat "$work/apt/said" >&2
        fail "apt finds no way to install it"
        exit 1
    }
    for needed in "$work"/apt/archives/*.deb; do dpkg-deb --fsys-tarfile "$needed" | tar --extract --keep-directory-symlink --directory "$root"; done
    # dpkg knows of none of them there.
    dpkg --root "$root" --log /dev/null --force-depends --install "$package" 2>"$work/dpkg" || fail "dpkg: $(cat "$work/dpkg")"
    echo "root: $(find "$work/apt/archives" -name '*.deb' | wc -l) packages beside it, $(find "$root" -type f | wc -l) files"
}

# In that root, with the kernel's own file systems.
inside() {
    unshare --mount sh -eu -c '
        mount -t proc proc "$1/proc"; mount --rbind /sys "$1/sys"; mount --rbind /dev "$1/dev"; mount -t tmpfs tmpfs "$1/run"
        root=$1; shift
        exec env -i PATH=/usr/bin:/bin "$(command -v chroot)" "$root" /usr/bin/netanvil "$@"' sh "$root" "$@"
}

# A search whose bounds are known: 10 Mbit/s / (8 x (64 + 20)) bits are 14,880 frames a second.
joined() {
    local name=$1 attempt
    shift
    for attempt in 1 2 3; do
        if inside run --profile quick --test throughput --sizes 64 --line-rate 10M --skip-selftest "$@" --out "/runs/$name-$attempt" \
            >"$work/$name.log" 2>&1 &&
            jq --exit-status '.outcomes[] | select(.test == "throughput").figures[]
                | select(.name == "throughput") | .value > 0 and .value < 14881' "$root/runs/$name-$attempt/results.json" >/dev/null
        then
            echo "$name: $(jq -r '.outcomes[] | select(.test == "throughput").figures[0] | "throughput \(.value) \(.unit)"' \
                "$root/runs/$name-$attempt/results.json")"
            return
        fi
        echo "$name, attempt $attempt: no throughput"
    done
    tail -n 20 "$work/$name.log" >&2
    fail "$name: no throughput was decided"
}

fields
install_in_an_empty_root
mkdir -p "$root"/{proc,sys,dev,run,tmp,runs}
inside --version | tee "$work/version"
grep -q '^ports: .*dpdk$' "$work/version" || fail "it has no dpdk ports"
joined memif --ports dpdk:net_memif0,role=server,socket=/run/a.sock,socket-abstract=no \
    --ports dpdk:net_memif1,role=client,socket=/run/a.sock,socket-abstract=no
# A device whose program no package has brought is refused with the one that has it.
refused() {
    if inside run --device "$1" --out /runs/never >"$work/$1.log" 2>&1; then fail "$1 is not refused"; fi
    grep -qF "$2" "$work/$1.log" || fail "$1: $(cat "$work/$1.log")"
}
refused testpmd 'apt install dpdk-dev'
refused ovs-dpdk 'apt install openvswitch-switch'
exit "$failed"
