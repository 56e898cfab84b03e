#!/bin/sh
# What the framework costs: Baxter's MeerKAT workload (64 stations, 480 times, 64 channels), simulated
# with one source, beam and gains, to the null sink. Prints, for several runs, the time from the first
# to the last tile, and what of it is neither in kernels nor waiting for data, per node and tile.
#
#     bench/framework.sh [BUILD FOLDER [RUNS]]
build=${1:-build} runs=${2:-7}
top=$(cd "$(dirname "$0")/.." && pwd)
[ -x "$build/grove" ] || { echo "no $build/grove: build Grove first" >&2; exit 1; }
build=$(cd "$build" && pwd)
GROVE_PLUGIN_PATH=$build/nodes/.libs GROVE_TREE_PATH=$top/trees GROVE_DATA_PATH=$top/data
export GROVE_PLUGIN_PATH GROVE_TREE_PATH GROVE_DATA_PATH
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cat >"$work/sky.skymodel" <<'END'
format = Name, Type, Ra, Dec, I
one, POINT, 00:00:00.0, -30.00.00.0, 1.0
END

# A little over eight hours of hour angle are 480 minutes of sidereal time.
for run in $(seq "$runs"); do
    "$build/grove" run -q simulate.tree -s sky="$work/sky.skymodel" -s array=meerkat \
        -s phase_centre='0h0m0s -30d10m0s' -s hour_angle=-241min..241min -s integration=60s \
        -s channels=64 -s beam=airy -s gains=sine -s out=null --profile 2>&1 |
        sed -n 's/^first to last tile/run '"$run"':/p; s/^\([0-9]* evaluations in [0-9]* tiles\).*/       \1/p'
done | tee "$work/runs"
sed -n 's/.*(\([0-9.]*\) us per node and tile).*/\1/p' "$work/runs" | sort -n |
    awk '{ x[NR] = $1 } END { if (NR) print "median: " x[int((NR + 1) / 2)] " us per node and tile" }'
