#!/bin/sh
# Builds the static program twice, in two folders of different names: both must be the same to the bit.
#
# Usage: extras/packages/reproducible.sh        of the last commit; exit code 1 if they differ
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset CARGO_TARGET_DIR
for folder in one "two/with a longer name"; do
    mkdir -p "$work/$folder"
    git archive HEAD | tar --extract --directory "$work/$folder"
    program=$("$work/$folder/extras/packages/build.sh")
    # Packages hold it so, too.
    sha256sum < "$program" | cut -d ' ' -f 1 | tee -a "$work/digests"
    mv "$program" "$work/$(wc -l < "$work/digests").netanvil"
done
if [ "$(sort -u "$work/digests" | wc -l)" -ne 1 ]; then
    cmp "$work/1.netanvil" "$work/2.netanvil" || true
    echo "reproducible: the two differ" >&2
    exit 1
fi
echo "reproducible: the same program in both folders"
