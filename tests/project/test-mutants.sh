#!/bin/sh
# Every class has a value test, tests/SUBJECT/test-CLASS with - in place of _ or the program of tests/value-tests.txt, and every
# member of a leaf has one there. The test fails when the class gives only zeros, or the leaf zeros for that member. (tests/core/test-conformance checks that all members are listed.)
list=$GROVE_SOURCE/tests/value-tests.txt
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
status=0

ls "$GROVE_BUILD"/tests/*/test-nodes-* >/dev/null 2>&1 || { echo 'no tests of classes are built here: skipped'; exit 77; }
index=$GROVE_BUILD/nodes/.libs/classes.index
[ -s "$index" ] || { echo "FAIL: $index names no classes"; exit 1; }
for class in $(sed -n "s,^\([a-z][a-z_0-9]*\) .*,\1,p" "$index"); do
    program=$(awk -v class="$class" '$1 == class { print $2; exit }' "$list")
    if [ -z "$program" ]; then
        program=$(cd "$GROVE_BUILD/tests" && ls */"test-$(echo "$class" | tr _ -)" 2>/dev/null)
    fi
    if [ -z "$program" ]; then
        echo "FAIL: class $class has no value test: no tests/*/test-$class, no line in tests/value-tests.txt"
        status=1
    elif [ ! -x "$GROVE_BUILD/tests/$program" ]; then
        echo "FAIL: the value test of $class, tests/$program, is not there"
        status=1
    else
        echo "$class $program"
        grep "^$class[.]" "$list"
    fi
done >"$work/out"
grep '^FAIL' "$work/out" && status=1
grep -v '^FAIL' "$work/out" >"$work/classes"

# Every third, or all with GROVE_ALL_ROWS=1.
if [ -z "$GROVE_ALL_ROWS" ]; then
    awk 'NR % 3 == 1' "$work/classes" >"$work/some"
    mv "$work/some" "$work/classes"
fi

# Two at a time: "class program" a line.
cat >"$work/try" <<'END'
CK_FORK=yes GROVE_MUTANT=$1 "$GROVE_BUILD/tests/$2" >"$work/$1.log" 2>&1
code=$?
grep -q 'GROVE_MUTANT: no class' "$work/$1.log" && echo "FAIL: $2 does not know the class $1"
[ $code -eq 0 ] && echo "FAIL: $2 passes although $1 gives nothing but zeros"
[ $code -eq 77 ] && echo "FAIL: $2 was skipped"
exit 0
END
# A test that fails leaves its files.
TMPDIR=$work
export work TMPDIR
xargs -n 2 -P 2 sh "$work/try" <"$work/classes" >"$work/failures"
cat "$work/failures"
[ -s "$work/failures" ] && status=1
echo "$(wc -l <"$work/classes") classes and members"
exit $status
