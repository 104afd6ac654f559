#!/bin/sh
# Checks that a base backup and the WAL archive restore all accepted orders. A hub accepts orders on a
# private PostgreSQL, during and after a backup. Then all tables are dropped, and a second server is
# restored to the moment before. It must have every accepted order. Pending deliveries must arrive, signed
# with the same secret. The hub must accept more orders, with new ids.
#   deploy/check/restore.sh SERVERY [DIRECTORY]
# It needs PostgreSQL's programs, curl and openssl; root runs the server as postgres.
set -eu
servery=$(realpath "$1")
keep=${2:-}
dir=${keep:-$(mktemp -d)}
orders=${ORDERS:-40} # in each of the two halves
port=${PORT:-54410}
mkdir -p "$dir/wal" "$dir/none"
here=$(dirname "$(realpath "$0")")
. "$here/postgres.sh"
PATH=$bin:$PATH
hub="" receiver=""
stop() {
	for one in $hub $receiver; do kill "$one" 2>/dev/null || true; done
	wait
	stops "$dir/data"
	stops "$dir/restored"
	[ -n "$keep" ] || rm -rf "$dir"
}
trap stop EXIT INT TERM
say() { printf '%s\n' "$*"; }

say "starting PostgreSQL with an archive of its WAL"
cp "$here/../archive.sh" "$dir/archive.sh"
starts "$port" <<-SETTINGS
	archive_mode = on
	archive_command = 'sh $dir/archive.sh %p $dir/wal/%f'
	archive_timeout = 60
	wal_level = replica
SETTINGS

SERVERY_SECRET_KEY=$(openssl rand -hex 32)
SERVERY_DATA_DIR=$dir/hub
SERVERY_PLUGIN_DIR=$dir/none
SERVERY_LIMIT_STORES=off SERVERY_LIMIT_MENU=off SERVERY_LIMIT_READ=off
SERVERY_LISTEN=127.0.0.1:$((port + 1)) SERVERY_WEBHOOK_ALLOW=127.0.0.0/8
export SERVERY_WEBHOOK_ALLOW SERVERY_SECRET_KEY SERVERY_DATA_DIR SERVERY_PLUGIN_DIR SERVERY_LISTEN
export SERVERY_LIMIT_STORES SERVERY_LIMIT_MENU SERVERY_LIMIT_READ
base=http://$SERVERY_LISTEN

# serve starts a hub on the server of a port and waits until it is ready.
serve() {
	SERVERY_DATABASE_URL=postgres://servery@127.0.0.1:$1/servery
	export SERVERY_DATABASE_URL
	"$servery" serve 2>>"$dir/hub.log" &
	hub=$!
	for _ in $(seq 300); do
		if curl -fsS "$base/readyz" >/dev/null 2>&1; then return; fi
		kill -0 "$hub" 2>/dev/null || { tail -n 5 "$dir/hub.log"; exit 1; }
		sleep 0.1
	done
	say "the hub does not become ready"; exit 1
}
key() {
	"$servery" key create --business 1 --username "$1" --scope "$2" --json | sed 's/.*"api_key":"\([^"]*\)".*/\1/'
}
as_pos() { curl -fsS -H "Authorization: apikey pos:$pos" -H 'Content-Type: application/json' "$@"; }
# order places an order, with retries, and prints its id.
order() {
	curl -fsS --retry 5 "$base/channel/api/v1/orders/" -H "Authorization: apikey shop:$shop" \
		-H 'Content-Type: application/json' \
		-d "{\"platform\":\"web\",\"platform_order_id\":\"$1\",\"store_ref_id\":\"S-1\",
			\"items\":[{\"ref_id\":\"dal\",\"title\":\"Dal\",\"price\":9.5,\"quantity\":1}]}" |
		sed 's/.*"order_id": *\([0-9]*\).*/\1/'
}
# takes places orders with the numbers of a range. Each must be accepted.
takes() { for n in $(seq "$1" "$2"); do [ -n "$(order "R-$n")" ] || exit 1; done; }
counted() { sql "$1" "SELECT count(*) FROM orders WHERE platform_order_id LIKE 'R-%'"; }

serve "$port"
"$servery" business create --name Restored --country US --timezone America/New_York --currency USD >/dev/null
pos=$(key pos pos)
shop=$(key shop channel)
as_pos "$base/external/api/v1/stores/" >/dev/null \
	-d '{"stores":[{"ref_id":"S-1","name":"Harbour Street","city":"Oakland","included_platforms":["web"]}]}'
for _ in $(seq 300); do
	if [ "$(sql "$port" 'SELECT count(*) FROM stores')" = 1 ]; then break; fi
	sleep 0.1
done
endpoint=127.0.0.1:$((port + 3)) # without a listener yet
secret=$(as_pos "$base/external/api/v1/webhooks/" \
	-d "{\"event_type\":\"order_placed\",\"url\":\"http://$endpoint/\"}" | sed 's/.*"secret": *"\([^"]*\)".*/\1/')

takes 1 "$orders"
say "making base backups while the hub works"
backs() { PGHOST=$dir PGPORT=$port PGUSER=servery $as sh -s -- "$dir" 1 <"$here/../backup.sh"; }
outdated=$(backs)
$as touch -d '3 days ago' "$outdated"
sleep 1 # their names contain the second
backup=$(backs)
[ ! -e "$outdated" ] || { say "an outdated backup was not deleted"; exit 1; }
takes $((orders + 1)) $((2 * orders - 1))

say "archiving only full segments for a while"
has_timeout() { ! "$servery" doctor | grep -q 'archive_timeout is 0'; }
has_timeout || { say "doctor reports an archive_timeout that is set"; exit 1; }
for value in 0 60; do
	sql "$port" "ALTER SYSTEM SET archive_timeout = $value" >/dev/null
	sql "$port" 'SELECT pg_reload_conf()' >/dev/null
	for _ in $(seq 100); do
		now=$(sql "$port" "SELECT setting FROM pg_settings WHERE name = 'archive_timeout'")
		if [ "$now" = $value ]; then break; fi
		sleep 0.1
	done
	[ $value = 60 ] || ! has_timeout || { say "doctor does not report that archive_timeout is 0"; exit 1; }
done

say "removing the archive for a while"
archives() { ! "$servery" doctor | grep -q 'cannot archive its WAL'; }
mv "$dir/wal" "$dir/away"
sql "$port" 'SELECT pg_switch_wal()' >/dev/null
for _ in $(seq 100); do
	if ! archives; then break; fi
	sleep 0.1
done
! archives || { say "doctor does not report that nothing is archived"; exit 1; }
mv "$dir/away" "$dir/wal"
takes $((2 * orders)) $((2 * orders))
sql "$port" 'SELECT pg_switch_wal()' >/dev/null
for _ in $(seq 100); do
	if archives; then break; fi
	sleep 0.1
done
archives || { say "the WAL is not archived again"; exit 1; }

moment=$(sql "$port" "SELECT clock_timestamp()")
accepted=$(counted "$port")
[ "$accepted" -eq $((2 * orders)) ] || { say "only $accepted of $((2 * orders)) orders were stored"; exit 1; }

say "destroying everything after $moment"
late=$(order R-late) # known to the POS, but not to the restored database
kill "$hub"; wait "$hub" || true; hub=""
sql "$port" 'DROP SCHEMA public CASCADE; CREATE SCHEMA public' 2>/dev/null
sql "$port" 'SELECT pg_switch_wal()' >/dev/null
sql "$port" 'SELECT pg_switch_wal()' >/dev/null
pg pg_ctl -D "$dir/data" -m fast -w stop >/dev/null

say "restoring to that moment"
$as cp -R "$backup" "$dir/restored"
cat <<-SETTINGS | $as tee -a "$dir/restored/postgresql.auto.conf" >/dev/null
	port = $((port + 2))
	archive_mode = off
	restore_command = 'cp $dir/wal/%f %p'
	recovery_target_time = '$moment'
	recovery_target_action = promote
SETTINGS
$as touch "$dir/restored/recovery.signal"
$as chmod 700 "$dir/restored"
pg pg_ctl -D "$dir/restored" -l "$dir/restored.log" -w start >/dev/null
for _ in $(seq 600); do
	if [ "$(sql $((port + 2)) 'SELECT pg_is_in_recovery()' 2>/dev/null)" = f ]; then break; fi
	sleep 0.1
done

back=$(counted $((port + 2)))
events=$(sql $((port + 2)) "SELECT count(*) FROM events WHERE event_type = 'order_placed'")
[ "$back" = "$accepted" ] || { say "$accepted orders were accepted, $back are back"; exit 1; }
[ "$events" = "$accepted" ] || { say "$accepted orders were accepted, $events of their events are back"; exit 1; }
sql $((port + 2)) "SELECT setval('order_id_blocks', last_value + 1000000) FROM order_id_blocks" >/dev/null
"$servery" listen --listen "$endpoint" --secret "$secret" --json >"$dir/arrived" 2>/dev/null &
receiver=$!
serve $((port + 2))
waiting=$(as_pos "$base/external/api/v1/deliveries/?limit=1")
first() { printf %s "$waiting" | grep -o "\"$1\":\"[^\"]*\"" | head -n 1 | cut -d '"' -f 4; }
as_pos -X POST "$base/external/api/v1/deliveries/$(first id)/retry/" >/dev/null
after=$(order R-after)
[ "$after" -gt "$late" ] || { say "the id $after may have been used before"; exit 1; }
arrived() { grep "\"webhook_id\":\"$(first event_id)\"" "$dir/arrived" | grep -q '"signature":"verified"'; }
for _ in $(seq 300); do
	if arrived; then break; fi
	sleep 0.1
done
arrived || {
	say "the pending delivery does not arrive, or is not signed with the same secret"
	cat "$dir/arrived"
	exit 1
}
say "all $accepted accepted orders and their events are back, what was on its way arrives, and the hub takes more"
