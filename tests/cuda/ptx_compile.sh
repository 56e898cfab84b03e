#!/bin/sh
# Compiles a kernel with nvcc to PTX, and that for the emulated device; NAME.ptx and NAME.cc stay beside it:
#
#     NVCC=nvcc ptx_compile.sh NAME.fatbin ARGUMENT-OF-NVCC...
#     ptx_compile.sh NAME.fatbin                                  of NAME.ptx
#
# GROVE_PTX_MACHINE (default 90) is the compute capability; PTX_CXXFLAGS=-DPTX_COUNTS has it count what it
# runs (ptx_counts.h).
set -e
here=$(dirname "$0") name=${1%.fatbin}
shift
[ $# = 0 ] || ${NVCC:-nvcc} -std=c++17 -O3 -diag-suppress 550 -lineinfo \
    -arch=compute_"${GROVE_PTX_MACHINE:-90}" -ptx -x cu -o "$name.ptx" "$@"
python3 -B "$here/ptx_translate.py" "$name.ptx" >"$name.cc"
# Calculations as the PTX has them, no others.
${CXX:-c++} -std=c++17 -O1 -w -fno-strict-aliasing -ffp-contract=off -fPIC -shared -Wl,-Bsymbolic "-I$here" \
    $PTX_CXXFLAGS -o "$name.fatbin" "$name.cc"
