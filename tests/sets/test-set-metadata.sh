#!/bin/sh
# Weights of new sets, from sefd, as given, and those of the set that was copied, with its field's name and mounts; HISTORY at every
# writing: read with casacore's own Python.
python=${GROVE_TEST_PYTHON:-/usr/bin/python3}
grep -q "^ms " "$GROVE_BUILD/nodes/.libs/classes.index" || { echo 'skipped: built without casacore'; exit 77; }
$python -c 'import numpy, casacore.tables' 2>/dev/null || { echo 'skipped: no package python3-casacore'; exit 77; }

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
grove=$GROVE_BUILD/grove
sky=$GROVE_SOURCE/examples/quickstart/3C147.skymodel
set -- -s sky="$sky" -s hour_angle=-5min..5min -s integration=60s -s channels=3

fail()
{
    echo "FAIL: $1"
    exit 1
}

"$grove" run -q simulate.tree "$@" -s sefd=420Jy -s out=noise.ms --tile-channels 2 --tile-times 3 || fail 'noise.ms'
"$grove" run -q simulate.tree "$@" -s out=plain.ms || fail 'plain.ms'
cat >given.tree <<'END'
obs   = ms("plain.ms")
w     = diagonal(obs.freq / 1e9Hz, 4)
write = sink(obs.data, obs, to="given.ms", weight=w)
END
"$grove" run -q given.tree --tile-channels 1 || fail 'given.ms'
cat >copy.tree <<'END'
obs   = ms("changed.ms")
write = sink(obs.data, obs, to="copy.ms")
more  = sink(2 * obs.data, obs, to="./copy.ms", column="TWICE")
END
cat >twice.tree <<'END'
obs   = ms("changed.ms")
write = sink(2 * obs.data, obs, column="TWICE")
END
"$python" "$GROVE_SOURCE/tests/sets/set-metadata.py" . change || fail 'weights'
cp -R noise.ms changed.ms
"$grove" run -q copy.tree --tile-channels 2 || fail 'copy.ms'
"$grove" run -q twice.tree || fail 'TWICE'
cp -R noise.ms odd.ms
"$python" "$GROVE_SOURCE/tests/sets/set-metadata.py" . odd || fail 'a HISTORY of another kind'
sed 's/changed.ms/odd.ms/' twice.tree >odd.tree
"$grove" run -q odd.tree || fail 'a set whose HISTORY cannot be written'
"$grove" info odd.ms | grep -q TWICE || fail 'the column beside a HISTORY that cannot be written'
[ -z "$(find odd.ms -name '.grove*')" ] || fail 'left behind where HISTORY cannot be written'
"$python" "$GROVE_SOURCE/tests/sets/set-metadata.py" . look || fail 'the copy and HISTORY'
"$python" "$GROVE_SOURCE/tests/sets/appended-rows.py" || fail 'rows that were added by another program'
