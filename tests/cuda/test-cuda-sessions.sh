#!/bin/sh
# The tests of sessions on an emulated CUDA device, with queued work in several orders.
set -e
build=${GROVE_BUILD:-.}
if [ ! -e "$build/tests/cuda/.libs/libcuda-emulated.so" ]; then
    echo 'skipped: this build has no emulated driver'
    exit 77
fi
GROVE_CUDA_DRIVER=$build/tests/cuda/.libs/libcuda-emulated.so
GROVE_CUDA_LIBRARIES=$GROVE_CUDA_DRIVER
# Kernels compiled as C++, or another folder below tests/cuda: ptx
case $GROVE_TEST_CUDA in '' | real) kernels=kernels ;; *) kernels=$GROVE_TEST_CUDA ;; esac
GROVE_DEVICE_KERNELS=$build/tests/cuda/$kernels
# LeakSanitizer fails on threads in blocks of the emulated device
ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0
export GROVE_CUDA_DRIVER GROVE_CUDA_LIBRARIES GROVE_DEVICE_KERNELS ASAN_OPTIONS

# a driver that is too old: auto warns and goes on, cuda fails, info says it, each with both versions
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
old='the driver supports CUDA 10\.2, but the kernels were built with CUDA [0-9.]* and need'
GROVE_EMULATED_VERSION=10020
export GROVE_EMULATED_VERSION
echo 'a = 1 + 1' >"$work/a.tree"
[ "$("$build/grove" run "$work/a.tree" --value a 2>"$work/err")" = 2 ]
grep -q "$old.*; it is not used" "$work/err"
code=0
"$build/grove" run --device cuda "$work/a.tree" --value a >"$work/out" 2>"$work/err" || code=$?
[ $code -eq 1 ]
grep -q "$old" "$work/err"
"$build/grove" info --devices | grep -q "^cuda    none: .*$old"
unset GROVE_EMULATED_VERSION

# what is measured on a device is kept
if [ -x "$build/bench/costs" ]; then
    XDG_CACHE_HOME=$work "$build/bench/costs" --size tiny >"$work/out"
    grep -q '^cuda:0  Emulated device' "$work/out"
    grep -q "^[0-9.]* | driver $GROVE_CUDA_DRIVER | predict, GPU | [0-9 ]*\$" "$work/grove/tuning"
fi

# the energy of a GPU, all of which nodes with kernels have
if [ -e "$build/tests/common/.libs/fake-nvml.so" ]; then
    cat >"$work/b.tree" <<'END'
obs = observe(array="wsrt", phase_centre="05h42m36.1s 49d51m07s", hour_angle=-1h..1h)
x   = (obs.freq / 1GHz)^-0.7 * (obs.elevation / 1rad)^2
s   = save(x, "b.npy")
END
    (cd "$work" && GROVE_POWERCAP=$work/nowhere GROVE_NVML=$build/tests/common/.libs/fake-nvml.so FAKE_NVML_ENERGY=1000 \
        FAKE_NVML_STEP=500 "$build/grove" run b.tree --device cuda -q --energy 2>err)
    awk '/^grove: energy [0-9.]* k?J in .*: GPUs / && $3 > 0 { whole++ }
        /^grove: energy is incomplete: .*nowhere/ { lacks++ }
        !/^grove/ { for (k = 2; k <= NF; k++) if ($k == "%") { n++; sum += $(k - 1) } }
        END { exit !(whole == 1 && lacks == 1 && n > 0 && sum > 99 && sum < 101) }' "$work/err" || {
        cat "$work/err"
        exit 1
    }
fi

GROVE_TEST_DEVICE=cuda
export GROVE_TEST_DEVICE
log=$(mktemp) || exit 1
trap 'rm -rf "$work" "$log"' EXIT

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
    run core/test-session
    run core/test-evaluation
    run core/test-conformance-sessions
done
run imaging/test-nodes-images
run core/test-derivatives
run core/test-derivative-formulas
run core/test-conformance
