#!/bin/bash
# `netanvil traffic` between two xdp ports of a loopback, beside testpmd and `iperf3 -u` over a veth pair, in one run:
# rate reached, and loss counted. Runs as root, in network namespaces of its own.
# Usage: traffic-check.sh NETANVIL [RATE_PPS] [SECONDS]
#
# Each is asked for RATE frames of 64 bytes a second for so long. testpmd (af_packet) has no rate: it sends as fast as
# it can. Its loss is what its receiver counts less than its sender; that of iperf3 what its server counts.
#
# Exit code 1 unless netanvil's accounts close (sent = received + lost, second by second as in the summary), its
# tester kept up, there was a line each second with a latency, and the cable lost nothing.
set -euo pipefail
netanvil=$(realpath "$1")
rate=${2:-1000000}
seconds=${3:-30}
if [ -z "${TRAFFIC_CHECK:-}" ]; then
    TRAFFIC_CHECK=1 exec unshare --net --mount "$0" "$netanvil" "$rate" "$seconds"
fi
folder=$(mktemp -d)
far=traffic-check-$$
started=()
trap 'kill "${started[@]}" 2>/dev/null || true; ip netns del $far 2>/dev/null || true; rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
cd "$folder"

row() { printf '%-22s %14s %14s %14s %12s  %s\n' "$@"; }
per_second() { awk "BEGIN { printf \"%.0f\", $1 / $2 }"; }

"$netanvil" traffic --device loopback --port-type xdp --rate "${rate}pps" --duration "${seconds}s" --json >netanvil.json ||
    [ $? -eq 3 ]
summary() { tail -1 netanvil.json | jq -r "$1"; }

ip link set lo up
ip link add p0 type veth peer name p1
for interface in p0 p1; do
    sysctl -qw "net.ipv6.conf.$interface.disable_ipv6=1"
    ip link set "$interface" up
done

# Lines that testpmd says: the totals of a port at its end.
testpmd() {
    local name=$1 core=$2 interface=$3
    shift 3
    timeout -s INT "$((seconds + 20))" dpdk-testpmd --lcores "0@$core,1@$core" --no-huge -m 256 --no-pci --no-telemetry \
        --file-prefix "$name-$$" \
        --vdev "net_af_packet0,iface=$interface,blocksz=4096,framesz=2048,framecnt=512,qpairs=1,qdisc_bypass=1" \
        -- --forward-mode="$1" --txpkts=60 --nb-cores=1 --total-num-mbufs=16384 --burst=32 --txd=1024 --rxd=1024 \
        --stats-period=1 --no-mlockall >"$name.txt" 2>&1
}
last=$(($(nproc) - 1))
testpmd receive "$last" p1 rxonly &
started+=($!)
receiver=$!
sleep 3
testpmd send 0 p0 txonly &
started+=($!)
sender=$!
sleep "$seconds"
# The sender first, so that the receiver counts all that it sent.
children() { pgrep -P "$1" || true; }
kill -INT $(children "$sender") 2>/dev/null || true
sleep 1
kill -INT $(children "$receiver") 2>/dev/null || true
wait "$sender" "$receiver" 2>/dev/null || true
# The accumulated totals, or what the last statistics said.
total() { sed -n "s/.*$2-packets: *\([0-9]*\).*/\1/p" "$1.txt" | tail -1; }

ip netns add "$far"
ip link set p1 netns "$far"
ip addr add 198.18.0.1/24 dev p0
ip -n "$far" addr add 198.18.0.2/24 dev p1
ip -n "$far" link set p1 up
ip link set p0 up
ip netns exec "$far" iperf3 -s -1 >iperf-server.txt 2>&1 &
started+=($!)
sleep 1
# 18 bytes of payload are a frame of 64 bytes.
iperf3 -c 198.18.0.2 -u -l 18 -b "$((rate * 18 * 8))" -t "$seconds" -J >iperf.json || true

row '' 'asked fps' 'sent fps' 'received fps' lost latency
row 'netanvil traffic, xdp' "$rate" "$(summary '.sent_fps | round')" "$(summary '.received_fps | round')" \
    "$(summary .lost_frames)" "$(summary '"p50 \(.latency.p50_ns) ns, p99 \(.latency.p99_ns) ns, max \(.latency.max_ns) ns"')"
sent=$(total send TX) received=$(total receive RX)
if [ -n "$sent" ] && [ -n "$received" ]; then
    row 'testpmd, af_packet' 'all it can' "$(per_second "$sent" "$seconds")" "$(per_second "$received" "$seconds")" \
        "$((sent - received))" 'not measured'
else
    row 'testpmd, af_packet' 'all it can' '-' '-' '-' 'it did not say its totals'
fi
row 'iperf3 -u' "$rate" \
    "$(jq -r '(.end.sum.packets / .end.sum.seconds) | round' iperf.json 2>/dev/null || echo -)" \
    "$(jq -r '((.end.sum.packets - .end.sum.lost_packets) / .end.sum.seconds) | round' iperf.json 2>/dev/null || echo -)" \
    "$(jq -r '.end.sum.lost_packets' iperf.json 2>/dev/null || echo -)" \
    "$(jq -r '"jitter \(.end.sum.jitter_ms * 1000 | round) us"' iperf.json 2>/dev/null || echo -)"

fail=0
check() { # WHAT: a condition over all lines
    if ! jq -se "$2" netanvil.json >/dev/null; then
        echo "traffic-check: $1" >&2
        fail=1
    fi
}
check 'sent is not received and lost' '.[-1] | .sent_frames == .received_frames + .lost_frames'
for key in sent_frames received_frames lost_frames; do
    check "the lines do not add up to the summary: $key" ".[-1].$key == ([.[] | select(.event == \"second\").$key] | add)"
done
check 'fewer lines than seconds' "[.[] | select(.event == \"second\")] | length >= $seconds"
check 'a second without a latency' "[.[] | select(.event == \"second\")][:$((seconds - 1))] | all(.latency.p99_ns > 0)"
check 'the cable lost frames' '.[-1].lost_frames == 0'
check 'the tester fell short' '.[-1].tester_kept_up'
summary '.tester_fell_short[]' >&2
exit $fail
