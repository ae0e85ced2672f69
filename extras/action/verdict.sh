#!/bin/bash
# The exit code of the comparison as that of the job.
set -euo pipefail
case $NETANVIL_EXIT_CODE in
    3) [ "$NETANVIL_FAIL_ON_UNDECIDED" != true ] || exit 3 ;;
    *) exit "$NETANVIL_EXIT_CODE" ;;
esac
