#!/bin/sh
# What stands where an output is to be: devices, FIFOs, sockets and open descriptors are written to and stay what
# they are, links are followed, files are replaced only when asked, and never inputs, folders or files of a set.
grove=$GROVE_BUILD/grove
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 99
status=0

fail()
{
    echo "FAIL: $1"
    [ -s err ] && sed 's/^/    /' err
    status=1
}

# Standard error is in `err`, standard output in `out`.
run()
{
    wanted=$1
    shift
    timeout 60 "$grove" "$@" >out 2>err
    code=$?
    [ $code -eq "$wanted" ] || fail "grove $*: exit code $code instead of $wanted"
}

says()
{
    grep -q -- "$1" err || fail "wanted: $1"
}

# device NAME MINOR: a character device of our own, 3 as /dev/null, 7 as /dev/full: those of the machine, and
# /dev/stdout, are never put to the test.
device()
{
    mknod "$1" c 1 "$2" 2>/dev/null && [ -w "$1" ] && : 2>/dev/null >"$1"
}

obs='obs = observe(array="kat-7", phase_centre="0h0m0s -30d10m0s", hour_angle=-2min..2min, integration=60s, channels=2)'
printf '%s\nx = compare(gains(obs), gains(obs), print=false)\n' "$obs" >x.tree
printf '%s\nsave(obs.freq, to="f.csv", overwrite=true)\n' "$obs" >save.tree
cp x.tree kept.tree
run 0 show x.tree --dot right.dot
run 0 run -q save.tree
mv f.csv right.csv

# ---- what is no file ----
for option in dot trace; do
    command=show
    [ $option = trace ] && command='run -q'
    if device null 3; then
        run 0 $command x.tree --$option "$work/null"
        [ -c null ] || fail "--$option replaces a device"
        rm -f null
    fi
    mkfifo fifo
    timeout 100 cat fifo >got &
    run 0 $command x.tree --$option fifo
    wait $!
    [ -p fifo ] || fail "--$option replaces a FIFO"
    case $option in
    dot) cmp -s got right.dot || fail 'what a FIFO gets' ;;
    *) tail -n 1 got | grep -q ']}' || fail 'a trace in a FIFO is not whole' ;;
    esac
    rm -f fifo
done
for to in /proc/self/fd/1 /dev/stdout /dev/fd/1; do
    ln -s $to so
    run 0 show x.tree --dot so
    cmp -s out right.dot || fail "$to gets something else"
    [ -L so ] || fail "a link to $to is replaced"
    rm so
done
ln -s /dev/stdout so
(echo before && "$grove" show x.tree --dot so && echo behind) >out 2>err
(echo before && cat right.dot && echo behind) | cmp -s - out || fail 'a file behind a descriptor is not gone on with'
"$grove" show x.tree --dot so 2>err | cmp -s - right.dot || fail 'a pipe behind a descriptor'
if device full 7; then
    run 1 show x.tree --dot full
    says 'full: cannot write: No space left on device'
    [ -c full ] || fail 'a device that is full is replaced'
fi
mkfifo fifo
sed 's/channels=2/channels=2000/; s/f.csv/g.csv/' save.tree >long.tree
timeout 100 head -c 1 fifo >/dev/null & # goes while the trace, of more than a pipe holds, is written
run 1 run -q long.tree --tile-channels 1 --trace fifo
says 'fifo: cannot write: Broken pipe'
wait
rm -f fifo f.csv
if device f.csv 3; then
    run 0 run -q save.tree
    [ -c f.csv ] || fail 'save replaces a device'
    sed 's/, overwrite=true//' save.tree >new.tree
    run 0 run -q new.tree
    rm -f f.csv
fi
mkfifo f.csv
timeout 100 cat f.csv >got &
run 0 run -q save.tree
wait $!
[ -p f.csv ] || fail 'save replaces a FIFO'
cmp -s got right.csv || fail 'a FIFO gets other numbers than a file'
rm -f f.csv
if command -v python3 >/dev/null 2>&1; then
    timeout 100 python3 -c "
import socket
s = socket.socket(socket.AF_UNIX)
s.bind('sock')
s.listen()
open('ready', 'w')
c, _ = s.accept()
open('got', 'wb').write(b''.join(iter(lambda: c.recv(65536), b'')))" &
    for _ in 1 2 3 4 5 6 7 8 9 10; do [ -e ready ] || sleep 0.5; done
    run 0 show x.tree --dot sock
    wait $!
    [ -S sock ] || fail 'a socket is replaced'
    cmp -s got right.dot || fail 'what a socket gets'
fi

# ---- links and folders ----
mkdir folder
echo old >folder/real.csv
ln -s folder/real.csv f.csv
run 0 run -q save.tree
[ -L f.csv ] && cmp -s folder/real.csv right.csv || fail 'save replaces a link, not the file it leads to'
echo old >folder/real.dot
ln -s folder/real.dot link.dot
run 0 show x.tree --dot link.dot --overwrite
[ -L link.dot ] && cmp -s folder/real.dot right.dot || fail '--dot replaces a link, not the file it leads to'
[ -z "$(find . -name '.*.??????')" ] || fail "left behind: $(find . -name '.*.??????')"
ln -s nowhere broken.dot
run 1 show x.tree --dot broken.dot --overwrite
says 'broken.dot is a symbolic link to a file that does not exist'
ln -s loop.dot loop.dot
run 1 show x.tree --dot loop.dot --overwrite
says 'loop.dot: cannot be examined: Too many levels of symbolic links'
rm -f f.csv
mkdir f.csv
echo precious >f.csv/precious
run 2 run -q save.tree
says 'f.csv: is a folder, not a file'
[ -s f.csv/precious ] || fail 'save replaces a folder'
for option in dot trace; do
    command=show
    [ $option = trace ] && command='run -q'
    run 1 $command x.tree --$option f.csv --overwrite
    says 'f.csv: is a folder, not a file'
done

# ---- names of no file ----
rm -rf f.csv
for name in mine/ new/ x.tree/; do
    run 1 run -q save.tree --trace $name --overwrite
    says "$name: a file's name does not end in /"
done
run 1 run -q save.tree --trace ''
says 'an output has an empty name'
[ -e f.csv ] && fail 'a run whose trace cannot be written has run'

# ---- beside a file that is called as those of sets are ----
mkdir data
echo 'time 1 2 3, and as many words as the head of a table has' >data/table.dat
run 0 run -q x.tree --trace data/trace.json
ln -sf table.dat data/table.dat
run 1 run -q x.tree --trace data/other.json
says 'data/other.json: .*/data/table.dat cannot be examined: Too many levels of symbolic links; so nothing is written there'
[ -e data/other.json ] && fail 'something is written where nobody knows what is there'

# ---- files that exist, and inputs ----
echo mine >mine
for option in dot trace; do
    command=show
    [ $option = trace ] && command='run -q'
    run 1 $command x.tree --$option mine
    says 'mine: exists already; give --overwrite to replace it'
    run 1 $command x.tree --$option ./x.tree --overwrite
    says 'x.tree: is an input of this run '
    [ "$(cat mine)" = mine ] && cmp -s x.tree kept.tree || fail "--$option replaces a file"
    run 0 $command x.tree --$option mine --overwrite
    [ "$(cat mine)" = mine ] && fail "--$option --overwrite does not replace a file"
    echo mine >mine
done
printf 'include "x.tree"\n' >outer.tree
run 1 run -q outer.tree --trace x.tree --overwrite
says 'x.tree: is an input of this run '
rm -rf f.csv
run 1 run -q save.tree --trace f.csv
says 'f.csv: save writes to this path (save.tree:2:1)'
printf '%s\nsave(obs.freq, to="a\\nb.csv")\n' "$obs" >break.tree
run 2 run -q break.tree
says 'name must not have a line break'
if grep -q "define HAVE_CAIRO" "$GROVE_BUILD/config.h"; then
    echo mine >mine.svg
    run 1 plot kat-7 -o mine.svg
    says 'mine.svg: exists already; give --overwrite to replace it'
    [ "$(cat mine.svg)" = mine ] || fail 'plot replaces a picture'
    run 0 plot kat-7 -o mine.svg --overwrite
    cp "$GROVE_SOURCE/data/arrays/kat-7.array" layout.svg
    run 1 plot ./layout.svg -o layout.svg --overwrite
    says 'layout.svg: is an input of this run (./layout.svg), which is never replaced; choose another path'
    cmp -s layout.svg "$GROVE_SOURCE/data/arrays/kat-7.array" || fail 'plot replaces what it draws'
    grep -q '</svg>' mine.svg || fail 'plot --overwrite'
fi

if grep -q "^ms " "$GROVE_BUILD/nodes/.libs/classes.index"; then
    printf 'format = Name, Type, Ra, Dec, I\none, POINT, 00:00:00.0, -30.00.00.0, 1.0\n' >sky.txt
    cp sky.txt kept.txt
    predict='run -q predict.tree -s ms=a.ms -s sky=sky.txt -s column=NEW_DATA'
    run 0 run -q simulate.tree -s sky=sky.txt -s array=kat-7 -s hour_angle=-2min..2min -s integration=60s -s channels=2 \
        -s out=a.ms
    run 1 $predict --trace sky.txt --overwrite
    says 'sky.txt: is an input of this run '
    cmp -s sky.txt kept.txt || fail '--trace replaces the sky model'
    for name in a.ms/table.dat a.ms/new a.ms/ANTENNA/table.dat; do
        run 1 $predict --trace $name --overwrite
        says "$name: is an input of this run "
    done
    cp -r a.ms other.ms # of another run
    run 1 run -q x.tree --trace other.ms/table.dat --overwrite
    says 'other.ms/table.dat: is inside .*/other.ms, which is a casacore table'
    run 1 show x.tree --dot other.ms/ANTENNA/new
    says 'is inside .*/other.ms/ANTENNA'
    cp -r other.ms kept.ms
    ln -s other.ms/ANTENNA inside
    anew='sink(gains(obs)[p] * gains(obs)[q]^H * 1Jy, obs'
    for action in 'save(obs.freq, to="other.ms/x.csv")' 'save(obs.freq, to="other.ms/ANTENNA/x.npy", overwrite=true)' \
        'save(obs.freq, to="inside/x.csv")' "$anew, to=\"other.ms/b.ms\")"; do
        printf '%s\n%s\n' "$obs" "$action" >into.tree
        run 2 run -q into.tree
        says 'into.tree:2:[0-9]*: error: .*is inside .*/other.ms.*, which is a casacore table'
    done
    printf '%s\n%s, to="x.tree/", overwrite=true)\n' "$obs" "$anew" >into.tree
    run 2 run -q into.tree
    says "x.tree/: a file's name does not end in /"
    if grep -q "define HAVE_CAIRO" "$GROVE_BUILD/config.h"; then
        run 1 plot kat-7 -o other.ms/kat.svg
        says 'is inside .*/other.ms, which is'
        run 1 plot kat-7 -o other.ms/pictures
        says 'is inside .*/other.ms, which is'
    fi
    diff -r kept.ms other.ms || fail 'a set has got other files'
    run 0 info a.ms
    if grep -q "define HAVE_HDF5" "$GROVE_BUILD/config.h"; then
        fit='run -q calibrate.tree -s ms=a.ms -s sky=sky.txt -s kind=scalar -s overwrite=true'
        run 0 $fit -s solutions=right.h5
        cp right.h5 folder/real.h5
        echo old >>folder/real.h5
        ln -s folder/real.h5 link.h5
        run 0 $fit -s solutions=link.h5
        [ -L link.h5 ] || fail 'solutions replace a link'
        run 0 info folder/real.h5
        mkfifo fifo.h5
        timeout 100 cat fifo.h5 >got.h5 &
        run 0 $fit -s solutions=fifo.h5
        wait $!
        [ -p fifo.h5 ] || fail 'solutions replace a FIFO'
        run 0 info got.h5
        run 2 $fit -s solutions="two
lines.h5"
        says 'name must not have a line break'
        rm -f fifo.h5
        [ -z "$(ls -A . folder | grep 'checkpoint\|grove-')" ] || fail "left behind: $(ls -A . folder)"
    fi
    mv a.ms f.csv # a set is a folder, too
    run 2 run -q save.tree
    says 'f.csv: is a folder, not a file'
    run 0 info f.csv
fi
exit $status
