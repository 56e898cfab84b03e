#!/bin/sh
# The classes do what every class must; chi-squared of two sources falls below a fiftieth of that of an empty
# image, and both images and a picture are written.
grove=${GROVE:-grove}
for class in sought_image reconstruct; do
    $grove test-node -p . $class || { echo "FAIL: grove test-node $class"; exit 1; }
done
$grove run -q simulate.tree -s sky=two.skymodel -s phase_centre="05h42m36s 49d51m07s" -s hour_angle=-1h..1h \
    -s integration=300s -s channels=8 -s smear=none -s out=two.ms || { echo 'FAIL: simulate.tree'; exit 1; }
$grove run -q -p . reconstruct.tree -s ms=two.ms -s size=64 -s steps=40 >said || { echo 'FAIL: reconstruct.tree'; exit 1; }
awk '/chi-squared/ { last = $NF; if (!first) first = last; count++ }
     END { exit !(count == 40 && last < first / 50) }' said ||
    { cat said; echo 'FAIL: chi-squared'; exit 1; }
for file in dirty.fits found.fits found.png; do
    [ -s $file ] || { echo "FAIL: $file"; exit 1; }
done
rm -rf two.ms said dirty.fits found.fits found.png
echo PASS
