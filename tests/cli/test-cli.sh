#!/bin/sh
# The command line: exit codes, standard output, and error messages.
grove=$GROVE_BUILD/grove
work=$(mktemp -d) || exit 99
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work" || exit 99
status=0
checked=0
sky=$GROVE_SOURCE/examples/quickstart/3C147.skymodel

fail()
{
    echo "FAIL: $1"
    [ -s err ] && sed 's/^/    /' err
    status=1
}

# expect CODE MESSAGE ARGUMENT...: runs grove; MESSAGE is the whole of standard error ('' for nothing;
# with ... at its end, the beginning of it). Standard output is in `out`.
expect()
{
    wanted=$1 message=$2
    shift 2
    checked=$((checked + 1))
    "$grove" "$@" >out 2>err
    code=$?
    [ $code -eq "$wanted" ] || fail "grove $*: exit code $code instead of $wanted"
    said=$(cat err)
    case $message in
    *...)
        beginning=${message%...}
        [ "${said#"$beginning"}" = "$said" ] && [ -n "$beginning" ] && fail "grove $*: wanted: $message"
        ;;
    *) [ "$said" = "$message" ] || fail "grove $*: wanted: $message" ;;
    esac
}

# prints PATTERN: that `out` has a line that matches.
prints()
{
    grep -q -- "$1" out || fail "wanted on standard output: $1; got: $(head -n 5 out)"
}

# ---- the command itself ----
expect 2 'usage: grove COMMAND...'
[ -s out ] && fail 'usage goes to standard output'
expect 0 '' --help
for command in run check show nodes info plot call new-node test-node bench tune version; do
    prints "^  $command "
done
expect 0 '' help
expect 0 '' version
prints '^grove [0-9]*\.[0-9]*\.[0-9]*$'
expect 0 '' --version
expect 2 "grove: no command 'rnu'; did you mean 'run'?" rnu
expect 2 "grove: no command 'ifno'; did you mean 'info'?" ifno
expect 2 "grove: no command 'calibrate'; grove --help lists them" calibrate
for command in run check show nodes info plot call new-node test-node bench tune; do
    expect 0 '' $command --help
    prints "^usage: grove $command "
    expect 0 '' $command -h
    expect 2 "grove: grove $command has no option --frobnicate; grove $command --help lists them" $command --frobnicate
done
if [ -c /dev/full ]; then
    "$grove" nodes >/dev/full 2>err && fail 'a full disk under standard output is no failure'
    grep -q '^grove: standard output: cannot write: No space left on device$' err || fail 'message for a full standard output'
fi

# ---- benchmarks ----
expect 0 '' bench
prints '^  predict '
prints '^  roofline '
expect 2 "grove: no benchmark 'predikt'; did you mean 'predict'?" bench predikt
expect 0 '' bench predict --help
prints '^usage: grove bench predict '
expect 2 'grove bench: --fast: no such option; --help lists them' bench predict --fast
expect 2 'grove bench: --rounds: requires N' bench predict --rounds
expect 2 'grove bench: 0: must be a whole number from 1 to 99' bench predict --rounds=0
expect 2 "grove bench predict: no workload has 'P9' in its name" bench predict --workload P9
expect 2 'grove bench predict: --threads none: must be 1 to 1024, or all' bench predict --threads none
expect 2 'grove bench predict: --threads 4294967297: must be 1 to 1024, or all' bench predict --threads 4294967297
expect 2 "grove bench predict: this processor has no instructions 'mmx'; portable, avx2 and avx512 are known" \
    bench predict --isa mmx
expect 0 '' bench predict --rounds 1 --seconds 0.001 --workload 'P1 I, stations' --isa portable \
    --precision single --threads 2
prints '^| P1 I, stations | portable | single | [0-9.]* | [0-9.]* | '
[ "$(grep -c '^| P' out)" = 1 ] || fail 'grove bench predict measures more than was asked for'
expect 2 "grove bench roofline: no kernel has 'idq' in its name" bench roofline --kernel idq
expect 2 "grove bench roofline: --precision half: must be single or double" bench roofline --precision half
expect 2 "grove bench roofline: GROVE_ISA is 'mmx'; it takes avx512, avx2 or portable" bench roofline --isa mmx
expect 2 'grove bench: 0: must be a number above 0' bench roofline --epsilon 0
expect 0 '' bench roofline --rounds 1 --seconds 0.01 --kernel w_stack --isa portable --times 1 --channels 2 --size 128
prints '^portable, single, one core; medians of 1 interleaved rounds\.$'
prints '^| 17 | [0-9.]* | [0-9.]* | [0-9]* % | [0-9]* % |$'
prints '^| w_stack, degrid | [0-9.e+]* |'
awk -F'|' '/^\| (w_stack|aw|predict)/ && NF == 15 { n++ } END { exit n != 2 }' out ||
    fail "grove bench roofline: not two kernels of 13 columns"

# ---- the manual page ----
sed 's/\\-/-/g; s/\\f[A-Z]//g' "$GROVE_SOURCE/docs/grove.1" >manual
for command in run check show nodes info plot call new-node test-node bench tune version; do
    grep -q "^\.SS grove $command\( \|$\)" manual || fail "the manual page lacks grove $command"
    [ $command = version ] && continue
    "$grove" $command --help | grep -o -- '--[a-z-][a-z-]*' | sort -u | while read -r option; do
        grep -q -- "$option\([^a-z-]\|$\)" manual || echo "the manual page lacks $option of grove $command"
    done >lacking
    [ -s lacking ] && fail "$(cat lacking)"
done
if command -v groff >/dev/null 2>&1; then
    groff -man -Tutf8 -ww "$GROVE_SOURCE/docs/grove.1" 2>&1 >/dev/null | grep . && fail 'the manual page is not clean'
fi

# ---- options ----
expect 2 'grove: grove run requires a tree file; see grove run --help' run
expect 2 "grove: grove run takes one tree file; 'b.tree' is one too many" run a.tree b.tree
expect 2 'grove: grove run has no option --memroy; did you mean --memory?' run a.tree --memroy 1GiB
expect 2 'grove: --memory requires SIZE' run a.tree --memory
expect 2 'grove: --memory lots: must be a size such as 512MiB or 4GiB' run a.tree --memory lots
expect 2 'grove: --memory 1000: must be at least 1MiB' run a.tree --memory 1000
expect 2 'grove: --precision half: must be single or double' run a.tree --precision half
expect 2 'grove: --threads -1: must be a number of threads' run a.tree --threads -1
expect 2 'grove: --threads x: must be a number of threads' run a.tree --threads=x
expect 2 'grove: --device tpu: must be ...' run a.tree --device tpu
expect 2 'grove: -s requires NAME=VALUE' run a.tree -s
expect 2 'grove: -s x: must be NAME=VALUE' run a.tree -s x
expect 2 'grove: -s =3: must be NAME=VALUE' run a.tree -s =3
expect 2 'grove: -p nowhere: there is no such folder' run a.tree -p nowhere
for number in many -3 0 4294967297 99999999999999999999; do
    expect 2 "grove: --size $number: must be a whole number from 1 to 2147483647" plot x --size $number
done
expect 2 'grove: --field 4294967296: must be a whole number from 0 to 2147483647' plot x --field 4294967296
expect 2 'grove: --cell nan: must be a number above 0' plot x --cell nan

# ---- plugins ----
expect 2 'grove: grove new-node requires a name for a class; see grove new-node --help' new-node
expect 2 "grove: Beam: a class's name begins with a lower-case letter and has lower-case letters, digits and _" new-node Beam
expect 2 'grove: --leaf and --action: give only one of them' new-node mine --action --leaf
expect 2 'grove: --device and --eval: give only one of them' new-node mine --device --eval
expect 2 'grove: --eval and --device-call: give only one of them' new-node mine --device-call --eval
[ -e mine ] && fail 'grove new-node writes in spite of a wrong usage'
expect 2 'grove: grove test-node requires a node class; see grove test-node --help' test-node
expect 2 "grove: grove test-node takes one node class; 'cos' is one too many" test-node sin cos
expect 2 "grove: no class 'sinn'; did you mean 'sin'?" test-node sinn
[ -s out ] && fail 'grove test-node of an unknown class prints checks'
expect 2 'grove: -s requires --tree, whose options it sets' test-node sin -s x=1
expect 2 'grove: nothere.tree: there is no such file or folder' test-node sin --tree nothere.tree
expect 0 '' test-node sin --device cpu
prints '^ok   tiles, threads and cache change nothing$'
printf 'y = cos(1)\n' >cos.tree
expect 1 'grove: class sin: 1 check failed' test-node sin --tree cos.tree
prints '^FAIL the tree uses the class: it is built without a node of the class; a statement must call it$'
printf 'y = sin(1m)\n' >metres.tree
expect 1 'grove: class sin: 1 check failed' test-node sin --tree metres.tree
prints '^FAIL the tree uses the class: .*metres.tree:1:9: error: sin: '

# ---- trees ----
expect 2 'grove: nothere.tree: there is no such file; searched: the current folder, ...' run nothere.tree
printf 'x = 1 +\n' >broken.tree
expect 2 'broken.tree:1:...' check broken.tree
printf 'x = sinn(1)\ny = cosine(2)\n' >names.tree
expect 2 "names.tree:1:5: error: ..." check names.tree
grep -q "did you mean 'sin'" err || fail 'the nearest class is not named'
grep -q '^names.tree:2:5: error: ' err || fail 'the second fault is not told'
grep -q '^    x = sinn(1)$' err || fail 'the line is not shown'
grep -q '^        ^~~~$' err || fail 'the place is not marked'
printf '\377\376\000x = 1\n' >binary.tree
expect 2 '...' check binary.tree
[ -s err ] || fail 'nothing is said about a binary file'
: >empty.tree
expect 0 '...' check empty.tree
expect 2 '...' check simulate.tree -s skyy=3
grep -q "^grove: setting skyy=3: the tree has no option 'skyy'; did you mean 'sky'?" err || fail 'an unknown setting'
expect 2 '...' check simulate.tree -s sky=nothere.skymodel
grep -q 'nothere.skymodel: there is no such file or folder' err || fail 'a missing sky model'
printf 'format = Name, Type, Ra, Dec, I\none, POINT, 05:42:36.1, +49.5' >truncated.skymodel
expect 2 '...' check simulate.tree -s sky=truncated.skymodel
grep -q 'truncated.skymodel:2:' err || fail 'a truncated sky model: no place'
if [ "$(id -u)" != 0 ]; then
    cp "$sky" secret.skymodel && chmod 0 secret.skymodel
    expect 2 '...' check simulate.tree -s sky=secret.skymodel
    grep -q 'secret.skymodel: cannot open: Permission denied' err || fail 'an unreadable sky model'
fi
expect 2 '...' check simulate.tree -s sky="$work"
grep -q "setting sky=$work: sky_model: file: $work: this is a folder" err || fail 'a folder as a sky model'
cp "$sky" known.skymodel
expect 2 '...' check simulate.tree -s sky=Knwon.skymodel
grep -q "did you mean 'known.skymodel'?" err || fail 'the nearest file is not named'
expect 2 '...' check simulate.tree -s sky="$sky" -s array=MeerKAT
grep -q "did you mean 'meerkat'?" err || fail 'the nearest array is not named'
printf 'x = Sin(1)\n' >case.tree
expect 2 '...' check case.tree
grep -q "did you mean 'sin'?" err || fail 'the nearest class is not named whatever its case'
printf 'SIMPLE  =                    T / FITS' >image.fits
expect 2 '...' check simulate.tree -s sky=image.fits
grep -q 'image.fits: this is a FITS file, which is not supported; give a text file' err || fail 'a FITS file as a sky model'
expect 2 '...' check simulate.tree -s sky="$sky" -s channels=4.5
grep -q "setting channels=4.5: observe: option 'channels' must be a whole number, got 4.5 (.*simulate.tree:" err || fail 'a wrong setting'
printf 'option name = none "a name"\nprint(1, title=$name)\n' >name.tree
expect 2 '...' check name.tree -s name=1934-638
grep -q "setting name=1934-638: .* got 1296; to give a text, write it in quotes: -s name='\"1934-638\"'" err || fail 'a name that is a number'
expect 0 '' run -q name.tree -s name='"1934-638"'
grep -q '^1934-638' out || fail 'a name in quotes'
expect 2 '...' check simulate.tree -s sky="$sky" -s channels=0
grep -q 'setting channels=0: observe: channels: 0 is not between ' err || fail 'a setting out of range'
printf 'option n = none "digits"\nprint(1, digits=$n)\nprint(2, digits=$n)\n' >twice.tree
expect 2 '...' check twice.tree -s n=many
[ "$(wc -l <err)" = 1 ] && grep -q '^grove: setting n=many: print: .*(.*twice.tree:2:' err || fail 'a setting that two nodes refuse'
printf 'option n = a "a or b"\nprint(choose($n, a=1, b=2))\n' >choice.tree
expect 2 '...' check choice.tree -s n=c
grep -q '^grove: setting n=c: the option must be one of a, b' err || fail 'a setting that no branch has'
expect 2 'grove: n=b: there is no such file; a setting is -s n=b' check choice.tree n=b

# a pipe that nobody writes into
mkfifo pipe
expect 2 '...' check simulate.tree -s sky=pipe
grep -q 'pipe: not a regular file' err || fail 'a pipe as a sky model'
expect 2 'grove: pipe: not a regular file' check pipe

# a byte-order mark
printf '\357\273\277x = sinn(1)\n' >mark.tree
expect 2 'mark.tree:1:5: error: ...' check mark.tree

# what would steer a terminal is shown, not sent
escape=$(printf '\033]0;title\007')
printf 'option o = 1 "%s"\nx = sinn(1) # %s \302\233\n' "$escape" "$escape" >escapes.tree
expect 2 '...' check escapes.tree
expect 0 '' run escapes.tree --help
prints '[\\]x1b]0;title[\\]x07'
expect 2 '...' check "$escape.tree"
expect 2 '...' "$escape"
"$grove" check escapes.tree -s "o$escape=3" >>out 2>>err
for file in out err; do
    [ "$(tr -d '\n\t' <$file | LC_ALL=C grep -c '[[:cntrl:]]')" = 0 ] || fail "control characters in $file"
done

cat >field.tree <<END
option array = "vla-d"   "the array"
obs    = observe(array=\$array, phase_centre="05h42m36.1s 49d51m07s", hour_angle=-2min..2min, integration=60s, channels=2)
S      = sky_model("$sky")
V[p,q] = sum[s]( point(S, obs) )
c      = compare(V, V)
END
expect 0 '...' check field.tree
prints 'predict'
prints ' visibilities, .* cells to compute$'
prints '^memory: values '
grep -q sections out && fail 'sections of 60 sources'
awk 'BEGIN { print "format = Name, Type, Ra, Dec, I"
    for (k = 0; k < 40000; k++) print "s" k ", POINT, 5:4" k % 3 ":" k % 60 ".0, 49." 30 + k % 25 "." k % 60 ".0, 1" }' >many.skymodel
sed 's|sky_model(.*|sky_model("many.skymodel")|' field.tree >many.tree
expect 0 '...' check many.tree --device cpu --memory 1MiB
prints '^sums over sources in sections of [0-9]*$'
expect 0 '' run field.tree --help
prints '^array *= "vla-d" *the array$'
expect 0 '...' run field.tree --threads 2 --memory 64MiB --precision double
grep -q '^grove: .* visibilities in .*/s), [0-9]* tiles\{0,1\}, at most ' err || fail 'no summary'
expect 0 '' run field.tree -q
expect 0 '...' run field.tree -q --profile
grep -q predict err || fail 'no profile'

# ---- energy: a machine of two packages, whose counters do not move; none; no permission ----
for k in 0 1; do
    mkdir -p powercap/intel-rapl:$k
    echo package-$k >powercap/intel-rapl:$k/name
    echo 262143328850 >powercap/intel-rapl:$k/max_energy_range_uj
    echo $k >powercap/intel-rapl:$k/energy_uj
done
GROVE_POWERCAP=$PWD/powercap
export GROVE_POWERCAP
expect 0 '...' run field.tree --device cpu --energy
grep -q '^grove: energy 0 J in [0-9.]* [mu]\{0,1\}s, 0.00 W: processors 0 J$' err || fail 'no energy'
expect 0 '...' run field.tree --device cpu -q --energy --profile
grep -q '^grove: energy 0 J in ' err || fail 'no energy with --quiet'
grep -q '^node .* energy$' err || fail 'no energy in the profile'
echo nothing >powercap/intel-rapl:1/energy_uj
expect 0 '...' run field.tree --device cpu -q --energy
grep -q "^grove: energy is incomplete: .*/powercap/intel-rapl:1/energy_uj: 'nothing' is not a number of microjoules$" err ||
    fail 'a counter that is no number'
GROVE_POWERCAP=$PWD/nowhere
expect 0 '...' run field.tree --device cpu -q --energy
grep -q '^grove: energy cannot be read: .*/nowhere: there are no domains of RAPL; ' err || fail 'no domains'
[ "$(wc -l <err)" = 1 ] || fail 'more than a line where no energy can be read'
unset GROVE_POWERCAP
expect 0 '...' run field.tree -q --trace trace.json
[ -s trace.json ] || fail 'no trace'
expect 2 '...' run field.tree -s array=nowhere
grep -q "there is no file or array 'nowhere'; the arrays are " err || fail 'an unknown array'

# ---- show ----
expect 2 'grove: grove show requires a tree file; see grove show --help' show

cat >powers.tree <<END
obs = observe(array="wsrt", phase_centre="05h42m36.1s 49d51m07s", hour_angle=-1h..1h)
x   = (obs.freq / 1GHz)^-0.7 + obs.elevation^2 / 1rad^2
print(x)
END
expect 0 '' show powers.tree
prints '^x = (obs.freq / 1GHz)^-0.7 + obs.elevation^2 / 1rad^2 '

# ---- grove show --derivatives ----
cat >parms.tree <<END
obs    = observe(array="wsrt", phase_centre="05h42m36.1s 49d51m07s", hour_angle=-1h..1h, integration=1h)
S      = sky_model("$sky")
G[p]   = parm("G", jones=diagonal, time=1h)
D[p]   = parm("D", jones=leakage, fixed=true)
V[p,q] = G[p] * D[p] * sum[s](point(S, obs)) * D[q]^H * G[q]^H
x      = print(V)
END
expect 0 '' show --derivatives parms.tree
prints '^d V\[p,q\] / d G.x\[p\] = .* \* D\[p\] \* '
prints '^d V\[p,q\] / d G.y\[q\] = '
prints '^    by the imaginary part: -i times that$'
grep -q 'd D' out && fail 'a fixed parm has derivatives'
sed 's/print(V)/print(mean(V))/' parms.tree >mean.tree
expect 2 "mean.tree:6:16: error: derivative of mean with respect to parm 'G.x': mean combines cells along..." show --derivatives mean.tree
grep -v '^G\|^V' parms.tree | sed 's/print(V)/print(D)/' >fixed.tree
expect 0 'grove: no action depends on a parm that is fitted' show --derivatives fixed.tree
expect 0 '' show field.tree
prints '^obs = observe(array="vla-d", '
prints '^V\[p,q\] = '
expect 0 '' show field.tree --dot field.dot
grep -q '^digraph' field.dot || fail 'no graph'
expect 1 'grove: nowhere/x.dot: cannot create: No such file or directory' show field.tree --dot nowhere/x.dot
mkdir empty
(PATH=$work/empty; "$grove" show field.tree --svg x.svg >out 2>err)
[ $? -eq 1 ] || fail 'exit code without dot'
[ "$(tail -n 1 err)" = "grove: x.svg: Graphviz's dot was not found; on Debian: apt-get install graphviz" ] || fail 'message without dot'
[ -z "$(ls -A | grep x.svg)" ] || fail 'a picture was left behind without dot'
if command -v dot >/dev/null 2>&1; then
    expect 0 '' show field.tree --svg x.svg --png x.png
    grep -q '<svg' x.svg || fail 'no SVG'
fi

# ---- nodes ----
expect 0 '' nodes
for word in '^data$' '^Jones terms$' '^  observe ' '^  beam_airy '; do
    prints "$word"
done
expect 0 '' nodes beam_airy observe
prints 'diameter'
expect 2 "grove: no class 'beam_ary'; did you mean 'beam_airy'?" nodes beam_ary
expect 0 '' nodes --markdown
prints '^# Node classes$'
expect 0 '' nodes --check
prints ' classes checked, 0 at fault$'
expect 0 '' nodes --check cos
prints '^1 class checked, 0 at fault$'
expect 1 "grove: no class 'coss'; did you mean 'cos'?" nodes --check cos coss
prints '^2 classes checked, 1 at fault$'
if [ -f "$GROVE_BUILD/tests/core/plugins/.libs/bad_default.so" ]; then
    for plugin in bad_default no_text no_option_text no_example no_symbol wrong_major; do
        mkdir $plugin
        cp "$GROVE_BUILD/tests/core/plugins/.libs/$plugin.so" $plugin
        expect 1 "grove: class $plugin: ..." nodes -p $plugin --check $plugin
        prints '^1 class checked, 1 at fault$'
    done
fi

# ---- no classes at all ----
plugins=$GROVE_PLUGIN_PATH
GROVE_PLUGIN_PATH=$work/nowhere:$work/empty
for command in nodes 'check field.tree' 'call add 1 2' 'nodes --check'; do
    "$grove" $command >out 2>err
    code=$?
    # an installed Grove has them in its own folder
    grep -q 'no node classes were found' err || { [ $code -eq 0 ] && continue; }
    grep -q "no node classes were found in $work/nowhere (not there), $work/empty, .*; GROVE_PLUGIN_PATH or -p can name" err ||
        fail "grove $command without classes: the folders are not named"
    [ $code -ne 0 ] || fail "grove $command without classes succeeds"
done
expect 0 '' info
prints "^looked for in  *$work/nowhere (not there)$"
GROVE_PLUGIN_PATH=$plugins

# ---- call ----
expect 0 '' call add 1 2
[ "$(cat out)" = 3 ] || fail "1 + 2 = $(cat out)"
expect 0 '' call multiply '3 + 4i' 2
[ "$(cat out)" = 6+8i ] || fail "(3 + 4i) * 2 = $(cat out)"
expect 2 'grove: grove call requires a class; see grove call --help' call
expect 2 'call:1:1: error: add: cannot add a plain number and a time; the units must agree...' call add 1 2s
expect 2 "call:1:1: error: ..." call ad 1 2

expect 0 '' call add 1Jy 2Jy
[ "$(cat out)" = '3 Jy' ] || fail "1 Jy + 2 Jy = $(cat out)"
expect 0 '' call compare 1 1 tolerance=0
prints '^compare#[0-9]*: largest difference 0,'
expect 2 "call:1:5: error: abs: input 'x' must be a value, got 'observe#0' (observe), which has no value of its own..." \
    call abs 'observe(array="vla-d", phase_centre="0h0m0s 1d0m0s", hour_angle=0h..1h)'

# ---- save, in check ----
printf 'option to = "kept.npy"\nx = 3m * [1, 2]\nsave(x, to=$to)\n' >keep.tree
expect 0 '' check keep.tree
prints '^kept.npy: .*, .* are free there$'
expect 0 '' run -q keep.tree
expect 1 'keep.tree:3:1: error: save: kept.npy: exists already; give overwrite=true to replace it...' check keep.tree
rm kept.npy
expect 1 'keep.tree:3:1: error: save: kept.npy.axes: exists already; give overwrite=true to replace it...' check keep.tree
expect 1 '...' run -q keep.tree
grep -q 'kept.npy.axes: exists already; give overwrite=true to replace it' err || fail 'the axes of a file that is gone'
expect 1 'keep.tree:3:1: error: save: no/x.csv: its folder does not exist...' check keep.tree -s to=no/x.csv
printf 'x = 3m * [1, 2]\nsave(x, to="a.csv")\nsave(2 * x, to="./a.csv")\n' >twice.tree
expect 2 'twice.tree:3:1: error: save: ./a.csv is created here, and written at twice.tree:2:1; write to another path, or create it in one run and write the rest in the next...' check twice.tree

# ---- --value ----
cat >value.tree <<'END'
option f = 3
a = $f * [1, 2, 4] * 1m
b = sum(a)
w = save(a, to="not.csv")
END
expect 0 '' run value.tree --value '2 * select(a, element="2")' -s f=5
[ "$(cat out)" = '40 m' ] || fail "--value: $(cat out)"
[ ! -e not.csv ] || fail '--value runs actions'
expect 0 '' call -s f=2 --tree value.tree norm 'select(a, element="1")'
[ "$(cat out)" = '4 m' ] || fail "call --tree: $(cat out)"
expect 2 "--value:1:5: error: unknown name 'c'..." run value.tree --value '1 + c'
expect 2 '--value:1:4: error: unexpected end of the line...' run value.tree --value '1 +'

# ---- tune ----
if [ -x "$GROVE_BUILD/bench/costs" ]; then
    kept=$XDG_CACHE_HOME
    XDG_CACHE_HOME=$work/cache
    expect 0 '' tune # without a GPU there is nothing to measure, and nothing is kept
    if grep -q '^cuda  *none' out; then
        [ ! -e cache/grove/tuning ] || fail "tune keeps without a GPU: $(cat cache/grove/tuning)"
        mkdir -p cache/grove
        echo '# Measured by grove tune on this machine; may be removed.' >cache/grove/tuning
    else
        prints "^kept in $work/cache/grove/tuning\$"
        grep -q '^# Measured by grove tune' cache/grove/tuning ||
            fail "tune keeps: $(cat cache/grove/tuning)"
    fi
    cp cache/grove/tuning before
    expect 0 '' run value.tree --value 'norm(a)' -s f=2 # a run measures nothing
    cmp -s before cache/grove/tuning || fail 'a run changes the file of tune'
    XDG_CACHE_HOME=$kept
    export XDG_CACHE_HOME
fi

# ---- info ----
expect 0 '' info
prints '^grove '
prints '^node classes  *[1-9]'
expect 0 '' info --devices
prints '^cpu  *[0-9]* threads\{0,1\}, .* free$'
prints '^cuda'
expect 2 "grove: grove info --devices takes no 'x'" info --devices x
expect 0 '' info vla-c
prints '^antenna layout: VLA, 27 stations$'
expect 0 '' info "$sky"
prints '^sky model: 60 sources '
expect 0 '' info field.tree
prints '^array *= "vla-d"'
expect 0 '' info vla-c "$sky"
expect 1 "grove: layout: there is no file or array 'nowhere'; the arrays are ..." info nowhere
expect 1 'grove: nowhere.ms: there is no such file or folder' info nowhere.ms
expect 1 "grove: $work: a folder, but not a Measurement Set" info "$work"
cp binary.tree binary
expect 1 'grove: binary: ...' info binary
printf 'some text\n' >text
cp text text.h5.checkpoint
expect 1 'grove: text: neither a sky model nor an antenna layout; ...' info text
expect 1 'grove: text.h5.checkpoint: it is not a checkpoint of this Grove, or its beginning is damaged' info text.h5.checkpoint
expect 1 'truncated.skymodel:2:...' info truncated.skymodel
cp text text.h5
expect 1 'grove: ...' info text.h5

# ---- new-node ----
expect 2 'grove: grove new-node requires a name for a class; see grove new-node --help' new-node
expect 2 "grove: Beam: a class's name begins with a lower-case letter and has lower-case letters, digits and _" new-node Beam
expect 2 'grove: ../up: ...' new-node ../up
expect 0 '' new-node beam_mine --folder mine
[ -x mine/test.sh ] && [ -f mine/beam_mine.c ] && [ -f mine/beam_mine.h ] && [ -f mine/Makefile ] || fail 'files are missing'
grep -rq '@NAME@' mine && fail 'the name was not put in everywhere'
expect 1 'grove: mine/beam_mine.c: exists already; nothing was written' new-node beam_mine --folder mine
expect 0 "grove: warning: there is a class 'sin' already; ..." new-node sin
expect 1 'grove: field.tree/x.c: ...' new-node x --folder field.tree

echo mine >mine.svg
expect 1 'grove bench: mine.svg: exists already; give --overwrite to replace it' bench roofline --plot mine.svg
[ "$(cat mine.svg)" = mine ] || fail 'grove bench replaces a file'
expect 1 'grove bench: picture.pdf: the name of a picture ends in .png or .svg' bench roofline --plot picture.pdf
expect 2 'grove bench: yes: --overwrite takes no value' bench roofline --overwrite=yes

# ---- plot ----
if grep -q "define HAVE_CAIRO" "$GROVE_BUILD/config.h"; then
    expect 2 'grove: grove plot requires a Measurement Set, solution tables, a FITS image or an array; see grove plot --help' plot
    expect 2 'grove: --what imag: there is no such picture; did you mean image?' plot vla-c --what imag
    expect 2 'grove: -o x.gif: must be a file that ends in .png or .svg, or a folder' plot vla-c -o x.gif
    expect 2 'grove: -o x.png: is one file, but --what asks for 2 pictures; give a folder' plot vla-c -o x.png --what uv,layout
    expect 1 "grove: vla-c: an antenna layout has no picture 'uv'; that needs a Measurement Set" plot vla-c --what uv
    expect 1 'grove: nowhere.ms: there is no such file or folder' plot nowhere.ms
    expect 1 'grove: nowhere.h5: there is no such file or folder' plot nowhere.h5
    expect 1 'grove: vla-c: --column is for Measurement Sets, but this is an antenna layout' plot vla-c --column DATA
    expect 1 'grove: vla-c: --correlations is for Measurement Sets and solution tables, but this is an antenna layout' plot vla-c --correlations XX
    expect 1 'grove: nowhere/x.png: cannot create: No such file or directory' plot vla-c -o nowhere/x.png
    expect 0 '' plot vla-c -o pictures
    [ "$(cat out)" = pictures/vla-c-layout.png ] || fail "the path: $(cat out)"
    [ "$(head -c 4 pictures/vla-c-layout.png | tail -c 3)" = PNG ] || fail 'no PNG'
    expect 0 '' plot -q wsrt -o layout.svg
    [ -s out ] && fail 'quiet, and something is printed'
    grep -q 'WSRT: antenna layout' layout.svg || fail 'the title of an SVG'
else
    expect 1 '...' plot vla-c
    grep -q 'this build cannot draw; build Grove with cairo (libcairo2-dev)' err || fail 'message without cairo'
fi

# ---- Measurement Sets ----
if grep -q "^ms " "$GROVE_BUILD/nodes/.libs/classes.index"; then
    expect 0 '' run -q simulate.tree -s sky="$sky" -s hour_angle=-5min..5min -s integration=60s -s channels=4 -s out=set.ms
    expect 0 '' info set.ms
    prints '^Measurement Set: 3510 rows, 27 antennas, telescope VLA$'
    prints '^spectral window 0: 4 channels '
    expect 1 '...' run -q simulate.tree -s sky="$sky" -s hour_angle=-5min..5min -s out=set.ms
    grep -q 'set.ms' err || fail 'a set that exists'
    expect 1 '...' check simulate.tree -s sky="$sky" -s hour_angle=-5min..5min -s out=set.ms
    grep -q 'sink: set.ms: exists already; give overwrite=true to replace it' err || fail 'check of a set that exists'
    expect 0 '' check simulate.tree -s sky="$sky" -s hour_angle=-5min..5min -s out=other.ms
    prints '^other.ms DATA: 42[.0-9]* MiB, .* are free there$'
    # numbers above those of an int are not cut
    for number in field=4294967296 spectral_window=-4294967296; do
        expect 2 '...' run -q predict.tree -s ms=set.ms -s sky="$sky" -s column=NONE -s $number
        grep -q "no .* ${number#*=}; there is only 0" err || fail "$number"
    done
    if grep -q "define HAVE_FITS" "$GROVE_BUILD/config.h"; then
        expect 0 '' run -q image-stages.tree -s ms=set.ms -s 'size=[48,32]' -s cell=3arcsec -s out=wide
        head -c 2880 wide-stages.fits | fold -w 80 | sed 's/ //g' | grep -q '^NAXIS1=48' || fail 'an image that is wide'
    fi
    if grep -q "define HAVE_CAIRO" "$GROVE_BUILD/config.h"; then
        expect 0 '' plot set.ms/ --size 32 -o pictures
        [ "$(sort out)" = 'pictures/set-image.png
pictures/set-uv.png' ] || fail "the paths: $(cat out)"
        for what in amplitude-time phase-time amplitude-freq phase-freq amplitude-uvdist phase-uvdist layout; do
            expect 0 '' plot set.ms --what $what --overwrite -o $what.svg
            grep -q '</svg>' $what.svg || fail "$what: no whole SVG"
        done
        expect 0 '' plot set.ms --what image --log --size 16 --cell 20 -o image.svg
        grep -q 'dirty image, Stokes I' image.svg || fail 'the title of an image'
        expect 1 'grove: set.ms: has no column MODEL_DATA; grove info lists its columns' plot set.ms --what phase-time --column MODEL_DATA
        expect 1 '...' plot set.ms --field 7
        grep -q 'field 7' err || fail 'a field that is not there'
        # 10 times of 4 channels: 40 points for each baseline, and one of each in the legend
        expect 0 '' plot set.ms --what amplitude-time --baselines W02-W04,2-1 --correlations XX -o some.svg
        grep -q '>W02–W04<' some.svg && grep -q '>W04–W06<' some.svg || fail 'a legend of baselines'
        [ "$(grep -o 'h0' some.svg | wc -l)" -eq 82 ] || fail 'points of two baselines'
        grep -q '>XX amplitude (Jy)<' some.svg || fail 'the name of a correlation'
        grep -q '>YY amplitude (Jy)<' some.svg && fail 'a correlation that was not chosen'
        grep -q 'stroke-width="0.8"' some.svg || fail 'lines of four channels'
        # 60 lines would hide each other
        expect 0 '' run -q simulate.tree -s sky="$sky" -s hour_angle=-5min..5min -s integration=10s -s channels=2 -s out=times.ms
        expect 0 '' plot times.ms --what amplitude-freq --baselines W02-W04,2-1 -o times.svg
        grep -q 'stroke-width="0.8"' times.svg && fail 'lines of 60 times'
        expect 0 '' plot set.ms --what phase-freq --correlations all -o all.svg
        [ "$(grep -c '>[XY][XY] phase (deg)<' all.svg)" -eq 4 ] || fail 'all correlations'
        expect 0 '' plot set.ms --what uv --baselines W02 -o star.svg
        grep -q ', 26 baselines' star.svg || fail 'baselines of a station'
        expect 1 'grove: set.ms: has no station W0x; did you mean W02?' plot set.ms --baselines W0x
        expect 1 'grove: set.ms: has no station 27; --baselines must be names or numbers of stations (0 to 26), such as 0-1,2' plot set.ms --baselines 0-27
        expect 1 'grove: set.ms: --stations is for solution tables, but this is a Measurement Set' plot set.ms --what uv --stations W02
        expect 1 'grove: set.ms: --reference is for solution tables, but this is a Measurement Set' plot set.ms --what phase-time --reference W02
        expect 1 'grove: set.ms: has no rows of the baseline 0-0' plot set.ms --baselines 0-0
        expect 1 'grove: set.ms: has no correlation RR; it has XX, XY, YX, YY' plot set.ms --what phase-freq --correlations RR
        expect 1 'grove: an image of 100000 pixels along each side; it can have 2 to 4096' plot set.ms --what image --size 100000
    fi

    # damaged
    mkdir bad.ms && head -c 2000 set.ms/table.dat >bad.ms/table.dat
    expect 1 'grove: bad.ms: ...' info bad.ms
    expect 1 'grove: bad.ms: ...' plot bad.ms
    expect 2 '...' check predict.tree -s ms=bad.ms -s sky="$sky"
    grep -q 'error: ms: bad.ms: ' err || fail 'a damaged set in a tree'
    cp -R set.ms short.ms
    for file in short.ms/table.f*; do
        [ "$(wc -c <"$file")" -lt 10000 ] || truncate -s 5000 "$file"
    done
    "$grove" run -q predict.tree -s ms=short.ms -s sky="$sky" 2>err
    case $? in 1 | 2) ;; *) fail 'exit code for a truncated set' ;; esac
    grep -q 'error: .*short.ms: ' err || fail 'message for a truncated set'

    # closed descriptors: messages go nowhere, least of all into the set
    for closed in '2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
        rm -rf closed.ms
        eval '"$grove" run simulate.tree -s sky="$sky" -s hour_angle=-5min..5min -s out=closed.ms '"$closed" || fail "a run with $closed"
        grep -rq 'visibilities in' closed.ms && fail "messages are in the set with $closed"
        "$grove" info closed.ms >out 2>err || fail "the set cannot be read with $closed"
    done
    "$grove" show simulate.tree -s sky="$sky" 2>err >&-
    [ $? -eq 1 ] || fail 'exit code with standard output closed'
    grep -q 'standard output: cannot write' err || fail 'message with standard output closed'

    # no home
    (unset HOME XDG_CACHE_HOME; "$grove" run -q simulate.tree -s sky="$sky" -s out=homeless.ms 2>err) || fail 'a run without HOME'
    [ -s err ] && fail "messages without HOME: $(cat err)"
    HOME=/nowhere/at/all "$grove" run -q predict.tree -s ms=homeless.ms -s sky="$sky" 2>err || fail 'a run with a HOME that is not there'

    # no space: with a limit on the size of files, existing files stay unchanged
    before=$(find set.ms -type f -exec cksum {} + | sort)
    (
        ulimit -f 100
        "$grove" run -q simulate.tree -s sky="$sky" -s out=new.ms 2>err
        echo $? >code
        "$grove" run -q simulate.tree -s sky="$sky" -s out=set.ms -s overwrite=true 2>err2
        echo $? >>code
        "$grove" run -q predict.tree -s ms=set.ms -s sky="$sky" 2>err3
        echo $? >>code
    )
    [ "$(cat code | tr '\n' ' ')" = '1 1 1 ' ] || fail "exit codes without room: $(cat code)"
    for file in err err2 err3; do
        [ "$(grep -c 'error: ' $file)" = 1 ] && grep -q 'File too large' $file || fail "one clear error without room: $(cat $file)"
    done
    [ -e new.ms ] && fail 'half a set was left behind'
    [ "$(find . -name '.*grove-*' | wc -l)" = 0 ] || fail "left behind: $(find . -name '.*grove-*')"
    [ "$(find set.ms -type f -exec cksum {} + | sort)" = "$before" ] || fail 'the set has changed without room'

    # what a run that died has left, and a set that another run has
    expect 2 'grove: grove recover requires a Measurement Set; see grove recover --help' recover
    expect 0 '' recover set.ms
    prints '^set.ms: nothing to recover$'
    mkdir set.ms/.grove-abcdef .none.ms.grove-abcdef
    expect 0 'grove: set.ms: removed files that a run that died had left' recover set.ms
    expect 0 'grove: none.ms: removed files that a run that died had left' recover none.ms
    [ "$(find . -name '.*grove-*' | wc -l)" = 0 ] || fail 'recover has left something'
    if command -v flock >/dev/null 2>&1; then
        flock set.ms "$grove" info --no-wait set.ms 2>err && fail 'a locked set was read'
        grep -q '^grove: set.ms: another run of Grove is writing it; without --no-wait, this run would wait$' err ||
            fail "the message for a locked set: $(cat err)"
        flock -s set.ms "$grove" info --no-wait set.ms >out 2>err || fail 'a set that others read was not read'
    fi
else
    echo 'built without casacore: nothing of Measurement Sets was looked at'
fi
echo "$checked commands"
exit $status
