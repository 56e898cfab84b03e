#!/bin/sh
# Suites of CUDA kernels and sessions on the emulated device once more, with the PTX that nvcc makes of
# the kernels (tests/cuda/ptx_translate.py). Those with products of matrices run with both ways to
# round their sums, since NVIDIA documents none.
build=$(cd "${GROVE_BUILD:-.}" && pwd) source=$(cd "${GROVE_SOURCE:-..}" && pwd)
if [ ! -e "$build/tests/cuda/ptx/probe.fatbin" ]; then
    echo 'skipped: this build has no PTX: it needs nvcc and python3, and is without sanitizers'
    exit 77
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
GROVE_BUILD=$build GROVE_SOURCE=$source GROVE_TEST_CUDA=ptx GROVE_TEST_SEEDS=3
export GROVE_BUILD GROVE_SOURCE GROVE_TEST_CUDA GROVE_TEST_SEEDS work

# "ROUNDING COMMAND" a line, two at a time, each in a folder of its own.
cat >"$work/run" <<'END'
folder=$work/$(basename "$2")-$1
mkdir "$folder" && cd "$folder" || exit 1
case $2 in *.sh) set -- "$1" sh "$2" ;; esac
TMPDIR=$folder GROVE_PTX_ROUNDING=$1 "$2" $3 >"$folder.log" 2>&1 && exit
echo "FAIL: $2 $3 with GROVE_PTX_ROUNDING=$1 ends with $?" >>"$folder.log"
mv "$folder.log" "$folder.failed"
END
{
    echo "cut $source/tests/cuda/test-cuda-sessions.sh"
    for suite in $(cd "$source/tests" && grep -l 'CUDA_SUITE(\|cuda_testing_begin()' ./*/test-*.c | sed 's/[.]c$//'); do
        echo "cut $build/tests/$suite"
    done
    echo "nearest $build/tests/imaging/test-cuda-idg"
    echo "nearest $build/tests/sky/test-cuda-station"
    echo "nearest $build/tests/sky/test-cuda-sums"
} >"$work/list"
code=0
xargs -n 2 -P 2 sh "$work/run" <"$work/list"
cat "$work"/*.log
for log in "$work"/*.failed; do
    [ ! -e "$log" ] || { cat "$log"; code=1; }
done
exit $code
