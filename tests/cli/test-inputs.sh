#!/bin/sh
# No action replaces what its tree reads, under whatever name: that is refused before anything runs.
grove=$GROVE_BUILD/grove
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 99
status=0

fail()
{
    echo "FAIL: $1"
    [ -s err ] && sed 's/^/    /' err
    status=1
}

# refused TREE OUTPUT INPUT: nothing but the message, which names both.
refused()
{
    cp "$3" kept 2>/dev/null || cp -r "$3" kept
    for command in check 'run -q'; do
        timeout 60 "$grove" $command "$1" >out 2>err
        code=$?
        { [ $code -eq 2 ] && grep -q "$2: is an input of this run (\(.*/\)*$3), which is never replaced" err; } ||
            fail "$command: $2 in place of $3: exit code $code"
    done
    diff -r kept "$3" >/dev/null || fail "$3 is replaced by $2"
    rm -rf kept
}

# is_kept LINE INPUT OUTPUT ACTION: LINE reads INPUT, ACTION writes OUTPUT.
is_kept()
{
    printf '%s\n%s\n%s\n' "$obs" "$1" "$4" >now.tree
    refused now.tree "$3" "$2"
}

obs='obs = observe(array="kat-7", phase_centre="0h0m0s -30d10m0s", hour_angle=-2min..2min, integration=60s, channels=2)'
printf 'format = Name, Type, Ra, Dec, I\none, POINT, 00:00:00.0, -30.00.00.0, 1.0\n' >sky.csv
{ # a tree whose parts have names such as outputs have
    echo "$obs"
    echo 'save(obs.freq, to="f.npy")'
    echo 'save(obs.freq, to="f.csv")'
} >make.tree
"$grove" run -q make.tree || fail 'no files to read'
mkdir folder

# ---- one input by several names ----
ln -s sky.csv link.csv
ln -s ../sky.csv folder/link.csv
ln sky.csv hard.csv
for to in sky.csv ./sky.csv folder/../sky.csv "$work/sky.csv" link.csv folder/link.csv hard.csv; do
    is_kept 'S = sky_model("sky.csv")' sky.csv "$to" "save(obs.freq, to=\"$to\", overwrite=true)"
done
ln -s sky.csv other.csv
is_kept 'S = sky_model("other.csv")' other.csv sky.csv 'save(obs.freq, to="sky.csv", overwrite=true)'
is_kept 'S = sky_model("sky.csv")' sky.csv sky.csv 'save(obs.freq, to="sky.csv")'

# ---- every kind of input ----
is_kept 'x = table("f.csv")' f.csv ./f.csv 'save(obs.time, to="./f.csv", overwrite=true)'
is_kept 'x = table("f.npy")' f.npy ./f.npy 'save(obs.time, to="./f.npy", overwrite=true)'
ln -s f.npy.axes axes.csv
is_kept 'x = table("f.npy")' f.npy.axes axes.csv 'save(obs.time, to="axes.csv", overwrite=true)'
cp "$GROVE_SOURCE/data/arrays/kat-7.array" kat.csv
is_kept 'o = observe(array="kat.csv", phase_centre="0h0m0s -30d10m0s", hour_angle=-2min..2min, integration=60s)' kat.csv \
    "$work/kat.csv" "save(o.time, to=\"$work/kat.csv\", overwrite=true)"
ln -s sky.csv to.npy.axes # a file that goes with the first
is_kept 'S = sky_model("sky.csv")' sky.csv to.npy.axes 'save(obs.freq, to="to.npy", overwrite=true)'
[ -e to.npy ] && fail 'the numbers beside a file that is kept'
printf '%s\nsave(obs.freq, to="own.csv", overwrite=true)\n' "$obs" >own.csv
refused own.csv own.csv own.csv
printf 'include "own.csv"\n' >outer.tree
refused outer.tree own.csv own.csv
if grep -q "define HAVE_FITS" "$GROVE_BUILD/config.h"; then
    printf '%s\nS = sky_model("sky.csv")\nV[p,q] = sum[s](point(S, obs)[s,p,q])\nimage(dirty_image(V, obs, size=32, cell=1arcmin), to="model.fits")\n' \
        "$obs" >image.tree
    "$grove" run -q image.tree || fail 'no image'
    is_kept 'M = image_model("model.fits", obs=obs)' model.fits ./model.fits \
        'image(M.value, to="./model.fits", overwrite=true)'
fi
if grep -q "^ms " "$GROVE_BUILD/nodes/.libs/classes.index"; then
    cp sky.csv sky.txt
    set='simulate.tree -s sky=sky.txt -s array=kat-7 -s hour_angle=-2min..2min -s integration=60s -s channels=2'
    for name in a b other; do
        "$grove" run -q $set -s out=$name.ms 2>err || fail 'no set to read'
    done
    ln -s a.ms link.ms
    anew='sink(obs.column("DATA") * 2, obs, overwrite=true'
    obs='obs = ms("other.ms")'
    for to in a.ms ./a.ms/ link.ms; do
        is_kept 'A = ms("a.ms")' a.ms $to "$anew, to=\"$to\")"
    done
    is_kept 'A = ms("link.ms")' link.ms a.ms "$anew, to=\"a.ms\")"
    cp sky.txt b.ms # as earlier versions let users do
    is_kept 'S = sky_model("b.ms/sky.txt")' b.ms/sky.txt b.ms "$anew, to=\"b.ms\")"
    python=${GROVE_TEST_PYTHON:-/usr/bin/python3}
    if $python -c 'import casacore.tables' 2>/dev/null; then # sets without rows of their own
        $python -c '
from casacore.tables import table
table("a.ms", ack=False).query("ANTENNA1 == 0", name="some.ms").close()' || fail 'no selection'
        is_kept 'A = ms("some.ms")' a.ms a.ms "$anew, to=\"a.ms\")"
    fi
    # what a tree writes a column of may be what it reads
    printf 'obs = ms("a.ms")\nsink(obs.data * 2, obs, to="./a.ms", overwrite=true)\n' >now.tree
    "$grove" run -q now.tree 2>err || fail 'a column that is read, in its own set'
    if grep -q "define HAVE_HDF5" "$GROVE_BUILD/config.h"; then
        "$grove" run -q calibrate.tree -s ms=a.ms -s sky=sky.txt -s kind=scalar -s solutions=gains.h5 2>err ||
            fail 'no solutions to read'
        obs='obs = ms("a.ms")'
        fit='solve(G[p] * obs.column("DATA")[p,q] * G[q]^H, obs.data, parms=G, overwrite=true'
        is_kept 'G[p] = parm("G", jones=scalar, from="gains.h5")' gains.h5 ./gains.h5 "$fit, to=\"./gains.h5\")"
    fi
fi
exit $status
