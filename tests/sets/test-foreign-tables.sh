#!/bin/sh
# Tables of a set as other programs leave them: what is missing in some rows, columns that are left out, units and frames, several
# polarizations. Compared with numpy's sums over what casacore's Python reads.
python=${GROVE_TEST_PYTHON:-/usr/bin/python3}
grep -q "^ms " "$GROVE_BUILD/nodes/.libs/classes.index" || { echo 'skipped: built without casacore'; exit 77; }
$python -c 'import numpy, casacore.tables' 2>/dev/null || { echo 'skipped: no package python3-casacore'; exit 77; }

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
printf '%s\n' 'format = Name, Type, Ra, Dec, I, V' 'a, POINT, 05:42:50.0, -30.3.0, 2, 0.5' >one.skymodel
"$GROVE_BUILD/grove" run -q simulate.tree -s sky=one.skymodel -s array=kat-7 -s phase_centre='05h42m36.1s -30d0m0s' \
    -s hour_angle=-3min..3min -s integration=60s -s channels=4 -s smear=none -s out=tidy.ms || exit 1
"$python" "$GROVE_SOURCE/tests/sets/foreign-tables.py" "$GROVE_BUILD/grove" 2>err || { grep -v '^Successful' err; exit 1; }
