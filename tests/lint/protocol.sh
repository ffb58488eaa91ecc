#!/bin/sh
# proto/PROTOCOL.md has the frames, fields, limits and verdicts of proto/*.h.
set -eu

doc=$ADDER_SOURCE/proto/PROTOCOL.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

awk -F ' *[|] *' '
	/^Version: /		{ print "version|" $1; next }
	/^### /			{ frame = substr($0, 5); next }
	/^## /			{ frame = "" }
	/^[|] *(frame|field|limit|verdict) *[|]/ { table = $2; next }
	/^[|][-|]*$/		{ next }
	!/^[|]/			{ table = ""; next }
	table == "frame"	{ print "frame|" $2 "|" $3 "|" $4 "|" $5 }
	table == "field"	{ print "field|" frame "|" $2 "|" $3 }
	table == "limit"	{ print "limit|" $2 "|" $3 }
	table == "verdict"	{ print "verdict|" $2 }
	$2 == "policy"		{ print "policy|" $4 }
	$2 == "control"		{ fds = $5; sub(/.*up to /, "", fds)
				  sub(/ .*/, "", fds) }
	END			{ print "fds|" fds }
' "$doc" | sed 's/^version|Version: /version|/' >"$work/all"

bytes=$(sed -n 's/^A frame on a control link is at most \([0-9]*\) bytes.*/\1/p' \
    "$doc")
fds=$(sed -n 's/^fds|//p' "$work/all")
{ grep -v '^fds|' "$work/all"; echo "control|$bytes|$fds"; } |
    sort >"$work/documented"
"$ADDER_BUILD/tests/lint/proto_lists" | sort >"$work/declared"

if ! diff "$work/declared" "$work/documented"; then
	echo "proto/PROTOCOL.md (>) and proto/*.h (<) differ in the lines above"
	exit 1
fi
echo "$(wc -l <"$work/declared") facts agree"
