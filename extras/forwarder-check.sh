#!/bin/bash
# The throughput that `netanvil run --ports` states of an XDP forwarder, beside what the kernel's own
# counters show that it carries without loss; then both beside two busy loops. Runs as root, in a network
# namespace of its own. Usage: forwarder-check.sh NETANVIL [ROUNDS]
#
# The forwarder is one bpf_redirect() between two veth interfaces: it runs within the tester's sending,
# and takes what the tester can offer. Its rate without loss is what one flood after the other carries
# when the counters of its two interfaces agree.
#
# Exit code 1 unless the median stated is at least 0.95 of the median by the counters, and the median
# stated beside the busy loops at least 0.8 of that without them, or invalid with a reason.
set -euo pipefail
netanvil=$(realpath "$1")
rounds=${2:-5}
if [ -z "${FORWARDER_CHECK:-}" ]; then
    FORWARDER_CHECK=1 exec unshare --net "$0" "$netanvil" "$rounds"
fi
folder=$(mktemp -d)
loops=()
trap 'kill "${loops[@]}" 2>/dev/null; rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
cd "$folder"

ip link set lo up
for pair in 'p0 d0' 'p1 d1'; do
    set -- $pair
    ip link add "$1" type veth peer name "$2"
    for interface in "$1" "$2"; do
        sysctl -qw "net.ipv6.conf.$interface.disable_ipv6=1"
        ip link set "$interface" up
    done
done
ethtool -K p1 gro on
ethtool -K d0 gro on
cat >forward.c <<END
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
SEC("xdp") int forward(struct xdp_md *frame) { return bpf_redirect($(ip -j link show d1 | jq '.[0].ifindex'), 0); }
char LICENSE[] SEC("license") = "GPL";
END
clang -O2 -g -target bpf -I"/usr/include/$(uname -m)-linux-gnu" -c forward.c -o forward.o
ip link set dev d0 xdpdrv obj forward.o sec xdp

counter() { ip -j -s link show "$1" | jq ".[0].stats64.$2.packets"; }
median() { sort -n | awk '{ all[NR] = $1 } END { print NR ? all[int((NR + 1) / 2)] : 0 }'; }

# Frames a second through the forwarder, by the counters of its interfaces; none where they disagree.
by_counters() {
    local in out sending
    in=$(counter d0 rx) out=$(counter d1 tx)
    sending=$("$netanvil" traffic --ports p0,p1 --rate 5Mpps --duration 400ms --json --yes 2>/dev/null |
        tail -1 | jq .sending_s)
    in=$(($(counter d0 rx) - in)) out=$(($(counter d1 tx) - out))
    # The first frame of a port's self-check may be in one count and not in the other.
    [ $((in - out)) -le 1 ] && awk "BEGIN { printf \"%.0f\\n\", $out / $sending }"
}

# The throughput stated, or why there is none.
stated() {
    rm -rf run
    "$netanvil" run --ports p0,p1 --profile quick --test throughput --sizes 64 --skip-selftest --yes \
        --quiet --json --out run >run.json 2>run.err || true
    jq -r '[.outcomes[] | select(.test == "throughput")][0].figures[0] | .value // ("invalid: " + .reason)' run.json
}

measure() { # NAME
    for _ in $(seq "$rounds"); do
        by_counters >>"$1.counters" || echo "forwarder-check: the counters show loss" >&2
        stated | tee -a "$1.all" | grep -v '^invalid' >>"$1.stated" || true
    done
    sed 's/^/'"$1"': stated /' "$1.all" >&2
}

measure quiet
for _ in 1 2; do (exec sh -c 'while :; do :; done') & loops+=($!); done
measure busy
kill "${loops[@]}"; wait 2>/dev/null || true; loops=()

counted=$(median <quiet.counters) quiet=$(median <quiet.stated) busy=$(median <busy.stated)
invalid=$(grep -c '^invalid' busy.all || true)
awk -v counted="$counted" -v quiet="$quiet" -v busy="$busy" -v invalid="$invalid" -v rounds="$rounds" 'BEGIN {
    printf "| | frames/s, median of %d | ratio |\n|---|---|---|\n", rounds
    printf "| by the counters of the kernel | %d | |\n", counted
    printf "| stated | %d | %.3f of the counters |\n", quiet, quiet / counted
    printf "| stated beside two busy loops | %d | %.3f of the quiet figure; %d invalid |\n", busy, busy / quiet, invalid
    exit !(quiet >= 0.95 * counted && (busy >= 0.8 * quiet || invalid > rounds / 2))
}'
