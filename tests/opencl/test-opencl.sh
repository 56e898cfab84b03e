#!/bin/sh
# The device suites on an OpenCL device, as PoCL has one: cells, memory, residency, faults, sums,
# reductions, fits; and sessions, where the cpu may compute only what OpenCL has no code for.
build=${GROVE_BUILD:-.}
POCL_CACHE_DIR=${POCL_CACHE_DIR:-$build/tests/opencl/cache}
GROVE_TEST_CUDA=opencl
export POCL_CACHE_DIR GROVE_TEST_CUDA
mkdir -p "$POCL_CACHE_DIR"
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT

for suite in cuda/test-cuda-cells cuda/test-cuda-kernels cuda/test-cuda-memory cuda/test-cuda-misuse \
    cuda/test-cuda-reduce cuda/test-cuda-residency cuda/test-cuda-times cuda/test-cuda-table cuda/test-cuda-faults \
    cuda/test-cuda-lessons fit/test-cuda-fit fit/test-cuda-fit-sums fit/test-cuda-solve; do
    "$build/tests/$suite" >"$log" 2>&1
    status=$?
    cat "$log"
    [ $status = 0 ] || exit $status
done
unset GROVE_TEST_CUDA
GROVE_TEST_DEVICE=opencl
GROVE_DEVICE_KERNELS=$build/nodes
export GROVE_TEST_DEVICE GROVE_DEVICE_KERNELS
programs='core/test-evaluation core/test-conformance-sessions core/test-derivative-formulas
    imaging/test-nodes-images'
[ -z "$GROVE_ALL_FAULTS" ] || programs="$programs core/test-session core/test-derivatives core/test-conformance"
for program in $programs; do
    "$build/tests/$program" >"$log" 2>&1 || { cat "$log"; exit 1; }
    cat "$log"
    if grep 'the cpu computes' "$log" | grep -Ev 'no code for it|no library for linear algebra'; then
        echo "FAIL: $program: the cpu has to help, see above"
        exit 1
    fi
done
