#!/bin/sh
# Calls of an OpenCL driver that fail, one in a run: the run gives the same result, since the cpu helps or smaller tiles do, or it
# fails with a message and leaves no output. It never crashes.
build=${GROVE_BUILD:-.}
faults=$build/tests/opencl/plugins/.libs/faults.so
[ -e "$faults" ] || { echo 'skipped: this build has no OpenCL devices'; exit 77; }
case $(ldd "$build/grove" "$build/.libs/grove" 2>/dev/null) in *libasan*) echo 'skipped: AddressSanitizer must be first'; exit 77 ;; esac
POCL_CACHE_DIR=${POCL_CACHE_DIR:-$build/tests/opencl/cache}
export POCL_CACHE_DIR
mkdir -p "$POCL_CACHE_DIR"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
status=0

fail()
{
    echo "FAIL: $1"
    status=1
}

cat >tree <<'END'
obs = observe(array="vla-c", phase_centre="1h 30d", hour_angle=-1h..1h, integration=1200s, frequency=1GHz, channels=4, channel_width=1MHz)
S = sky_model("sky.skymodel")
G[p] = gains(obs, kind=random_walk, jones=diagonal, amplitude=0.1, phase=40deg, seed=1)
V[p,q] = G[p] * sum[s]( point(S, obs) ) * G[q]^H
written = save(mean(V, over="time"), to="mean.csv", overwrite=true)
END
cat >sky.skymodel <<'END'
format = Name, Type, Ra, Dec, I
one, POINT, 01:00:00.0, +30.00.00.0, 1.0
two, POINT, 01:00:10.0, +30.01.00.0, 2.0
END
# run FAULT
run()
{
    rm -f mean.csv
    env ${1:+CL_FAULT="$1"} LD_PRELOAD="$faults" "$build/grove" run -q tree --device opencl:0 --precision double >out 2>&1
}

run '' || { cat out; echo 'FAIL: without a fault'; exit 1; }
cp mean.csv right.csv
count=0
same=0
for function in clCreateContext clCreateCommandQueueWithProperties clCreateProgramWithSource clBuildProgram clCreateKernel clSVMAlloc \
    clCreateBuffer clSetKernelArg clSetKernelExecInfo clEnqueueNDRangeKernel clEnqueueSVMMemcpy clEnqueueSVMMemFill clFinish; do
    number=1
    while run "$function $number"; code=$?; grep -q '^fault: ' out; do
        count=$((count + 1))
        if [ $code -eq 0 ]; then
            same=$((same + 1))
            cmp -s mean.csv right.csv || awk -F, 'NR == FNR { line[FNR] = $0; lines = FNR; next }
                { n = split(line[FNR], a, ","); bad = bad || n != NF; for (k = 1; k <= n; k++) if ((d = a[k] - $k) * d > 1e-18) bad = 1 } END { exit bad || FNR != lines }' \
                right.csv mean.csv || fail "$function $number: another result"
        elif [ $code -eq 1 ]; then
            grep -q 'error: \|^grove: ' out || fail "$function $number: no message: $(cat out)"
            [ ! -e mean.csv ] || fail "$function $number: it fails, but there is output"
        else
            fail "$function $number: exit code $code: $(cat out)"
        fi
        case $number in [1-5]) number=$((number + 1)) ;; *) number=$((number * 2)) ;; esac
    done
done
[ $status -eq 0 ] && echo "$count faults, $same runs with the right result"
exit $status
