#!/bin/sh
# Plugins outside the tree, built against an installed Grove: the example, and what `grove new-node`
# writes. Each is listed, called, and passes its own value test; the example runs in a tree.
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
make=${MAKE:-make}
unset MAKEFLAGS MFLAGS MAKELEVEL DESTDIR
command -v pkg-config >/dev/null 2>&1 || { echo 'skipped: no package pkg-config'; exit 77; }

fail()
{
    echo "FAIL: $1"
    exit 1
}

build=$(cd "$GROVE_BUILD" && pwd) source=$(cd "$GROVE_SOURCE" && pwd)

# ---- one installation, for both ----
$make -s -C "$GROVE_BUILD" install DESTDIR="$work/root" >"$work/install.log" 2>&1 ||
    { tail "$work/install.log"; fail 'make install'; }
pc=$(find "$work/root" -name grove.pc)
[ -f "$pc" ] || fail 'no grove.pc was installed'
prefix=$work/root$(sed -n 's/^prefix=//p' "$pc")
sed -i "s|^prefix=.*|prefix=$prefix|" "$pc"
PKG_CONFIG_PATH=$(dirname "$pc")${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH
variable()
{
    grove-config --variable="$1"
}
PATH=$(pkg-config --variable=bindir grove):$PATH
export PATH
grove=$(variable bindir)/grove
# It was configured for another place, so it is told where things are.
LD_LIBRARY_PATH=$(variable libdir)${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
GROVE_PLUGIN_PATH=$(variable nodedir) GROVE_TREE_PATH=$(variable treedir)
GROVE_DATA_PATH=$(dirname "$(variable arraydir)")
export LD_LIBRARY_PATH GROVE_PLUGIN_PATH GROVE_TREE_PATH GROVE_DATA_PATH
for file in "$GROVE_PLUGIN_PATH/classes.index" "$GROVE_TREE_PATH/simulate.tree" "$GROVE_DATA_PATH/arrays/vla-c.array"; do
    [ -f "$file" ] || fail "$file was not installed"
done
[ "$("$grove" version)" = "grove $(grove-config --modversion)" ] || fail 'the versions of grove and grove.pc differ'
"$grove" info | grep -q '^node classes  *[1-9]' || fail 'the installed grove has no classes'

# ---- the example ----
cp -R "$GROVE_SOURCE/examples" "$work/examples"
chmod -R u+w "$work/examples"
cd "$work/examples/plugin" || exit 99
$make NVCC=none check >log 2>&1 || { cat log; fail 'make check of the example'; }
grep -q PASS log || { cat log; fail 'the test of the example did not run'; }
"$grove" nodes -p . --check beam_cos3 || fail 'grove nodes --check beam_cos3'
if grep -q "^ms " "$GROVE_PLUGIN_PATH/classes.index"; then
    "$grove" run -q -p . wsrt.tree -s out=null || fail 'wsrt.tree'
fi
$make -s NVCC=none install DESTDIR="$work/elsewhere" || fail 'make install of the example'
[ -n "$(find "$work/elsewhere" -name beam_cos3.so)" ] || fail 'the example was not installed'
# ... with its kernel for GPUs, which are emulated
emulated=no ptx=no
[ -e "$build/tests/cuda/.libs/libcuda-emulated.so" ] && emulated=yes
[ -e "$build/tests/cuda/ptx/reduce.fatbin" ] && ptx=yes
nvcc=$(sed -n 's/^NVCC = //p' "$build/Makefile")
if [ $emulated = yes ]; then
    $make EMULATED="$source" BUILD="$build" check >log 2>&1 || { cat log; fail 'make check of the example on an emulated GPU'; }
    grep -q '^ok   a GPU gives the same as the CPU$' log || { cat log; fail 'the example was not tested on the emulated GPU'; }
fi

# ---- an action that drives: two classes in one module ----
cd "$work/examples/reconstruct" || exit 99
$make check >log 2>&1 || { cat log; fail 'make check of examples/reconstruct'; }
grep -q PASS log || { cat log; fail 'the test of examples/reconstruct did not run'; }

# ---- a model out of Grove's own tree: only its headers are copied ----
mkdir -p "$work/model/nodes/jones" "$work/model/kernels/jones"
cp "$source/nodes/jones/beam_airy.c" "$source/nodes/jones/dish.h" "$work/model/nodes/jones"
cp "$source/kernels/jones/beam.h" "$work/model/kernels/jones"
cd "$work/model" || exit 99
${CC:-cc} -std=gnu17 -fPIC -shared -I. -Inodes/jones "-I$(variable includedir)/grove" -o beam_airy.so nodes/jones/beam_airy.c $(grove-config --libs) -lm ||
    fail 'a copy of nodes/jones/beam_airy.c needs headers that are not installed'
"$grove" test-node -p . beam_airy --device cpu >log || { cat log; fail 'a copy of nodes/jones/beam_airy.c'; }

# ---- each installed header, alone, in C and C++ ----
headers=$(cd "$(variable includedir)/grove" && echo ./*.h base/*.h unstable/*.h)
case $headers in *util.h*base/memory.h*unstable/fit.h*) ;; *) fail "headers are not installed: $headers" ;; esac
for header in $headers; do
    case $header in *kernel.h | *cell_*.h) continue ;; esac # parts of sources
    for language in c c++; do
        echo "#include <grove/${header#./}>" | ${CC:-cc} -x $language -Werror -fsyntax-only $(grove-config --cflags) - 2>log ||
            { cat log; fail "$header alone in $language"; }
    done
done

# ---- new ones ----
# begin KIND NAME FILE...: grove new-node writes these files and no others.
begin()
{
    kind=$1 name=$2
    shift 2
    cd "$work" || exit 99
    "$grove" new-node $kind "$name" >log || fail "grove new-node $kind"
    for file in "$@"; do
        grep -q "^    $file\$" log && [ -s "$name/$file" ] || fail "grove new-node $kind wrote no $file"
        grep -iq 'cos3\|root_sum_square\|delay_spectrum\|bandpass_table\|text_writer\|value_histogram' "$name/$file" && fail "$name/$file has the name of another class"
    done
    [ "$(ls "$name" | wc -l)" = $# ] || fail "grove new-node $kind wrote $(ls "$name" | tr '\n' ' ')"
    cd "$name" || exit 99
}
flags='-O2 -Wall -Wextra -Wpedantic -Wno-missing-field-initializers -Werror'
# check [VARIABLE=VALUE...]: builds and tests it.
check()
{
    $make CFLAGS="$flags" "$@" check >log 2>&1 || { cat log; fail "make check of $name"; }
    grep -q '^PASS$' log || { cat log; fail "the test of $name did not run"; }
}
# breaks FILE SED MESSAGE: with another program its test fails, for this reason.
breaks()
{
    cp "$1" kept
    sed -i "$2" "$1"
    cmp -s "$1" kept && fail "$2 changes nothing in $1"
    $make CFLAGS=-O2 $gpu check >log 2>&1 && { cat log; fail "the test of $name passes with $2"; }
    grep -q "$3" log || { cat log; fail "the test of $name fails otherwise with $2"; }
    cp kept "$1"
    touch "$1"
}
gpu='NVCC=none'

begin '' beam_mine beam_mine.c beam_mine.h Makefile test.sh README.md
cp -R . ../before
(cd .. && "$grove" new-node beam_mine 2>log) && fail 'grove new-node took a folder that has files of those names'
grep -q 'exists already; nothing was written' ../log || fail "message: $(cat ../log)"
diff -r ../before . || fail 'grove new-node changed files'
check NVCC=none
grep -q 'none was not found' log || fail 'nothing says that nvcc was not found'
"$grove" nodes -p . beam_mine | grep -q 'c in cos^3' || fail 'the page of the new node'
$make NVCC=none install DESTDIR="$work/without" >log 2>&1 || { cat log; fail 'make install of the new node without nvcc'; }
[ -n "$(find "$work/without" -name beam_mine.so)" ] || fail 'the new node was not installed without nvcc'
breaks beam_mine.h 's/cosine \* cosine \* cosine/cosine * cosine/' 'FAIL: the value'
breaks beam_mine.c 's/!(scale > 0)/scale < 0/' 'FAIL: a scale of 0 is taken'
breaks beam_mine.h 's/(real)beam_mine_voltage/c->index[0] + (real)beam_mine_voltage/' 'FAIL a block equals that part of the whole: '
breaks beam_mine.h 's/GROVE_OUT_REAL(c)\[0\]/GROVE_OUT_REAL(c)[1]/' 'FAIL all of the output is written, and nothing else: .* writes outside its output, 0 bytes after its end'
breaks beam_mine.h 's/GROVE_OUT_REAL(c)\[0\] =/if (c->index[0]) GROVE_OUT_REAL(c)[0] =/' 'FAIL .*: .* is not written; every element'
breaks beam_mine.h 's/GROVE_OUT_REAL(c)\[0\] =/GROVE_OUT_REAL(c)[0] +=/' 'FAIL .*: .* is not finite where memory was NaN before'
breaks beam_mine.c 's/.object = "observation"},/.object = "observation"}, {"unknown", GROVE_VALUE, ""},/' "FAIL the class loads: class beam_mine: input 'unknown' has no text"

if "$grove" info --devices | grep -q '^opencl:0'; then
    check NVCC=none
    ASAN_OPTIONS=detect_leaks=0 GROVE_DEVICE_KERNELS=$GROVE_PLUGIN_PATH "$grove" test-node -p . beam_mine --device opencl >log 2>&1 && grep -q '^ok   a GPU gives the same as the CPU$' log ||
        { cat log; fail 'the new node on an OpenCL device'; }
    grep 'the cpu computes' log && fail 'the new node has no code for OpenCL devices'
fi
begin --device beam_fast beam_fast.c beam_fast.h beam_fast.cu Makefile cuda.mk test.sh README.md
check NVCC=none
$make -s NVCC=none clean
if [ $emulated = yes ]; then
    gpu="EMULATED=$source BUILD=$build"
    if [ $ptx = yes ]; then
        check $gpu PTX=yes NVCC="$nvcc"
        grep -q 'ptx_compile' log && grep -q '^ok   a GPU gives the same as the CPU$' log || { cat log; fail 'the kernel was not tested as nvcc makes it'; }
        $make -s clean
    fi
    check $gpu
    grep -q '^ok   a GPU gives the same as the CPU$' log || { cat log; fail 'the kernel for GPUs was not tested'; }
    $make -s EMULATED="$source" install DESTDIR="$work/fast" || fail 'make install of the new node'
    [ -n "$(find "$work/fast" -name beam_fast.fatbin)" ] || fail 'the kernel of the new node was not installed'
    # it is that kernel which runs there; one that is not there is found out
    breaks beam_fast.cu 's/freq\[0\], scale/freq[0], 2 * scale/' 'FAIL a GPU gives the same as the CPU: .* on cuda it deviates by .* from the cpu'
    breaks beam_fast.cu 's/beam_fast_double/beam_slow_double/' 'FAIL a GPU gives the same as the CPU: .* (double precision): '
    gpu='NVCC=none'
fi

begin --eval total total.c Makefile test.sh test.tree two.skymodel README.md
check
breaks total.c 's/sum += x \* x/sum += x/' 'the relative difference is'
breaks total.c 's/double sum = 0/double sum = (double)first/' 'FAIL all of the output is written, and nothing else: .* with 3 threads'
breaks total.c 's/cell < last/cell < last - 1/' 'FAIL .*: .* is not written'

breaks total.c 's/.handing = GROVE_AS_REAL}/.handing = GROVE_AS_REAL, .linear = GROVE_LINEAR}/' "FAIL inputs that are declared linear are linear: .* f(c x) deviates by .* for 'x'"

begin --device-call spectrum spectrum.c spectrum.h Makefile test.sh test.tree README.md
check NVCC=none
breaks spectrum.c 's/n - n \/ 2/n/' 'the relative difference is'
breaks spectrum.c 's/args->origin\[delay\] + n/n/' 'FAIL a block equals that part of the whole: '
breaks spectrum.c 's/grove_node_set_scratch(.*/(void)elements;/' 'asks for .* of scratch memory, but 0 B are left; its check must declare how much it needs, with grove_node_set_scratch'
if [ $emulated = yes ]; then
    $make -s NVCC=none clean
    $make -s NVCC=none all
    driver=$build/tests/cuda/.libs/libcuda-emulated.so
    # gpu FOLDER: with the kernels there and spectrum.fatbin, the emulated GPU gives what the CPU gives.
    gpu()
    {
        GROVE_CUDA_DRIVER=$driver GROVE_CUDA_LIBRARIES=$driver GROVE_DEVICE_KERNELS=$build/tests/cuda/$1 \
            ASAN_OPTIONS=detect_leaks=0 "$grove" test-node -p . spectrum >log 2>&1 || { cat log; fail "test-node of spectrum on an emulated GPU, $1"; }
        grep -q '^ok   a GPU gives the same as the CPU$' log || { cat log; fail "spectrum was not tested on the emulated GPU, $1"; }
    }
    of='-I. -DGROVE_KERNEL_SOURCE="spectrum.h"'
    ${CXX:-c++} -std=c++17 -O2 -fPIC -shared -Wl,-Bsymbolic -Wno-unknown-pragmas -x c++ -include "$source/tests/cuda/emulated.h" \
        $of -o spectrum.fatbin "$(variable includedir)/grove/kernel.h" || fail 'the kernel of spectrum'
    gpu kernels
    if [ $ptx = yes ]; then
        NVCC=$nvcc "$source/tests/cuda/ptx_compile.sh" spectrum.fatbin $of "$(variable includedir)/grove/kernel.h" ||
            fail 'the kernel of spectrum as nvcc makes it'
        gpu ptx
    fi
fi

begin --leaf entries entries.c Makefile test.sh test.tree table.txt README.md
check
breaks entries.c 's/t->gain + out->range\[0\].first/t->gain/' 'FAIL members are read in any blocks: gain: the block entry 1 to 1 differs from that part'
breaks entries.c 's/(size_t)out->cells \* sizeof(double)/(size_t)out->cells * sizeof(float)/' 'FAIL members are read in any blocks: gain: number . of 3 was not written'

begin --action lines lines.c Makefile test.sh test.tree README.md
check
[ -e out.txt ] || [ -e out.txt.part ] && fail "the test leaves files: $(ls)"
breaks lines.c 's/remove(w->other);//' 'FAIL a run that fails leaves everything unchanged: amplitude.txt.part: '
breaks lines.c 's/w->values\[at\]/w->values[i]/' 'FAIL an action writes the same in any tiles: amplitude.txt '

begin --accumulator spread spread.c Makefile test.sh test.tree two.skymodel README.md
check
breaks spread.c 's/+ 1\] += place/] += place/' 'the relative difference is'
breaks spread.c 's/to\[bin\] += from/to[bin] = from/' 'FAIL .*tiles.*: with 3 threads, which merges its states,'
breaks spread.c 's/cell < x->cells/cell < 5/' 'FAIL .*tiles.*: with '
breaks spread.c 's/    grove_node_set_memory.*//' 'does not say how many bytes it keeps'

# ---- elements that change places, and flags that do not ----
mkdir "$work/swap" && cd "$work/swap" || exit 99
cat >swap.h <<'END'
GROVE_CELL(swap)
{
    for (int e = 0; e < 4; e++)
        GROVE_OUT_COMPLEX(c)[e] = GROVE_COMPLEXES(c, 0)[3 - e];
}
END
cat >swap.c <<'END'
#include <grove/plugin.h>
#define GROVE_KERNEL_SOURCE "swap.h"
#include <grove/kernel.h>
static const grove_kernel kernel = GROVE_KERNEL(swap);
static const grove_port inputs[] = {
    {"x", GROVE_VALUE, "a matrix", .handing = GROVE_AS_COMPLEX, .shapes = GROVE_MATRIX}, {0}};
GROVE_CLASS(swap) = {GROVE_CLASS_HEAD(swap), .doc = "Swaps.", .output_doc = "x", .group = "tests", .inputs = inputs,
    .output = GROVE_FORM(.shape = GROVE_MATRIX, .complex_ = true), .kernel = &kernel, .example = "y = swap(obs.data / 1Jy)"};
END
${CC:-cc} -std=c17 -fPIC -shared -I. $(grove-config --cflags) -o swap.so swap.c $(grove-config --libs) -lm || fail 'swap'
"$grove" test-node -p . swap --device cpu >log 2>&1 && { cat log; fail 'a flag rule that is too narrow'; }
grep -q "^FAIL flags reach all elements that a flagged one changes: y: element 3 changes with element 0 of 'x', whose flag does not reach it" log ||
    { cat log; fail 'message for a flag rule that is too narrow'; }

# ---- in the tree of a user ----
cd "$work/lines" || exit 99
cat >two.tree <<'END'
option file = "a.txt" "where to"
a = lines(sqrt(4), to=$file)
END
"$grove" test-node -p . lines --tree two.tree -s file=b.txt >log || { cat log; fail 'test-node of a tree'; }
[ -e a.txt ] || [ -e b.txt ] && fail 'what a test wrote is left behind'
"$grove" test-node -p . beam_airy --tree two.tree >log 2>&1 && fail 'a tree without the class'
grep -q '^FAIL the tree uses the class: it is built without a node of the class' log || { cat log; fail 'message for a tree without the class'; }
echo 'PASS'
