#!/bin/sh
# The style of the sources: clang-format changes nothing, files and functions are short, comments
# are in plain words.
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

# Comments and documents are in plain words, without these phrases. Behind each: what to write.
export PHRASES='what: the noun
whatever: any, regardless of
that of|those (of|that|who): the noun again
of which|of whose: whose, or another sentence
so many: the name of the number
none that: no, and the noun
wants?|wanted: needs, requests
lacks?|lacking: has no, without, missing
stands?|stood: is, is in place of
go(es)? by: depends on
tells?|told|foretells?|foretold: reports, distinguishes, determines, estimates
by (itself|themselves): alone, separately
as (it is|they are): unchanged
by turns: alternately
beside: next to, besides'
echo docs/*.md $files | tr ' ' '\n' | grep -E '^(src|nodes|kernels|docs)/' |
    grep -Ev '^docs/nodes' | xargs awk '
    function check(text, k, parts) {
        gsub(/`[^`]*`|--[a-z]+|\n *(\*|\/\/)?/, " ", text)
        for (k = 1; k <= count && split(phrase[k], parts, ": "); k++)
            if (match(" " tolower(text) " ", "[^a-z_](" parts[1] ")[^a-z_]")) {
                printf "%s: \"%s\": better %s\n", FILENAME, substr(text, RSTART, 50), parts[2]
                faults++
            }
    }
    BEGIN { RS = "\001"; count = split(ENVIRON["PHRASES"], phrase, "\n") }
    FILENAME ~ /md$/ { gsub(/```[^`]*```|\n(#|    )[^\n]*|\[[^]]*\]\([^)]*\)/, ""); check($0); next }
    {
        while (match($0, /"(\\.|[^"\\])*"|\047(\\.|[^\047\\])+\047|\/\/[^\n]*(\n *\/\/[^\n]*)*|\/\*/)) {
            found = substr($0, RSTART, RLENGTH)
            $0 = substr($0, RSTART + RLENGTH)
            end = found == "/*" ? index($0, "*/") + 1 : 0
            check(end ? substr($0, 1, end) : found ~ /^\/\// ? found : "")
            $0 = substr($0, end + 1)
        }
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
