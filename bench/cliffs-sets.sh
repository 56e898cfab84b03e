#!/bin/sh
# What the order, number and windows of a set's rows cost, against python-casacore:
#
#     bench/cliffs-sets.sh [PYTHON [BUILD FOLDER [OPTIONS OF cliffs-sets.py...]]]
#
# PYTHON has python-casacore. Sets are made in a folder of $TMPDIR, 3 GB, which is removed at the end.
set -e
top=$(cd "$(dirname "$0")/.." && pwd)
python=${1:-python3} build=${2:-build}
[ $# -gt 2 ] && shift 2 || set --
[ -x "$build/grove" ] || { echo "no $build/grove: build Grove first" >&2; exit 1; }
build=$(cd "$build" && pwd)
export GROVE_PLUGIN_PATH="$build/nodes/.libs" GROVE_TREE_PATH="$top/trees" GROVE_DATA_PATH="$top/data"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" "$top/bench/cliffs-sets.py" --grove "$build/grove" --work "$work" "$@"
