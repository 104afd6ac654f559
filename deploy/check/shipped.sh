#!/bin/sh
# Holds what deploy/ ships against the programs that will read it. What the machine
# cannot check is listed at the end; CI refuses that.
#   deploy/check/shipped.sh
# promtool is taken out of Debian's package, which would start a server, into bin/check.
set -eu
cd "$(dirname "$0")/../.."
PATH=$PWD/bin/check:$PATH
unchecked=""
tmp=$(mktemp -d)
out=$tmp/out
trap 'rm -rf "$tmp"' EXIT
say() { printf '%-14s %s\n' "$1" "$2"; }
# has tells whether a program is here, and else notes what stays unchecked.
has() {
	command -v "$1" >/dev/null && return
	unchecked="$unchecked $2"
	say "$2" "NOT CHECKED: $1 is missing"
	return 1
}
# check runs a program and shows what it printed only if it fails.
check() {
	what=$1
	shift
	"$@" >"$out" 2>&1 || { say "$what" "FAILED: $*"; cat "$out"; exit 1; }
}

if ! command -v promtool >/dev/null && command -v apt-get >/dev/null; then
	mkdir -p bin/check
	(cd bin/check && { apt-get download -qq prometheus || { apt-get update -qq && apt-get download -qq prometheus; }; } &&
		dpkg --fsys-tarfile prometheus_*.deb | tar -x --strip-components=3 ./usr/bin/promtool && rm -f prometheus_*.deb) >/dev/null 2>&1 || true
fi

if has promtool alerts; then
	check alerts promtool check config deploy/prometheus/prometheus.yaml
	check alerts promtool test rules deploy/prometheus/servery.rules.test.yaml
	say alerts "proper, and each comes and goes by its test"
	{
		printf 'groups:\n- name: dashboard\n  rules:\n'
		sed -n 's/\$__rate_interval/5m/; s/^ *"expr": \(".*"\),\{0,1\}$/  - {record: panel, expr: \1}/p' deploy/grafana/servery.json
	} >"$tmp/dashboard.yaml"
	[ "$(grep -c 'record: panel' "$tmp/dashboard.yaml")" = "$(grep -c '"expr":' deploy/grafana/servery.json)" ]
	check dashboard promtool check rules --lint=none "$tmp/dashboard.yaml"
	say dashboard "$(grep -c 'record: panel' "$tmp/dashboard.yaml") queries are proper"
fi

if has systemd-analyze unit; then
	sed 's|/opt/servery/servery|/bin/true|' deploy/systemd/servery.service >"$tmp/servery.service"
	check unit systemd-analyze verify "$tmp/servery.service"
	[ ! -s "$out" ] || { cat "$out"; exit 1; } # it also only warns
	# 2.4: plugins have namespaces of their own, which takes the call mount
	check unit systemd-analyze security --offline=yes --threshold=25 "$tmp/servery.service"
	say unit "$(tail -n 1 "$out" | sed 's/^[^A-Za-z]*//')"
fi

if has caddy proxy; then
	check proxy caddy validate --adapter caddyfile --config deploy/Caddyfile
	say proxy "Caddy takes its file"
fi

check manifests env -C deploy/check/kubernetes "${GO:-go}" test -count=1 .
say manifests "strictly of their kinds, admitted as restricted, nothing that they name is missing, no placeholder is left"

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
	proxy) ;; # only where the program happens to be
	*) [ -z "${CI:-}" ] || { echo "CI must check $one"; exit 1; } ;;
	esac
done
