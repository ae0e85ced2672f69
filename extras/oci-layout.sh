#!/bin/sh
# Writes netanvil as a container image, an OCI layout: the program, the libraries that it is linked with, and busybox for
# a shell. It needs no daemon. With umoci and busybox-static. Times in it are SOURCE_DATE_EPOCH, if that is set.
#
# Usage: extras/oci-layout.sh PROGRAM LAYOUT
set -eu
program=$1 layout=$2
. "$(dirname "$0")/packages/need.sh"
need umoci:umoci busybox:busybox-static readelf:binutils strip:binutils
image=$layout:latest
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

root=$work/root
mkdir -p "$root/bin" "$root/dev" "$root/etc" "$root/proc" "$root/sys" "$root/run/netns" "$root/runs" "$root/root"
mkdir -m 1777 "$root/tmp"
install -m 755 "$program" "$root/bin/netanvil"
# A program for packages has no symbols already, and stays as it is.
if readelf --sections --wide "$program" | grep -qF .symtab; then
    strip --strip-debug "$root/bin/netanvil"
fi
# The loader and each library, where the program looks for them.
for library in $(ldd "$program" | sed -nE 's/^[^/]*(\/[^ ]+) \(0x[0-9a-f]+\)$/\1/p'); do
    mkdir -p "$root$(dirname "$library")"
    cp --dereference "$library" "$root$library"
done
cp "$(command -v busybox)" "$root/bin/busybox"
for applet in cat cp env ip ls mkdir mount ping ps rm sh sleep sysctl; do
    "$root/bin/busybox" --list | grep -qx "$applet"
    ln -s busybox "$root/bin/$applet"
done
mkdir -p "$root/usr/share/doc/netanvil"
cp "$(dirname "$0")"/../LICENSE-* "$root/usr/share/doc/netanvil/"
echo 'root:x:0:0:root:/root:/bin/sh' > "$root/etc/passwd"
echo 'root:x:0:' > "$root/etc/group"

rm -rf "$layout"
mkdir -p "$(dirname "$layout")"
umoci init --layout "$layout"
umoci new --image "$image"
# The image's files are root's, whoever makes it.
rootless=
[ "$(id -u)" -eq 0 ] || rootless=--rootless
now=${SOURCE_DATE_EPOCH:-$(date +%s)}
created=$(date --utc --date "@$now" +%Y-%m-%dT%H:%M:%SZ)
find "$root" -exec touch --no-dereference --date "@$now" {} +
umoci insert $rootless --image "$image" --history.created "$created" "$root" /
umoci config --image "$image" --created "$created" --history.created "$created" --os linux --config.env PATH=/bin --config.workingdir / \
    --config.entrypoint netanvil --config.cmd serve --config.cmd --runs --config.cmd /runs \
    --config.label org.opencontainers.image.title=netanvil \
    --config.label "org.opencontainers.image.licenses=MIT OR Apache-2.0"
umoci gc --layout "$layout"
echo "image: $layout, $(du -sh "$layout" | cut -f1)"
