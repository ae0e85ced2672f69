#!/bin/bash
# Runs `netanvil versus` and writes what it found as markdown. action.yml says what the variables are.
# Its own exit code is 0 whatever the comparison found: verdict.sh comes after the comment.
set -euo pipefail
mapfile -t lines <<< "$NETANVIL_ARGUMENTS"
arguments=()
for line in "${lines[@]}"; do
    # Spaces around a line are YAML's.
    line="${line#"${line%%[![:space:]]*}"}"
    line="${line%"${line##*[![:space:]]}"}"
    [ -z "$line" ] || arguments+=("$line")
done
folder=$(mktemp -d "${RUNNER_TEMP:-/tmp}/netanvil-versus.XXXXXX")
command=("$NETANVIL_PROGRAM" versus "${arguments[@]}" --yes --out "$folder/results")
[ "${NETANVIL_SUDO:-false}" != true ] || [ "$(id -u)" -eq 0 ] || command=(sudo "${command[@]}")

code=0
"${command[@]}" >"$folder/answer" 2>"$folder/messages" || code=$?
cat "$folder/messages" >&2
case $code in
    0) verdict="passed" ;;
    1) verdict="**failed**: a criterion is met" ;;
    3) verdict="undecided: the bound of a criterion lies within the interval, or nothing was measured" ;;
    *) verdict="**error**: exit code $code" ;;
esac

# What the program prints is text, not markdown: a fence longer than any in it.
fence='```'
while grep -qF "$fence" "$folder/answer" "$folder/messages"; do fence+='`'; done
{
    echo "<!-- netanvil: $NETANVIL_TITLE -->"
    echo "### $NETANVIL_TITLE: $verdict"
    echo
    echo "${fence}text"
    if [ -s "$folder/answer" ]; then cat "$folder/answer"; else tail -n 20 "$folder/messages"; fi
    echo "$fence"
    echo
    echo "Made by $("$NETANVIL_PROGRAM" -V) with these arguments:"
    echo
    echo "${fence}text"
    printf '%s\n' "${arguments[@]}"
    echo "$fence"
} >"$folder/comment.md"

cat "$folder/comment.md" >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
{
    echo "exit-code=$code"
    echo "markdown=$folder/comment.md"
    echo "results=$folder/results"
} >>"${GITHUB_OUTPUT:-/dev/null}"
