#!/bin/sh
# Fails if the program calls code with a known vulnerability. The list is that of vuln.go.dev, or of
# GOVULNDB (an https:// or file:// URL). If vuln.go.dev cannot be reached, the check passes with a warning
# that nothing was checked. If GOVULNDB cannot be read, it fails.
set -u
out=$(mktemp)
trap 'rm -f "$out"' EXIT
${GO:-go} tool -modfile=tools.mod govulncheck ${GOVULNDB:+-db "$GOVULNDB"} ./... >"$out" 2>&1
status=$?
if [ "$status" -eq 0 ]; then
	echo "govulncheck: no known vulnerabilities"
	exit 0
fi
no_network='vuln\.go\.dev|dial tcp|no such host|i/o timeout|connection refused|proxyconnect'
if [ "$status" -eq 3 ] || [ -n "${GOVULNDB:-}" ] || ! grep -qiE "$no_network" "$out"; then
	cat "$out"
	exit 1
fi
cat <<-NOT_CHECKED
	================================================================================
	govulncheck: NOT CHECKED. None of the $(${GO:-go} list -m all | wc -l) modules was checked against the list of known
	vulnerabilities, because that cannot be reached from here:
	  $(tail -n 1 "$out")
	Run make verify where https://vuln.go.dev is reached, or set GOVULNDB to a copy of it.
	================================================================================
NOT_CHECKED
