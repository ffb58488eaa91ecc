#!/bin/sh
# adderd never runs Python itself, and the zygote has no event loop: neither
# program is linked with the other's library.
set -eu

cd "$ADDER_BUILD"
failed=0

# expect PROGRAM has|lacks LIBRARY
expect() {
	if [ ! -x "$1" ]; then
		echo "$1 was not built"
		failed=1
		return
	fi
	found=lacks
	if ldd "$1" | grep -q "^[[:space:]]*$3"; then
		found=has
	fi
	echo "$1 $found $3"
	if [ "$found" != "$2" ]; then
		echo "  but it should be: $2"
		failed=1
	fi
}

expect adderd has libevent
expect adderd has libjansson
expect adderd lacks libpython
expect adder-zygote has libpython
expect adder-zygote lacks libevent
expect adder-zygote lacks libjansson
expect adderctl has libjansson
expect adderctl lacks libevent
expect adderctl lacks libpython
exit "$failed"
