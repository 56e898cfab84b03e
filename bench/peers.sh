#!/bin/sh
# Compares Grove with other programs. Prints a table in Markdown. One thread each, if nothing else is said.
#
#     bench/peers.sh [WHAT] [FOLDER [BUILD FOLDER [OPTIONS OF THE SCRIPT...]]]
#
# WHAT, with the script that has options of its own:
#
#     (none)        predictions, on workloads P1 and P2, with DP3: peers.py
#     --calibrate   calibrations, on workloads C1 to C4, with DP3: calibrators.py
#     --gridders    gridding, on workloads G1 to G6, with ducc0: gridders.py
#     --imagers     from a Measurement Set to FITS files, with wsclean, which must be in PATH: imagers.py
#     --sets        rows of sets, in several orders, with DP3 and python-casacore: sets.py
#
# FOLDER is a Python environment with the programs. It is created if it does not exist; without FOLDER,
# for this run only.
set -e
top=$(cd "$(dirname "$0")/.." && pwd)
what=$1
case $1 in
--calibrate) script=calibrators.py packages='dp3 numpy' ;;
--gridders) script=gridders.py packages='ducc0 numpy' ;;
--imagers) script=imagers.py packages='' ;;
--sets) script=sets.py packages='dp3 python-casacore' ;;
*) script=peers.py packages='dp3 python-casacore' what='' ;;
esac
[ -z "$what" ] || shift
[ "$what" != --imagers ] || command -v wsclean >/dev/null || { echo 'no wsclean: on Debian install wsclean' >&2; exit 1; }
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
export GROVE_PLUGIN_PATH="$build/nodes/.libs" GROVE_TREE_PATH="$top/trees" GROVE_DATA_PATH="$top/data" PYTHONDONTWRITEBYTECODE=1
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
one=
command -v taskset >/dev/null && one="taskset -c $(($(nproc --all) - 1))"
case " $* " in
*' --threads '*) one= && unset OMP_NUM_THREADS ;; # ducc0 heeds it
esac
$one "$folder/bin/python" "$top/bench/$script" "$grove" "$work" "$@"
