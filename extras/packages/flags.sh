# shellcheck shell=sh
# Read by those who build for packages, in the folder of the repository. Paths of this machine are in messages of panics:
# they are named the same everywhere. Relocations are packed (0.4 MB less): that needs the musl of Rust 1.93 or newer.
# The linker is the one that comes with Rust, which keeps one copy of functions of equal code (0.2 MB less).
# With frame pointers, a table of how to unwind needs no entry for each word pushed (0.8 MB less; a run in virtual time takes
# as long as without), and profilers of the packaged program see who called whom.
# The encoded form, since a path may have spaces; nobody else's flags.
lld=$(rustc --print sysroot)/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin/gcc-ld
if ! [ -x "$lld/ld.lld" ]; then
    echo "build: this Rust has no linker of its own ($lld); https://rustup.rs installs one that has" >&2
    exit 2
fi
CARGO_ENCODED_RUSTFLAGS=$(printf '%s\037' "--remap-path-prefix=$(pwd -P)=/netanvil" \
    "--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo" "-Clink-arg=-B$lld" -Clink-arg=-fuse-ld=lld \
    -Clink-arg=-Wl,--icf=all -Cforce-frame-pointers=yes)-Clink-arg=-Wl,-z,pack-relative-relocs
export CARGO_ENCODED_RUSTFLAGS
unset RUSTFLAGS CFLAGS LDFLAGS
