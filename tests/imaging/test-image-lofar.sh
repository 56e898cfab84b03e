#!/bin/sh
# The real LOFAR set imaged: 3C48, at its phase centre, with its flux; and its baselines with sources of the real sky model, each of
# which is imaged where the sky model has it, 17 degrees and more from the phase centre.
set=$GROVE_TEST_DATA/ms/lofar-8st.MS.tgz sky=$GROVE_TEST_DATA/sky/lofar-8st.skymodel
[ -f "$set" ] || { echo "skipped: no $set"; exit 77; }
grep -q "^ms " "$GROVE_BUILD/nodes/.libs/classes.index" || { echo 'skipped: built without casacore'; exit 77; }
grep -q "define HAVE_FITS" "$GROVE_BUILD/config.h" || { echo 'skipped: built without cfitsio and WCSLIB'; exit 77; }
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
tar -xzf "$set" -C "$work" || exit 99
cd "$work" || exit 99
ms=$(ls -d *.MS)
grove=$GROVE_BUILD/grove
status=0

# peak FILE LOWEST HIGHEST: where the maximum is, at pixel 65, 65, and its value.
peak()
{
    "$grove" info "$1" | sed -n 's/^from .* to \(.*\) Jy\/beam, maximum at pixel \(.*\), \(.*\);.*/\1 \2 \3/p' >peak
    awk -v low="$2" -v high="$3" '{ found = $1 > low && $1 < high && $2 == 65 && $3 == 65 } END { exit !found }' peak && return
    echo "FAIL: $1 has its maximum (Jy/beam, column, row) at $(cat peak), not from $2 to $3 at 65 65"
    status=1
}
image()
{
    "$grove" run -q image.tree -s ms="$ms" -s size=128 -s cell=6arcsec -s weighting=natural "$@" || status=1
}

# 67.6 Jy at 134 MHz (Scaife & Heald 2012), and its neighbours' sidelobes
image -s column=CORRECTED_DATA -s out=3C48
peak 3C48-dirty.fits 60 80

# NAME RA DEC FLUX: points of the sky model, and their flux at the mean frequency, 134.373 MHz
awk -F, '$2 ~ /POINT/ {
    gsub(/[][ ]/, "")
    ratio = log(134.373e6 / $7) / log(10)
    split($4, ra, ":")
    split($5, dec, ".")
    printf "%s %dh%dm%ss %dd%dm%s.%ss %.6g\n", $1, ra[1], ra[2], ra[3], dec[1], dec[2], dec[3], dec[4], $6 * 10 ^ (($8 + $9 * ratio) * ratio)
}' "$sky" | head -3 >points
[ "$(wc -l <points)" = 3 ] || { echo "FAIL: no points in $sky"; status=1; }
while read -r name ra dec flux; do
    { sed -n 1p "$sky"; grep "^$name, POINT" "$sky"; } >one.skymodel
    "$grove" run -q predict.tree -s ms="$ms" -s sky=one.skymodel -s column=ONE -s smear=none 2>/dev/null || status=1
    image -s column=ONE -s centre="$ra $dec" -s out="$name"
    peak "$name-dirty.fits" "$(awk "BEGIN { print 0.999 * $flux }")" "$(awk "BEGIN { print 1.001 * $flux }")"
done <points
exit $status
