#!/bin/sh
# Sets that Grove makes, opened with casacore's own Python: complete, with the uvw that casacore
# computes from antennas, times and field, and with the visibilities of four polarised sources, for
# linear and circular feeds.
python=${GROVE_TEST_PYTHON:-/usr/bin/python3}
grep -q "^ms " "$GROVE_BUILD/nodes/.libs/classes.index" || { echo 'skipped: built without casacore'; exit 77; }
$python -c 'import numpy, casacore.tables' 2>/dev/null || { echo 'skipped: no package python3-casacore'; exit 77; }

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
status=0
cat >"$work/sky.skymodel" <<'END'
format = Name, Type, Ra, Dec, I, Q, U, V, SpectralIndex, LogarithmicSI, ReferenceFrequency='1.4e9'
one, POINT, 05:42:36.1, +49.51.07.0, 2.0, 0.0, 0.0, 0.0, [-0.7], true, 1.4e9
two, POINT, 05:43:30.0, +49.40.00.0, 1.0, 0.3, -0.2, 0.1, [], true, 1.4e9
three, POINT, 05:41:00.0, +50.10.00.0, -0.5, 0.0, 0.0, 0.4, [], true, 1.4e9
four, POINT, 05:42:00.0, +49.30.00.0, 0.0, 0.0, 0.7, 0.0, [], true, 1.4e9
END
for feed in linear circular; do
    "$GROVE_BUILD/grove" run -q simulate.tree -s sky="$work/sky.skymodel" -s array=vla-d \
        -s hour_angle=-2h..2h -s integration=600s -s channels=7 -s channel_width=3MHz -s smear=none \
        -s feed=$feed -s out="$work/$feed.ms" --memory 1MiB || status=1
    "$python" "$GROVE_SOURCE/tests/sets/simulated-ms.py" "$work/$feed.ms" $feed 2>"$work/err" ||
        { cat "$work/err"; status=1; }
done
exit $status
