#!/bin/sh
# README.md is short, and what README.md and HACKING.md name exists: files of
# the sources, programs and options of the build, targets of make.
set -eu

cd "$ADDER_SOURCE"
failed=0

fail() {
	echo "$*"
	failed=1
}

lines=$(wc -l <README.md)
[ "$lines" -lt 120 ] || fail "README.md has $lines lines; 119 are enough"

# Words that look like a path of the sources or of the build.
words=$(tr -c 'A-Za-z0-9_./*-' '\n' <README.md | cat - HACKING.md |
    tr -c 'A-Za-z0-9_./*-' '\n' | sed 's/[.]$//' | sort -u)
for word in $words; do
	case $word in
	build/python-env*)
		;;
	build/adder*|build/man/*|tests/lint/conf_sample)
		[ -e "$ADDER_BUILD/${word#build/}" ] ||
		    fail "$word: the build makes no such file"
		;;
	bench/*|conf/*|examples/*|lib/*|man/*|proto/*|src/*|tests/*|worker/*)
		[ -e "$word" ] || [ "$word" = tests/.../NAME.log ] ||
		    fail "$word: there is no such file"
		;;
	.ci/run|quickstart|*.md|*.conf)
		[ -e "$word" ] || [ -e "conf/$word" ] || [ -e "proto/$word" ] ||
		    fail "$word: there is no such file"
		;;
	--enable-*|--with-*)
		"$ADDER_SOURCE/configure" --help | grep -q -- "$word" ||
		    fail "$word: configure has no such option"
		;;
	esac
done

for target in $(sed -n 's/.*make \(check[a-z-]*\|bench\|dist[a-z]*\).*/\1/p' \
    README.md HACKING.md | sort -u); do
	grep -q "^$target:" "$ADDER_BUILD/Makefile" ||
	    fail "make $target: there is no such target"
done

for key in $(sed -n 's/.*-o \([a-z]*\.[a-z_]*\)=.*/\1/p' README.md); do
	"$ADDER_BUILD/tests/lint/conf_keys" | grep -q "^$key|" ||
	    fail "-o $key: there is no such key"
done
exit "$failed"
