#!/bin/sh
# calibrate.tree on sets with known gains, of most kinds (GROVE_ALL_FAULTS=1: of every kind): corrected data are the model and the noise, residuals are the noise.
# apply.tree with the tables of their solutions gives the same data, and puts the gains in again. calibrate-dd.tree on a set with
# gains of its own for each patch.
grep -q "^ms " "$GROVE_BUILD/nodes/.libs/classes.index" || { echo 'skipped: built without casacore'; exit 77; }

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
grove=$GROVE_BUILD/grove
status=0

must()
{
    "$@" >log 2>&1 && return
    cat log
    echo "FAIL: $*"
    status=1
}

grep -q "define HAVE_HDF5" "$GROVE_BUILD/config.h" && tables=true || tables=false

cat >field.skymodel <<'END'
format = Name, Type, Patch, Ra, Dec, I, Q, U, V
one, POINT, A, 05:42:36.0, +49.51.07.0, 10.0, 1.0, 2.0, 0.5
two, POINT, B, 05:43:30.0, +49.40.00.0, 4.0, -0.5, 1.0, 0.0
three, POINT, B, 05:41:00.0, +50.10.00.0, 3.0, 0.0, -1.0, 0.5
END

# The gains that are put in, of each kind.
cat >truth.tree <<'END'
option kind = diagonal   "as in calibrate.tree"
option ms   = "world.ms" "the set"
S        = sky_model("field.skymodel")
x[p]     = gains(obs, kind=constant, jones=diagonal, amplitude=0, phase=0.5rad, seed=5)
x1[p]    = arg(select(x, element=XX)) / 1rad
x2[p]    = arg(select(x, element=YY)) / 1rad
ripple   = sin(obs.freq / 1MHz)
G[p]     = choose($kind,
                  phase=gains(obs, kind=sine, jones=diagonal, amplitude=0, phase=60deg, period=10min, seed=1),
                  amplitude=gains(obs, kind=sine, jones=diagonal, amplitude=0.3, phase=0deg, period=10min, seed=1),
                  scalar=gains(obs, kind=sine, amplitude=0.2, phase=60deg, period=10min, seed=1),
                  diagonal=gains(obs, kind=sine, jones=diagonal, amplitude=0.2, phase=60deg, period=10min, seed=1),
                  full=gains(obs, kind=sine, jones=matrix, amplitude=0.1, phase=60deg, period=10min, seed=1),
                  bandpass=diagonal(1 + 0.3 * x1 * ripple + 0.2i * x2, 1 + 0.3 * x2 * ripple + 0.2i * x1),
                  delay=diagonal(exp(2i * pi * x1 * 20ns * obs.freq), exp(2i * pi * x2 * 20ns * obs.freq)),
                  tec=exp(-8.44797245e9i * x1 / (obs.freq / 1Hz)))
M[p,q]   = sum[s]( point(S, obs, smear=both) )
N[p,q]   = noise(obs, sefd=100Jy, seed=2)
END
cat >world.tree <<'END'
include "truth.tree"
option range = -2min..2min "of hour angles"
obs   = observe(array="wsrt", phase_centre="05h42m36s 49d51m07s", hour_angle=$range, integration=30s,
                frequency=140MHz, channels=8, channel_width=2MHz)
w     = 2 * obs.channel_width * obs.interval / (100Jy)^2
write = sink(G[p] * M * G[q]^H + N, obs, to=$ms, weight=w, overwrite=true)
model = sink(M, obs, to=$ms, column="MODEL_DATA", weight=w, overwrite=true)
END
cat >check.tree <<'END'
include "truth.tree"
obs   = ms($ms)
apart = compare(obs.column("CORRECTED_DATA") - G[p]^-1 * N * G[q]^-1^H, M, tolerance=3e-4)
left  = compare(obs.column("RESIDUAL_DATA"), N, tolerance=0.15)   # the fit takes part of it
END

cat >same.tree <<'END'
option a  = "" "a column"
option b  = "" "what it must be like"
obs  = ms("world.ms")
same = compare(obs.column($a), obs.column($b), tolerance=1e-6)
END

kinds='phase diagonal full bandpass delay'
[ -n "$GROVE_ALL_FAULTS" ] && kinds="$kinds amplitude scalar tec"
for kind in $kinds; do
    must "$grove" run -q world.tree -s kind=$kind
    case $kind in bandpass | delay | tec) time=none ;; *) time=slot ;; esac
    solutions=$($tables && echo $kind.h5 || echo none)
    must "$grove" run -q calibrate.tree -s ms=world.ms -s sky=field.skymodel -s kind=$kind -s time=$time -s residual=RESIDUAL_DATA \
        -s solutions="$solutions"
    grep 'fit:' log
    must "$grove" run -q check.tree -s kind=$kind
    cat log
    $tables || continue
    case $kind in phase | bandpass) continue ;; esac
    must "$grove" run -q apply.tree -s ms=world.ms -s solutions=$kind.h5 -s corrected=APPLIED_DATA
    must "$grove" run -q same.tree -s a=APPLIED_DATA -s b=CORRECTED_DATA
    must "$grove" run -q apply.tree -s ms=world.ms -s solutions=$kind.h5 -s column=APPLIED_DATA -s corrected=AGAIN_DATA -s mode=corrupt
    must "$grove" run -q same.tree -s a=AGAIN_DATA -s b=DATA
done

# Not without a word: other columns than the one that is read, a checkpoint where there is a table, a beam where there is a sky model.
must_not()
{
    said=$1
    shift
    "$grove" run -q "$@" >log 2>&1 && { echo "FAIL: runs: $*"; status=1; }
    grep -q "$said" log || { cat log; echo "FAIL: does not say '$said': $*"; status=1; }
}
must_not "DATA is read by 'obs'" calibrate.tree -s ms=world.ms -s sky=field.skymodel -s corrected=DATA
for output in corrected residual; do
    must_not "MODEL_DATA of world.ms is read by 'obs.column(MODEL_DATA)' at .*, and would be lost" \
        calibrate.tree -s ms=world.ms -s model_column=MODEL_DATA -s $output=MODEL_DATA
done
must_not 'no fit of this tree writes a solution table' calibrate.tree -s ms=world.ms -s sky=field.skymodel --resume
must_not 'setting beam=airy: the option can only be none here' calibrate.tree -s ms=world.ms -s model_column=MODEL_DATA -s beam=airy
must_not "there is no patch or source 'C'; it has A, B" calibrate-dd.tree -s ms=world.ms -s sky=field.skymodel -s subtract=A,C
must_not "no source has the tag 'dE'" calibrate-dd.tree -s ms=world.ms -s sky=field.skymodel -s tag=dE

# With a column as the model, no sky model is looked for; the numbers are the same.
must "$grove" run -q world.tree
must "$grove" run -q calibrate.tree -s ms=world.ms -s sky=field.skymodel -s residual=RESIDUAL_DATA
must "$grove" run -q calibrate.tree -s ms=world.ms -s model_column=MODEL_DATA -s corrected=OTHER_DATA
must "$grove" run -q same.tree -s a=OTHER_DATA -s b=CORRECTED_DATA

# Stations that no long baseline has get no gains: their data are flagged, as apply.tree flags them; with flags=keep they are as they were.
cat >count.tree <<'END'
option ms     = "world.ms" "a set"
option column = "DATA"     "a column"
obs  = ms($ms, column=$column)
same = compare(obs.data, obs.data, tolerance=0)
END
cat >unsolved.tree <<'END'
a    = ms("world.ms", column="CORRECTED_DATA")
b    = ms("applied.ms", column="CORRECTED_DATA")
same = compare(a.data, b.data, tolerance=1e-6)
END
flagged()
{
    "$grove" run -q count.tree "$@" >log 2>&1 || { cat log; echo "FAIL: count.tree $*"; status=1; }
    grep -o '[0-9]* flagged' log
}
must "$grove" run -q world.tree
must cp -a world.ms applied.ms
must "$grove" run -q calibrate.tree -s ms=world.ms -s sky=field.skymodel -s min_baseline=1.6km -s flags=keep -s residual=RESIDUAL_DATA
[ "$(flagged -s column=CORRECTED_DATA)" = '0 flagged' ] || { cat log; echo 'FAIL: flags=keep'; status=1; }
must "$grove" run -q calibrate.tree -s ms=world.ms -s sky=field.skymodel -s min_baseline=1.6km -s residual=RESIDUAL_DATA \
    -s solutions=$($tables && echo unsolved.h5 || echo none)
flags=$(flagged -s column=CORRECTED_DATA)
echo "without a solution: $flags"
[ "$flags" != '0 flagged' ] && [ "$flags" = "$(flagged -s column=RESIDUAL_DATA)" ] || { cat log; echo 'FAIL: nothing is flagged'; status=1; }
if $tables; then
    must "$grove" run -q apply.tree -s ms=applied.ms -s solutions=unsolved.h5
    [ "$flags" = "$(flagged -s ms=applied.ms -s column=CORRECTED_DATA)" ] || { cat log; echo 'FAIL: apply.tree flags others'; status=1; }
    must "$grove" run -q unsolved.tree
fi
# The same flags again are no change; those from before are had back, and those in their place, too.
must "$grove" run -q calibrate.tree -s ms=world.ms -s sky=field.skymodel -s min_baseline=1.6km
[ "$(ls world.ms.flagversions)" = "$(printf 'FLAG_VERSION_LIST\nflags.grove_1')" ] || { ls world.ms.flagversions; echo 'FAIL: versions of flags'; status=1; }
must "$grove" recover --flags last world.ms
[ "$(flagged)" = '0 flagged' ] || { cat log; echo 'FAIL: flags are not had back'; status=1; }
must "$grove" recover --flags last world.ms
[ "$(flagged)" = "$flags" ] || { cat log; echo 'FAIL: flags are not had back again'; status=1; }

# A fit without any solution changes nothing: the set, FLAG too, is as it was, no table and no checkpoint is left.
cat >zero.tree <<'END'
obs  = ms("world.ms")
zero = sink(0 * obs.column("MODEL_DATA"), obs, to="world.ms", column="ZERO_DATA")
END
sed '2s/10.0, 1.0, 2.0, 0.5/0, 0, 0, 0/; 3,4d' field.skymodel >dark.skymodel
sed '1s/$/, MajorAxis, MinorAxis, Orientation/; 2s/POINT/GAUSSIAN/; 2s/$/, 36000, 36000, 0/; 3,4d' field.skymodel >wide.skymodel
must "$grove" run -q world.tree
must "$grove" run -q zero.tree
sums()
{
    find world.ms -type f ! -name table.lock ! -name .grove.lock -exec cksum {} + | sort -k 3
}
sums >before
table='-s solutions=none'
$tables && table='-s solutions=none.h5 -s overwrite=true'
for kind in diagonal phase bandpass delay; do
    must_not 'there is no solution: of [0-9]* solution domains* [0-9]* singular' calibrate.tree -s ms=world.ms -s model_column=ZERO_DATA \
        -s kind=$kind $table
    must_not 'there is no solution' calibrate.tree -s ms=world.ms -s sky=dark.skymodel -s kind=$kind -s keep=0 $table
done
# one baseline of 91 sees it
must_not ' 1.1 % of the unflagged data would keep a solution, less than keep=0.5' calibrate.tree -s ms=world.ms \
    -s sky=wide.skymodel $table
must_not 'there is no solution' calibrate-dd.tree -s ms=world.ms -s sky=dark.skymodel $table
sums | cmp before - || { echo 'FAIL: a fit without a solution changes the set'; status=1; }
[ -e none.h5 ] || [ -e none.h5.checkpoint ] && { echo 'FAIL: a fit without a solution leaves files'; status=1; }
must "$grove" run -q calibrate.tree -s ms=world.ms -s sky=wide.skymodel -s keep=0 $table
grep -q 'warning: fit: 1.1 % of the unflagged data keep a solution' log || { cat log; echo 'FAIL: keep=0'; status=1; }

# So does calibrate-dd.tree. A patch without flux has no gains, and nothing is flagged for it.
sed 's/^three.*/&\nnone, POINT, C, 05:42:00.0, +49.50.00.0, 0.0, 0.0, 0.0, 0.0/' field.skymodel >flux.skymodel
must "$grove" run -q world.tree
for setting in subtract=A keep=B groups=source; do
    must "$grove" run -q calibrate-dd.tree -s ms=world.ms -s sky=flux.skymodel -s $setting
    [ "$(flagged -s column=RESIDUAL_DATA)" = '0 flagged' ] || { cat log; echo "FAIL: dd flags all, $setting"; status=1; }
done
must "$grove" run -q calibrate-dd.tree -s ms=world.ms -s sky=flux.skymodel -s min_baseline=1.6km -s flags=keep
[ "$(flagged -s column=RESIDUAL_DATA)" = '0 flagged' ] || { cat log; echo 'FAIL: dd, flags=keep'; status=1; }
for setting in subtract=A keep=B groups=source; do
    must "$grove" run -q world.tree
    must "$grove" run -q calibrate-dd.tree -s ms=world.ms -s sky=flux.skymodel -s min_baseline=1.6km -s $setting
    [ "$flags" = "$(flagged -s column=RESIDUAL_DATA)" ] || { cat log; echo "FAIL: dd flags others than calibrate.tree, $setting"; status=1; }
done

# Times that the table has not: the first and the last solution, or flags.
if $tables; then
    cat >part.tree <<'END'
include "truth.tree"
obs   = ms($ms)
apart = compare(obs.column("CORRECTED_DATA") - G[p]^-1 * N * G[q]^-1^H, M, tolerance=3e-4)
END
    must "$grove" run -q world.tree -s range=-2min..4min
    must "$grove" run -q apply.tree -s ms=world.ms -s solutions=diagonal.h5
    "$grove" run -q part.tree >log 2>&1 && { echo 'FAIL: gains of other times fit'; status=1; }
    must "$grove" run -q apply.tree -s ms=world.ms -s solutions=diagonal.h5 -s outside=flag
    must "$grove" run -q part.tree
    grep -q ', 11648 flagged' log || { cat log; echo 'FAIL: a third of the times has no solutions'; status=1; }
fi

# Two patches, each with its gains: what is left of the data when all are subtracted, one, or all but one.
cat >patches.tree <<'END'
include "truth.tree"
A[p]     = gains(obs, kind=constant, jones=diagonal, amplitude=0.2, phase=60deg, seed=6)
B[p]     = gains(obs, kind=constant, jones=diagonal, amplitude=0.2, phase=60deg, seed=7)
a[p,q]   = A[p] * sum[s]( S.patch("A") * point(S, obs, smear=both) ) * A[q]^H
b[p,q]   = B[p] * sum[s]( S.patch("B") * point(S, obs, smear=both) ) * B[q]^H
END
sed -e 's/^include.*/include "patches.tree"/' -e '/^model/d' -e 's/G\[p\] \* M \* G\[q\]^H/a + b/' world.tree >world-dd.tree
cat >check-dd.tree <<'END'
include "patches.tree"
option left = all "what must be left"
obs    = ms("world.ms")
expect = choose($left, all=N, A=N + b, keep=A[p]^-1 * (a + N) * A[q]^-1^H)
same   = compare(obs.column("RESIDUAL_DATA"), expect, tolerance=choose($left, all=0.15, else=3e-4))
END
must "$grove" run -q world-dd.tree
for left in all A keep both; do
    case $left in keep) setting=keep=A ;; both) setting=subtract=A,B left=all ;; *) setting=subtract=$left ;; esac
    must "$grove" run -q calibrate-dd.tree -s ms=world.ms -s sky=field.skymodel -s time=all -s $setting
    grep 'fit:' log
    must "$grove" run -q check-dd.tree -s left=$left
    cat log
done

# The gains of one direction, on all data.
if $tables; then
    cat >one.tree <<'END'
include "patches.tree"
obs  = ms("world.ms")
same = compare(obs.column("CORRECTED_DATA"), B[p]^-1 * obs.data * B[q]^-1^H, tolerance=3e-4)
END
    must "$grove" run -q calibrate-dd.tree -s ms=world.ms -s sky=field.skymodel -s time=all -s solutions=dd.h5
    must_not "has solutions of several directions: 'A', 'B'; direction=\"A\" selects one" apply.tree -s ms=world.ms -s solutions=dd.h5
    must_not "it has no direction 'C'; it has 'A', 'B'" apply.tree -s ms=world.ms -s solutions=dd.h5 -s direction=C
    must_not "it has no direction '1934-638'; it has 'A', 'B'" apply.tree -s ms=world.ms -s solutions=dd.h5 -s direction=1934-638
    must "$grove" run -q apply.tree -s ms=world.ms -s solutions=dd.h5 -s direction=B
    must "$grove" run -q one.tree
    cat log
fi
exit $status
