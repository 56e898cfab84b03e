#!/bin/sh
# Measurement Sets as observatories write them: rows in any order, missing rows, FLAG_ROW, flags, NaN,
# two correlations. Compared with casacore's own Python.
python=${GROVE_TEST_PYTHON:-/usr/bin/python3}
grep -q "^ms " "$GROVE_BUILD/nodes/.libs/classes.index" || { echo 'skipped: built without casacore'; exit 77; }
$python -c 'import numpy, casacore.tables' 2>/dev/null || { echo 'skipped: no package python3-casacore'; exit 77; }

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
status=0
grove=$GROVE_BUILD/grove
cat >odd.tree <<'END'
option ms = "odd.ms" "the set"
obs    = ms($ms)
twice  = sink(obs.data * 2, obs, column="TWICE")
middle = sink(mean(obs.data, over=time) + 0Jy/s*obs.time, obs, column="MEAN")
run twice, middle
END
"$grove" run -q simulate.tree -s sky="$GROVE_SOURCE/examples/quickstart/3C147.skymodel" -s array=kat-7 \
    -s phase_centre='05h42m36.1s -30d0m0s' -s hour_angle=-5min..5min -s integration=60s -s channels=5 \
    -s smear=none -s gains=random_walk -s out=tidy.ms || exit 1
for kind in make pair; do
    "$python" "$GROVE_SOURCE/tests/sets/odd-sets.py" $kind tidy.ms $kind.ms 2>err || { cat err; exit 1; }
    "$grove" run -q odd.tree -s ms=$kind.ms --tile-times 3 || status=1
    "$python" "$GROVE_SOURCE/tests/sets/odd-sets.py" check $kind.ms 2>err || { cat err; status=1; }
done

# ---- rows that a set lacks are not computed; those that it has are ----
printf '%s\n' 'format = Name, Type, Ra, Dec, I' 'a, POINT, 05:42:36.1, -30.0.0, 1' 'b, POINT, 05:42:36.1, -29.54.0, 0.5' >two.skymodel
cat >point.tree <<'END'
option ms = "make.ms" "the set"
obs = ms($ms)
S   = sky_model("two.skymodel")
sink(sum[s](point(S, obs)), obs, column="POINT")
END
for kind in make pair; do
    "$grove" check point.tree -s ms=$kind.ms >out 2>err || { cat err; status=1; }
    grep -q 'not computed where obs.missing is flagged: the set has no such rows' out || { echo "FAIL: $kind: missing rows"; cat out; status=1; }
    "$grove" run -q point.tree -s ms=$kind.ms --tile-times 3 || status=1
    "$python" "$GROVE_SOURCE/tests/sets/odd-sets.py" predicted $kind.ms 2>err || { cat err; status=1; }
done
"$grove" check point.tree -s ms=tidy.ms | grep 'obs.missing' && { echo 'FAIL: no row is missing'; status=1; }

# ---- what cannot be read right is refused ----
cat >broken.tree <<'END'
obs = ms("broken.ms")
sink(obs.data * obs.weight * abs(norm(obs.uvw) / 1m), obs, column="X")
END
refused()
{
    rm -rf broken.ms
    "$python" "$GROVE_SOURCE/tests/sets/odd-sets.py" break tidy.ms broken.ms "$1" 2>err || { cat err; status=1; }
    "$grove" run -q broken.tree 2>err && { echo "FAIL: $1: it runs"; status=1; }
    grep -qF "$2" err || { echo "FAIL: $1: wanted: $2"; cat err; status=1; }
}
refused interval 'broken.ms: row 3 has an INTERVAL of -60 s; it must be a number above 0'
refused frame 'broken.ms: the phase centre of field 0 is in B1950; only J2000 and ICRS are supported'
refused frames 'broken.ms: the phase centre of field 0 is in B1950; only J2000 and ICRS are supported'
refused uvw 'broken.ms: the cells of column UVW do not have 3 numbers'
rm -rf broken.ms
"$python" "$GROVE_SOURCE/tests/sets/odd-sets.py" break tidy.ms broken.ms fields 2>err || { cat err; status=1; }
"$grove" check broken.tree >/dev/null 2>err || { cat err; status=1; }
grep -q 'broken.ms has rows of 2 fields; each ms reads one, field=0 if none is given' err || { echo 'FAIL: fields'; cat err; status=1; }
cat >both.tree <<'END'
first  = ms("broken.ms")
second = ms("broken.ms", field=1)
print(sum(abs(norm(first.uvw)), over=[time, baseline]))
print(sum(abs(norm(second.uvw)), over=[time, baseline]))
END
"$grove" check both.tree >/dev/null 2>err || { cat err; status=1; }
grep 'has rows of' err && { echo 'FAIL: both fields are read'; status=1; }
# of two fields in two windows each
"$python" "$GROVE_SOURCE/tests/sets/odd-sets.py" break broken.ms parts.ms windows 2>err || { cat err; status=1; }
# parts FIELD/WINDOW...: in how many lines a tree that reads these warns; $other of them is read by another path of the set
parts()
{
    for part in "$@"; do
        [ "$part" = "$other" ] && path=./parts.ms/ || path=parts.ms
        echo "print(sum(abs(norm(ms(\"$path\", field=${part%/*}, spectral_window=${part#*/}).uvw)), over=[time, baseline]))"
    done >parts.tree
    "$grove" check parts.tree >/dev/null 2>err || { cat err; status=1; }
    grep -c 'parts.ms has rows of 2 fields and 2 spectral windows; each ms reads one of each' err
}
other=
[ "$(parts 0/0 0/1 1/0 1/1)" = 0 ] || { echo 'FAIL: all parts are read'; cat err; status=1; }
[ "$(parts 0/0 1/1)" = 1 ] || { echo 'FAIL: two parts are not read'; cat err; status=1; }
[ "$(parts 0/0 0/0 0/1 1/0)" = 1 ] || { echo 'FAIL: a part is not read'; cat err; status=1; }
other=1/1
[ "$(parts 0/0 0/1 1/0 1/1)" = 0 ] || { echo 'FAIL: all parts are read, one by another path'; cat err; status=1; }
# another field's rows of a column may be read where a field is written
cat >column.tree <<'END'
option to = first "whose rows of X are written"
first  = ms("broken.ms")
second = ms("broken.ms", field=1)
print(mean(norm(first.column("X"))))
sink(choose($to, first=first.data, else=second.data), choose($to, first=first, else=second), column="X")
END
"$grove" run -q broken.tree 2>err || { cat err; status=1; }
"$grove" check column.tree -s to=second >/dev/null 2>err || { echo 'FAIL: rows of another field'; cat err; status=1; }
"$grove" check column.tree >/dev/null 2>err && { echo 'FAIL: X is read and written'; status=1; }
grep -qF "broken.ms is read by 'first.column(X)' at column.tree:4:23, and would be lost" err || { cat err; status=1; }
refused weight 'broken.ms: the cells of column WEIGHT do not have 4 numbers'
exit $status
