#!/bin/sh
# Suites of CUDA kernels and sessions on the emulated device once more, with the PTX that nvcc makes of
# the kernels (tests/cuda/ptx_translate.py). Those with products of matrices run with both ways to
# round their sums, since NVIDIA documents none.
build=${GROVE_BUILD:-.} source=${GROVE_SOURCE:-..}
if ! ls "$build"/tests/cuda/ptx/*.fatbin >/dev/null 2>&1; then
    echo 'skipped: this build has no PTX: it needs nvcc and python3, and is without sanitizers'
    exit 77
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
GROVE_TEST_CUDA=ptx TMPDIR=$work GROVE_PTX_ROUNDING=cut
export GROVE_TEST_CUDA TMPDIR GROVE_PTX_ROUNDING work

# "ROUNDING COMMAND" a line, the longest first, two at a time.
cat >"$work/run" <<'END'
log=$work/$(basename "$2")-$1.log
GROVE_PTX_ROUNDING=$1 "$2" >"$log" 2>&1 && exit 0
code=$?
echo "FAIL: $2, sums are rounded: $1, ends with $code"
exit 0
END
suites=$(cd "$source/tests" && grep -l 'cuda_testing_begin()' test-*.c | sed 's/[.]c$//')
{
    echo "cut $source/tests/test-cuda-sessions.sh"
    for suite in test-cuda-station test-cuda-sums; do
        echo "nearest $build/tests/$suite"
    done
    for suite in $suites; do
        echo "cut $build/tests/$suite"
    done
} >"$work/list"
xargs -n 2 -P 2 sh "$work/run" <"$work/list" >"$work/failures"
cat "$work"/*.log "$work/failures"
[ ! -s "$work/failures" ]
