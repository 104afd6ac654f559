# A private PostgreSQL for a check. Source this file; $dir is the directory of the check.
# It needs PostgreSQL's programs; root runs the server as postgres.
initdb=$(command -v initdb || find /usr/lib/postgresql -path '*/bin/initdb' | sort -V | tail -n1)
bin=$(dirname "$(realpath "$initdb")")
as=""
if [ "$(id -u)" -eq 0 ]; then
	chown -R postgres "$dir"
	chmod 755 "$dir"
	as="setpriv --reuid=postgres --regid=postgres --init-groups"
fi
pg() { program=$1; shift; (cd / && $as "$bin/$program" "$@"); }
sql() { (cd / && $as "$bin/psql" -h "$dir" -p "$1" -U servery -d servery -XAtqc "$2"); }

# starts creates a cluster in $dir/data with the settings of standard input, starts it on a local port,
# and creates the database servery.
starts() {
	pg initdb -D "$dir/data" -U servery -A trust --data-checksums >/dev/null
	cat >"$dir/settings"
	cat "$dir/settings" - <<-SETTINGS | $as tee -a "$dir/data/postgresql.conf" >/dev/null
		port = $1
		listen_addresses = '127.0.0.1'
		unix_socket_directories = '$dir'
	SETTINGS
	pg pg_ctl -D "$dir/data" -l "$dir/log" -w start >/dev/null
	pg createdb -h "$dir" -p "$1" -U servery servery
}
# stops stops the server of a data directory, if it runs.
stops() { [ ! -e "$1/postmaster.pid" ] || pg pg_ctl -D "$1" -m immediate stop >/dev/null 2>&1 || true; }
