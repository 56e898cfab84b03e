#!/bin/sh
# Sets that are fitted, corrected by the table of solutions, and copied: channels and slots that overlap, short last intervals,
# correlations that are not there; images of them. The model is known in closed form.
python=${GROVE_TEST_PYTHON:-/usr/bin/python3}
grep -q "^ms " "$GROVE_BUILD/nodes/.libs/classes.index" || { echo 'skipped: built without casacore'; exit 77; }
grep -q "define HAVE_HDF5" "$GROVE_BUILD/config.h" || { echo 'skipped: built without HDF5'; exit 77; }
$python -c 'import numpy, casacore.tables, h5py' 2>/dev/null || { echo 'skipped: no package python3-casacore or python3-h5py'; exit 77; }

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
"$python" "$GROVE_SOURCE/tests/fit/solved-sets.py" "$GROVE_BUILD/grove" overlap last correlations copies images
