#!/bin/sh
# No CUDA kernel issues more than bench/RESULTS-gpu-counted.md says: every fourth row, from the third, of the kernels that
# make check builds, or all with GROVE_ALL_ROWS=1, after make cuda-counted.
build=$(cd "${GROVE_BUILD:-.}" && pwd) source=${GROVE_SOURCE:-..}
if [ ! -e "$build/tests/cuda/counted/reduce.fatbin" ] || [ ! -x "$build/bench/gpu-kernels" ]; then
    echo 'skipped: this build has no PTX: it needs nvcc and python3, and is without sanitizers'
    exit 77
fi
which='--first 3 --every 4 --some'
# Not by code for counting of kernels that have changed since.
for file in "$build"/tests/cuda/counted/*.fatbin; do
    [ ! "$build/tests/cuda/ptx/${file##*/}" -nt "$file" ] || rm -f "$file"
done
[ -z "$GROVE_ALL_ROWS" ] || which='--every 1'
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
exec python3 "$source/bench/gpu-counted" --check $which "$build"
