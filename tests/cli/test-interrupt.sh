#!/bin/sh
# Ctrl-C during a run, and too little space: existing output is unchanged, no partial output remains, and the message says so.
grep -q "^ms " "$GROVE_BUILD/nodes/.libs/classes.index" || { echo 'skipped: built without casacore'; exit 77; }
grove=$GROVE_BUILD/grove
work=$(mktemp -d) || exit 1
trap 'umount "$work/small" 2>/dev/null; rm -rf "$work"' EXIT
status=0

fail()
{
    echo "FAIL: $1"
    status=1
}
cat >"$work/sky.skymodel" <<'END'
format = Name, Type, Ra, Dec, I
one, POINT, 00:00:00.0, -30.00.00.0, 1.0
END
simulate()
{
    exec "$grove" run -q simulate.tree -s sky="$work/sky.skymodel" -s array=meerkat \
        -s phase_centre='0h0m0s -30d10m0s' -s smear=none "$@"
}

# a set to be kept
(simulate -s hour_angle=-1min..1min -s integration=60s -s channels=4 -s out="$work/kept.ms") || fail 'the first run'
before=$(find "$work/kept.ms" -type f -exec cksum {} + | sort | cksum)

# Ctrl-C while it is being replaced
(simulate -s hour_angle=-4h..4h -s integration=10s -s channels=64 -s out="$work/kept.ms" -s overwrite=true \
    --memory 64MiB 2>"$work/err") &
pid=$!
sleep 2
kill -INT $pid
wait $pid
code=$?
[ $code -eq 1 ] || fail "exit code $code after Ctrl-C"
grep -q 'interrupted' "$work/err" || fail "message: $(cat "$work/err")"
grep -q 'unchanged' "$work/err" || fail "message: $(cat "$work/err")"
[ "$(find "$work/kept.ms" -type f -exec cksum {} + | sort | cksum)" = "$before" ] || fail 'the set has changed'
[ "$(ls -A "$work" | grep -c '[.]grove-')" = 0 ] || fail "left behind: $(ls -A "$work")"

# too little space: known before anything is written
mkdir "$work/small"
if mount -t tmpfs -o size=28m tmpfs "$work/small" 2>/dev/null; then
    (simulate -s hour_angle=-1h..1h -s integration=60s -s channels=16 -s out="$work/small/full.ms" 2>"$work/err")
    code=$?
    [ $code -eq 1 ] || fail "exit code $code without space"
    grep -q 'this run writes .* there, .* are free' "$work/err" || fail "message: $(cat "$work/err")"
    [ -z "$(ls -A "$work/small")" ] || fail "left behind: $(ls -A "$work/small")"

    # a column of a set that exists
    (simulate -s hour_angle=-1h..1h -s integration=120s -s channels=4 -s out="$work/small/kept.ms") || fail 'a small run'
    dd if=/dev/zero of="$work/small/fill" bs=1M count=17 2>/dev/null
    before=$(find "$work/small/kept.ms" -name 'table.f*' -exec cksum {} + | sort | cksum)
    "$grove" run -q predict.tree -s ms="$work/small/kept.ms" -s sky="$work/sky.skymodel" \
        -s column=CORRECTED_DATA 2>"$work/err"
    code=$?
    [ $code -eq 1 ] || fail "exit code $code without space for a column"
    grep -q 'this run writes .* there, .* are free' "$work/err" || fail "message: $(cat "$work/err")"
    "$grove" info "$work/small/kept.ms" >"$work/info" 2>&1 || fail "the set cannot be read: $(cat "$work/info")"
    [ "$(find "$work/small/kept.ms" -name 'table.f*' -exec cksum {} + | sort | cksum)" = "$before" ] ||
        fail 'data of the set have changed'
else
    echo 'no file system of a small size could be mounted: that part is skipped'
fi
exit $status
