#!/bin/sh
# The tests of sessions on an emulated CUDA device, with queued work in several orders.
set -e
build=${GROVE_BUILD:-.}
if [ ! -e "$build/tests/cuda/.libs/libcuda-emulated.so" ]; then
    echo 'skipped: this build has no emulated driver'
    exit 77
fi
GROVE_CUDA_DRIVER=$build/tests/cuda/.libs/libcuda-emulated.so
# Kernels compiled as C++, or another folder below tests/cuda: ptx
case $GROVE_TEST_CUDA in '' | real) kernels=kernels ;; *) kernels=$GROVE_TEST_CUDA ;; esac
GROVE_CUDA_KERNELS=$build/tests/cuda/$kernels
# LeakSanitizer fails on threads in blocks of the emulated device
ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0
export GROVE_CUDA_DRIVER GROVE_CUDA_KERNELS ASAN_OPTIONS

GROVE_TEST_DEVICE=cuda
export GROVE_TEST_DEVICE
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT

# run PROGRAM: passes, and the cpu computes nothing that the device should.
run()
{
    "$build/tests/$1" >"$log" 2>&1 || { cat "$log"; exit 1; }
    cat "$log"
    if grep -q 'the cpu computes' "$log"; then
        echo "FAIL: $1: the cpu has to help, see above"
        exit 1
    fi
}

for seed in ${GROVE_TEST_SEEDS:-0 3 5}; do
    GROVE_EMULATED_SEED=$seed
    export GROVE_EMULATED_SEED
    run test-session
    run test-evaluation
    run test-conformance-sessions
done
run test-conformance
