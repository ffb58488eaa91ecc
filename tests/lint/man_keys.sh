#!/bin/sh
# man/adderd.conf.5.in has every key, with its kind, its default and whether
# a change needs a restart.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

awk '
	function finish() {
		when = sub(/ *; *restart *$/, "", text) ? "restart" : "reload"
		sub(/^ *default */, "", text)
		gsub(/\.?Cm +/, "", text)
		gsub(/ *, */, ",", text)
		gsub(/^ +| +$/, "", text)
		print key "|" kind "|" text "|" when
		open = 0
	}
	/^\.It Ic /		{ key = $3; kind = $5; next }
	/^\.Pq default/		{ text = substr($0, 5); finish(); next }
	/^\.Po$/		{ text = ""; open = 1; next }
	/^\.Pc$/		{ finish(); next }
	open			{ text = text " " $0 }
' "$ADDER_SOURCE/man/adderd.conf.5.in" | sort >"$work/documented"
"$ADDER_BUILD/tests/lint/conf_keys" | sort >"$work/declared"

if ! diff "$work/declared" "$work/documented"; then
	echo "man/adderd.conf.5.in (>) and CONF_LIST (<) differ in these lines"
	exit 1
fi
echo "$(wc -l <"$work/declared") keys agree"
