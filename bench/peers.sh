#!/bin/sh
# Compares Grove with programs from PyPI. Prints a table in Markdown. Predictions, on workloads P1 and
# P2 with one thread each, with DP3, codex-africanus and matvis:
#
#     bench/peers.sh [FOLDER [BUILD FOLDER [OPTIONS OF peers.py...]]]
#
# Calibrations, on workloads C1, C2 and C3, with DP3 and QuartiCal:
#
#     bench/peers.sh --calibrate [FOLDER [BUILD FOLDER [OPTIONS OF calibrators.py...]]]
#
# Gridding, on workloads G1 to G5, with ducc0:
#
#     bench/peers.sh --gridders [FOLDER [BUILD FOLDER [OPTIONS OF gridders.py...]]]
#
# Whole runs from a Measurement Set to FITS files, with wsclean, which is to be in PATH:
#
#     bench/peers.sh --imagers [FOLDER [BUILD FOLDER [OPTIONS OF imagers.py...]]]
#
# Jones terms inside the sum, and start-up, with codex-africanus and matvis:
#
#     bench/peers.sh --jones [FOLDER [BUILD FOLDER [OPTIONS OF peers-jones.py...]]]
#
# Rows of sets, written by time and by baseline, with windows, long, and start-up, with DP3 and python-casacore:
#
#     bench/peers.sh --sets [FOLDER [BUILD FOLDER [OPTIONS OF cliffs-sets.py...]]]
#
# FOLDER is a Python environment with the programs. It is created if it does not exist; without FOLDER,
# for this run only.
set -e
top=$(cd "$(dirname "$0")/.." && pwd)
script=peers.py packages='dp3 codex-africanus matvis python-casacore'
if [ "$1" = --calibrate ]; then
    script=calibrators.py packages='dp3 quartical python-casacore h5py'
    shift
fi
if [ "$1" = --gridders ]; then
    script=gridders.py packages='ducc0 numpy'
    shift
fi
if [ "$1" = --imagers ]; then
    script=imagers.py packages=
    command -v wsclean >/dev/null || { echo 'no wsclean: on Debian install wsclean' >&2; exit 1; }
    shift
fi
if [ "$1" = --jones ]; then
    script=peers-jones.py packages='codex-africanus matvis'
    shift
fi
if [ "$1" = --sets ]; then
    script=cliffs-sets.py packages='dp3 python-casacore'
    shift
fi
folder=$1 build=${2:-build}
[ $# -gt 2 ] && shift 2 || set --
[ -x "$build/grove" ] || { echo "no $build/grove: build Grove first" >&2; exit 1; }
build=$(cd "$build" && pwd)
grove=$build/grove
if [ -x "$build/.libs/grove" ]; then # without libtool's script around it
    grove=$build/.libs/grove
    export LD_LIBRARY_PATH="$build/src/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
folder=${folder:-$work/environment}
if [ ! -x "$folder/bin/python" ]; then
    python3 -m venv "$folder"
    [ -z "$packages" ] || "$folder/bin/pip" install -q $packages
fi
export GROVE_PLUGIN_PATH="$build/nodes/.libs" GROVE_TREE_PATH="$top/trees" GROVE_DATA_PATH="$top/data"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=1
one=
command -v taskset >/dev/null && one="taskset -c $(($(nproc --all) - 1))"
case " $* " in
*' --threads '*) one= && unset OMP_NUM_THREADS NUMBA_NUM_THREADS ;; # ducc0 heeds the first
esac
if [ "$script" = cliffs-sets.py ]; then
    set -- --dp3 "$folder/bin/DP3.py" --grove "$grove" --work "$work" "$@"
else
    set -- "$grove" "$work" "$@"
fi
$one "$folder/bin/python" "$top/bench/$script" "$@"
