#!/bin/sh
# The model of the real LOFAR set for the real 13-source sky against an independent numpy evaluation: in a new column, added,
# subtracted; the rest of the set is unchanged.
python=${GROVE_TEST_PYTHON:-/usr/bin/python3}
set=$GROVE_TEST_DATA/ms/lofar-8st.MS.tgz sky=$GROVE_TEST_DATA/sky/lofar-8st.skymodel
[ -f "$set" ] || { echo "skipped: no $set"; exit 77; }
grep -q "^ms " "$GROVE_BUILD/nodes/.libs/classes.index" || { echo 'skipped: built without casacore'; exit 77; }
$python -c 'import numpy, casacore.tables' 2>/dev/null || { echo 'skipped: no package python3-casacore'; exit 77; }

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
tar -xzf "$set" -C "$work" || exit 1
ms=$(ls -d "$work"/*.MS)
grove=$GROVE_BUILD/grove
status=0

must()
{
    if ! "$@"; then
        echo "FAIL: $*"
        status=1
    fi
}
predict()
{
    "$grove" run -q predict.tree -s ms="$ms" -s sky="$sky" "$@"
}
compare()
{
    "$python" "$GROVE_SOURCE/tests/sky/predict-reference.py" "$ms" "$sky" "$@"
}

must predict -s column=GROVE_MODEL
must compare GROVE_MODEL
must predict -s column=GROVE_MODEL -s mode=add --memory 8MiB --threads 3
must compare GROVE_MODEL 2
must predict -s column=GROVE_MODEL -s mode=subtract
must compare GROVE_MODEL 1
must predict -s column=GROVE_MODEL --precision double
must compare GROVE_MODEL 1
exit $status
