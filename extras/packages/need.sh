# shellcheck shell=sh
# Read by scripts that need other programs.
#
# need TOOL:PACKAGE...        names all that are missing at once, with Debian's packages; exit code 2
need() {
    missing='' packages=''
    for wanted in "$@"; do
        command -v "${wanted%%:*}" >/dev/null && continue
        missing="$missing ${wanted%%:*}"
        case "$packages " in
            *" ${wanted#*:} "*) ;;
            *) packages="$packages ${wanted#*:}" ;;
        esac
    done
    [ -n "$missing" ] || return 0
    echo "$(basename "$0" .sh): missing:$missing; on Debian: sudo apt-get install$packages" >&2
    exit 2
}
