#!/bin/sh
# Runs bench/gpu, at a tiny size, on the emulated device: its kernels agree with the cpu, and it writes
# its table also when time runs out.
build=${GROVE_BUILD:-.} source=${GROVE_SOURCE:-..}
for program in bench/gpu-kernels bench/gpu-runs tests/cuda/test-cuda-reduce; do
    if [ ! -e "$build/tests/cuda/.libs/libcuda-emulated.so" ] || [ ! -x "$build/$program" ]; then
        echo "skipped: this build has no emulated driver, or no $program"
        exit 77
    fi
done
# LeakSanitizer fails on threads in blocks of the emulated device
ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0
export ASAN_OPTIONS
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

fail()
{
    echo "$1"
    cat "$work/out"
    exit 1
}

# A sanitizer that finds nothing.
mkdir "$work/bin"
cat >"$work/bin/compute-sanitizer" <<'END'
#!/bin/sh
echo "========= $2"
shift 4
"$@" && echo '========= ERROR SUMMARY: 0 errors'
END
chmod +x "$work/bin/compute-sanitizer"
PATH=$work/bin:$PATH
export PATH

"$source/bench/gpu" --emulated --output "$work/table" "$build" >"$work/out" 2>&1 || fail 'bench/gpu fails'
awk -F'|' '
    /^\| multiply-adds/ { limits++ }
    / (single|double) / && NF == 13 && $2 ~ /P[123]/ {
        sums++
        if ($4 !~ /-/ && !($12 + 0 < ($3 ~ /double/ ? 1e-11 : 1e-5))) { print "wrong: " $0; faults++ }
    }
    NF == 14 && $2 ~ /(stay|come back|Measurement Set)/ {
        runs++
        for (k = 4; k <= 5; k++) if (!($k > 0)) { print "no time: " $0; faults++ }
        if ($2 ~ /come back/ && !($7 > 0)) { print "nothing came back: " $0; faults++ }
    }
    /^\| (memcheck|racecheck) test-cuda-reduce \| passed \| ========= ERROR SUMMARY: 0/ { checks++ }
    /^\| test-cuda-reduce \| passed/ { tests++ }
    END {
        if (limits != 4 || sums != 34 || runs < 7 || checks != 2 || tests != 1) {
            print limits " limits, " sums " sums, " runs " runs, " checks " checks, " tests " tests"
            faults++
        }
        exit faults > 0
    }' "$work/out" >"$work/wrong" || { cat "$work/wrong"; fail 'its table is not as it should be'; }
cmp -s "$work/table" "$work/out" || fail 'what it keeps is not what it prints'

# Out of time: everything is reported as left out, and nothing is begun.
"$source/bench/gpu" --emulated --seconds 0 "$build" >"$work/out" 2>&1 && fail 'no time, and no failure'
[ "$(grep -c 'no time left' "$work/out")" -ge 5 ] || fail 'what was left out is not said'
exit 0
