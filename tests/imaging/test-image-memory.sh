#!/bin/sh
# Images of a set in a share of its size of memory: planes of w are made a group at a time, in as many walks over the tiles as
# `grove check` told, with the memory that it told within 20 %; the images are those of ample memory. A cube, and visibilities of an
# image, too. GROVE_ALL_FAULTS=1: all of it with a set of 500 MB to 1024 x 1024 pixels in 64 MiB; else with one of 60 MB to 512 x 512 in 18 MiB.
grove=$GROVE_BUILD/grove
grep -q "^ms " "$GROVE_BUILD/nodes/.libs/classes.index" || { echo 'skipped: built without casacore'; exit 77; }
grep -q "define HAVE_FITS" "$GROVE_BUILD/config.h" || { echo 'skipped: built without cfitsio and WCSLIB'; exit 77; }
case $("$grove" --version 2>&1; ldd "$GROVE_BUILD/src/.libs/libgrove.so" 2>&1) in
*libasan* | *libtsan*)
    echo 'sanitizers take memory of their own'
    exit 77
    ;;
esac
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 99
integration=8min channels=16 size=512 least=18MiB predicting=12MiB
[ -z "$GROVE_ALL_FAULTS" ] || { integration=115s channels=32 size=1024 least=64MiB predicting=36MiB; }
cat >sky.skymodel <<'END'
format = Name, Type, Ra, Dec, I
one, POINT, 00:00:00.0, -30.10.00.0, 1.0
two, POINT, 00:00:20.0, -30.13.00.0, 2.0
END
# simulate INTEGRATION CHANNELS
simulate()
{
    "$grove" run -q simulate.tree -s sky=sky.skymodel -s array=meerkat -s phase_centre='0h0m0s -30d10m0s' -s smear=none \
        -s hour_angle=-4h..4h -s integration="$1" -s channels="$2" -s channel_width=2MHz -s out=set.ms || exit 1
}
simulate $integration $channels

# try NAME WALKS OPTION...: the run has the tiles and the memory that were told, of WALKS walks or groups.
try()
{
    name=$1 walks=$2
    shift 2
    "$grove" check "$@" >told || { cat told; exit 1; }
    grep -Eq "$walks" told || { cat told; echo "FAIL: $name: not told: $walks"; exit 1; }
    process=$(sed -n 's/.*process \([0-9.]*\) MiB.*/\1/p' told)
    python3 "$GROVE_SOURCE/tests/common/peak-memory.py" "$process" '' "$grove" run "$@" >peak 2>said
    [ $? -eq 0 ] || { cat said; echo "FAIL: $name"; exit 1; }
    peak=$(cat peak)
    echo "$name: peak $peak MiB, predicted $process; $(sed -n 's/.*channels; //p' told)"
    awk -v peak="$peak" -v told="$process" 'BEGIN { exit told < 0.8 * peak || told > 1.2 * peak }' ||
        { echo 'FAIL: the peak is not what was told'; exit 1; }
    tiles=$(sed -n 's/^\([0-9]*\) tiles* of .*/\1/p' told)
    grep -Eq "[, ]$tiles tile" said || { cat said; echo "FAIL: $name: not $tiles tiles"; exit 1; }
}

# same A B: two FITS images are the same but for rounding.
same()
{
    cat >same.tree <<END
obs = ms("set.ms")
A   = image_model("$1", obs)
B   = image_model("$2", obs)
is  = compare(A.value, B.value, tolerance=2e-6)
END
    "$grove" run -q same.tree >same 2>&1 || { cat same; echo "FAIL: $1 and $2 differ"; exit 1; }
}

image()
{
    name=$1 walks=$2 memory=$3
    shift 3
    try "$name" "$walks" image.tree -s ms=set.ms -s size=$size -s cell=1.5arcsec -s weighting=natural -s out="$name" -s overwrite=true \
        --memory "$memory" "$@"
}

image ample '; [23] passes$' 3GiB
image least '; 3 passes, [2-9] walks' $least
same ample-dirty.fits least-dirty.fits

try cube ', [0-9]+ walks' image.tree -s ms=set.ms -s size=256 -s cell=1.5arcsec -s weighting=natural -s bands=8 -s out=cube -s overwrite=true \
    --memory 36MiB

# Images that are only printed: not copied; and what is freed makes room for a copy in double precision.
for what in 'p = print(d)' 'p = print(fit_beam(e))'; do
    cat >print.tree <<END
obs = ms("set.ms")
d = psf_image(obs, size=4000, cell=0.2arcsec)
e = psf_image(obs, size=4000, cell=0.4arcsec)
$what
END
    try "$what" . print.tree
done

# In double precision planes take twice as much; of integers they become part of the image one by one.
image double '; 3 passes' 80MiB --precision double -s stokes=IQUV -s epsilon=1e-5
cat >exact.tree <<END
obs = ms("set.ms")
p   = print(dirty_image(obs.data, obs, size=4000, cell=0.2arcsec, exact=true))
END
try 'integers' . exact.tree

# The least memory that is told, to the digits shown, is enough.
for many in 2 4; do
    set -- image.tree -s ms=set.ms -s size=256 -s cell=1.5arcsec -s bands=$many -s out=few
    "$grove" check "$@" --memory 1MiB >said 2>&1 && { echo 'FAIL: 1 MiB is enough'; exit 1; }
    least=$(sed -n 's/.*needs a limit of \([0-9.]*\) \([KMG]iB\).*/\1\2/p' said)
    "$grove" check "$@" --memory "$least" >said 2>&1 || { cat said; echo "FAIL: $least are not enough"; exit 1; }
done

"$grove" run -q predict-image.tree -s ms=set.ms -s image=ample-dirty.fits || exit 1
cat >predict.tree <<'END'
obs = ms("set.ms")
M   = image_model("ample-dirty.fits", obs)
is  = compare(predict_image(M.value, obs), obs.column("MODEL_DATA"), tolerance=2e-6)
END
try 'visibilities of an image' 'planes of an image in [2-9]+ groups' predict.tree --memory $predicting

# A set of 500 MB in less than 64 MiB, in which all planes would fit.
[ -z "$GROVE_ALL_FAULTS" ] || exit 0
rm -rf set.ms
simulate 115s 32
cat >large.tree <<'END'
obs   = ms("set.ms")
dirty = dirty_image(obs.data, obs, size=1024, cell=1.5arcsec)
image(dirty, to="large.fits", unit="Jy/beam", overwrite=true)
END
try 'a large set' ', [2-9] walks' large.tree --memory 48MiB
