#!/bin/sh
# A GPU gives what the CPU gives.
grove=${GROVE:-grove}

if ! $grove info --devices | grep -q '^cuda:0'; then
    echo 'skipped: no GPU'
    exit 0
fi
call()
{
    $grove call -p . --device "$1" beam_cos3 sky=none obs=none lmn='[0.00999983333, 0, -0.0000499995833]' freq=1.4GHz
}
cpu=$(call cpu) && gpu=$(call cuda) || { echo 'FAIL: call'; exit 1; }
echo "$cpu $gpu" | awk '
    { bad = NF != 2 || ($1 - $2) ^ 2 > 1e-24; print bad ? "FAIL on the GPU: " $0 : "PASS on the GPU"; exit bad }'
