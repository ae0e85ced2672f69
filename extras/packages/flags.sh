# shellcheck shell=sh
# Read by those who build for packages, in the folder of the repository. Paths of this machine are in messages of panics:
# they are named the same everywhere. Relocations are packed (0.4 MB less): that needs the musl of Rust 1.93 or newer.
# The encoded form, since a path may have spaces; nobody else's flags.
CARGO_ENCODED_RUSTFLAGS=$(printf '%s\037%s\037%s' "--remap-path-prefix=$(pwd -P)=/netanvil" \
    "--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo" -Clink-arg=-Wl,-z,pack-relative-relocs)
export CARGO_ENCODED_RUSTFLAGS
unset RUSTFLAGS CFLAGS LDFLAGS
