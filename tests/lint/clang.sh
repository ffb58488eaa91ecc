#!/bin/sh
# No compiler has anything to say of the sources, not only the one in use.
set -eu

if ! command -v clang >/dev/null; then
	echo "clang is not installed"
	exit 77
fi
make -s -C "$ADDER_BUILD" check-clang
