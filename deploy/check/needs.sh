#!/bin/sh
# Installs missing dependencies of the tests: a C compiler for the race detector, PostgreSQL, Chromium
# and gRPC for Python. It uses apt if it may. Otherwise tests skip with a message, and CI fails.
set -eu

packages=""
command -v cc >/dev/null || command -v gcc >/dev/null || packages="$packages gcc libc6-dev"
command -v curl >/dev/null || packages="$packages curl"
if ! command -v postgres >/dev/null && ! ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1; then
	packages="$packages postgresql"
fi
if ! command -v chromium-headless-shell >/dev/null && ! command -v chromium >/dev/null &&
	! command -v chromium-browser >/dev/null && ! command -v google-chrome >/dev/null; then
	packages="$packages chromium-headless-shell"
fi
# A plugin has no environment, so it uses the Python of the system, not one on PATH.
env -i python3 -c 'import grpc, google.protobuf' 2>/dev/null || packages="$packages python3-grpcio"
[ -n "$packages" ] || exit 0

as_root=""
if [ "$(id -u)" -ne 0 ]; then
	as_root="sudo -n"
	if ! sudo -n true 2>/dev/null; then
		as_root=no
	fi
fi
if ! command -v apt-get >/dev/null || [ "$as_root" = no ]; then
	echo "Missing and not installed (no apt, or not permitted):$packages"
	echo "Tests that need them skip; install them by hand to run all."
	exit 0
fi
echo "Installing:$packages"
# No cluster of the distribution: the tests start their own.
case "$packages" in *postgresql*)
	if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
		$as_root mkdir -p /etc/postgresql-common
		echo "create_main_cluster = false" | $as_root tee /etc/postgresql-common/createcluster.conf >/dev/null
	fi ;;
esac
$as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
case "$packages" in *chromium-headless-shell*)
	if ! apt-cache show chromium-headless-shell >/dev/null 2>&1; then
		packages=$(echo "$packages" | sed 's/chromium-headless-shell/chromium/')
	fi ;;
esac
# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null
