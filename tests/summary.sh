#!/bin/sh
# summary.sh BROKEN-CHECKS DISTCHECK-FAILED BUILD-DIR...
# Adds up what "make check" left in each build directory, prints the failures
# with the ends of their logs and then one line of numbers; exit status 1 if anything failed.  A pytest
# file or a cmocka program counts with each of its cases, a script as one.
set -eu

broken=$1
distcheck=$2
shift 2

# A distribution that failed its check is left behind in a build directory.
find "$@" -path '*/adder-[0-9]*' -prune -o -path '*/tests/*.trs' -print |
    sort | awk '
	# The last line of the form "3 passed, 1 skipped in 0.2s", or the
	# closing lines of cmocka: sets ok, bad, skip.
	function cases(log_file,    line, n, i, word) {
		ok = bad = skip = 0
		while ((getline line <log_file) > 0) {
			if (line ~ /^[= ]*[0-9]+ [a-z]+.* in [0-9.]+s/) {
				ok = bad = skip = 0
				n = split(line, word, /[ ,=]+/)
				for (i = 2; i <= n; i++) {
					if (word[i] == "passed")
						ok = word[i - 1]
					if (word[i] ~ /^(failed|errors?)$/)
						bad += word[i - 1]
					if (word[i] == "skipped")
						skip = word[i - 1]
				}
			}
			if (line ~ /^\[  PASSED  \] [0-9]+/)
				ok += substr(line, 13)
			if (line ~ /^\[  FAILED  \] [0-9]+ test/)
				bad += substr(line, 13)
			if (line ~ /^\[  SKIPPED \] [0-9]+ test/)
				skip += substr(line, 13)
		}
		close(log_file)
	}

	# What a failure says of itself stands at the end of its log.
	function show_end(log_file,    line, kept, n, i) {
		while ((getline line <log_file) > 0)
			kept[n++ % END_LINES] = line
		close(log_file)
		for (i = n > END_LINES ? n - END_LINES : 0; i < n; i++)
			print "  " kept[i % END_LINES]
	}

	{
		trs = $0
		log_file = trs
		sub(/\.trs$/, ".log", log_file)
		result = ""
		while ((getline line <trs) > 0)
			if (line ~ /^:test-result:/)
				result = substr(line, 15)
		close(trs)
		cases(log_file)
		if (ok + bad + skip == 0) {
			ok = result ~ /^PASS/
			skip = result ~ /^SKIP/
		}
		if (result !~ /^(PASS|SKIP)/) {
			print "FAILED: " log_file
			show_end(log_file)
			if (bad == 0)
				bad = 1
		}
		passed += ok
		failed += bad
		skipped += skip
	}

	END {
		if (failed < broken)
			failed = broken
		failed += distcheck
		passed += 1 - distcheck
		if (distcheck)
			print "FAILED: make distcheck"
		printf "%d passed, %d failed, %d skipped\n",
		    passed, failed, skipped
		exit failed > 0 || passed <= 1
	}
' END_LINES=40 broken="$broken" distcheck="$distcheck" -
