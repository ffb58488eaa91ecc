#!/bin/sh
# configure refuses a CPython that is too old, in a sentence and at once,
# warns of one that adder was never run with, and says nothing of the others.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
unset PYTHON_CFLAGS PYTHON_LIBS
PKG_CONFIG_LIBDIR=$dir
PKG_CONFIG_PATH=
export PKG_CONFIG_LIBDIR PKG_CONFIG_PATH
failed=0

# run VERSION: configure where python3-embed has it; it always fails, as
# there is no such interpreter.
run() {
	cat >python3-embed.pc <<EOF
exec_prefix=$dir/none
Name: Python
Description: nothing
Version: $1
EOF
	if "$ADDER_SOURCE/configure" >out 2>&1; then
		echo "configure is content with a Python $1 that is not there"
		failed=1
	fi
}

# expect VERSION yes|no PATTERN: whether it says so.
expect() {
	said=no
	if grep -q "$3" out; then
		said=yes
	fi
	if [ "$said" != "$2" ]; then
		echo "Python $1: \"$3\" said: $said, expected: $2"
		cat out
		failed=1
	fi
}

for version in 2.7 3.9 3.10; do
	run $version
	expect $version yes \
	    "error: adder needs CPython 3.11 or later, and python3-embed is $version:"
done
for version in 3.11 3.12 3.13 3.14; do
	run $version
	expect $version no 'adder needs\|never been run'
	expect $version yes "error: $dir/none/bin/python$version is missing"
done
for version in 3.15 3.20 4.0; do
	run $version
	expect $version yes \
	    "WARNING: adder has never been run with CPython $version"
	expect $version yes "error: $dir/none/bin/python$version is missing"
done
rm python3-embed.pc
"$ADDER_SOURCE/configure" >out 2>&1 && failed=1
expect none yes 'error: pkg-config knows no python3-embed'
exit "$failed"
