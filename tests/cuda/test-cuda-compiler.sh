#!/bin/sh
# Kernels compiled when they run, on the emulated device: NVRTC makes PTX of the texts, which is translated. The cache of compiled code
# takes damage, other files and two programs at once; a tuned kernel without its barriers is found; bad texts give messages.
grove=$GROVE_BUILD/grove
plugins=$GROVE_BUILD/tests/tune/plugins/.libs
[ -e "$plugins/../tunable.cuda" ] || { echo 'skipped: this build has no emulated CUDA device'; exit 77; }
GROVE_CUDA_DRIVER=$GROVE_BUILD/tests/cuda/.libs/libcuda-emulated.so
GROVE_CUDA_LIBRARIES=$GROVE_CUDA_DRIVER
GROVE_DEVICE_KERNELS=$GROVE_BUILD/tests/cuda/kernels
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 # of NVRTC
export GROVE_CUDA_DRIVER GROVE_CUDA_LIBRARIES GROVE_DEVICE_KERNELS ASAN_OPTIONS
"$grove" info --devices 2>/dev/null | grep -q NVRTC || { echo 'skipped: NVRTC or python3 is not installed'; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
status=0

fail()
{
    echo "FAIL: $1"
    status=1
}

cat >tree <<'END_OF_TREE'
obs = observe(array="vla-c", phase_centre="1h 30d", hour_angle=-1h..1h, integration=600s, frequency=1GHz, channels=4, channel_width=1MHz)
y = tunable(obs.freq * obs.interval)
written = save(mean(y), to="mean.csv", overwrite=true)
END_OF_TREE

# run CACHE: the number is in mean.csv, messages and the profile in out.
run()
{
    rm -f mean.csv
    XDG_CACHE_HOME=$1 "$grove" run tree -p "$plugins" --device cuda --profile >out 2>&1 && [ -e mean.csv ]
}
# Whether the class ran on the device.
launched() { sed -n '/^node  *launches/,/^$/p' out | grep -q '^y  *1 '; }
# Whether run gives the right number, computed on the device.
right() { run "$1" && launched && cmp -s mean.csv wanted.csv; }

"$grove" run tree -p "$plugins" --device cpu >out 2>&1 || fail "on the cpu: $(cat out)"
mv mean.csv wanted.csv

# ---- the cache ----
right "$work/cache" || fail "compiled: $(cat out)"
kept=$(echo cache/grove/kernels/*)
[ -f "$kept" ] || fail "kept: $(ls cache/grove)"
cp "$kept" whole
made=$(stat -c %i "$kept")
right "$work/cache" || fail "from the cache: $(cat out)"
[ "$(stat -c %i "$kept")" = "$made" ] || fail 'it was compiled again'
size=$(wc -c <whole)
for damage in 0 20 60 $((size / 2)) $((size - 1)); do
    head -c "$damage" whole >"$kept"
    right "$work/cache" || fail "cut after $damage bytes: $(cat out)"
    cmp -s "$kept" whole || fail "cut after $damage bytes: it is not made anew"
done
{ head -c $((size / 2)) whole && printf 'x' && tail -c +$((size / 2 + 2)) whole; } >"$kept"
right "$work/cache" || fail "a changed byte: $(cat out)"
cmp -s "$kept" whole || fail 'a changed byte: it is not made anew'
rm "$kept" && mkdir "$kept"
right "$work/cache" || fail "a folder in its place: $(cat out)"
rmdir "$kept" && ln -s /nowhere/at/all "$kept"
right "$work/cache" || fail "a link in its place: $(cat out)"
: >no-folder
right "$work/no-folder" || fail "no cache folder: $(cat out)"
mkdir one two
for at in one two; do
    (cd $at && XDG_CACHE_HOME=$work/both "$grove" run ../tree -p "$plugins" --device cuda >out 2>&1) &
done
wait
cmp -s one/mean.csv wanted.csv && cmp -s two/mean.csv wanted.csv || fail "two at once: $(cat one/out two/out)"
[ "$(ls both/grove/kernels | wc -l)" = 1 ] && cmp -s both/grove/kernels/* whole || fail 'two at once: the cache'

# ---- without a compiler, and with bad texts: a message, and the host computes ----
refused()
{
    run "$work/cache" || fail "$1: $(cat out)"
    launched && fail "$1: it runs on the device"
    cmp -s mean.csv wanted.csv || fail "$1: $(cat mean.csv)"
    grep -q "$2" out || fail "$1: no message '$2': $(cat out)"
}
GROVE_CUDA_LIBRARIES=none refused 'no compiler' 'tunable has no code for it: there is no .*tunable.fatbin'
mkdir texts
ln -s "$GROVE_DEVICE_KERNELS"/*.fatbin texts/
GROVE_DEVICE_KERNELS=$work/texts
sed 's/GROVE_ABI_MINOR = [0-9]*/GROVE_ABI_MINOR = 99/' "$plugins/../tunable.cuda" >texts/tunable.cuda
refused 'another version' 'texts/tunable.cuda was made from headers of another version'
sed 's/volatile/volatil/' "$plugins/../tunable.cuda" >texts/tunable.cuda
refused 'a fault in the text' 'texts/tunable.cuda: NVRTC fails: error: .*volatil'
: >texts/tunable.cuda
refused 'an empty text' 'texts/tunable.cuda was made from headers'
rm texts/tunable.cuda

# ---- a configuration without barriers ----
sed 's/__syncthreads();/if (RESIDENT != 512) __syncthreads();/g' "$GROVE_BUILD/nodes/reduce.cuda" >texts/reduce.cuda
cat >sum <<'END_OF_TREE'
obs = observe(array="vla-c", phase_centre="1h 30d", hour_angle=-1h..1h, integration=60s, frequency=1GHz, channels=1)
written = save(sum(obs.uvw * obs.interval), to="sum.csv", overwrite=true)
END_OF_TREE
XDG_CACHE_HOME=$work/tuned "$grove" tune sum --device cuda --kernel reduce --strategy exhaustive --patience 60 --budget 600 >out 2>&1 ||
    fail "without barriers: $(cat out)"
for record in tuned/grove/tuned/*/reduce-*x351.json; do
    grep -q '^"0,512": .*"reason": "wrong output' "$record" || fail "without barriers: $(cat out)"
    for right in 0 256 768; do
        grep -q "^\"0,$right\": .*\"time\": [0-9]" "$record" || fail "with barriers: $(cut -c1-200 "$record")"
    done
done

# ---- all texts, for the oldest compute capability and a new one ----
if [ -n "$GROVE_ALL_TEXTS" ]; then
    python3 -B "$GROVE_SOURCE/tests/cuda/compile_texts.py" "$GROVE_BUILD"/nodes/*.cuda || fail 'some text does not compile'
fi
exit $status
