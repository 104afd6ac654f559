#!/bin/sh
# Checks the files of deploy/ with the programs that read them. Checks that the machine cannot run are
# listed at the end, and CI fails.
#   deploy/check/shipped.sh
# promtool is extracted into bin/check, because Debian's package would start a server.
set -eu
cd "$(dirname "$0")/../.."
PATH=$PWD/bin/check:$PATH
unchecked=""
tmp=$(mktemp -d)
out=$tmp/out
trap 'rm -rf "$tmp"' EXIT
say() { printf '%-14s %s\n' "$1" "$2"; }
# has reports whether a program is installed, and otherwise records the missing check.
has() {
	command -v "$1" >/dev/null && return
	unchecked="$unchecked $2"
	say "$2" "NOT CHECKED: $1 is missing"
	return 1
}
# check runs a program and prints its output only if it fails.
check() {
	what=$1
	shift
	"$@" >"$out" 2>&1 || { say "$what" "FAILED: $*"; cat "$out"; exit 1; }
}

if ! command -v promtool >/dev/null && command -v apt-get >/dev/null; then
	mkdir -p bin/check
	(
		cd bin/check
		apt-get download -qq prometheus || { apt-get update -qq && apt-get download -qq prometheus; } || exit
		dpkg --fsys-tarfile prometheus_*.deb | tar -x --strip-components=3 ./usr/bin/promtool && rm -f prometheus_*.deb
	) >/dev/null 2>&1 || true
fi

if has promtool alerts; then
	check alerts promtool check config deploy/prometheus/prometheus.yaml
	check alerts promtool test rules deploy/prometheus/servery.rules.test.yaml
	say alerts "valid, and each fires and resolves in its test"
	{
		printf 'groups:\n- name: dashboard\n  rules:\n'
		sed -n 's/\$__rate_interval/5m/; s/^ *"expr": \(".*"\),\{0,1\}$/  - {record: panel, expr: \1}/p' \
			deploy/grafana/servery.json
	} >"$tmp/dashboard.yaml"
	[ "$(grep -c 'record: panel' "$tmp/dashboard.yaml")" = "$(grep -c '"expr":' deploy/grafana/servery.json)" ]
	check dashboard promtool check rules --lint=none "$tmp/dashboard.yaml"
	say dashboard "$(grep -c 'record: panel' "$tmp/dashboard.yaml") queries are valid"
fi

if has systemd-analyze unit; then
	sed 's|/opt/servery/servery|/bin/true|' deploy/systemd/servery.service >"$tmp/servery.service"
	check unit systemd-analyze verify "$tmp/servery.service"
	[ ! -s "$out" ] || { cat "$out"; exit 1; } # warnings fail too
	# The score is 2.4, because plugins in their own namespaces need the system call mount.
	check unit systemd-analyze security --offline=yes --threshold=25 "$tmp/servery.service"
	say unit "$(tail -n 1 "$out" | sed 's/^[^A-Za-z]*//')"
fi

if has caddy proxy; then
	check proxy caddy validate --adapter caddyfile --config deploy/Caddyfile
	say proxy "Caddy accepts its file"
fi

check manifests env -C deploy/check/kubernetes "${GO:-go}" test -count=1 .
say manifests "they match their schemas, meet the restricted standard, name no missing object, and leave no placeholder"

if [ "$(uname)" = Linux ] && [ "$(id -u)" = 0 ]; then
	check image sh deploy/check/image.sh
	say image "$(tail -n 1 "$out")"
else
	unchecked="$unchecked image"
	say image "NOT CHECKED: it needs root on Linux"
fi

[ -z "$unchecked" ] || echo "not checked:$unchecked"
for one in $unchecked; do
	case $one in
	proxy) ;; # optional
	*) [ -z "${CI:-}" ] || { echo "CI must check $one"; exit 1; } ;;
	esac
done
