#!/bin/sh
# No include goes up: tests/lint/layers.txt has the layers.
set -eu

cd "$ADDER_SOURCE"
set -- lib/*.[ch] proto/*.[ch] jail/*.[ch] src/*.[ch] worker/*.[ch]

awk '
	function stem(path) {
		sub(/.*\//, "", path)
		sub(/\.[ch]$/, "", path)
		return path
	}
	function directory(path) {
		sub(/\/.*/, "", path)
		return path
	}
	function bad(text) {
		print FILENAME ": " text
		failed = 1
	}
	BEGIN {
		reach["lib"] = " lib "
		reach["proto"] = " proto lib "
		reach["jail"] = " jail proto lib "
		reach["src"] = " src jail proto lib "
		reach["worker"] = " worker jail proto lib "
		for (i = 2; i < ARGC; i++)
			home[stem(ARGV[i])] = directory(ARGV[i])
	}
	FNR == NR {
		if ($0 !~ /^#/)
			for (i = 1; i <= NF; i++) {
				if ($i in rank)
					bad($i " is listed twice")
				rank[$i] = FNR
			}
		next
	}
	FNR == 1 {
		me = stem(FILENAME)
		seen[me] = 1
		if (!(me in rank))
			bad("no layer: add " me " to tests/lint/layers.txt")
		if (home[me] != directory(FILENAME))
			bad("there is a " me " in " home[me] "/ too")
	}
	/^[ \t]*#[ \t]*include[ \t]*"/ {
		split($0, part, "\"")
		need = stem(part[2])
		# Made by the build.
		if (need == "config" || need ~ /^(glue_data|installer_code|selftest_code)$/ || need == me)
			next
		if (part[2] ~ /\// || !(need in home))
			bad("includes \"" part[2] "\", which is no header" \
			    " of lib, proto, jail, src or worker")
		else if (!index(reach[directory(FILENAME)], \
		    " " home[need] " "))
			bad("a file of " directory(FILENAME) "/ includes " \
			    home[need] "/" need ".h")
		else if (me in rank && need in rank && rank[need] > rank[me])
			bad("includes " need ".h, which is a layer above it")
		includes++
	}
	END {
		for (me in rank)
			if (!(me in seen)) {
				print "tests/lint/layers.txt: there is no " me
				failed = 1
			}
		print includes " includes looked at"
		exit failed || includes == 0
	}
' tests/lint/layers.txt "$@"
