#!/bin/sh
# Puts the program with its manual pages, completions, unit, licences and bill of materials where a system has them.
#
# Usage: extras/packages/install.sh PROGRAM ROOT PREFIX [BILL]
#
# ROOT is empty for this host; BILL is the bill of materials that packages bring.
set -eu
umask 022
program=$1 root=$2 prefix=$3 bill=${4:-}
here=$(cd "$(dirname "$0")/../.." && pwd)
refuse() { echo "install: $*" >&2; exit 2; }
. "$here/extras/packages/need.sh"
need readelf:binutils strip:binutils gzip:gzip

if [ ! -f "$program" ]; then
    refuse "there is no $program; make build makes it, or name another: make install PROGRAM=FILE"
elif ! "$program" -V >/dev/null 2>&1; then
    refuse "$program does not run here"
fi
case $prefix in
    /*) ;;
    *) refuse "PREFIX is \"$prefix\", which is no absolute path; write PREFIX=/usr/local" ;;
esac
# The first folder that is there is the one that has to let us in.
top=$root$prefix
while [ ! -e "$top" ]; do top=$(dirname "$top"); done
[ -d "$top" ] || refuse "$top is no folder; name another: make install PREFIX=/usr/local"
if [ ! -w "$top" ]; then
    refuse "no permission to write to $top; run it as root, or name a folder of yours: make install PREFIX=\$HOME/.local"
fi
share=$root$prefix/share
documents=$share/doc/netanvil

install -D -m 755 "$program" "$root$prefix/bin/netanvil"
# A program for packages has no symbols already, and stays as it is.
if readelf --sections --wide "$program" | grep -qF .symtab; then
    strip --strip-unneeded "$root$prefix/bin/netanvil"
fi

pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
"$program" man --dir "$pages"
day=$(date --utc --date "@${SOURCE_DATE_EPOCH:-$(date +%s)}" +%Y-%m-%d)
sed -i "s/^\(\.TH [^ ]* 1\) \"\" /\1 $day /" "$pages"/*.1
gzip -9n "$pages"/*.1
mkdir -p "$share/man/man1"
install -m 644 "$pages"/*.1.gz "$share/man/man1/"

completions() {
    mkdir -p "$share/$2"
    "$program" completions "$1" > "$share/$2/$3"
    chmod 644 "$share/$2/$3"
}
completions bash bash-completion/completions netanvil
completions zsh zsh/site-functions _netanvil
completions fish fish/vendor_completions.d netanvil.fish

mkdir -p "$root$prefix/lib/systemd/system"
sed "s|/usr/bin/|$prefix/bin/|" "$here/extras/systemd/netanvil.service" > "$root$prefix/lib/systemd/system/netanvil.service"
chmod 644 "$root$prefix/lib/systemd/system/netanvil.service"

for file in LICENSE-MIT LICENSE-APACHE README.md CHANGELOG.md; do
    install -D -m 644 "$here/$file" "$documents/$file"
done
[ -z "$bill" ] || install -D -m 644 "$bill" "$documents/netanvil.cdx.json"
