#!/bin/sh
# Measures the cost of the framework: workload P4 (Baxter's MeerKAT run: 64 stations, 480 times, 64 channels),
# simulated with smearing and gains to the null sink, for 1, 100 and 1000 sources; and for one source
# with a beam. Prints medians of several runs: the time from the first to the last tile, and the part of it
# that is neither in kernels nor waiting for data.
#
#     bench/framework.sh [BUILD FOLDER [RUNS [SOURCES...]]]
build=${1:-build} runs=${2:-5}
[ $# -gt 2 ] && shift 2 || set -- 1 100 1000
top=$(cd "$(dirname "$0")/.." && pwd)
[ -x "$build/grove" ] || { echo "no $build/grove: build Grove first" >&2; exit 1; }
build=$(cd "$build" && pwd)
GROVE_PLUGIN_PATH=$build/nodes/.libs GROVE_TREE_PATH=$top/trees GROVE_DATA_PATH=$top/data
export GROVE_PLUGIN_PATH GROVE_TREE_PATH GROVE_DATA_PATH
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# sky N: points within a degree of the phase centre.
sky()
{
    awk -v n="$1" 'BEGIN {
        print "format = Name, Type, Ra, Dec, I"
        srand(1)
        for (k = 0; k < n; k++)
            printf "s%d, POINT, %.6fdeg, %.6fdeg, %.4f\n", k, 1.1 * rand(), -30.7 + rand(), 0.1 + rand()
    }'
}

# A little over eight hours of hour angle are 480 minutes of sidereal time.
simulate()
{
    "$build/grove" run -q simulate.tree -s sky="$work/sky.skymodel" -s array=meerkat \
        -s phase_centre='0h2m0s -30d12m0s' -s hour_angle=-241min..241min -s integration=60s \
        -s channels=64 -s gains=sine -s beam="$1" -s out=null --device cpu --profile 2>&1
}

# seconds, framework seconds, us per node and tile, tiles: a line for each run
numbers()
{
    awk 'function seconds(x, unit) {
             sub(/[:,]$/, "", unit)
             return x * (unit == "us" ? 1e-6 : unit == "ms" ? 1e-3 : unit == "min" ? 60 : 1) }
         function time_after(word,    k, t) {
             for (k = 1; k <= NF; k++)
                 if ($k == word)
                     break
             t = seconds($(k + 1), $(k + 2))
             return $(k + 2) == "min" ? t + $(k + 3) : t }
         /^first to last tile/ {
             total = time_after("tile"); own = time_after("framework")
             each = $0; sub(/.*\(/, "", each); sub(/ us per.*/, "", each) }
         /^[0-9]+ evaluations in/ { print total, own, each, $4 }'
}

median()
{
    sort -g | awk '{ x[NR] = $1 } END { if (NR) print x[int((NR + 1) / 2)] }'
}

echo "| sources | beam | tiles | first to last tile, s | framework, ms | share | us per node and tile |"
echo "| --: | --- | --: | --: | --: | --: | --: |"
for sources in "$@"; do
    sky "$sources" >"$work/sky.skymodel"
    for beam in none airy; do
        [ $beam = airy ] && [ "$sources" -ne 1 ] && continue
        for run in $(seq "$runs"); do
            simulate $beam | numbers
        done >"$work/runs"
        [ -s "$work/runs" ] || { echo "no profile was printed" >&2; exit 1; }
        total=$(cut -d' ' -f1 "$work/runs" | median) own=$(cut -d' ' -f2 "$work/runs" | median)
        each=$(cut -d' ' -f3 "$work/runs" | median) tiles=$(sed -n '1s/.* //p' "$work/runs")
        awk -v s="$sources" -v b=$beam -v n="$tiles" -v t="$total" -v o="$own" -v e="$each" \
            'BEGIN { printf "| %d | %s | %d | %.2f | %.1f | %.2f %% | %s |\n", s, b, n, t, 1e3 * o, 100 * o / t, e }'
    done
done
