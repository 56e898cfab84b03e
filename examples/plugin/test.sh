#!/bin/sh
# The class is listed, and gives cos^3 where that can be worked out by hand: a source 0.01 rad from the centre at 1.4 GHz is at
# cos^3(65 * 1.4 * 0.01) = cos^3(0.91) = 0.231188; one at the centre is at 1.
grove=${GROVE:-grove}
$grove nodes -p . beam_cos3 | grep -q 'Voltage pattern of a WSRT dish' || { echo 'FAIL: not listed'; exit 1; }
values=$($grove call -p . beam_cos3 lmn='[0.0099998333341667, 0, -0.0000499995833]' freq=1.4GHz sky=none obs=none) ||
    { echo 'FAIL: call'; exit 1; }
echo "$values" | awk '
    { value = $NF; found = 1 }
    END { bad = !found || (value - 0.231188) ^ 2 > 1e-8; print bad ? "FAIL: " value : "PASS"; exit bad }'
