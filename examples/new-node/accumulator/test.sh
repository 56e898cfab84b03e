#!/bin/sh
# The class does what every class must, and gives what can be worked out by hand (test.tree).
grove=${GROVE:-grove}
$grove test-node -p . value_histogram || { echo 'FAIL: grove test-node'; exit 1; }
$grove run -q -p . test.tree || { echo 'FAIL: test.tree'; exit 1; }
echo PASS
