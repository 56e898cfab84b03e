#!/bin/sh
# The style of the sources: clang-format changes nothing, files and functions are short.
cd "${GROVE_SOURCE:-$(dirname "$0")/../..}" || exit 99
files=$(find src nodes kernels tests bench examples \
    \( -name '*.[chly]' -o -name '*.cc' -o -name '*.cu' \) \
    ! -path 'src/lang/parse.[ch]' ! -path 'src/lang/lex.[ch]' -print 2>/dev/null | LC_ALL=C sort)
[ -n "$files" ] || exit 99

# A function begins with { and ends with } in the first column.
echo "$files" | xargs awk -v most_lines=600 -v most_body=70 '
    FNR == 1 { start = 0 }
    FNR == most_lines + 1 { printf "%s: more than %d lines\n", FILENAME, most_lines; faults++ }
    FILENAME ~ /\.[ly]$/ { next }
    /^\{/ { start = FNR }
    /^\}/ && start {
        if (FNR - start - 1 > most_body) {
            printf "%s:%d: a function of %d lines; %d is much\n", FILENAME, start, FNR - start - 1,
                   most_body
            faults++
        }
        start = 0
    }
    END { exit faults > 0 }' || failed=1

if command -v clang-format >/dev/null 2>&1; then
    echo "$files" | grep -v '\.[ly]$' | xargs clang-format --dry-run 2>&1 |
        sed -n 's/: warning: code should.*/: clang-format would change this (make format)/p' |
        awk -F: '!seen[$1]++ { print; faults++ } END { exit faults > 0 }' || failed=1
    exit "${failed:-0}"
fi
echo 'skipped: no package clang-format, only lengths were looked at'
[ -z "$failed" ] && exit 77
exit 1
