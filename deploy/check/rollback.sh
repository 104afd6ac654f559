#!/bin/sh
# Checks that the program of an earlier commit works on a database that the current program has migrated
# and used, so that an upgrade can be rolled back without loss.
#   deploy/check/rollback.sh SERVERY REF
# SERVERY is the current program. REF is a commit or tag, which is built in a temporary directory. The
# database is that of SERVERY_DATABASE_URL, which must be empty, or else a private one. Both programs run
# the plugins of SERVERY_PLUGIN_DIR, if it is set.
set -eu
current=$(realpath "$1")
ref=$2
here=$(cd "$(dirname "$0")/../.." && pwd)
first=$(cd "$here" && ls migrations/*.up.sql | head -n 1)
git -C "$here" cat-file -e "$ref:$first" 2>/dev/null || {
	echo "$ref has no $first: its databases cannot be upgraded to this version, so give a later REF" >&2
	exit 2
}
dir=$(mktemp -d)
chmod 755 "$dir"
trap 'rm -rf "$dir"' EXIT
say() { printf '%s\n' "$*"; }

say "building $ref"
mkdir "$dir/source" "$dir/none"
git -C "$here" archive "$ref" | tar -x -C "$dir/source"
(cd "$dir/source" && CGO_ENABLED=0 go build -trimpath -buildvcs=false -o "$dir/earlier" ./core/cmd/servery)
earlier=$dir/earlier

: "${SERVERY_DATA_DIR:=$dir/data}"
SERVERY_SECRET_KEY=$(openssl rand -hex 32)
: "${SERVERY_PLUGIN_DIR:=$dir/none}"
SERVERY_LIMIT_STORES=off SERVERY_LIMIT_MENU=off SERVERY_LIMIT_WEBHOOKS=off SERVERY_LIMIT_READ=off
SERVERY_LISTEN=127.0.0.1:${PORT:-54420}
export SERVERY_DATA_DIR SERVERY_SECRET_KEY SERVERY_PLUGIN_DIR SERVERY_LISTEN
export SERVERY_LIMIT_STORES SERVERY_LIMIT_MENU SERVERY_LIMIT_WEBHOOKS SERVERY_LIMIT_READ

# using exercises a program and prints the result.
using() {
	sh "$here/deploy/check/exercise.sh" "$1" "$2"
	say "$3"
}
using "$earlier" before "the earlier program works"
using "$current" upgraded "the current program has migrated the database, and works"
using "$earlier" back "the earlier program works on it again"
using "$current" again "the current program works after it"
