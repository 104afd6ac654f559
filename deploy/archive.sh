#!/bin/sh
# Archives a segment of the WAL: PostgreSQL's archive_command.
#   archive_command = '/opt/servery/archive.sh %p /backup/wal/%f'
# What is under its name is whole and on the disk: a copy that was broken off, by a full disk or a
# crash, is made again. One that is there already is as good; another one is never replaced.
set -eu
umask 077
if [ -e "$2" ]; then
	cmp "$1" "$2"
	exit
fi
cp "$1" "$2.part"
sync "$2.part"
mv "$2.part" "$2"
sync "$(dirname "$2")"
