#!/bin/sh
# The class does what every class must, refuses what it must, and gives what can be worked out by hand (test.tree).
grove=${GROVE:-grove}
$grove test-node -p . bandpass_table --tree test.tree || { echo 'FAIL: grove test-node'; exit 1; }
$grove run -q -p . test.tree || { echo 'FAIL: test.tree'; exit 1; }
printf 'T = bandpass_table("nothere.txt")\nc = compare(max(T.gain, over=entry), 1)\n' >bad.tree
$grove check -p . bad.tree 2>bad.log && { echo 'FAIL: a file that is not there is taken'; exit 1; }
grep -q 'nothere.txt: cannot open' bad.log || { echo 'FAIL: message for a file that is not there'; exit 1; }
rm -f bad.tree bad.log
echo PASS
