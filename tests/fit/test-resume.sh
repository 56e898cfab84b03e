#!/bin/sh
# A calibration that is killed at seeded moments and resumed: the table is the same to the last bit, the set is as it was or
# complete. GROVE_ALL_FAULTS=1: at 50 moments; without, at some of them.
grep -q "^ms " "$GROVE_BUILD/nodes/.libs/classes.index" || { echo 'skipped: built without casacore'; exit 77; }
grep -q "define HAVE_HDF5" "$GROVE_BUILD/config.h" || { echo 'skipped: built without HDF5'; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
grove=$GROVE_BUILD/grove
status=0

fail()
{
    echo "FAIL: $1"
    [ -f out ] && tail -n 5 out
    status=1
}

cat >sky.skymodel <<'END'
format = Name, Type, Ra, Dec, I
a, POINT, 01:00:00, +31.00.00, 2.0
b, POINT, 01:01:00, +31.10.00, 1.0
END
cat >calibrate.tree <<'END'
obs    = ms("field.ms")
S      = sky_model("sky.skymodel")
G[p]   = parm("G", jones=diagonal, time=60s, freq=4MHz)
V[p,q] = G[p] * sum[s]( point(S, obs) ) * G[q]^H
fit    = solve(V, obs.data, parms=G, errors=true, batch=2, method=lm, compress=false, to="gains.h5")
write  = sink(G[p]^-1 * obs.data * G[q]^-1^H, obs, column="CORRECTED_DATA")
END
cat >compare.tree <<'END'
a    = ms("field.ms", column="CORRECTED_DATA")
b    = ms("done.ms", column="CORRECTED_DATA")
same = compare(a.data, b.data, tolerance=0)
END

# all that counts of a set's files
files()
{
    (cd "$1" && find . -type f ! -name table.lock ! -path './.grove*' -exec cksum {} + | sort -k3)
}

"$grove" run -q simulate.tree -s sky=sky.skymodel -s hour_angle=-15min..15min -s integration=60s -s channels=8 -s gains=sine \
    -s sefd=400Jy -s out=field.ms >out 2>&1 || { fail simulate; exit 1; }
cp -a field.ms fresh.ms
files field.ms >before
began=$(date +%s%N)
"$grove" run -q calibrate.tree >out 2>&1 || { fail 'the whole run'; exit 1; }
length=$(($(date +%s%N) - began))
[ -e gains.h5.checkpoint ] && fail 'a run that ended well leaves its checkpoint'
mv gains.h5 done.h5
mv field.ms done.ms

moments=3
[ -n "$GROVE_ALL_FAULTS" ] && moments=50
awk -v n=$moments -v length_="$length" \
    'BEGIN { srand(17); for (i = 0; i < n; i++) printf "%.4f\n", (0.05 + 1.05 * rand()) * length_ * 1e-9 }' >moments
killed=0 resumed=0 ended=0
while read -r moment; do
    rm -rf field.ms gains.h5*
    cp -a fresh.ms field.ms
    timeout -s KILL "$moment" "$grove" run -q calibrate.tree >out 2>&1
    code=$?
    [ $code -eq 137 ] && killed=$((killed + 1))
    [ $code -eq 137 ] || [ $code -eq 0 ] || fail "killed after $moment s: code $code"
    if [ -e gains.h5 ] && [ ! -e gains.h5.checkpoint ]; then
        ended=$((ended + 1))
    else
        # what a kill has left of the set is for grove recover, or for the run that resumes
        if [ $((killed % 2)) -eq 0 ]; then
            "$grove" recover field.ms >out 2>&1 || fail "killed after $moment s: recover"
            files field.ms >after
            cmp -s before after || "$grove" run -q compare.tree >out 2>&1 ||
                fail "killed after $moment s: the set is neither as it was nor complete"
        fi
        "$grove" run -q calibrate.tree --resume >out 2>&1 || fail "killed after $moment s: resume"
        grep -q 'are taken from gains.h5.checkpoint' out && resumed=$((resumed + 1))
    fi
    "$grove" run -q compare.tree >out 2>&1 || fail "killed after $moment s: the column after resuming"
    cmp gains.h5 done.h5 || fail "killed after $moment s: another table"
    [ -e gains.h5.checkpoint ] && fail "killed after $moment s: the checkpoint is still there"
    "$grove" run -q calibrate.tree >out 2>&1 && fail "killed after $moment s: the table was replaced without a word"
    grep -q 'gains.h5: exists already; give overwrite=true' out || fail "killed after $moment s: what a further run says"
done <moments
echo "$killed of $moments killed, $resumed went on from a checkpoint, $ended had ended"
exit $status
