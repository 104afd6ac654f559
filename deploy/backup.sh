#!/bin/sh
# Takes a base backup into DIRECTORY/base, and drops those older than DAYS together with the
# WAL in DIRECTORY/wal that none needs any more. Run it every night as the system's user
# postgres; libpq's variables (PGHOST, PGUSER and so on) say where the server is. It fails while
# another one runs, and after WITHIN (12h), as where the server cannot archive its WAL.
#   deploy/backup.sh DIRECTORY [DAYS]
set -eu
umask 077
dir=$1
days=${2:-14}
mkdir -p "$dir/base"
exec 9>"$dir/base.lock"
flock -n 9 || { echo "another backup is being taken" >&2; exit 1; }
rm -rf "$dir"/base/*.part # broken off
new=$dir/base/$(date -u +%Y%m%dT%H%M%S)
timeout "${WITHIN:-12h}" pg_basebackup -D "$new.part" -c fast -X none
mv "$new.part" "$new"
find "$dir/base" -mindepth 1 -maxdepth 1 -mtime +"$days" -exec rm -rf {} +
oldest=$(find "$dir/base" -mindepth 1 -maxdepth 1 ! -name '*.part' | sort | head -n 1)
pg_archivecleanup "$dir/wal" "$(sed -n 's/^START WAL LOCATION: .* (file \(.*\))$/\1/p' "$oldest/backup_label")"
echo "$new"
