#!/bin/sh
# Fails if generated files are not up to date. It compares the files, so it also works outside a git
# checkout.
set -eu
make=$1
before=$(mktemp -d)
trap 'rm -rf "$before"' EXIT
generated() {
	find adminui plugins/proto web/client -name '*_templ.go' -o -name '*.pb.go' -o -name '*.binpb' \
		-o -path 'web/client/types.go' -o -path 'web/client/calls.go'
	find plugins/python-reference -name 'plugin.*'
}
generated | while read -r file; do
	mkdir -p "$before/$(dirname "$file")"
	cp "$file" "$before/$file"
done
"$make" --no-print-directory generate >/dev/null
generated | while read -r file; do
	cmp -s "$file" "$before/$file" || { echo "generated file is not up to date: $file (run make generate)"; exit 1; }
done
