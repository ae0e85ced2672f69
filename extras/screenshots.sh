#!/bin/bash
# Screenshots of reports in headless Chromium, 1400 and 400 px wide, light and dark, for the documents.
# Usage: screenshots.sh NETANVIL FOLDER
#
# The runs are simulated, with a seed: the same program draws the same pictures.
set -euo pipefail
netanvil=$(realpath "$1")
mkdir -p "$2"
into=$(realpath "$2")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export XDG_CACHE_HOME="$folder/cache"
cd "$folder"

run() { # NAME ARGUMENTS...
    local name=$1
    shift
    "$netanvil" run "$@" --seed 1 --quiet --out "$name" >/dev/null || [ $? -eq 3 ]
}
run rfc2544 --sim router --profile quick
run rfc2889 rfc2889 --sim switch --profile quick --sizes 64,512 --test fully-meshed
run rfc3918 rfc3918 --sim multicast --profile quick --sizes 64,512 --test mixed-class

shoot() { # PAGE PICTURE WIDTH HEIGHT [MORE]
    local page=$1 picture=$2 width=$3 height=$4
    shift 4
    chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --hide-scrollbars \
        --proxy-server=127.0.0.1:9 --user-data-dir="$folder/profile" --window-size="$width,$height" "$@" \
        --screenshot="$into/$picture" "file://$folder/$page/report.html" >/dev/null 2>&1
    [ -s "$into/$picture" ] || { echo "screenshots: chromium made no $picture" >&2; exit 2; }
    echo "$into/$picture"
}
for suite in rfc2544 rfc2889 rfc3918; do
    shoot $suite "$suite-1400.png" 1400 1000
    # Chromium's window is no narrower than 500 px: a frame of 400 px stands in it.
    mkdir -p "$folder/$suite-narrow"
    printf '<!doctype html><body style="margin:0"><iframe src="../%s/report.html" style="border:0;width:400px;height:1000px">' \
        "$suite" >"$folder/$suite-narrow/report.html"
    shoot $suite-narrow "$suite-400.png" 400 1000 --allow-file-access-from-files
done
shoot rfc2544 rfc2544-dark-1400.png 1400 1000 --force-dark-mode --blink-settings=preferredColorScheme=0
