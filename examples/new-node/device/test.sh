#!/bin/sh
# The class does what every class must (on a GPU, too, where there is one), and gives what can be worked out by hand (test.tree).
grove=${GROVE:-grove}
$grove test-node -p . delay_spectrum || { echo 'FAIL: grove test-node'; exit 1; }
$grove run -q -p . test.tree || { echo 'FAIL: test.tree'; exit 1; }
echo PASS
