#!/bin/sh
# A run that produces 2 GB of visibilities with --memory 64MiB stays below a hard limit of resident
# memory, and `grove check` predicts the memory of the process within 20 %, or 16 MiB where it takes fewer
# than 36, also when it writes a set, fits, or transforms an image.
grove=$GROVE_BUILD/grove
grep -q "^ms " "$GROVE_BUILD/nodes/.libs/classes.index" || { echo 'skipped: built without casacore'; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

case $("$grove" --version 2>&1; ldd "$GROVE_BUILD/src/.libs/libgrove.so" 2>&1) in
*libasan* | *libtsan*)
    echo 'sanitizers take memory of their own'
    exit 77
    ;;
esac
cat >"$work/sky.skymodel" <<'END'
format = Name, Type, Ra, Dec, I
one, POINT, 00:00:00.0, -30.00.00.0, 1.0
END

# try NAME MOST FILE OPTION...: the run stays below MOST MiB and near what was predicted.
try()
{
    name=$1 most=$2
    shift 2
    said=$("$grove" check "$@" | sed -n 's/.*process \([0-9.]*\) MiB.*/\1/p')
    python3 "$GROVE_SOURCE/tests/common/peak-memory.py" "${said:-0}" "$work/out.ms" "$grove" run -q "$@" >"$work/peak" 2>"$work/err"
    code=$?
    peak=$(cat "$work/peak")
    echo "$name: peak $peak MiB, predicted ${said:-nothing}"
    [ $code -eq 0 ] || { cat "$work/err"; echo "FAIL: $name"; exit 1; }
    awk -v peak="$peak" -v said="${said:-0}" -v most="$most" 'BEGIN {
        if (peak > most) { print "FAIL: more than " most " MiB resident"; exit 1 }
        near = peak < 36 ? 16 : 0.2 * peak
        if (said < peak - near || said > peak + near) { print "FAIL: predicted " said; exit 1 } }' || exit 1
}

# try_simulation NAME MOST SETTING...
try_simulation()
{
    name=$1 most=$2
    shift 2
    try "$name" "$most" simulate.tree -s sky="$work/sky.skymodel" -s array=meerkat \
        -s phase_centre='0h0m0s -30d10m0s' -s smear=none --memory 64MiB "$@"
}

# 2016 baselines * 128 channels * 250 times * 32 bytes = 2.06 GB
try_simulation 'nothing written' 128 -s hour_angle=-125min..125min -s integration=60s -s channels=128 \
    -s out=null
try_simulation 'a set written' 160 -s hour_angle=-20min..20min -s integration=10s -s channels=32 \
    -s out="$work/out.ms"

# 372 and 310 MB of data; 120 and 1200 solution domains
cat >"$work/fit.tree" <<END
option one = 10s "an interval"
option channels = 48 "channels"
obs    = observe(array="meerkat", phase_centre="0h0m0s -30d10m0s", hour_angle=-10min..10min,
                 integration=\$one, frequency=1.4GHz, channels=\$channels)
S      = sky_model("$work/sky.skymodel")
M[p,q] = sum[s]( point(S, obs) )
N[p,q] = noise(obs, sigma=1Jy)
G[p]   = parm("G", jones=diagonal, time=\$one)
fit    = solve(G[p] * M * G[q]^H, M + N, reference="0")
END
try 'a fit' 160 "$work/fit.tree" --memory 128MiB
try 'a fit of many intervals' 160 "$work/fit.tree" --memory 96MiB -s one=1s -s channels=4

# degrid has its planes once
cat >"$work/degrid.tree" <<TREE
obs   = observe(array="meerkat", phase_centre="0h0m0s -30d10m0s", hour_angle=-1min..1min,
                integration=60s, frequency=1.4GHz, channels=1)
im    = dirty_image(trace(noise(obs, sigma=1Jy)), obs, size=800, cell=3arcsec)
V     = degrid(fft(grid_correction(im, obs, size=800, cell=3arcsec)), obs, size=800, cell=3arcsec)
saved = save(V, to="$work/vis.npy", overwrite=true)
TREE
try 'planes' 420 "$work/degrid.tree"
