#!/bin/sh
# Every class has a value test (tests/value-tests.txt: class, program, and the names of the check that fail without it), and that test
# fails when the class's result is replaced by zeros.
list=$GROVE_SOURCE/tests/value-tests.txt modules=$GROVE_BUILD/nodes/.libs
cc=${CC:-cc}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
status=0 count=0

for module in "$modules"/*.so; do
    class=$(basename "$module" .so)
    program=$(awk -v class="$class" '$1 == class { print $2; exit }' "$list")
    if [ -z "$program" ]; then
        echo "FAIL: class $class has no value test in tests/value-tests.txt"
        status=1
        continue
    fi
    case $program in
    *.sh) run="sh $GROVE_SOURCE/tests/$program" ;;
    *) run=$GROVE_BUILD/tests/$program ;;
    esac
    mkdir -p "$work/$class"
    $cc -std=c17 -D_GNU_SOURCE -fPIC -shared -I"$GROVE_SOURCE/src" -DMUTANT="$class" -o "$work/$class/$class.so" \
        "$GROVE_SOURCE/tests/mutant.c" 2>"$work/err" || { cat "$work/err"; echo 'FAIL: the mutant does not compile'; exit 1; }
    if GROVE_MUTANT_OF=$module GROVE_PLUGIN_PATH=$work/$class:$GROVE_PLUGIN_PATH GROVE_VALUE_TESTS=$class \
        $run >"$work/log" 2>&1; then
        echo "FAIL: $program passes although $class gives nothing but zeros"
        status=1
    elif [ $? -eq 77 ]; then
        echo "$program was skipped: $class is not shown to be tested"
    fi
    count=$((count + 1))
done
echo "$count classes"
exit $status
