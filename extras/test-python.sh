#!/bin/sh
# Builds the wheel of the Python module, looks at it in a fresh virtual environment, and runs the module's tests with it.
# The first time it installs the tools of python/requirements-test.txt by pip.
#
# Usage: extras/test-python.sh PROFILE        a profile of cargo: dev, which tests have built already, or release
set -eu
profile=$1
root=$(cd "$(dirname "$0")/.." && pwd)
work=$root/target/python
tools=$work/tools
requirements=$root/python/requirements-test.txt
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_QUIET=1

if ! cmp -s "$requirements" "$tools/requirements-test.txt"; then
    python3 -m venv --clear "$tools"
    "$tools/bin/pip" install --requirement "$requirements"
    cp "$requirements" "$tools/requirements-test.txt"
fi

rm -rf "$work/wheels"
cd "$root/python"
"$tools/bin/maturin" build --quiet --locked --profile "$profile" --auditwheel skip --out "$work/wheels"
wheel=$(ls "$work"/wheels/netanvil-*.whl)
echo "wheel: $wheel, $(du -h "$wheel" | cut -f1)"

# Nothing but the wheel: neither other packages nor this repository.
python3 -m venv --clear "$work/fresh"
"$work/fresh/bin/pip" install --no-index "$wheel"
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
(cd "$fresh" && "$work/fresh/bin/python" -c '
import netanvil

assert netanvil.__file__.startswith("'"$work"'/fresh/"), netanvil.__file__
assert str(netanvil.find_program()) == "'"$work"'/fresh/bin/netanvil", netanvil.find_program()
result = netanvil.run(sim="router", profile="quick", test=["throughput"], sizes=[64])
assert result.throughput(64) >= 90_000
print("fresh environment:", result.throughput(64))
')

"$tools/bin/pip" install --force-reinstall --no-deps --no-index "$wheel"
"$tools/bin/ruff" check .
"$tools/bin/ruff" format --check .
"$tools/bin/mypy"
"$tools/bin/python" -m pytest --quiet --numprocesses 2
