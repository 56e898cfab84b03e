"""Sets to which rows were added before they were unlocked and closed: table.lock alone has their number. Their rows, those of
their subtables and the numbers are right after Grove has written; see test-set-metadata.sh."""
import os
import shutil
import subprocess

import numpy as np
from casacore.tables import default_ms, makearrcoldesc, maketabdesc, table

grove = os.environ["GROVE_BUILD"] + "/grove"
subtables = ("ANTENNA", "FIELD", "SPECTRAL_WINDOW", "POLARIZATION", "DATA_DESCRIPTION", "OBSERVATION")
source = {}  # numbers of noise.ms
with table("noise.ms", ack=False) as t:
    source = {each: t.getcol(each) for each in t.colnames() if t.iscelldefined(each, 0)}
count = len(source["TIME"])


def rows_in_file(name):
    with open(name + "/table.dat", "rb") as file:
        return int.from_bytes(file.read()[21:25], "big")


def append(name, lock, shift):
    """Adds all rows of noise.ms once more, later."""
    t = table(name, ack=False, readonly=False, lockoptions=lock)
    if lock == "user":
        t.lock()
    first = t.nrows()
    t.addrows(count)
    for each, numbers in {**source, "MODEL_DATA": source["DATA"]}.items():
        if each in t.colnames():
            t.putcol(each, numbers + (shift if each.startswith("TIME") else 0 * numbers), first, count)
    return t


def append_sub(name, column):
    s = table(name, ack=False, readonly=False)
    s.addrows(2)
    s.putcell(column, s.nrows() - 1, "added")
    s.close()


def make(name, kind, lock):
    """Two times the rows of noise.ms, of which table.dat does not know all."""
    if kind == "grove":
        shutil.copytree("noise.ms", name)
    elif kind == "big":  # the most significant byte of each number is the first
        table("noise.ms", ack=False).copy(name, deep=True, endian="big").close()
        with table(name, ack=False, readonly=False) as t:
            t.putkeyword("NOTE", {"of": "another program"})
            t.putcolkeyword("DATA", "UNIT", "Jy")
    else:  # one storage manager for all
        columns = [makearrcoldesc(each, 0j, ndim=2, valuetype="complex") for each in ("DATA", "MODEL_DATA")]
        default_ms(name, maketabdesc(columns)).close()
        for each in subtables:
            shutil.rmtree(name + "/" + each)
            shutil.copytree("noise.ms/" + each, name + "/" + each)
        append(name, lock, 0).close()
    append(name, lock, 1e4).close()
    append_sub(name + "/HISTORY", "MESSAGE")
    append_sub(name + "/FIELD", "NAME")
    assert rows_in_file(name) == (0 if kind == "standard" else count), rows_in_file(name)
    assert rows_in_file(name + "/HISTORY") == (0 if kind == "standard" else 2)


def contents(name):
    found = {}
    for sub in ("", "HISTORY", "FIELD", "ANTENNA"):
        t = table(name + "/" + sub, ack=False)
        for each in t.colnames():
            found[sub + "/" + each] = [t.getcell(each, i) if t.iscelldefined(each, i) else None for i in range(t.nrows())]
    return found


def description(name, column):
    """What the table is, but for that column."""
    t = table(name, ack=False)
    names = [each for each in t.colnames() if each != column]
    managers = [m for m in t.getdminfo().values() if list(m["COLUMNS"]) != [column]]
    return str((names, t.getkeywords(), [t.getcoldesc(each) for each in names], managers, t.info()))


def run(tree, *options):
    with open("appended.tree", "w") as file:
        file.write(tree)
    return subprocess.run([grove, "run", "-q", *options, "appended.tree"], capture_output=True, text=True)


def check(name, before, column):
    """All is as it was, but for the column, which is twice DATA, and a row of HISTORY."""
    after = contents(name)
    assert set(after) == set(before) | {"/" + column}, name
    for each in after:
        rows = len(before.get(each, after[each]))
        assert len(after[each]) == rows + each.startswith("HISTORY"), (name, each, len(after[each]), rows)
        wanted = [2 * cell for cell in before["/DATA"]] if each == "/" + column else before[each]
        assert all(np.array_equal(a, b) for a, b in zip(after[each], wanted)), (name, each)
    assert "appended.tree" in after["HISTORY/MESSAGE"][-1] and "added" in after["HISTORY/MESSAGE"]
    os.remove(name + "/table.lock") if os.path.exists(name + "/table.lock") else None
    assert table(name, ack=False).nrows() == 2 * count, name  # nothing depends on table.lock any more


for name, kind, lock, column in (
    ("new.ms", "grove", "auto", "TWICE"),  # incremental, standard and tiled managers
    ("replaced.ms", "grove", "user", "DATA"),
    ("big.ms", "big", "auto", "DATA"),
    ("one.ms", "standard", "auto", "TWICE"),
    ("shared.ms", "standard", "user", "MODEL_DATA"),
):
    make(name, kind, lock)
    before, described = contents(name), description(name, column)
    done = run(f'obs = ms("{name}")\nsink(2 * obs.data, obs, column="{column}", overwrite=true)\n')
    assert done.returncode == 0, (name, done.stderr)
    check(name, before, column)
    assert description(name, column) == described, (name, description(name, column), described)

# a set that is made of one, while who added the rows still has it open; then it is written
make("open.ms", "grove", "auto")
holder = append("open.ms", "user", 2e4)
holder.unlock()
before = contents("open.ms")
done = run('obs = ms("open.ms")\nsink(obs.data, obs, to="copied.ms")\n')
assert done.returncode == 0, done.stderr
with table("copied.ms", ack=False) as copied:
    assert np.array_equal(copied.getcol("DATA"), np.array(before["/DATA"]))
    assert np.array_equal(copied.getcol("TIME"), np.array(before["/TIME"]))
write = 'obs = ms("open.ms")\nsink(2 * obs.data, obs, column="TWICE")\n'
done = run(write, "--no-wait")
assert done.returncode == 1 and "another program has" in done.stderr, done.stderr
assert len(contents("open.ms")["/TIME"]) == 3 * count
holder.close()
assert run(write).returncode == 0
after = contents("open.ms")
assert np.array_equal(np.array(after["/TWICE"]), 2 * np.array(before["/DATA"]))
assert all(np.array_equal(a, b) for a, b in zip(after["/TIME"], before["/TIME"]))
