#!/bin/sh
# Faults of a kind that only nvcc's code can show are found: each is put into the PTX of a kernel that is
# right, and the suite that runs it fails for that reason.
build=$(cd "${GROVE_BUILD:-.}" && pwd) source=${GROVE_SOURCE:-..}
if [ ! -e "$build/tests/cuda/ptx/probe.ptx" ]; then
    echo 'skipped: this build has no PTX: it needs nvcc and python3, and is without sanitizers'
    exit 77
fi
folder=$build/tests/cuda/ptx-mutants status=0
rm -rf "$folder"
mkdir "$folder" && ln -s "$build"/tests/cuda/ptx/*.fatbin "$folder" && rm "$folder/probe.fatbin" || exit 99
trap 'rm -rf "$folder"' EXIT

# mutate WHAT SED MESSAGE: probe.ptx, changed so, is refused or fails, with that message.
mutate()
{
    sed "$2" "$build/tests/cuda/ptx/probe.ptx" >"$folder/probe.ptx"
    if [ "$1" != nothing ] && cmp -s "$folder/probe.ptx" "$build/tests/cuda/ptx/probe.ptx"; then
        echo "FAIL: $1: $2 changes nothing"
        status=1
        return
    fi
    PTX_CXXFLAGS=-O0 "$source/tests/cuda/ptx_compile.sh" "$folder/probe.fatbin" >"$folder/log" 2>&1 &&
        GROVE_TEST_CUDA=ptx-mutants "$build/tests/cuda/test-cuda-emulation" >"$folder/log" 2>&1 && echo passed >>"$folder/log"
    if grep -q "$3" "$folder/log"; then
        echo "ok   $1: $(grep "$3" "$folder/log" | head -n 1)"
    else
        cat "$folder/log"
        echo "FAIL: $1: there is no '$3'"
        status=1
    fi
}

mutate nothing '' passed
mutate 'an access that is not aligned' 's/\(ld.global.f64.*\)\]/\1+4]/' 'line [1-9].*: address is not aligned'
mutate 'a missing barrier' '/bar.sync/d' ':F:test_barriers_and_shuffles:'
mutate 'a mask without some lanes' 's/, -1;/, 65535;/' 'the mask lacks the own lane'
mutate 'a shuffle the other way' 's/shfl.sync.down/shfl.sync.up/' ':F:test_barriers_and_shuffles:'
mutate 'an offset that overflows' 's/\(st.shared.f64.*\)\]/\1+65536]/' 'address is not in shared memory'
mutate 'an unknown instruction' 's/bar.sync/bar.arrive/' 'line [1-9].*: instruction bar.arrive 0 is not known'
mutate 'an unknown type' 's/ld.global.f64/ld.global.f16x2/' 'line [1-9].*: instruction ld.global.f16x2 is not known'
exit $status
