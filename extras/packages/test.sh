#!/bin/bash
# Checks what packages.sh has made: size, start, links, lint; then installs each package into an empty root and tests a
# router from there. As root.
#
# Usage: extras/packages/test.sh FOLDER        exit code 1 if anything is not as it should be
set -euo pipefail
. "$(dirname "$0")/need.sh"
need lintian:lintian rpm:rpm rpmlint:rpmlint mandoc:mandoc jq:jq systemd-analyze:systemd umoci:umoci readelf:binutils
if [ "$(id -u)" -ne 0 ]; then
    echo "test: it installs packages and mounts file systems; run it as root" >&2
    exit 2
elif [ ! -x "$1/netanvil" ]; then
    echo "test: there are no packages in $1; make packages makes them" >&2
    exit 2
fi
out=$(cd "$1" && pwd -P)
program=$out/netanvil
bytes_max=20000000
start_max_ms=100
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
failed=0
fail() { echo "FAILED: $*" >&2; failed=1; }

size_and_start() {
    local bytes began ended ms
    bytes=$(stat --format %s "$program")
    echo "size: $bytes bytes (at most $bytes_max)"
    [ "$bytes" -le "$bytes_max" ] || fail "the program has $bytes bytes"
    began=$(date +%s%N)
    for _ in $(seq 50); do "$program" -V >/dev/null; done
    ended=$(date +%s%N)
    ms=$(awk "BEGIN { printf \"%.1f\", ($ended - $began) / 50e6 }")
    echo "start: $ms ms, mean of 50 (at most $start_max_ms)"
    awk "BEGIN { exit !($ms <= $start_max_ms) }" || fail "it takes $ms ms to start"
    "$program" --version
    # The kernel's ports; those of DPDK load libraries, which a static program cannot.
    "$program" --version | grep -q '^ports: xdp, af_xdp, af_packet (without dpdk: ' || fail "a kind of port is missing"
    # A device that takes such ports is refused with the reason.
    # Its exit code is 2, which the pipe would pass on.
    { "$program" run --device testpmd --out "$work/never" 2>&1 || true; } | grep -q 'testpmd needs dpdk ports' || fail "testpmd is not refused"
    # Neither a loader nor a library is asked for.
    if readelf --program-headers --dynamic "$program" | grep -E 'INTERP|NEEDED'; then fail "it is not static"; fi
}

# A tool that finds fault gives an exit code.
lint() {
    lintian --allow-root --fail-on error,warning --suppress-tags-from-file "$(dirname "$0")/lintian-suppressed" "$out"/netanvil_*.deb || fail lintian
    rpmlint --rpmlintrc "$(dirname "$0")/rpmlintrc" "$out"/*.rpm || fail rpmlint
    for page in "$work"/deb/usr/share/man/man1/*.gz; do
        zcat "$page" | mandoc -Tlint -Wwarning || fail "mandoc: $page"
    done
    # The program has to be where the unit says.
    # An empty root has no shell, which is another package's.
    systemd-analyze verify --man=no --recursive-errors=no --root="$work/deb" netanvil.service 2>"$work/unit" || true
    if grep -F netanvil.service "$work/unit" | grep -vF 'Command /bin/sh is not executable'; then fail "systemd-analyze verify"; fi
    bash -n "$work/deb/usr/share/bash-completion/completions/netanvil" || fail "completions for bash"
}

install_all() {
    mkdir -p "$work/static/bin" && cp "$program" "$work/static/bin/"
    mkdir -p "$work/archive" && tar --extract --file "$(ls "$out"/netanvil-*.tar.gz)" --directory "$work/archive" --strip-components 1
    mkdir -p "$work/deb/var/lib/dpkg/updates" "$work/deb/var/lib/dpkg/info"
    touch "$work/deb/var/lib/dpkg/status"
    dpkg --root "$work/deb" --log /dev/null --install "$out"/netanvil_*.deb
    mkdir -p "$work/rpm" && rpm --root "$work/rpm" --initdb 
    # Nothing is asked for but rpm's own features and a shell, which the unit uses and an empty root lacks.
    if rpm --query --package --requires "$out"/*.rpm | grep -vE '^(/bin/sh|rpmlib\()'; then fail "the rpm requires more"; fi
    rpm --root "$work/rpm" --install --nodeps "$out"/*.rpm
    umoci unpack --image "$out/oci:latest" "$work/image" >/dev/null 2>&1 && mv "$work/image/rootfs" "$work/oci"
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-index "$out"/*.whl
    mkdir -p "$work/wheel/bin" && cp "$work/venv/bin/netanvil" "$work/wheel/bin/"
    for root in static archive deb rpm oci wheel; do
        cmp "$program" "$(ls "$work/$root"/{usr/,}bin/netanvil 2>/dev/null)" || fail "$root has another program"
    done
}

# A test of a router in namespaces, from a root that has nothing but the package and the kernel's own file systems.
demo() {
    local root=$work/$1 attempt
    mkdir -p "$root/proc" "$root/sys" "$root/dev" "$root/run" "$root/tmp" "$root/runs"
    for attempt in 1 2 3; do
        if unshare --mount sh -eu -c '
            mount -t proc proc "$1/proc"; mount --rbind /sys "$1/sys"; mount --rbind /dev "$1/dev"
            mount -t tmpfs tmpfs "$1/run"
            program=/usr/bin/netanvil; [ -e "$1$program" ] || program=/bin/netanvil
            exec env -i PATH=/usr/bin:/bin "$(command -v chroot)" "$1" "$program" run --device linux-router --profile quick \
                --test throughput --sizes 64 --out "/runs/$2"' sh "$root" "$attempt" >"$work/$1.log" 2>&1
        then
            if jq --exit-status '.outcomes[] | select(.test == "throughput").figures[]
                    | select(.name == "throughput") | .value > 0 and .low <= .value' "$root/runs/$attempt/results.json" >/dev/null
            then
                echo "$1: $(find "$root" -xdev -type f -not -path '*/runs/*' | wc -l) files;" \
                    "$(jq -r '.outcomes[] | select(.test == "throughput").figures[0] | "throughput \(.value) \(.unit)"' "$root/runs/$attempt/results.json")"
                return
            fi
            echo "$1, attempt $attempt: no throughput"
        else
            # 3: a test had no valid trial, as on a machine that is busy.
            echo "$1, attempt $attempt: exit code $?"
        fi
    done
    tail -n 30 "$work/$1.log" >&2
    fail "$1: no throughput was decided"
}

size_and_start
install_all
lint
for root in static archive deb rpm oci wheel; do demo "$root"; done
# The module starts the program that came with it. The router's truth is 100,000 frames a second.
(cd "$work" && "$work/venv/bin/python" -c '
import netanvil
result = netanvil.run(sim="router", profile="quick", test=["throughput"], sizes=[64])
assert result.throughput(64) >= 90_000
print("wheel:", result.throughput(64))
') || fail "the module in the wheel"
(cd "$out" && sha256sum --check --quiet SHA256SUMS) || fail "SHA256SUMS"
jq --exit-status '.bomFormat == "CycloneDX" and (.components | length) > 100' "$out"/*.cdx.json >/dev/null || fail "bill of materials"
jq -r '"bill of materials: \(.components | length) components"' "$out"/*.cdx.json
exit "$failed"
