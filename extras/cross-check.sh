#!/bin/sh
# Checks NETBLT's crates for macOS and Windows, of which this host has no libraries: with Debian's Rust compiler, the
# sources of its standard library, and a C compiler that does nothing, since a check links nothing. Nothing is installed.
#
# Usage: extras/cross-check.sh FOLDER
#
# FOLDER keeps what was downloaded, 170 MB, and unpacked. The version of the sources has to be that of the compiler.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
root=$folder/root
refuse() { echo "cross-check: $*" >&2; exit 2; }

if [ ! -f "$folder/ready" ]; then
    command -v apt-get >/dev/null || refuse "no apt-get here; the compiler comes as packages of Debian"
    version=$(apt-cache depends libstd-rust-web-dev | sed -n 's/.*Depends: \(libstd-rust-web-.*\)$/\1/p')
    llvm=$(apt-cache depends "$version" | sed -n 's/.*Depends: \(libllvm.*\)$/\1/p')
    [ -n "$version" ] && [ -n "$llvm" ] || refuse "no package rustc-web is known; try: apt-get update"
    cd "$folder"
    rm -rf root
    for package in rustc-web "$version" libstd-rust-web-dev rust-web-src "$llvm"; do
        ls "$package"_*.deb >/dev/null 2>&1 || apt-get download -qq "$package" 2>/dev/null \
            || refuse "cannot download $package"
        dpkg-deb -x "$package"_*.deb root
    done
    cat > nothing <<'END'
#!/bin/sh
# A compiler and an archiver that leave empty files.
case ${1-} in cq*|s|D*) [ -z "${2-}" ] || : > "$2";; esac
while [ $# -gt 0 ]; do
    [ "$1" != -o ] || : > "$2"
    shift
done
END
    chmod +x nothing
    touch ready
fi

export LD_LIBRARY_PATH="$root/usr/lib/x86_64-linux-gnu" RUSTC="$root/usr/bin/rustc" RUSTC_BOOTSTRAP=1
export CARGO_TARGET_DIR="$folder/target" CARGO_INCREMENTAL=0 SDKROOT=/
cd "$here"
"$RUSTC" --version || refuse "the compiler in $root does not run; remove $folder and try again"
sources=$("$RUSTC" --print sysroot)/lib/rustlib/src/rust/library/std
[ -d "$sources" ] || refuse "no sources of the standard library at $sources, so no other system can be checked"
failed=0
check() {
    target=$1
    shift
    name=$(echo "$target" | tr - _)
    export "CC_$name=$folder/nothing" "AR_$name=$folder/nothing"
    for package in "$@"; do
        if cargo check --quiet -Z build-std=std,panic_unwind --target "$target" --package "netanvil-$package"; then
            echo "$target: $package compiles"
        else
            echo "$target: $package does not compile"
            failed=1
        fi
    done
}
# No sockets and files of Windows: netblt-io has those of Unix. (The target of MinGW would need its dlltool.)
check x86_64-pc-windows-msvc netblt
check x86_64-apple-darwin netblt netblt-io netblt-client netblt-c
check aarch64-apple-darwin netblt-client
exit $failed
