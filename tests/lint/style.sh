#!/bin/sh
# Blanks, line length and file length of the sources.
set -eu

cd "$ADDER_SOURCE"
set -- lib/*.[ch] proto/*.[ch] jail/*.[ch] src/*.[ch] worker/*.[ch]
for file in tests/*/*.[ch] bench/*.[ch] fuzz/*.[ch]; do
	[ ! -e "$file" ] || set -- "$@" "$file"
done

awk '
	function bad(text) {
		print FILENAME ":" FNR ": " text
		failed = 1
	}
	# Columns that a line takes with tabs of 8; bytes of UTF-8 that
	# continue a character take none.
	function columns(line,    n, i, c) {
		gsub(/[\200-\277]/, "", line)
		n = 0
		for (i = 1; i <= length(line); i++) {
			c = substr(line, i, 1)
			n = c == "\t" ? n + 8 - n % 8 : n + 1
		}
		return n
	}
	FNR == 1		{ files++; blank = 0 }
	/[ \t]$/		{ bad("blanks at the end of the line") }
	/\r/			{ bad("carriage return") }
	/^        /		{ bad("indented with blanks, not tabs") }
	/^ *\t* +\t/		{ bad("blanks before a tab") }
	# A list of keys keeps one entry with its help on one line, and a
	# string that people search for is not cut.
	length($0) > 40 && columns($0) > 80 && FILENAME !~ /conf_keys/ &&
	    !/^[ \t]*"[^"]*"[^"]*$/ {
		bad("longer than 80 columns")
	}
	/^$/			{ if (blank++ && FNR > 1)
					bad("two empty lines") }
	/./			{ blank = 0 }
	FNR == 551 && FILENAME ~ /^(lib|proto|jail|src|worker).*\.c$/ {
		bad("far over 500 lines: split it by concern")
	}
	END			{ print files " files looked at"
				  exit failed || files == 0 }
' "$@"
