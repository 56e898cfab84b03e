#!/bin/sh
# Runs each fuzzer on all of its seeds, which include inputs that once failed.
cd "${GROVE_BUILD:-.}" || exit 99
source=${GROVE_SOURCE:-.}
ran=0 failed=0
for program in tests/*/fuzz-*; do
    seeds=$source/${program%/*}/corpus/${program##*/fuzz-}
    [ -f "$program" ] && [ -x "$program" ] && [ -d "$seeds" ] || continue
    ran=$((ran + 1))
    "$program" "$seeds"/* && continue
    failed=$((failed + 1))
    for seed in "$seeds"/*; do
        "$program" "$seed" >/dev/null 2>&1 || echo "$program fails with $seed"
    done
done
echo "$ran fuzzers, $failed failed"
[ $failed -eq 0 ] || exit 1
[ $ran -gt 0 ] || exit 77
