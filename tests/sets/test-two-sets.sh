#!/bin/sh
# Two runs at once that write the same two sets in another order, or of which each reads what the other writes: both
# end, and both have written.
grep -q "^ms " "$GROVE_BUILD/nodes/.libs/classes.index" || { echo 'skipped: built without casacore'; exit 77; }
grove=$GROVE_BUILD/grove
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 99
status=0

fail()
{
    echo "FAIL: $1"
    cat err-*
    status=1
}

printf 'format = Name, Type, Ra, Dec, I\none, POINT, 00:00:00.0, -30.00.00.0, 1.0\n' >sky.txt
for set in a b; do
    "$grove" run -q simulate.tree -s sky=sky.txt -s array=kat-7 -s hour_angle=-2min..2min -s integration=60s -s channels=2 \
        -s out=$set.ms || exit 1
    printf 'obs = ms("%s.ms")\nsink(obs.data, obs, column="SUM")\n' $set >first.tree
    "$grove" run -q first.tree || exit 1
done
# both ORDER...: adds the data to SUM of the two sets in that order
both()
{
    for set in "$@"; do echo "$set = ms(\"$set.ms\")"; done
    for set in "$@"; do echo "sink($set.data, $set, column=\"SUM\", mode=add)"; done
}
both a b >write-1.tree
both b a >write-2.tree
printf 'a = ms("a.ms")\nb = ms("b.ms")\nsink(a.data, b, column="SUM", mode=add)\n' >read-1.tree
printf 'a = ms("a.ms")\nb = ms("b.ms")\nsink(b.data, a, column="SUM", mode=add)\n' >read-2.tree
rounds=5
for round in $(seq $rounds); do
    for kind in write read; do
        timeout 100 "$grove" run -q $kind-1.tree 2>err-1 &
        timeout 100 "$grove" run -q $kind-2.tree 2>err-2
        second=$?
        wait $!
        first=$?
        [ "$first $second" = '0 0' ] || fail "round $round: $kind: exit codes $first, $second"
    done
    [ $status -eq 0 ] || break
done
for set in a b; do
    echo "$set = ms(\"$set.ms\")"
    echo "compare($set.column(\"SUM\"), $((1 + 3 * rounds)) * $set.data, tolerance=1e-5, print=false)"
done >compare.tree
"$grove" run -q compare.tree || { echo 'FAIL: the sums'; status=1; }
[ -z "$(ls -A | grep grove-; ls -A a.ms b.ms | grep grove-)" ] || fail 'left behind'
exit $status
