#!/bin/sh
# Fails when the program calls code with a known vulnerability. The list of them is
# at vuln.go.dev, or where GOVULNDB says (https:// or file://, a copy made elsewhere). A
# machine that does not reach vuln.go.dev passes, for that is no finding, but says in
# plain words that nothing was checked; a GOVULNDB that cannot be read fails.
set -u
out=$(mktemp)
trap 'rm -f "$out"' EXIT
${GO:-go} tool -modfile=tools.mod govulncheck ${GOVULNDB:+-db "$GOVULNDB"} ./... >"$out" 2>&1
status=$?
if [ "$status" -eq 0 ]; then
	echo "govulncheck: no known vulnerabilities"
	exit 0
fi
if [ "$status" -eq 3 ] || [ -n "${GOVULNDB:-}" ] || ! grep -qiE 'vuln\.go\.dev|dial tcp|no such host|i/o timeout|connection refused|proxyconnect' "$out"; then
	cat "$out"
	exit 1
fi
cat <<-NOT_CHECKED
	================================================================================
	govulncheck: NOT CHECKED. None of the $(${GO:-go} list -m all | wc -l) modules was held against the list of known
	vulnerabilities, because that cannot be reached from here:
	  $(tail -n 1 "$out")
	Run make verify where https://vuln.go.dev is reached, or set GOVULNDB to a copy of it.
	================================================================================
NOT_CHECKED
