#!/bin/sh
# A run that produces 2 GB of visibilities with --memory 64MiB keeps under a hard limit of resident memory, and `grove check`
# predicts what it takes within 20 %.
grove=$GROVE_BUILD/grove
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# 2016 baselines * 128 channels * 250 times * 32 bytes = 2.06 GB
cat >"$work/sky.skymodel" <<'END'
format = Name, Type, Ra, Dec, I
one, POINT, 00:00:00.0, -30.00.00.0, 1.0
END
set -- -s sky="$work/sky.skymodel" -s array=meerkat -s phase_centre='0h0m0s -30d10m0s' \
    -s hour_angle=-125min..125min -s integration=60s -s channels=128 -s out=null -s smear=none --memory 64MiB

predicted=$("$grove" check simulate.tree "$@" | sed -n 's/.*process \([0-9.]*\) MiB.*/\1/p')
/usr/bin/env python3 - "$grove" "$@" >"$work/peak" 2>"$work/err" <<'END'
import resource, subprocess, sys
code = subprocess.call([sys.argv[1], "run", "-q", "simulate.tree"] + sys.argv[2:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
sys.exit(code)
END
code=$?
peak=$(cat "$work/peak")
echo "peak $peak MiB, predicted ${predicted:-nothing}"
[ $code -eq 0 ] || { cat "$work/err"; echo 'FAIL: the run'; exit 1; }
awk -v peak="$peak" -v said="${predicted:-0}" 'BEGIN {
    if (peak > 192) { print "FAIL: more than 192 MiB resident"; exit 1 }
    if (said < 0.8 * peak || said > 1.25 * peak) { print "FAIL: predicted " said; exit 1 } }'
