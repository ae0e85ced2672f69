#!/bin/sh
# Runs the tests on real devices: those of modules `concurrent`, which measure nothing and mostly wait, several at a
# time; then the live ones one at a time, since two would take each other's processors.
#
# A test whose tester was held up says so in the file UNDECIDED. A test that fails is run once more: if it passes
# then, it is unsteady, and stands in that file too. More than MAX lines there are a failure, as is a test that fails
# twice, and a valid trial that disagrees with the kernel, at once.
#
# Usage: extras/test-live.sh UNDECIDED MAX
set -u
undecided=$1 max=$2
mkdir -p "$(dirname "$undecided")"
: > "$undecided"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export NETANVIL_UNDECIDED="$undecided"

{
    status=0
    cargo test --no-fail-fast --tests -- concurrent:: --test-threads=4 || status=$?
    cargo test --no-fail-fast --tests -- live:: --test-threads=1 || status=$?
    echo "exit $status"
} 2>&1 | tee "$log"
status=$(sed -n 's/^exit \([0-9]*\)$/\1/p' "$log" | tail -n 1)
failed=$(sed -nE 's/^    ((live|concurrent)::[a-z0-9_:]*)$/\1/p' "$log" | sort -u)

# A program that was killed says nothing of the tests that it had yet to run.
killed=$(grep -c "process didn't exit successfully.*(signal" "$log")

if [ "$status" -ne 0 ] && [ -n "$failed" ] && [ "$killed" -eq 0 ] && ! grep -q "disagree with the kernel" "$log"; then
    echo "live tests: once more what failed:" $failed
    # shellcheck disable=SC2086  # names hold no spaces
    if cargo test --no-fail-fast --tests -- --exact $failed --test-threads=1; then
        status=0
        for name in $failed; do echo "UNSTEADY $name: failed, then passed" >> "$undecided"; done
    fi
fi

sort -u "$undecided"
count=$(cut -d' ' -f1,2 "$undecided" | sort -u | wc -l)
echo "live tests: $count undecided or unsteady; at most $max may be"
[ "$count" -le "$max" ] && exit "$status"
