#!/bin/sh
# Proves that the program of an earlier commit works on a database that the present
# one has migrated and used: so an upgrade can be taken back without its data.
#   deploy/check/rollback.sh SERVERY REF
# SERVERY is the present program; REF, a commit or tag, is built in a directory of its
# own. The database is the one that SERVERY_DATABASE_URL names, empty before;
# without it a private one is started. Both programs run the plugins of SERVERY_PLUGIN_DIR, if
# it is given.
set -eu
present=$(realpath "$1")
ref=$2
here=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(mktemp -d)
chmod 755 "$dir"
hub=""
stop() {
	[ -z "$hub" ] || kill "$hub" 2>/dev/null || true
	wait 2>/dev/null || true
	rm -rf "$dir"
}
trap stop EXIT INT TERM
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
export SERVERY_DATA_DIR SERVERY_SECRET_KEY SERVERY_PLUGIN_DIR SERVERY_LIMIT_STORES SERVERY_LIMIT_MENU SERVERY_LIMIT_WEBHOOKS SERVERY_LIMIT_READ SERVERY_LISTEN
base=http://$SERVERY_LISTEN

# using starts a program, has it do something of everything, and stops it.
using() {
	"$1" serve 2>"$dir/log" &
	hub=$!
	for _ in $(seq 600); do
		if curl -fsS "$base/readyz" >/dev/null 2>&1; then break; fi
		kill -0 "$hub" 2>/dev/null || { say "it does not start:"; tail -n 5 "$dir/log"; exit 1; }
		sleep 0.1
	done
	if [ -z "${pos:-}" ]; then
		"$1" business create --name Rollback --country US --timezone America/New_York --currency USD >/dev/null
		pos=$("$1" key create --business 1 --username pos --json | sed 's/.*"api_key":"\([^"]*\)".*/\1/')
		shop=$("$1" key create --business 1 --username shop --scope channel --json | sed 's/.*"api_key":"\([^"]*\)".*/\1/')
	fi
	as_pos="Authorization: apikey pos:$pos"
	json='Content-Type: application/json'
	curl -fsS "$base/external/api/v1/stores/" -H "$as_pos" -H "$json" \
		-d "{\"stores\":[{\"ref_id\":\"$2\",\"name\":\"Harbour Street\",\"city\":\"Oakland\",\"included_platforms\":[\"web\"]}]}" >/dev/null
	curl -fsS "$base/external/api/v1/webhooks/" -H "$as_pos" -H "$json" -d "{\"event_type\":\"order_placed\",\"url\":\"https://pos.invalid/$2\"}" >/dev/null
	for _ in $(seq 300); do
		if curl -fsS "$base/external/api/v1/stores/$2/" -H "$as_pos" >/dev/null 2>&1; then break; fi
		sleep 0.1
	done
	job=$(curl -fsS "$base/external/api/v1/inventory/locations/$2/" -H "$as_pos" -H "$json" \
		-d "{\"categories\":[{\"ref_id\":\"mains\",\"name\":\"Mains $2\"}],\"items\":[{\"ref_id\":\"dal\",\"title\":\"Dal of $2\",\"price\":9.5,\"category_ref_ids\":[\"mains\"]}]}" |
		sed 's/.*"reference": *"\([^"]*\)".*/\1/')
	for _ in $(seq 300); do
		state=$(curl -fsS "$base/external/api/v1/jobs/$job/" -H "$as_pos" | sed 's/.*"state": *"\([^"]*\)".*/\1/')
		[ "$state" != done ] || break
		sleep 0.1
	done
	[ "$state" = done ] || { say "the job of the menu is $state"; exit 1; }
	curl -fsS "$base/channel/api/v1/stores/$2/menu/?platform=web" -H "$as_pos" | grep -q "Dal of $2" || { say "the menu is not what was sent"; exit 1; }
	revisions=$(curl -sS -o "$dir/revisions" -w '%{http_code}' "$base/external/api/v1/revisions/?limit=50" -H "$as_pos")
	case $revisions in
	200) ! grep -q '"revisions": *\[\]' "$dir/revisions" || { say "there are no revisions"; exit 1; } ;;
	404) ;; # a program from before there were any
	*) say "revisions are answered with $revisions"; exit 1 ;;
	esac
	id=$(curl -fsS "$base/channel/api/v1/orders/" -H "Authorization: apikey shop:$shop" -H "$json" \
		-d "{\"platform\":\"web\",\"platform_order_id\":\"$2\",\"store_ref_id\":\"$2\",\"items\":[{\"ref_id\":\"dal\",\"title\":\"Dal\",\"price\":9.5,\"quantity\":1}]}" |
		sed 's/.*"order_id": *\([0-9]*\).*/\1/')
	curl -fsS -X PUT "$base/external/api/v1/orders/$id/status/" -H "$as_pos" -H "$json" -d '{"new_status":"Acknowledged"}' >/dev/null
	for order in $ids $id; do
		curl -fsS "$base/external/api/v1/orders/$order/" -H "$as_pos" >/dev/null
	done
	ids="$ids $id"
	curl -fsS "$base/external/api/v1/webhooks/" -H "$as_pos" >/dev/null
	kill "$hub"
	wait "$hub" || { say "it does not stop cleanly:"; tail -n 5 "$dir/log"; exit 1; }
	hub=""
	if grep -q '"level":"ERROR"' "$dir/log"; then
		say "it logged errors:"; grep '"level":"ERROR"' "$dir/log"; exit 1
	fi
	say "$3"
}
ids=""
using "$earlier" before "the earlier program works"
using "$present" upgraded "the present program has migrated the database, and works"
using "$earlier" back "the earlier program works on it again"
using "$present" again "and the present one after it"
