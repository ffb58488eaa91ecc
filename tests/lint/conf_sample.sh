#!/bin/sh
# conf/adderd.conf is what the list of keys says.
set -eu

sample=$ADDER_SOURCE/conf/adderd.conf
"$ADDER_BUILD/tests/lint/conf_sample" | diff - "$sample" || {
	echo "conf/adderd.conf (>) is not the sample that the list of keys" \
	    "gives (<): run tests/lint/conf_sample >conf/adderd.conf"
	exit 1
}
