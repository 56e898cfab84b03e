#!/bin/sh
# grove tune with a kernel that has bad configurations: those that are wrong, crash, do not end or are slow are recorded and never
# used; what was tried before it was killed is not tried again; it writes no outputs. Its records are those of kernel_tuner.
grove=$GROVE_BUILD/grove
plugins=$GROVE_BUILD/tests/tune/plugins/.libs
[ -e "$plugins/tunable.so" ] || { echo 'skipped: this build has no modules for tests'; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
POCL_CACHE_DIR=${POCL_CACHE_DIR:-$GROVE_BUILD/tests/opencl/cache}
export POCL_CACHE_DIR
mkdir -p "$POCL_CACHE_DIR"
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 # of the driver
export ASAN_OPTIONS
status=0

fail()
{
    echo "FAIL: $1"
    status=1
}

# tune FOLDER OPTIONS: with this cache folder; its output is in out and err.
tune()
{
    folder=$1
    shift
    XDG_CACHE_HOME=$work/$folder "$grove" tune tree -p "$plugins" --patience 4 "$@" >out 2>err
}

# The keys of the configurations in the only record of a cache folder.
keys()
{
    sed -n 's/^"\([0-9,]*\)": {.*/\1/p' "$1"/grove/tuned/*/*.json | sort | tr '\n' ' '
}

cat >tree <<'END'
obs = observe(array="vla-c", phase_centre="1h 30d", hour_angle=-1h..1h, integration=600s, frequency=1GHz, channels=4, channel_width=1MHz)
y = tunable(obs.freq * obs.interval)
written = save(mean(y), to="mean.csv")
printed = print(mean(y))
END

# ---- on the cpu, and on an OpenCL device ----
devices=cpu
if [ -e "$GROVE_BUILD/tests/tune/plugins/tunable.cl" ] && "$grove" info --devices | grep -q '^ *opencl:0'; then
    devices='cpu opencl'
fi
GROVE_CUDA_DRIVER=$GROVE_BUILD/tests/cuda/.libs/libcuda-emulated.so
GROVE_CUDA_LIBRARIES=$GROVE_CUDA_DRIVER
GROVE_DEVICE_KERNELS=$GROVE_BUILD/tests/cuda/kernels # of the emulated device
export GROVE_CUDA_DRIVER GROVE_CUDA_LIBRARIES GROVE_DEVICE_KERNELS
if [ -e "$GROVE_BUILD/tests/tune/plugins/tunable.cuda" ] && "$grove" info --devices | grep -q NVRTC; then
    devices="$devices cuda"
fi
for device in $devices; do
    patience=4
    [ "$device" = cpu ] || patience=20 # each configuration is compiled
    tune "$device" --device "$device" --strategy exhaustive --kernel tunable --patience $patience --budget 1000 || fail "$device: $(cat out err)"
    grep -q '^| tunable double 12x4 |.*| 6 of 6 | 3 | .* KIND=5 |' out || fail "$device: $(cat out err)"
    [ "$(keys "$device")" = '0 1 2 3 4 5 ' ] || fail "$device: the record has $(keys "$device")"
    record=$(echo "$device"/grove/tuned/*/tunable-double-*-12x4.json)
    grep -q '^"1": .*"reason": "wrong output: numbers are missing' "$record" || fail "$device: the wrong output is not in $record"
    grep -q '^"3": .*"reason": "it took too long and was ended"' "$record" || fail "$device: the endless one is not in $record"
    reason='it ended the program'
    [ "$device" = cpu ] || reason='.*\(compiler\|NVRTC\) fails'
    grep -q "^\"2\": .*\"reason\": \"$reason" "$record" || fail "$device: the one that fails is not in $record"
    grep -q '| tunable double [0-9a-f]* 12x4 KIND | 5000000$' "$device/grove/tuning" || fail "$device: $(cat "$device/grove/tuning")"
    [ ! -e mean.csv ] || fail "$device: it writes the outputs of the tree"
    rm -f mean.csv
    XDG_CACHE_HOME=$work/$device "$grove" run tree -p "$plugins" --device "$device" --profile >tuned 2>&1 || fail "$device: $(cat tuned)"
    XDG_CACHE_HOME=$work/$device "$grove" check tree -p "$plugins" --device "$device" >checked 2>&1
    grep -q ': tunable double with KIND=5, tuned for 12x4$' checked || fail "$device: $(cat checked)"
    grep -q ': tunable double with KIND=5, tuned for 12x4$' tuned || fail "$device: $(cat tuned)"
    rm mean.csv
    "$grove" run tree -p "$plugins" --device "$device" >usual 2>&1 || fail "$device: $(cat usual)"
    [ "$(grep '^mean#5: ' tuned)" = "$(grep '^mean#5: ' usual)" ] || fail "$device: $(cat tuned usual)"
    rm -f mean.csv
done
for device in $devices; do # all is known: nothing is tried, and no other record is made
    cp -r "$device" before
    tune "$device" --device "$device" --strategy random --kernel tunable || fail "again: $(cat out err)"
    [ "$(keys "$device")" = '0 1 2 3 4 5 ' ] || fail "again: the record has $(keys "$device")"
    cmp -s before/grove/tuned/*/*.json "$device"/grove/tuned/*/*.json || fail 'the record has changed'
    rm -rf before
done

# reaches FOLDER KEYS: waits until its record has them.
reaches()
{
    for _ in $(seq 300); do
        [ "$(keys "$1" 2>/dev/null)" != "$2" ] || return 0
        sleep 0.1
    done
    fail "$1: the record has $(keys "$1")"
}

# ---- killed while it tries the endless one, with its child; then again ----
XDG_CACHE_HOME=$work/killed setsid "$grove" tune tree -p "$plugins" --patience 60 --device cpu --kernel tunable \
    --strategy exhaustive >/dev/null 2>&1 &
reaches killed '0 1 2 '
kill -KILL -$! 2>/dev/null
wait $! 2>/dev/null
tune killed --device cpu --kernel tunable --strategy exhaustive || fail "after it was killed: $(cat out err)"
[ "$(keys killed)" = '0 1 2 3 4 5 ' ] || fail "after it was killed the record has $(keys killed)"
grep -q ' | 5000000$' killed/grove/tuning || fail "after it was killed: $(cat killed/grove/tuning)"

# ---- two at once: the record is one program's ----
XDG_CACHE_HOME=$work/both "$grove" tune tree -p "$plugins" --patience 4 --device cpu --kernel tunable \
    --strategy exhaustive >/dev/null 2>&1 &
reaches both '0 1 2 '
tune both --device cpu --kernel tunable && fail 'two at once have the same record'
grep -q 'another grove tune is writing this record' err || fail "two at once: $(cat err)"
wait $!

# ---- budget ----
tune short --device cpu --kernel tunable --strategy exhaustive --budget 1e-6 || fail "budget: $(cat out err)"
[ "$(keys short)" = '0 1 ' ] || fail "budget: the record has $(keys short)"

# ---- statistics ----
XDG_CACHE_HOME=$work/cpu "$grove" tune --report -o report.svg >out 2>err || fail "--report: $(cat err)"
grep -q '^| tunable double | .* | 12x4 | 3 | 3 | ' out || fail "--report: $(cat out)"
grep -q '>tunable double 12x4</text>' report.svg || fail "--report -o: $(cat report.svg)"
"$grove" tune --report cpu/grove/tuned/*/*.json >named 2>err || fail "--report FILE: $(cat err)"
cmp -s named out || fail '--report prints another text for the record that it found'
"$grove" tune --report tree >out 2>err && fail '--report of a file that is no record'
grep -q '^grove: tree: this is not a record of tuning' err || fail "--report of a tree: $(cat err)"
XDG_CACHE_HOME=$work/none "$grove" tune --report >out 2>err && fail '--report without records'
grep -q "^grove: there are no records in $work/none/grove/tuned; grove tune TREE makes them$" err ||
    fail "--report without records: $(cat err)"

# ---- wrong use ----
"$grove" tune --report -o report.png >out 2>err && fail '--report -o report.png'
grep -q 'must end in .svg' err || fail "--report -o report.png: $(cat err)"
tune wrong --strategy best && fail '--strategy best'
grep -q 'must be exhaustive, random, local or counted' err || fail "--strategy: $(cat err)"
tune wrong --objective speed && fail '--objective speed'
grep -q 'must be time or energy' err || fail "--objective: $(cat err)"
GROVE_POWERCAP=$work/none tune wrong --objective energy --device cpu && fail '--objective energy without counters'
grep -q 'no counter of energy' err || fail "--objective energy: $(cat err)"
(
    unset XDG_CACHE_HOME
    HOME= "$grove" tune tree -p "$plugins" --device cpu --kernel tunable >out 2>err
) && fail 'without a folder for records'
grep -q 'there is no folder for records: neither XDG_CACHE_HOME nor HOME names one' err || fail "without a folder: $(cat err)"
tune none --device cpu --kernel unknown || fail "an unknown kernel: $(cat out err)"

# ---- kernel_tuner ----
if [ -n "$GROVE_PEERS_PYTHON" ] && "$GROVE_PEERS_PYTHON" -c 'import kernel_tuner' 2>/dev/null; then
    cat >simulate.py <<'END'
import json
import sys

import kernel_tuner

record = json.load(open(sys.argv[1]))
results, _ = kernel_tuner.interface.tune_cache(sys.argv[1], quiet=True)
right = [one for one in results if "__error__" not in one]
assert len(right) == 3, right
assert min(right, key=lambda one: one["time"])["KIND"] == 5
END
    "$GROVE_PEERS_PYTHON" simulate.py cpu/grove/tuned/*/*.json >simulated 2>&1 || fail "kernel_tuner: $(tail -3 simulated)"
fi
[ $status -eq 0 ] && echo "tuned on $devices"
exit $status
