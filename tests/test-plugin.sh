#!/bin/sh
# The example plugin, built outside the tree against an installed Grove: listed, called, run in a tree.
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
make=${MAKE:-make}

(cd "$GROVE_BUILD" && $make -s install prefix="$work/grove" DESTDIR= >"$work/install.log" 2>&1) ||
    { tail "$work/install.log"; echo 'FAIL: make install'; exit 1; }
cp -R "$GROVE_SOURCE/examples" "$work/examples"
chmod -R u+w "$work/examples"
cd "$work/examples/plugin" || exit 1
unset GROVE_PLUGIN_PATH GROVE_TREE_PATH GROVE_DATA_PATH
LD_LIBRARY_PATH=$work/grove/lib
export LD_LIBRARY_PATH
# where it was configured for another prefix, the environment says where things are
GROVE_PLUGIN_PATH=$(ls -d "$work"/grove/lib/grove/nodes-*) GROVE_TREE_PATH=$work/grove/share/grove/trees
GROVE_DATA_PATH=$work/grove/share/grove
export GROVE_PLUGIN_PATH GROVE_TREE_PATH GROVE_DATA_PATH
sed -i "s|^prefix=.*|prefix=$work/grove|" "$work"/grove/lib/pkgconfig/grove.pc
$make check PKG_CONFIG_PATH="$work/grove/lib/pkgconfig" || { echo 'FAIL: make check'; exit 1; }
"$work/grove/bin/grove" run -q -p . wsrt.tree -s out=null || { echo 'FAIL: run'; exit 1; }
"$work/grove/bin/grove" new-node beam_mine || { echo 'FAIL: new-node'; exit 1; }
cd beam_mine && $make check PKG_CONFIG_PATH="$work/grove/lib/pkgconfig" || { echo 'FAIL: the new node'; exit 1; }
