#!/bin/bash
# Runs the steps of the action as a runner would, on simulated devices, with a stand-in for gh that writes down what it is
# asked. A device that is 10 % slower must fail, the same device must pass, and a second comment must replace the first.
#
# Usage: extras/action/test.sh PROGRAM
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export RUNNER_TEMP=$work GITHUB_STEP_SUMMARY=$work/summary GITHUB_OUTPUT=$work/output GH=$work/gh
export NETANVIL_PROGRAM NETANVIL_SUDO=false NETANVIL_TITLE="a router"
NETANVIL_PROGRAM=$(realpath "$1")
fail() { echo "FAILED: $*" >&2; exit 1; }

cat > "$GH" <<'END'
#!/bin/sh
printf '%s\n' "$*" >> "$RUNNER_TEMP/asked"
case "$*" in *--paginate*) cat "$RUNNER_TEMP/comments" ;; esac
END
chmod +x "$GH"

# 10 us a packet are 100,000 packets a second, 11 us are 90,909.
"$NETANVIL_PROGRAM" devices router > "$work/slower.toml"
sed -i 's/per-frame = "10us"/per-frame = "11us"/' "$work/slower.toml"
grep -q 'per-frame = "11us"' "$work/slower.toml" || fail "the router has another description"

# run B CODE: one comparison
run() {
    : > "$GITHUB_OUTPUT"
    NETANVIL_ARGUMENTS="  --a-sim
    router
    --b-sim
    $1
    --time
    5min
    --fail-if
    rate < 0.97
  " "$here/compare.sh" 2>/dev/null
    grep -qx "exit-code=$2" "$GITHUB_OUTPUT" || fail "$1: $(cat "$GITHUB_OUTPUT")"
    markdown=$(sed -n 's/^markdown=//p' "$GITHUB_OUTPUT")
    [ "$2" -eq 2 ] || [ -s "$(sed -n 's/^results=//p' "$GITHUB_OUTPUT")/results.json" ] || fail "no results.json"
    code=0
    NETANVIL_EXIT_CODE=$2 NETANVIL_FAIL_ON_UNDECIDED=false "$here/verdict.sh" || code=$?
    [ "$code" -eq "$2" ] || fail "verdict $code"
}
comment() {
    NETANVIL_MARKDOWN=$markdown NETANVIL_REPOSITORY=o/r NETANVIL_NUMBER=7 "$here/comment.sh"
}

run router 0
grep -q '^### a router: passed$' "$markdown" || fail "$(cat "$markdown")"
echo '[]' > "$work/comments"
comment
grep -q -- "--method POST repos/o/r/issues/7/comments --field body=@$markdown" "$work/asked" || fail "$(cat "$work/asked")"

run "$work/slower.toml" 1
grep -q '^### a router: \*\*failed\*\*' "$markdown" || fail "$(cat "$markdown")"
# 90,909 / 100,000
grep -qE '0\.909[01]' "$markdown" || fail "$(cat "$markdown")"
jq --null-input --rawfile body "$markdown" '[{id: 41, body: "of somebody"}, {id: 42, body: $body}]' > "$work/comments"
comment
grep -q -- "--method PATCH repos/o/r/issues/comments/42 --field body=@$markdown" "$work/asked" || fail "$(cat "$work/asked")"
cmp <(tail -n "$(wc -l < "$markdown")" "$GITHUB_STEP_SUMMARY") "$markdown" || fail "the summary differs"

run no-such-device 2
NETANVIL_EXIT_CODE=3 NETANVIL_FAIL_ON_UNDECIDED=false "$here/verdict.sh" || fail "undecided fails"
if NETANVIL_EXIT_CODE=3 NETANVIL_FAIL_ON_UNDECIDED=true "$here/verdict.sh"; then fail "undecided passes"; fi
echo "action: passes, fails and comments as it should"
