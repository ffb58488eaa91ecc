#!/bin/sh
# The manual pages are well-formed mdoc, name every verdict, and have their
# sections.
set -eu

cd "$ADDER_BUILD"
command -v mandoc >/dev/null || { echo "no mandoc here"; exit 77; }
failed=0

# References to manuals that are not installed here are no fault of a page.
messages=$(mandoc -T lint man/*.[1-9] 2>&1 |
    grep -v 'mandoc.db lacks\|referenced manual not found' || :)
if [ -n "$messages" ]; then
	printf '%s\n' "$messages"
	failed=1
fi

for page in man/*.[1-9]; do
	if grep -n '@[a-z]*@' "$page"; then
		echo "$page: a path was not filled in"
		failed=1
	fi
	case $page in
	*.8) sections="NAME SYNOPSIS DESCRIPTION FILES EXIT SEE SECURITY" ;;
	*)   sections="NAME DESCRIPTION FILES SEE" ;;
	esac
	for section in $sections; do
		if ! grep -q "^\.Sh $section" "$page"; then
			echo "$page: no section $section"
			failed=1
		fi
	done
done

for verdict in $(tests/lint/proto_lists | sed -n 's/^verdict|//p'); do
	if ! grep -q "^\.It Cm $verdict\$" man/adder-protocol.7; then
		echo "man/adder-protocol.7: no verdict $verdict"
		failed=1
	fi
done
exit "$failed"
