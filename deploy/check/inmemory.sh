#!/bin/sh
# Runs tests whose databases are in memory where there is plenty of it, and gone
# afterwards: each of a thousand tests has one, of 800 files, and to make and remove
# these on a disk takes a third of all the processor's time that tests take.
set -u

room() { # a directory of at least 8 GiB, in a memory of at least 12
	[ "$(df -Pk "$1" | awk 'NR == 2 { print int($4 / 1048576) }')" -ge 8 ] &&
		[ "$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)" -ge 12 ]
}

# The name is the same each time: go test knows a result by it, too.
dir=/dev/shm/servery-$(id -u)-$(pwd | cksum | cut -d ' ' -f 1)
if room /dev/shm 2>/dev/null && mkdir -p "$dir"; then
	trap 'rm -rf "$dir"' EXIT
	trap 'exit 130' INT TERM
	chmod 755 "$dir" # the database runs as another user
	export HUBTEST_DIR="$dir"
fi
"$@"
