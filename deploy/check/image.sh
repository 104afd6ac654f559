#!/bin/sh
# Checks the container image without a container engine. The command of the Dockerfile builds the last
# stage from the files that .dockerignore allows. The hub then runs from it as in a container: as its
# user, without privileges, on a read-only root file system. It must verify the database certificate.
#   deploy/check/image.sh
# It needs Linux, root (for the mount namespace), Go, PostgreSQL's programs, curl and openssl.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(mktemp -d)
port=${PORT:-54430}
. "$here/deploy/check/postgres.sh"
image=$dir/image
hub=""
stop() {
	[ -z "$hub" ] || kill "$hub" 2>/dev/null || true
	wait
	stops "$dir/data"
	rm -rf "$dir"
}
trap stop EXIT INT TERM
say() { printf '%s\n' "$*"; }
# stage prints the arguments of an instruction of the Dockerfile's last stage.
stage() {
	awk -v word="$1" '/^FROM scratch/ {last = 1} last && $1 == word {sub(/^[A-Z]+ /, ""); print}' \
		"$here/deploy/Dockerfile"
}

say "building the image's files"
mkdir "$dir/source" "$image"
sed 's|^\*\*/||' "$here/deploy/Dockerfile.dockerignore" >"$dir/ignored"
tar -C "$here" -c -X "$dir/ignored" . | tar -x -C "$dir/source"
command=$(sed -e ':join' -e '/\\$/{N; s/\\\n//; b join' -e '}' "$here/deploy/Dockerfile" |
	sed -n 's/^RUN //p' | grep 'make build' | sed "s|--mount=[^ ]* *||g; s| /out| $image|g")
(cd "$dir/source" && sh -euc "$command" >/dev/null)
[ "$(stage COPY)" = "--from=build /out /" ] || { say "the last stage copies other files than this check"; exit 1; }
unexpected=$(cd "$image" &&
	find . -type f ! -path ./servery ! -path './plugins/*' ! -path ./etc/ssl/certs/ca-certificates.crt)
[ -z "$unexpected" ] || { say "unexpected files in the image: $unexpected"; exit 1; }
size=$(du -sm "$image" | cut -f1)

openssl req -x509 -newkey rsa:2048 -nodes -keyout "$dir/key" -out "$dir/certificate" -days 1 -subj /CN=localhost \
	-addext subjectAltName=IP:127.0.0.1 2>/dev/null
# After the public ones, so this file is the one in use.
cat "$dir/certificate" >>"$image/etc/ssl/certs/ca-certificates.crt"
[ -z "$as" ] || chown postgres "$dir/key" "$dir/certificate"
starts "$port" <<-SETTINGS
	ssl = on
	ssl_cert_file = '$dir/certificate'
	ssl_key_file = '$dir/key'
SETTINGS

# Mounts of a container engine: /dev, /proc, and the tmpfs of compose.yaml.
mkdir "$image/dev" "$image/proc"
cat >"$dir/contained" <<-CONTAINED
	set -eu
	mount --bind "$image" "$image"
	mount -o remount,bind,ro "$image"
	mount -t tmpfs -o mode=1777,size=256m,nosuid,nodev tmpfs "$image/tmp"
	mount -t proc proc "$image/proc"
	mount -t tmpfs -o mode=755 tmpfs "$image/dev"
	mknod -m 666 "$image/dev/null" c 1 3
	exec env -i $(stage ENV) SERVERY_LISTEN=127.0.0.1:$((port + 1)) SERVERY_SECRET_KEY=$(openssl rand -hex 32) \\
		"SERVERY_DATABASE_URL=postgres://servery@127.0.0.1:$port/servery?sslmode=verify-full" \\
		$(command -v setpriv) --no-new-privs $(command -v chroot) --userspec=$(stage USER) --groups= "$image" "\$@"
CONTAINED
contained() { unshare --mount sh "$dir/contained" "$@"; }
entry=$(stage ENTRYPOINT | tr -d '[]"')
serve=$(stage CMD | tr -d '[]"')

say "running it as $(stage USER) on a read-only root"
# Without the function, so that $! is the hub itself.
unshare --mount sh "$dir/contained" "$entry" "$serve" 2>"$dir/hub.log" &
hub=$!
for _ in $(seq 600); do
	if curl -fsS "http://127.0.0.1:$((port + 1))/readyz" >/dev/null 2>&1; then break; fi
	kill -0 "$hub" 2>/dev/null || { tail -n 5 "$dir/hub.log"; exit 1; }
	sleep 0.1
done
contained "$entry" business create --name Contained --country US --timezone America/Chicago --currency USD >/dev/null
if ! contained "$entry" doctor >"$dir/doctor"; then
	cat "$dir/doctor"
	exit 1
fi
for plugin in "$image"/plugins/*/; do
	grep -q "ok .*plugin $(basename "$plugin") .* is ready in 1 of 1 running hubs" "$dir/doctor" ||
		{ cat "$dir/doctor"; exit 1; }
done
encrypted="SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'servery'"
[ "$(sql "$port" "$encrypted")" = t ] ||
	{ say "the hub connects to the database without TLS"; exit 1; }
[ "$(stat -c %u "/proc/$hub")" = "$(stage USER | cut -d: -f1)" ] || { say "the hub runs as another user"; exit 1; }
kill "$hub"
wait "$hub" || { say "it does not stop cleanly:"; tail -n 5 "$dir/hub.log"; exit 1; }
hub=""
if grep -q '"level":"ERROR"' "$dir/hub.log"; then
	say "it logged errors:"; grep '"level":"ERROR"' "$dir/hub.log"; exit 1
fi
say "the image, $size MiB, runs, with its plugins, certificates and time zones"
