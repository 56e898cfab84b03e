#!/bin/sh
# Solution tables read by the programs whose layout it is: LoSoTo reads all of them, and DP3 applies each kind with the same result
# as Grove's own correction; a table that LoSoTo has changed, too. GROVE_PEERS_PYTHON names the Python that has losoto and dp3 (PyPI; dp3 wants casacore's data).
grep -q "^ms " "$GROVE_BUILD/nodes/.libs/classes.index" || { echo 'skipped: built without casacore'; exit 77; }
grep -q "define HAVE_HDF5" "$GROVE_BUILD/config.h" || { echo 'skipped: built without HDF5'; exit 77; }
python=${GROVE_PEERS_PYTHON:-python3}
losoto= dp3=
"$python" -c 'import losoto.h5parm' 2>/dev/null && losoto=yes
"$python" -c 'import dp3' 2>/dev/null && dp3=$(dirname "$("$python" -c 'import sys; print(sys.executable)')")/DP3.py
[ -x "$dp3" ] || dp3=
[ -n "$losoto$dp3" ] || { echo 'skipped: no Python with losoto or dp3 (GROVE_PEERS_PYTHON)'; exit 77; }
[ -n "$losoto" ] || echo 'without losoto'
[ -n "$dp3" ] || echo 'without dp3'
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
grove=$GROVE_BUILD/grove
status=0
OPENBLAS_NUM_THREADS=1
export OPENBLAS_NUM_THREADS

fail()
{
    echo "FAIL: $1"
    tail -n 5 out
    status=1
}

cat >sky.skymodel <<'END'
format = Name, Type, Patch, Ra, Dec, I, Q, U, V
, , A, 01:00:00, +31.00.00
, , B, 01:00:00, +32.00.00
a, POINT, A, 01:00:00, +31.00.00, 2.0, 0.1, 0.2, 0
b, POINT, A, 01:01:00, +31.10.00, 1.0, 0, 0, 0
c, POINT, B, 01:00:00, +31.40.00, 1.0, 0, 0, 0
END
"$grove" run -q simulate.tree -s sky=sky.skymodel -s hour_angle=-10min..10min -s integration=60s -s channels=4 -s gains=sine \
    -s sefd=400Jy -s out=field.ms >out 2>&1 || { fail simulate; exit 1; }

cat >read.py <<'END'
import sys
from losoto.h5parm import h5parm

table = h5parm(sys.argv[1])
solset = table.getSolset('sol000')
assert len(solset.getAnt()) == 27 and len(solset.getSou()) >= 1
for soltab in solset.getSoltabs():
    values, axes = soltab.getValues()
    assert soltab.name == soltab.getType() + soltab.name[-3:], soltab.name
    assert list(values.shape) == [len(axes[name]) for name in soltab.getAxesNames()]
    assert 'solve(' in soltab.getHistory()
    print(soltab.name, soltab.getAxesNames(), values.shape)
table.close()
END

# KIND OPTIONS LARGEST-DIFFERENCE CORRECTIONS...
check()
{
    kind=$1 options=$2 tolerance=$3
    shift 3
    cat >fit.tree <<END
obs    = ms("field.ms")
S      = sky_model("sky.skymodel")
G[p]   = parm("G", jones=$kind, time=${time:-120s}$options)
V[p,q] = G[p] * sum[s]( point(S, obs, smear=both) ) * G[q]^H
fit    = solve(V, obs.data, parms=G, max_iterations=20, reference="W02", to="gains.h5", overwrite=true)
write  = sink(G[p]^-1 * obs.data * G[q]^-1^H, obs, column="CORRECTED_DATA")
END
    cat >compare.tree <<END
a      = ms("applied.ms")
b      = ms("field.ms", column="CORRECTED_DATA")
same   = compare(a.data, b.data, tolerance=$tolerance)
END
    "$grove" run -q fit.tree >out 2>&1 || { fail "$kind: fit"; return; }
    [ -z "$losoto" ] || "$python" read.py gains.h5 >out 2>&1 || fail "$kind: losoto"
    [ -n "$dp3" ] || return
    if [ "$1" = fulljones ]; then
        steps='applycal.correction=fulljones applycal.soltab=[amplitude000,phase000]'
    else
        steps="applycal.steps=[$(echo "$*" | tr ' ' ,)]"
        for step; do
            steps="$steps applycal.$step.correction=$step"
        done
    fi
    rm -rf applied.ms
    # shellcheck disable=SC2086
    "$dp3" msin=field.ms msout=applied.ms 'steps=[applycal]' applycal.parmdb=gains.h5 $steps >out 2>&1 || { fail "$kind: dp3"; return; }
    "$grove" run -q compare.tree >out 2>&1 || fail "$kind: dp3 applies it otherwise"
}

check scalar '' 1e-6 amplitude000 phase000
check diagonal '' 1e-6 amplitude000 phase000
check diagonal ', freq=2MHz' 1e-6 amplitude000 phase000
# the last interval has half of the slots
time=480s
check diagonal '' 1e-6 amplitude000 phase000
time=
check diagonal ', degree=[1, 1]' 1e-6 amplitude000 phase000
check full '' 1e-6 fulljones
check leakage '' 1e-6 fulljones
check phase '' 1e-6 phase000
check amplitude '' 1e-6 amplitude000
check delay '' 1e-6 clock000
check tec '' 1e-4 tec000
check rotation '' 1e-6 rotation000

# several parms, directions, a number
cat >all.tree <<'END'
obs     = ms("field.ms")
S       = sky_model("sky.skymodel")
K[p]    = parm("K", jones=delay, time=10min)
B[p]    = parm("B", jones=full, freq=2MHz)
R[p]    = parm("R", jones=phase, degree=2)
E[s,p]  = parm("E", jones=scalar, groups=patch)
f       = parm("f", init=1Jy)
V[p,q]  = K[p] * B[p] * R[p] * sum[s]( (f / 1Jy) * E[s,p] * point(S, obs) * E[s,q]^H ) * R[q]^H * B[q]^H * K[q]^H
fit     = solve(V, obs.data, max_iterations=2, errors=true, to="all.h5")
END
"$grove" run -q all.tree >out 2>&1 || fail 'several parms: fit'
[ -z "$losoto" ] || "$python" read.py all.h5 >out 2>&1 || fail 'several parms: losoto'

# DP3 begins a fit for directions with gains of one interval
begin()
{
    "$grove" run -q calibrate-dd.tree -s ms=field.ms -s sky=sky.skymodel -s time=all -s residual=none -s reference=W02 \
        -s solutions=patches.h5 >out 2>&1 || { fail 'table of directions'; return; }
    "$dp3" msin=field.ms msout=. msout.datacolumn=FITTED_DATA 'steps=[ddecal]' ddecal.sourcedb=sky.skymodel ddecal.mode=diagonal \
        ddecal.h5parm=own.h5 ddecal.solint=20 ddecal.nchan=0 ddecal.initialsolutions.h5parm=patches.h5 \
        'ddecal.initialsolutions.soltab=[amplitude000,phase000]' >out 2>&1 || fail 'dp3 does not begin with gains of one interval'
}
[ -z "$dp3" ] || begin

# flagged, smoothed, copied by LoSoTo
cat >parset <<'END'
[flag]
operation = FLAG
soltab = sol000/amplitude000
axesToFlag = time
order = 3
maxRms = 2
[smooth]
operation = SMOOTH
soltab = sol000/phase000
axesToSmooth = time
mode = runningmedian
size = 5
replace = True
[copy]
operation = DUPLICATE
soltab = sol000/phase000
soltabOut = phase001
END
cat >changed.tree <<'END'
a       = ms("applied.ms")
b       = ms("field.ms", column="CORRECTED_DATA")
same    = compare(a.data, b.data, tolerance=1e-5)
END
change()
{
    "$grove" run -q calibrate.tree -s ms=field.ms -s sky=sky.skymodel -s time=slot -s reference=W02 -s solutions=changed.h5 >out 2>&1 ||
        { fail 'table for LoSoTo'; return; }
    cp changed.h5 before.h5
    "$(dirname "$python")/losoto" changed.h5 parset >out 2>&1 || { fail losoto; return; }
    ! grep -q 'incomplete' out || fail 'losoto: a step'
    ! cmp -s changed.h5 before.h5 || fail 'losoto changed nothing'
    "$grove" run -q apply.tree -s ms=field.ms -s solutions=changed.h5 >out 2>&1 && fail 'two tables of phases were applied'
    grep -q "'phase000' and 'phase001' are both phase" out || fail 'two tables of phases: message'
    "$grove" run -q apply.tree -s ms=field.ms -s solutions=changed.h5 -s tables='phase000 amplitude000' >out 2>&1 || fail 'apply.tree'
    [ -n "$dp3" ] || return
    rm -rf applied.ms
    "$dp3" msin=field.ms msout=applied.ms 'steps=[applycal]' applycal.parmdb=changed.h5 'applycal.steps=[amplitude000,phase000]' \
        applycal.amplitude000.correction=amplitude000 applycal.phase000.correction=phase000 >out 2>&1 || { fail 'changed: dp3'; return; }
    "$grove" run changed.tree >out 2>&1 && grep -q ", [1-9][0-9]* flagged" out || fail 'changed: dp3 applies it otherwise'
}
[ -z "$losoto" ] || change
exit $status
