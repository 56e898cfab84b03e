#!/bin/sh
# The class does what every class must (on a GPU, too, where there is one), refuses what it must, and gives what can be worked
# out by hand: a source 0.01 rad from the centre at 1.4 GHz is at cos^3(65 * 1.4 * 0.01) = cos^3(0.91) = 0.231188.
grove=${GROVE:-grove}

fail()
{
    echo "FAIL: $1"
    exit 1
}
$grove test-node -p . beam_cos3 || fail 'grove test-node'
call()
{
    $grove call -p . beam_cos3 lmn='[0.0099998333341667, 0, -0.0000499995833]' freq=1.4GHz sky=none obs=none "$@"
}
call scale=0 2>/dev/null && fail 'a scale of 0 is taken'
value=$(call) || fail 'grove call'
echo "$value" | awk '{ bad = ($NF - 0.231188) ^ 2 > 1e-12 } END { exit bad || !NR }' || fail "the value $value"
echo PASS
