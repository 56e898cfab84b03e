#!/bin/sh
# Measurement Sets that CASA, pyuvdata, DP3 and simms write: opened, predicted, calibrated, imaged and copied; what must not change
# is compared number by number. GROVE_PEERS_PYTHON names the Python that has casatools, casatasks, casadata, pyuvdata, simms and dp3 (PyPI).
grep -q "^ms " "$GROVE_BUILD/nodes/.libs/classes.index" || { echo 'skipped: built without casacore'; exit 77; }
grep -q "define HAVE_FITS" "$GROVE_BUILD/config.h" || { echo 'skipped: built without cfitsio and WCSLIB'; exit 77; }
python=${GROVE_TEST_PYTHON:-/usr/bin/python3} peers=${GROVE_PEERS_PYTHON:-python3}
$python -c 'import numpy, casacore.tables' 2>/dev/null || { echo 'skipped: no package python3-casacore'; exit 77; }
"$peers" -c 'import importlib.util as u, sys
sys.exit(not all(u.find_spec(n) for n in "casatools casatasks casadata pyuvdata simms dp3".split()))' ||
    { echo 'skipped: no Python with the programs of PyPI (GROVE_PEERS_PYTHON)'; exit 77; }
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 99
"$peers" "$GROVE_SOURCE/tests/sets/set-peers-make.py" "$work" || exit 1
$python "$GROVE_SOURCE/tests/sets/set-peers.py" "$GROVE_BUILD/grove" "$work"/*.ms
