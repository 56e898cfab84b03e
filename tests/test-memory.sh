#!/bin/sh
# A run that produces 2 GB of visibilities with --memory 64MiB stays below a hard limit of resident
# memory, and `grove check` predicts the memory of the process within 20 %, also when it writes a set.
grove=$GROVE_BUILD/grove
[ -f "$GROVE_BUILD/nodes/.libs/sink.so" ] || { echo 'skipped: built without casacore'; exit 77; }
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

# try NAME MOST SETTING...: the run stays below MOST MiB and near what was predicted.
try()
{
    name=$1 most=$2
    shift 2
    set -- simulate.tree -s sky="$work/sky.skymodel" -s array=meerkat \
        -s phase_centre='0h0m0s -30d10m0s' -s smear=none --memory 64MiB "$@"
    said=$("$grove" check "$@" | sed -n 's/.*process \([0-9.]*\) MiB.*/\1/p')
    python3 - "$grove" run -q "$@" >"$work/peak" 2>"$work/err" <<'END'
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
sys.exit(code)
END
    code=$?
    peak=$(cat "$work/peak")
    echo "$name: peak $peak MiB, predicted ${said:-nothing}"
    [ $code -eq 0 ] || { cat "$work/err"; echo "FAIL: $name"; exit 1; }
    awk -v peak="$peak" -v said="${said:-0}" -v most="$most" 'BEGIN {
        if (peak > most) { print "FAIL: more than " most " MiB resident"; exit 1 }
        if (said < 0.8 * peak || said > 1.2 * peak) { print "FAIL: predicted " said; exit 1 } }' || exit 1
}

# 2016 baselines * 128 channels * 250 times * 32 bytes = 2.06 GB
try 'nothing written' 128 -s hour_angle=-125min..125min -s integration=60s -s channels=128 -s out=null
try 'a set written' 160 -s hour_angle=-20min..20min -s integration=10s -s channels=32 \
    -s out="$work/out.ms"
