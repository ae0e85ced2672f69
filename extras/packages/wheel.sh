#!/bin/sh
# Writes the wheel with the program that the other packages have. It is static, hence the widest tag.
#
# Usage: extras/packages/wheel.sh TARGET FOLDER        after build.sh for the same target
set -eu
target=$1 out=$2
here=$(cd "$(dirname "$0")/../.." && pwd -P)
tools=$here/target/packages-python
grep '^maturin' "$here/python/requirements-test.txt" > "$out/requirements"
if ! cmp -s "$out/requirements" "$tools/requirements"; then
    python3 -m venv --clear "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check --requirement "$out/requirements"
    cp "$out/requirements" "$tools/requirements"
fi
rm "$out/requirements"
cd "$here"
. extras/packages/flags.sh
cd python
"$tools/bin/maturin" build --quiet --locked --profile dist --target "$target" \
    --auditwheel skip --compatibility manylinux2014 --out "$out"
