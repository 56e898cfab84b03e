#!/bin/sh
# The tests of sessions on an emulated CUDA device, with queued work in several orders.
set -e
build=${GROVE_BUILD:-.}
if [ ! -e "$build/tests/cuda/.libs/libcuda-emulated.so" ]; then
    echo 'skipped: this build has no emulated driver'
    exit 77
fi
GROVE_CUDA_DRIVER=$build/tests/cuda/.libs/libcuda-emulated.so
GROVE_CUDA_KERNELS=$build/tests/cuda/kernels
# LeakSanitizer fails on threads in blocks of the emulated device
ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0
export GROVE_CUDA_DRIVER GROVE_CUDA_KERNELS ASAN_OPTIONS

GROVE_TEST_DEVICE=cuda
export GROVE_TEST_DEVICE
for seed in 0 3 5; do
    GROVE_EMULATED_SEED=$seed
    export GROVE_EMULATED_SEED
    "$build/tests/test-session"
    "$build/tests/test-evaluation"
    "$build/tests/test-conformance-sessions"
done
"$build/tests/test-derivatives"
"$build/tests/test-derivative-formulas"
"$build/tests/test-conformance"
