#!/bin/sh
# Checks the documents: links have targets, files named in README exist, docs/nodes.md is up to date;
# trees pass `grove check`, commands run, programs compile and run.
#
# Of a document's fenced blocks, in order and in one folder per document:
#     ```tree         a whole tree, written into the file that its first line names (# NAME.tree), and checked
#     ```tree part    the same, unchecked: for others to include; written before anything else
#     ```sh run       run
#     ```c program    compiled and run
#     ```c file FILE  appended to FILE
# Indented blocks that begin with "# NAME.tree" are trees, too. In that folder there are 3C147.skymodel, copies of it as
# 3C147.lsm.html and my.skymodel, two small Measurement Sets, observed.ms and obs.ms, and the examples.
cd "${GROVE_SOURCE:?}" || exit 99
unset MAKEFLAGS MFLAGS MAKELEVEL DESTDIR CFLAGS
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
status=0
PATH=$GROVE_BUILD:$GROVE_BUILD/src:$PATH
LD_LIBRARY_PATH=$GROVE_BUILD/src/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# Of hundreds of commands one now and then ends in a fault of LeakSanitizer (gcc 12) itself; the other tests look for leaks.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export PATH LD_LIBRARY_PATH ASAN_OPTIONS

fail()
{
    echo "FAIL: $1"
    [ -n "$2" ] && tail -n 20 "$2"
    status=1
}

documents="README.md CONTRIBUTING.md $(ls docs/*.md examples/*/README.md)"

# ---- links, and files that are named ----
# As on GitHub: lower case, blanks to hyphens, nothing but letters, digits, - and _.
anchors()
{
    sed -n 's/^##* //p' "$1" | tr 'A-Z ' 'a-z-' | sed 's/[^a-z0-9_-]//g'
}

for document in $documents; do
    folder=$(dirname "$document")
    awk '/^ ? ? ?```/ { fenced = !fenced; next } !fenced && !/^    /' "$document" | sed 's/`[^`]*`//g' |
        grep -oE '\]\([^)]*\)|src="[^"]*"' | sed 's/^](//; s/)$//; s/^src="//; s/"$//' | while read -r link; do
        case $link in http:* | https:* | mailto:*) continue ;; esac
        path=${link%%#*} target=$document
        [ -n "$path" ] && target=$folder/$path
        [ -e "$target" ] || { echo "$document: $link leads nowhere"; continue; }
        [ "$link" = "$path" ] || anchors "$target" | grep -qxF "${link#*#}" ||
            echo "$document: $link: no such heading"
    done
done >"$work/links"
[ -s "$work/links" ] && fail 'links' "$work/links"

grep -o '`[^`]*`' README.md | tr -d '`' | tr ' ' '\n' |
    grep -E '^(\./[a-z]|(docs|examples|trees|tests|tools|src|nodes|kernels|data)/)' |
    while read -r path; do
        [ -e "${path%[.,;:]}" ] || echo "README.md names $path, which is not there"
    done >"$work/names"
[ -s "$work/names" ] && fail 'names of files' "$work/names"

if ! grep -q "^ms " "$GROVE_BUILD/nodes/.libs/classes.index"; then
    echo 'skipped: built without casacore, only the links were looked at'
    [ $status -eq 0 ] && exit 77
    exit 1
fi

# ---- the reference ----
grove nodes --markdown >"$work/nodes.md" || fail 'grove nodes --markdown'
cmp -s "$work/nodes.md" docs/nodes.md || {
    diff docs/nodes.md "$work/nodes.md" >"$work/diff"
    fail 'docs/nodes.md is out of date; make docs' "$work/diff"
}

# ---- blocks ----
# Each into its own file NNN.KIND ("part" before all others), its kind being the words after ```.
split()
{
    awk -v folder="$2" '
        function close_block() { if (file) close(file); file = "" }
        /^ ? ? ?```/ && fenced { close_block(); fenced = 0; next }
        /^ ? ? ?```/ {
            fenced = index($0, "`") # one more than it is indented
            kind = substr($0, fenced + 3)
            if (kind == "tree part") file = sprintf("%s/000-%03d.part", folder, ++n)
            else if (kind == "tree") file = sprintf("%s/%03d.tree", folder, ++n)
            else if (kind == "sh run") file = sprintf("%s/%03d.sh", folder, ++n)
            else if (kind == "c program") file = sprintf("%s/%03d.c", folder, ++n)
            else if (kind ~ /^c file /) file = sprintf("%s/%03d.%s.add", folder, ++n, substr(kind, 8))
            if (file) printf "" > file
            next
        }
        fenced { if (file) print substr($0, fenced) > file; next }
        /^    # [a-z0-9-]*\.tree$/ && !file { file = sprintf("%s/%03d.tree", folder, ++n) }
        file && /^    / { print substr($0, 5) > file; next }
        file && /^$/ { print > file; next }
        file { close_block() }' "$1"
}

variable()
{
    sed -n "s/^$1 = //p" "$GROVE_BUILD/Makefile" | head -n 1
}

# An installed Grove, as pkg-config sees it.
sanitizers=$(variable GROVE_CFLAGS | tr ' ' '\n' | grep -e '^-fsanitize' | tr '\n' ' ')
CC=$(variable CC)
PKG_CONFIG_PATH=$work/pkgconfig
export CC PKG_CONFIG_PATH
mkdir -p "$work/include" "$work/pkgconfig"
ln -s "$GROVE_SOURCE/src" "$work/include/grove"
cat >"$work/pkgconfig/grove.pc" <<END
bindir=$GROVE_BUILD
includedir=$work/include
Name: grove
Description: Grove in its build folder
Version: 0
Cflags: $sanitizers -I$work/include
Libs: $sanitizers -L$GROVE_BUILD/src/.libs -lgrove
END

program()
{
    # shellcheck disable=SC2046
    $CC -std=c17 -Wall -Wextra -o program "$1" $(grove-config --cflags --libs) -lm && ./program
}

try()
{
    case $1 in
    *.part | *.tree)
        name=$(sed -n '1s/^# \([a-z0-9-]*\.tree\)$/\1/p' "$1")
        [ -n "$name" ] || { echo 'a tree that does not begin with "# NAME.tree"'; return 1; }
        cp "$1" "$name"
        case $1 in *.part) return 0 ;; esac
        grove check "$name"
        ;;
    *.add)
        name=${1##*/}
        name=${name#*.}
        cat "$1" >>"${name%.add}"
        ;;
    *.sh)
        grep -q 'grove plot' "$1" && ! grep -q "define HAVE_CAIRO" "$GROVE_BUILD/config.h" && return 0
        grep -q 'image\.tree' "$1" && ! $images && return 0
        sh -e "$1"
        ;;
    *.c) program "$1" ;;
    esac
}

grove run -q simulate.tree -s sky=examples/quickstart/3C147.skymodel -s hour_angle=-5min..5min -s integration=60s \
    -s channels=2 -s gains=sine -s out="$work/observed.ms" || fail 'simulate.tree'

if grep -q "define HAVE_HDF5" "$GROVE_BUILD/config.h"; then
    grove run -q calibrate.tree -s ms="$work/observed.ms" -s sky=examples/quickstart/3C147.skymodel -s corrected=none \
        -s solutions="$work/gains.h5" || fail 'calibrate.tree'
fi

# FITS images and pictures.
images=false
grep -q "define HAVE_FITS" "$GROVE_BUILD/config.h" && grep -q "define HAVE_CAIRO" "$GROVE_BUILD/config.h" &&
    images=true
$images && { grove run -q image.tree -s ms="$work/observed.ms" -s size=32 -s out="$work/field" || fail 'image.tree'; }

cp -R "$work/observed.ms" "$work/calibrated.ms"
grove run -q predict.tree -s ms="$work/calibrated.ms" -s sky=examples/quickstart/3C147.skymodel \
    -s column=CORRECTED_DATA || fail 'predict.tree'

for tree in trees/*.tree examples/quickstart/*.tree examples/jones-chain/*.tree; do
    case $tree in
    trees/apply.tree)
        [ -f "$work/gains.h5" ] || continue
        set -- -s solutions="$work/gains.h5"
        ;;
    trees/*image.tree | trees/image-stages.tree)
        $images || continue
        set -- -s image="$work/field-dirty.fits"
        [ "${tree#trees/image}" = "$tree" ] || set --
        ;;
    trees/*) set -- -s sky=examples/quickstart/3C147.skymodel ;;
    examples/quickstart/faint.tree) set -- -s ms="$work/calibrated.ms" ;;
    examples/quickstart/solutions.tree)
        [ -f "$work/gains.h5" ] || continue
        set -- -s ms="$work/observed.ms" -s solutions="$work/gains.h5"
        ;;
    examples/quickstart/*) set -- -s out="$work/quickstart.ms" ;;
    *) set -- ;;
    esac
    case $tree in
    trees/simulate.tree) ;;
    trees/calibrate-dd.tree) set -- "$@" -s ms="$work/observed.ms" -s groups=source ;;
    trees/*) set -- "$@" -s ms="$work/observed.ms" ;;
    esac
    grove check "$tree" "$@" >"$work/log" 2>&1 || fail "$tree" "$work/log"
    grep -q 'warning: ' "$work/log" && fail "$tree: a warning" "$work/log"
done

for document in $documents; do
    grep -q "define HAVE_HDF5" "$GROVE_BUILD/config.h" || ! grep -q '\.h5' "$document" || {
        echo "$document: built without HDF5, not run"
        continue
    }
    [ "$document" != docs/imaging.md ] || $images || {
        echo "$document: built without FITS images or pictures, not run"
        continue
    }
    name=$(echo "${document%.md}" | tr / -)
    folder=$work/$name blocks=$work/$name.blocks
    mkdir "$folder" "$blocks"
    split "$document" "$blocks"
    [ -n "$(ls "$blocks")" ] || continue
    for sky in 3C147.skymodel 3C147.lsm.html my.skymodel; do
        cp examples/quickstart/3C147.skymodel "$folder/$sky"
    done
    cp -R examples "$work/observed.ms" "$folder/"
    cp -R "$work/observed.ms" "$folder/obs.ms"
    chmod -R u+w "$folder"
    for block in "$blocks"/*; do
        (cd "$folder" && try "$block") >"$work/log" 2>&1 || {
            cat "$block" >>"$work/log"
            fail "$document: $(basename "$block")" "$work/log"
        }
        case $block in # one writes gains, the same for all channels
        *.tree) grep 'warning: ' "$work/log" | grep -vq 'do not vary with freq' && fail "$document: a warning" "$work/log" ;;
        esac
    done
    echo "$document: $(ls "$blocks" | wc -l) blocks"
done
exit $status
