#!/bin/sh
# Repeats `netanvil versus` on the kernel's router: a tbf 3 % slower and the same tbf, one nftables rule
# more and the same rules. Prints a table. Usage: versus-check.sh NETANVIL [REPETITIONS [FIRST [CASE]]]
# FIRST is the first repetition's number, its seed; CASE is one of tbf, same-tbf, rule, same-rules.
# Exit code 1 unless every repetition found what is there, and nothing where there is nothing.
set -u
netanvil=$1
repetitions=${2:-20}
first=${3:-1}
only=${4:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
wrong=0

# CASE, its name, the true ratio if known, the metric shown, the exit code expected, then arguments.
check() {
    case=$1 name=$2 truth=$3 metric=$4 expected=$5
    shift 5
    [ -z "$only" ] || [ "$only" = "$case" ] || return 0
    right=0
    for repetition in $(seq "$first" $((first + repetitions - 1))); do
        run=$folder/$case-$repetition
        "$netanvil" versus --device linux-router --quiet --seed "$repetition" --out "$run" "$@" \
            >"$folder/said" 2>&1
        code=$?
        if [ $code -eq "$expected" ]; then
            right=$((right + 1))
        else
            wrong=$((wrong + 1))
            echo "$name, repetition $repetition: exit code $code instead of $expected" >&2
            cat "$folder/said" >&2
        fi
        grep "^$metric," "$run/results.csv" >>"$folder/$case.csv"
        sed -n 's/.* invalid; \([0-9]*\) s$/\1/p' "$folder/said" >>"$folder/$case.took"
        [ -z "${KEEP:-}" ] || grep "^$metric," "$run/results.csv" >>"$KEEP-$case.csv"
    done
    # Columns of results.csv: ratio, low and high are the 7th to the 9th.
    figures=$(awk -F, '$7 != "" { n++; ratio += $7; half += ($9 - $8) / 2 }
        END { if (n) printf "%.4f | %.2f %%", ratio / n, 100 * half / n; else printf "- | -" }' "$folder/$case.csv")
    took=$(awk '{ n++; s += $1 } END { printf "%.0f s", n ? s / n : 0 }' "$folder/$case.took")
    echo "| $name | $metric | $truth | $right of $repetitions | $figures | $took |"
}

hook='table inet versus
delete table inet versus
table inet versus {
    chain forward {
        type filter hook forward priority 0
'
with() { printf "nft -f - <<'END'\n%s%s\n    }\n}\nEND" "$hook" "$1"; }
one=$(with '        ip saddr 203.0.113.1 drop')
none='nft delete table inet versus 2>/dev/null; true'

echo '| case | metric | true B/A | right | mean B/A | mean half width | mean time |'
echo '|---|---|---|---|---|---|---|'
check tbf 'a tbf 3 % slower' 0.9700 rate 1 --a '--tbf-rate 100M' --b '--tbf-rate 97M' --sizes 512 \
    --fail-if 'rate < 0.985'
check same-tbf 'the same tbf' 1.0000 rate 0 --tbf-rate 100M --sizes 512 \
    --fail-if 'rate < 0.985' --fail-if 'rate > 1.015'
check rule 'one nftables rule more' 'not known' cost 1 --a-do "$none" --b-do "$one" --time 90s \
    --fail-if 'cost > 1.03'
check same-rules 'the same rule' 1.0000 cost 0 --a-do "$one" --b-do "$one" --time 90s \
    --fail-if 'cost > 1.03' --fail-if 'cost < 0.97'
[ $wrong -eq 0 ]
