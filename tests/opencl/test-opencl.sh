#!/bin/sh
# The device suites on an OpenCL device, as PoCL has one: cells, memory, residency, faults, sums,
# reductions, fits; and sessions, where the cpu may compute only what OpenCL has no code for.
build=${GROVE_BUILD:-.}
if [ ! -x "$build/tests/cuda/test-cuda-cells" ]; then
    echo 'skipped: this build has no device suites'
    exit 77
fi
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 # of the driver
export ASAN_OPTIONS
POCL_CACHE_DIR=${POCL_CACHE_DIR:-$build/tests/opencl/cache}
GROVE_TEST_CUDA=opencl
export POCL_CACHE_DIR GROVE_TEST_CUDA
mkdir -p "$POCL_CACHE_DIR"
work=$(mktemp -d) || exit 1
log=$work/log
trap 'rm -rf "$work"' EXIT

for suite in cuda/test-cuda-algebra cuda/test-cuda-cells cuda/test-cuda-kernels cuda/test-cuda-memory cuda/test-cuda-misuse \
    cuda/test-cuda-reduce cuda/test-cuda-residency cuda/test-cuda-times cuda/test-cuda-table cuda/test-cuda-faults \
    cuda/test-cuda-lessons fit/test-cuda-fit fit/test-cuda-fit-sums fit/test-cuda-solve imaging/test-cuda-images; do
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
# run PROGRAM
run()
{
    "$build/tests/$1" >"$log" 2>&1 || { cat "$log"; exit 1; }
    cat "$log"
    if grep 'the cpu computes' "$log" | grep -Ev 'no code for it|no library for'; then
        echo "FAIL: $1: the cpu has to help, see above"
        exit 1
    fi
}
for program in $programs; do
    run $program
done
POCL_DEVICES='pthread pthread' # two
GROVE_TEST_DEVICE=opencl:all
export POCL_DEVICES
run core/test-evaluation
run core/test-derivative-formulas

# Kernels of another version, and damaged ones, are refused with a message.
refused()
{
    GROVE_DEVICE_KERNELS=$work "$build/grove" info --devices >"$log" || exit 1
    grep -q "not used: opencl:0: $work/array.cl$1" "$log" || { cat "$log"; echo "FAIL: no message '$1'"; exit 1; }
}
sed 's/GROVE_ABI_MINOR = [0-9]*/GROVE_ABI_MINOR = 99/' "$build/nodes/array.cl" >"$work/array.cl"
refused ' was made from headers of another version'
sed 's/const grove_args \*args/const grove_args **/' "$build/nodes/array.cl" >"$work/array.cl"
refused ": the device's compiler fails: "
