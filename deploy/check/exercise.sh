#!/bin/sh
# Starts a program, sends a request to each part of it, and stops it. It fails if a request fails or
# if the program logs an error.
#   deploy/check/exercise.sh SERVERY STORE
# STORE is the ref_id of a new store. The environment configures the program, with a database, a
# SERVERY_LISTEN and a SERVERY_DATA_DIR, which has the keys and orders of earlier runs.
set -eu
program=$1
store=$2
base=http://$SERVERY_LISTEN
memory=$SERVERY_DATA_DIR/exercise
log=$SERVERY_DATA_DIR/exercise.log
mkdir -p "$SERVERY_DATA_DIR"
hub=""
stop() { [ -z "$hub" ] || kill "$hub" 2>/dev/null || true; }
trap stop EXIT INT TERM
fail() {
	printf '%s\n' "$@"
	exit 1
}

"$program" serve 2>"$log" &
hub=$!
for _ in $(seq 600); do
	if curl -fsS "$base/readyz" >/dev/null 2>&1; then break; fi
	kill -0 "$hub" 2>/dev/null || fail "it does not start:" "$(tail -n 5 "$log")"
	sleep 0.1
done
ids=""
if [ -f "$memory" ]; then
	. "$memory"
else
	"$program" business create --name Rollback --country US --timezone America/New_York --currency USD >/dev/null
	key() { "$program" key create --business 1 "$@" --json | sed 's/.*"api_key":"\([^"]*\)".*/\1/'; }
	pos=$(key --username pos)
	shop=$(key --username shop --scope channel)
fi
as_pos="Authorization: apikey pos:$pos"
json='Content-Type: application/json'
curl -fsS "$base/external/api/v1/stores/" -H "$as_pos" -H "$json" \
	-d "{\"stores\":[{\"ref_id\":\"$store\",\"name\":\"Harbour Street\",\"city\":\"Oakland\",
		\"included_platforms\":[\"web\"]}]}" >/dev/null
curl -fsS "$base/external/api/v1/webhooks/" -H "$as_pos" -H "$json" \
	-d "{\"event_type\":\"order_placed\",\"url\":\"https://pos.invalid/$store\"}" >/dev/null
for _ in $(seq 300); do
	if curl -fsS "$base/external/api/v1/stores/$store/" -H "$as_pos" >/dev/null 2>&1; then break; fi
	sleep 0.1
done
job=$(curl -fsS "$base/external/api/v1/inventory/locations/$store/" -H "$as_pos" -H "$json" \
	-d "{\"categories\":[{\"ref_id\":\"mains\",\"name\":\"Mains $store\"}],
		\"items\":[{\"ref_id\":\"dal\",\"title\":\"Dal of $store\",\"price\":9.5,\"category_ref_ids\":[\"mains\"]}]}" |
	sed 's/.*"reference": *"\([^"]*\)".*/\1/')
for _ in $(seq 300); do
	state=$(curl -fsS "$base/external/api/v1/jobs/$job/" -H "$as_pos" | sed 's/.*"state": *"\([^"]*\)".*/\1/')
	[ "$state" != done ] || break
	sleep 0.1
done
[ "$state" = done ] || fail "the job of the menu is $state"
curl -fsS "$base/channel/api/v1/stores/$store/menu/?platform=web" -H "$as_pos" | grep -q "Dal of $store" ||
	fail "the menu differs from the request"
! curl -fsS "$base/external/api/v1/revisions/?limit=50" -H "$as_pos" | grep -q '"revisions": *\[\]' ||
	fail "there are no revisions"
id=$(curl -fsS "$base/channel/api/v1/orders/" -H "Authorization: apikey shop:$shop" -H "$json" \
	-d "{\"platform\":\"web\",\"platform_order_id\":\"$store\",\"store_ref_id\":\"$store\",
		\"items\":[{\"ref_id\":\"dal\",\"title\":\"Dal\",\"price\":9.5,\"quantity\":1}]}" |
	sed 's/.*"order_id": *\([0-9]*\).*/\1/')
curl -fsS -X PUT "$base/external/api/v1/orders/$id/status/" -H "$as_pos" -H "$json" \
	-d '{"new_status":"Acknowledged"}' >/dev/null
for order in $ids $id; do
	curl -fsS "$base/external/api/v1/orders/$order/" -H "$as_pos" >/dev/null
done
curl -fsS "$base/external/api/v1/webhooks/" -H "$as_pos" >/dev/null
printf 'pos=%s shop=%s ids="%s"\n' "$pos" "$shop" "$ids $id" >"$memory"
kill "$hub"
wait "$hub" || fail "it does not stop cleanly:" "$(tail -n 5 "$log")"
hub=""
! grep '"level":"ERROR"' "$log" || fail "it logged these errors"
