#!/bin/sh
# Every function that an installed header declares is exported by libgrove;
# libgrove exports nothing but what the headers of src/Makefile.inc declare; docs/plugins.md lists functions of plugin.h, facts.h, unstable/fit.h and unstable/keep.h.
library=$GROVE_BUILD/src/.libs/libgrove.so
command -v nm >/dev/null 2>&1 || { echo 'skipped: no package binutils'; exit 77; }
[ -f "$library" ] || { echo 'skipped: no shared library'; exit 77; }
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
status=0
export LC_ALL=C

nm -D --defined-only "$library" | awk '{ print $NF }' | sed 's/@.*//' | sort -u >"$work/exported"

for path in grove plugin facts unstable/fit unstable/keep base/memory base/text base/log base/file; do
    header=${path##*/}
    LC_ALL=C awk -f "$GROVE_SOURCE/src/exports.awk" "$GROVE_SOURCE/src/$path.h" | sort -u >"$work/$header"
    [ "$(wc -l <"$work/$header")" -gt 1 ] || { echo "FAIL: few functions were found in $path.h"; status=1; }
    comm -23 "$work/$header" "$work/exported" | sed "s/^/FAIL: $path.h declares, libgrove lacks /" >"$work/lacking"
    [ -s "$work/lacking" ] && { cat "$work/lacking"; status=1; }
done
while read -r name; do
    grep -q "^| \`$name(" "$GROVE_SOURCE/docs/plugins.md" || echo "FAIL: docs/plugins.md does not list $name"
done >"$work/unlisted" <<EOF
$(cat "$work/plugin" "$work/facts" "$work/fit" "$work/keep")
EOF
[ -s "$work/unlisted" ] && { cat "$work/unlisted"; status=1; }
[ -s "$GROVE_BUILD/src/libgrove.sym" ] || { echo "FAIL: no src/libgrove.sym"; status=1; }
comm -13 "$GROVE_BUILD/src/libgrove.sym" "$work/exported" | grep -v '^_' | sed 's/^/FAIL: libgrove exports /' >"$work/foreign"
[ -s "$work/foreign" ] && { cat "$work/foreign"; status=1; }
echo "$(wc -l <"$work/grove") functions of grove.h, $(wc -l <"$work/plugin") of plugin.h"
exit $status
