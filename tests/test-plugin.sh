#!/bin/sh
# Plugins outside the tree, built against an installed Grove: the example, and what `grove new-node`
# writes. Each is listed, called, and held to its own value test; the example runs in a tree.
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
make=${MAKE:-make}
unset MAKEFLAGS MFLAGS MAKELEVEL DESTDIR
command -v pkg-config >/dev/null 2>&1 || { echo 'skipped: no pkg-config'; exit 77; }

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
    pkg-config --variable="$1" grove
}
grove=$(variable bindir)/grove
# It was configured for another place, so it is told where things are.
LD_LIBRARY_PATH=$(variable libdir)${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
GROVE_PLUGIN_PATH=$(variable nodedir) GROVE_TREE_PATH=$(variable treedir)
GROVE_DATA_PATH=$(dirname "$(variable arraydir)")
export LD_LIBRARY_PATH GROVE_PLUGIN_PATH GROVE_TREE_PATH GROVE_DATA_PATH
for file in "$GROVE_PLUGIN_PATH/add.so" "$GROVE_TREE_PATH/simulate.tree" "$GROVE_DATA_PATH/arrays/vla-c.array"; do
    [ -f "$file" ] || fail "$file was not installed"
done
[ "$("$grove" version)" = "grove $(pkg-config --modversion grove)" ] || fail 'the versions of grove and grove.pc differ'
"$grove" info | grep -q '^node classes  *[1-9]' || fail 'the installed grove has no classes'

# ---- the example ----
cp -R "$GROVE_SOURCE/examples" "$work/examples"
chmod -R u+w "$work/examples"
cd "$work/examples/plugin" || exit 99
$make NVCC=none check >log 2>&1 || { cat log; fail 'make check of the example'; }
grep -q PASS log || { cat log; fail 'the test of the example did not run'; }
"$grove" nodes -p . --check beam_cos3 || fail 'grove nodes --check beam_cos3'
if [ -f "$GROVE_PLUGIN_PATH/sink.so" ]; then
    "$grove" run -q -p . wsrt.tree -s out=null || fail 'wsrt.tree'
fi
$make -s NVCC=none install DESTDIR="$work/elsewhere" || fail 'make install of the example'
[ -n "$(find "$work/elsewhere" -name beam_cos3.so)" ] || fail 'the example was not installed'
# ... with its kernel for GPUs, which are emulated
if [ -e "$build/tests/cuda/.libs/libcuda-emulated.so" ]; then
    $make EMULATED="$source" BUILD="$build" check >log 2>&1 || { cat log; fail 'make check of the example on an emulated GPU'; }
    grep -q 'PASS on the GPU' log || { cat log; fail 'the test of the example did not run on the emulated GPU'; }
    sed -i 's/cosine \* cosine \* cosine/cosine * cosine/' beam_cos3.cu
    $make EMULATED="$source" BUILD="$build" check >log 2>&1 && fail "the example's kernel does not run on the GPU"
    grep -q 'FAIL on the GPU' log || { cat log; fail "the example's changed kernel fails otherwise"; }
fi

# ---- a new one ----
cd "$work" || exit 99
"$grove" new-node beam_mine >log || fail 'grove new-node'
cp -R beam_mine before
"$grove" new-node beam_mine 2>log && fail 'grove new-node took a folder that has files of those names'
grep -q 'exists; nothing was written' log || fail "message: $(cat log)"
diff -r before beam_mine || fail 'grove new-node changed files'
cd beam_mine || exit 99
$make CFLAGS='-O2 -Wall -Wextra -Wno-missing-field-initializers -Werror' check >log 2>&1 || { cat log; fail 'make check of the new node'; }
grep -q PASS log || fail 'the test of the new node did not run'
if grep -q 'nvcc was not found' log; then
    echo 'no nvcc: the cell function of the new node was not compiled for GPUs'
else
    [ -s beam_mine.fatbin ] || fail 'the cell function of the new node was not compiled for GPUs'
fi
"$grove" nodes -p . beam_mine | grep -q fwhm || fail 'the page of the new node'
# its test is one: with another equation it fails
sed -i 's/exp(-2 \*/exp(-3 */' beam_mine.h
$make check >log 2>&1 && fail 'the test of the new node passes whatever it computes'

# ---- a new one with a kernel for GPUs, which are emulated ----
cd "$work" || exit 99
"$grove" new-node --cuda beam_fast >log || fail 'grove new-node --cuda'
for file in beam_fast.cu cuda.mk test-cuda.sh; do
    grep -q "  $file" log && [ -f "beam_fast/$file" ] || fail "grove new-node --cuda wrote no $file"
done
cd beam_fast || exit 99
$make NVCC=none install DESTDIR="$work/without" >log 2>&1 || { cat log; fail 'make install of the new node without nvcc'; }
grep -q 'none was not found' log || fail 'nothing says that nvcc was not found'
[ -n "$(find "$work/without" -name beam_fast.so)" ] || fail 'the new node was not installed without nvcc'
$make -s NVCC=none clean
cd ..
[ -e beam_mine/cuda.mk ] && fail 'grove new-node wrote a kernel for GPUs without --cuda'
if [ -e "$build/tests/cuda/.libs/libcuda-emulated.so" ]; then
    cd beam_fast || exit 99
    $make EMULATED="$source" BUILD="$build" check >log 2>&1 || { cat log; fail 'make check of the new node on an emulated GPU'; }
    grep -q 'PASS on the GPU' log || { cat log; fail 'the test of the new node did not run on the emulated GPU'; }
    $make -s EMULATED="$source" install DESTDIR="$work/fast" || fail 'make install of the new node'
    [ -n "$(find "$work/fast" -name beam_fast.fatbin)" ] || fail 'the kernel of the new node was not installed'
    # it is that kernel which runs there
    sed -i 's/exp(-2 \*/exp(-3 */' beam_fast.cu
    $make EMULATED="$source" BUILD="$build" check >log 2>&1 && fail 'the kernel of the new node does not run on the GPU'
    grep -q 'FAIL on the GPU' log || { cat log; fail 'the changed kernel fails otherwise'; }
fi
echo 'PASS'
