#!/bin/sh
# Runs every fuzz test of the repository for the given time.
set -eu
grep -rlE '^func Fuzz' --include='*_test.go' core web plugins 2>/dev/null | xargs -n1 dirname | sort -u |
	while read -r package; do
	grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$package"/*_test.go | sed 's/^func //' | while read -r name; do
		go test -run '^$' -fuzz "^$name\$" -fuzztime "$1" "./$package"
	done
done
