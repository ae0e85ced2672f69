#!/bin/bash
# Puts the markdown on the pull request, in place of an earlier one with the same first line.
# GH names another program than gh; test.sh does.
set -euo pipefail
gh=${GH:-gh}
mark=$(head -n 1 "$NETANVIL_MARKDOWN")
earlier=$("$gh" api --paginate "repos/$NETANVIL_REPOSITORY/issues/$NETANVIL_NUMBER/comments" |
    jq --raw-output --arg mark "$mark" 'map(select(.body | startswith($mark)))[].id' | tail -n 1)
if [ -n "$earlier" ]; then
    "$gh" api --silent --method PATCH "repos/$NETANVIL_REPOSITORY/issues/comments/$earlier" --field "body=@$NETANVIL_MARKDOWN"
else
    "$gh" api --silent --method POST "repos/$NETANVIL_REPOSITORY/issues/$NETANVIL_NUMBER/comments" --field "body=@$NETANVIL_MARKDOWN"
fi
