#!/bin/sh
# Repeats `netanvil versus` on the kernel's router: a difference of 3 % by tbf, one nftables rule
# more, and no difference at all. Usage: versus-check.sh NETANVIL [REPETITIONS]
# Exit code 1 unless every repetition found what is there, and nothing where there is nothing.
set -u
netanvil=$1
repetitions=${2:-20}
wrong=0

# NAME, the exit code expected, then arguments.
check() {
    name=$1 expected=$2
    shift 2
    right=0
    for repetition in $(seq "$repetitions"); do
        "$netanvil" versus --device linux-router --quiet --seed "$repetition" "$@" >/tmp/versus-check.$$
        code=$?
        if [ $code -eq "$expected" ]; then
            right=$((right + 1))
        else
            wrong=$((wrong + 1))
            echo "$name, repetition $repetition: exit code $code instead of $expected"
            cat /tmp/versus-check.$$
        fi
    done
    rm -f /tmp/versus-check.$$
    echo "$name: $right of $repetitions"
}

rule='nft add table inet versus; nft add chain inet versus f "{ type filter hook forward priority 0; }"; nft add rule inet versus f ip saddr 203.0.113.1 drop'
no_rule='nft delete table inet versus 2>/dev/null; true'

check 'a tbf 3 % slower' 1 --a '--tbf-rate 100M' --b '--tbf-rate 97M' --sizes 512 --fail-if 'rate < 0.985'
check 'the same tbf' 0 --tbf-rate 100M --sizes 512 --fail-if 'rate < 0.985' --fail-if 'rate > 1.015'
check 'one rule more' 1 --a-do "$no_rule" --b-do "$no_rule; $rule" --fail-if 'rate < 0.999'
check 'the same rules' 0 --a-do "$no_rule" --b-do "$no_rule" --fail-if 'rate < 0.97' --fail-if 'rate > 1.03'
[ $wrong -eq 0 ]
