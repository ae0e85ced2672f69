#!/bin/sh
# Makes every package: the static program, an archive, .deb, .rpm, a wheel, a container image and a bill of materials.
# Times in them are those of the last commit, so that the same commit gives the same files.
#
# Usage: extras/packages/packages.sh FOLDER
set -eu
umask 022
here=$(cd "$(dirname "$0")/../.." && pwd -P)
cd "$here"
. extras/packages/need.sh
need git:git gzip:gzip tar:tar readelf:binutils strip:binutils umoci:umoci busybox:busybox-static python3:python3-venv
mkdir -p "$1"
out=$(cd "$1" && pwd -P)
architecture=$(uname -m)
target=$architecture-unknown-linux-musl
tools=$here/target/tools
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct)}"
export SOURCE_DATE_EPOCH

# The versions that these files are written for; built once, about six minutes on two cores.
tool() {
    "$tools/bin/$1" --version 2>/dev/null | grep -qwF "$2" || "$tools/bin/$1" "${1#cargo-}" --version 2>/dev/null | grep -qwF "$2" ||
        CARGO_TARGET_DIR=$tools/build cargo install --quiet --locked --root "$tools" "$1@$2"
}
tool cargo-deb 3.8.0
tool cargo-generate-rpm 0.21.1
tool cargo-cyclonedx 0.5.9

program=$(extras/packages/build.sh "$target")
version=$("$program" -V | cut -d ' ' -f 2)
name=netanvil-$version-$architecture-linux
rm -rf "$out"/netanvil* "$out/stage" "$out/oci" "$out/SHA256SUMS"
install -m 755 "$program" "$out/netanvil"

# The tool writes a file beside each crate of the workspace: let that be a copy of it.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z -- Cargo.toml Cargo.lock ':*/Cargo.toml' ':*/src/*.rs' ':*/build.rs' ':*/benches/*.rs' ':examples/*.rs' ':tests/*' |
    xargs -0 cp --parents -t "$copy"
(cd "$copy" && "$tools/bin/cargo-cyclonedx" cyclonedx --quiet --manifest-path crates/cli/Cargo.toml --format json \
    --target "$target" --spec-version 1.5 --override-filename netanvil.cdx)
# Where the copy was says nothing to anybody.
sed "s|$copy|/netanvil|g" "$copy/crates/cli/netanvil.cdx.json" > "$out/netanvil-$version.cdx.json"

stage=$out/stage
extras/packages/install.sh "$program" "$stage" /usr "$out/netanvil-$version.cdx.json"
find "$stage" -exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} +
tar --create --sort=name --owner=0 --group=0 --numeric-owner --mtime "@$SOURCE_DATE_EPOCH" --format=ustar \
    --directory "$stage" --transform "s|^\./usr|$name|" ./usr | gzip -9n > "$out/$name.tar.gz"

cat > "$out/changelog" <<END
netanvil ($version-1) unstable; urgency=medium

  * Changes are listed in CHANGELOG.md of the sources.

 -- The netanvil authors <authors@netanvil.invalid>  $(LC_ALL=C date --utc --date "@$SOURCE_DATE_EPOCH" '+%a, %d %b %Y %H:%M:%S +0000')
END
# Both take the files of the stage, as crates/cli/Cargo.toml lists them.
"$tools/bin/cargo-deb" deb --quiet --no-build --no-strip --manifest-path crates/cli/Cargo.toml --output "$out/"
"$tools/bin/cargo-generate-rpm" generate-rpm --package crates/cli --target "$target" \
    --source-date "$SOURCE_DATE_EPOCH" --output "$out/"

extras/packages/wheel.sh "$target" "$out"
extras/oci-layout.sh "$program" "$out/oci"
rm -rf "$stage" "$out/changelog"
(cd "$out" && sha256sum netanvil* > SHA256SUMS)
ls -l "$out"
