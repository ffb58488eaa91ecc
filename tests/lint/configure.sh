#!/bin/sh
# What configure says of an environment for Python that is not there.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

look() {
	"$ADDER_SOURCE/configure" --quiet --no-create \
	    --with-python-env="$1" >out 2>&1
}

look "$dir/nowhere" || { cat out; exit 1; }
grep -q "WARNING: there is no Python environment at $dir/nowhere yet" out || {
	echo "no warning of a directory that is not there:"
	cat out
	exit 1
}
if look nowhere || ! grep -q "must be a path from the root on" out; then
	echo "a path from here on is taken:"
	cat out
	exit 1
fi
