#!/bin/sh
# The class does what every class must, and writes what can be worked out by hand: sqrt(2) sqrt(8) = 4 (test.tree).
grove=${GROVE:-grove}
$grove test-node -p . text_writer || { echo 'FAIL: grove test-node'; exit 1; }
$grove run -q -p . --precision double test.tree || { echo 'FAIL: test.tree'; exit 1; }
[ "$(cat out.txt)" = 4 ] || { echo "FAIL: out.txt: $(cat out.txt)"; exit 1; }
$grove run -q -p . test.tree 2>err && { echo 'FAIL: out.txt is replaced without overwrite=true'; exit 1; }
grep -q 'out.txt: exists already' err && [ "$(cat out.txt)" = 4 ] || { echo "FAIL: $(cat err)"; exit 1; }
rm -f out.txt err
echo PASS
