#!/bin/sh
# bench/gpu measures its kernels, tiny, on the emulated device, and they agree with the cpu.
build=${GROVE_BUILD:-.} source=${GROVE_SOURCE:-..}
if [ ! -e "$build/tests/cuda/.libs/libcuda-emulated.so" ] || [ ! -x "$build/bench/gpu-kernels" ]; then
    echo 'skipped: this build has no emulated driver'
    exit 77
fi
# the search for leaks does not survive threads that stand in blocks of the emulated device
ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 GROVE_BENCH_KERNELS_ONLY=1
export ASAN_OPTIONS GROVE_BENCH_KERNELS_ONLY
"$source/bench/gpu" --emulated "$build" >test-bench-gpu.out || { cat test-bench-gpu.out; exit 1; }
awk -F'|' '
    /^\| multiply-adds/ { limits++ }
    / (single|double) / && NF == 11 && $2 ~ /P[123]/ {
        sums++
        if (!($10 + 0 < ($3 ~ /double/ ? 1e-11 : 1e-5))) { print "wrong: " $0; faults++ }
    }
    END {
        if (limits != 2 || sums != 16) { print limits " limits, " sums " sums"; faults++ }
        exit faults > 0
    }' test-bench-gpu.out || { cat test-bench-gpu.out; exit 1; }
rm -f test-bench-gpu.out
