#!/bin/sh
# Builds the program that packages hold: static, without symbols, and the same to the bit wherever it is built.
#
# Usage: extras/packages/build.sh [TARGET]        x86_64-unknown-linux-musl if none is named; the last line is the program
#
# musl, since the program then needs nothing of the host but its kernel. Needs the target's standard library
# (rustup target add), musl-tools for the C code of ring and blake3, and clang for the BPF programs.
set -eu
target=${1:-$(uname -m)-unknown-linux-musl}
cd "$(dirname "$0")/../.."

. extras/packages/need.sh
need musl-gcc:musl-tools clang:clang
if ! command -v cargo >/dev/null; then
    echo "build: missing: cargo; https://rustup.rs installs it" >&2
    exit 2
elif ! rustc --print target-libdir --target "$target" | xargs test -d; then
    if ! command -v rustup >/dev/null; then
        echo "build: this Rust has no standard library for $target, and there is no rustup to add it; https://rustup.rs" >&2
        exit 2
    fi
    rustup target add "$target" >&2
fi

. extras/packages/flags.sh
cargo build --profile dist --target "$target" --package netanvil --locked >&2
echo "${CARGO_TARGET_DIR:-$PWD/target}/$target/dist/netanvil"
