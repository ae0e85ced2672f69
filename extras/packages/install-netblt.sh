#!/bin/sh
# Puts NETBLT's C library, its header and its pkg-config file where a system has them.
#
# Usage: extras/packages/install-netblt.sh BUILT ROOT PREFIX
#
# BUILT is the folder with libnetanvil_netblt.so and .a; ROOT is empty for this host.
set -eu
umask 022
built=$1 root=$2 prefix=$3
here=$(cd "$(dirname "$0")/../.." && pwd)
refuse() { echo "install-netblt: $*" >&2; exit 2; }

for library in libnetanvil_netblt.so libnetanvil_netblt.a; do
    [ -f "$built/$library" ] || refuse "there is no $built/$library; make install-netblt makes it"
done
case $prefix in
    /*) ;;
    *) refuse "PREFIX is \"$prefix\", which is no absolute path; write PREFIX=/usr/local" ;;
esac
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"$/\1/p' "$here/Cargo.toml")

install -D -m 644 "$here/netblt/c/include/netblt.h" "$root$prefix/include/netblt.h"
install -D -m 755 "$built/libnetanvil_netblt.so" "$root$prefix/lib/libnetanvil_netblt.so"
install -D -m 644 "$built/libnetanvil_netblt.a" "$root$prefix/lib/libnetanvil_netblt.a"
pc=$root$prefix/lib/pkgconfig/netanvil-netblt.pc
mkdir -p "$(dirname "$pc")"
cat > "$pc" <<END
prefix=$prefix
includedir=\${prefix}/include
libdir=\${prefix}/lib

Name: netanvil-netblt
Description: NETBLT (RFC 998): send, fetch and serve files
URL: https://github.com/netanvil/netanvil
Version: $version
Cflags: -I\${includedir}
Libs: -L\${libdir} -lnetanvil_netblt
Libs.private: -lpthread -ldl -lm -lgcc_s
END
chmod 644 "$pc"
