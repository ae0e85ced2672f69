#!/bin/sh
# Runs a sweep like that of docs/fleet.md, random devices by the thousand, with one thread and with one per processor:
# both must write the same bytes, and the speed-up must be at least 0.9 times the number of processors.
# Usage: sweep-check.sh NETANVIL [DEVICES]
set -eu
netanvil=$1
devices=${2:-10000}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
processors=$(nproc)

cat >"$folder/sweep.toml" <<END
name = "routers"
devices = $devices
seed = 1
tests = ["throughput"]
sizes = [1518]
[options]
profile = "quick"
duration = "100ms"
[device]
route = ["ipv4"]
[vary]
"cpu.cost.per-frame" = { from = "10us", to = "200us", scale = "log" }
"input.frames" = { from = 10, to = 500 }
delay = ["0s", "10us", "1ms"]
END

# Seconds that a sweep takes with so many threads; its file has a name of its own, since a sweep goes on with a file.
took() { # NAME THREADS
    began=$(date +%s.%N)
    "$netanvil" campaign sweep "$folder/sweep.toml" --threads "$2" --out "$folder/$1.jsonl" --quiet >"$folder/$1.said"
    echo "$(date +%s.%N) $began" | awk '{ printf "%.1f", $1 - $2 }'
}

one=$(took one 1)
all=$(took all "$processors")
cat "$folder/one.said"
cmp "$folder/one.jsonl" "$folder/all.jsonl" || { echo "the results differ" >&2; exit 1; }
echo
echo "$one $all $processors $devices" | awk '{
    speed_up = $1 / $2
    printf "| devices | 1 thread | %d threads | speed-up | of the processors |\n|---|---|---|---|---|\n", $3
    printf "| %d | %.1f s | %.1f s | %.2f | %.0f %% |\n", $4, $1, $2, speed_up, 100 * speed_up / $3
    exit speed_up < 0.9 * $3
}' || { echo "the speed-up is below 0.9 times the processors; was this host busy?" >&2; exit 1; }
