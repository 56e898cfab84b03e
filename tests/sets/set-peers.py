# What Grove does to sets of other programs: set-peers.py GROVE SET... Predicts, calibrates, images and copies each, and compares all
# that must not change, number by number.
import os, shutil, subprocess, sys
import numpy as np
import casacore.tables as ct
grove, faults = sys.argv[1], 0
C = 299792458.0


def fail(text):
    global faults
    faults += 1
    print("FAIL:", text)


def run(name, *words):
    done = subprocess.run([grove, "run", "-q", *words], capture_output=True, text=True)
    if done.returncode:
        fail(f"{name}: grove run {' '.join(words)}: exit {done.returncode}: {done.stdout}{done.stderr}")
    return done.returncode == 0


def read(path):
    """All of a set: {(table, column): values}, with rows and keywords."""
    found = {}

    def table(name, path):
        t = ct.table(path, ack=False)
        keywords = t.getkeywords()
        subtables = [key for key, value in keywords.items() if str(value).startswith("Table: ")]
        found[name, "(rows)"] = t.nrows()
        found[name, "(keywords)"] = sorted((key, str(value)) for key, value in keywords.items() if key not in subtables)
        for column in t.colnames():
            found[name, column] = [t.getcell(column, row) if t.iscelldefined(column, row) else None for row in range(t.nrows())]
            found[name, column + " (keywords)"] = str(t.getcolkeywords(column))
        t.close()
        return [] if name != "MAIN" else [(key, keywords[key][len("Table: "):]) for key in subtables]

    for name, place in table("MAIN", path):
        table(name, place)
    return found


def equal(a, b):
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
    return a == b or (a != a and b != b)


def compare(name, before, after, written):
    """Only the columns `written` differ, and HISTORY has rows more."""
    for key in before:
        a, b = before[key], after.get(key)
        if key[0] == "HISTORY" and not key[1].endswith("(keywords)"):
            if key[1] == "(rows)" and b <= a:
                fail(f"{name}: {b} rows of HISTORY after {a}")
            if after["HISTORY", "(rows)"] <= before["HISTORY", "(rows)"] or key[1] == "(rows)":
                continue
            b = b[:len(a)]
        if b is None:
            fail(f"{name}: {key} is lost")
        elif not (key[0] == "MAIN" and key[1].split()[0] in written) and not equal(a, b):
            fail(f"{name}: {key} changed")
    for key in after:
        if key not in before and not (key[0] == "MAIN" and key[1].split()[0] in written):
            fail(f"{name}: {key} is new")


def table_of(path, name):
    t = ct.table(path, ack=False)
    place = t.getkeyword(name)[len("Table: "):]
    t.close()
    return ct.table(place, ack=False)


def check(path, name, model_source, data_source, first, field):
    """MODEL_DATA and, where they are not flagged, CORRECTED_DATA: a point of 2 Jy each, by direct sums."""
    t = ct.table(path, ack=False)
    rows = np.nonzero((t.getcol("DATA_DESC_ID") == first) & (t.getcol("FIELD_ID") == field))[0]
    descriptions, windows, fields = (table_of(path, table) for table in ("DATA_DESCRIPTION", "SPECTRAL_WINDOW", "FIELD"))
    freq = windows.getcell("CHAN_FREQ", int(descriptions.getcell("SPECTRAL_WINDOW_ID", first)))
    ra0, dec0 = np.ravel(fields.getcell("PHASE_DIR", field))[:2]
    uvw = t.getcol("UVW")[rows]
    for column, (ra, dec) in ("MODEL_DATA", model_source), ("CORRECTED_DATA", data_source):
        l = np.cos(dec) * np.sin(ra - ra0)
        m = np.sin(dec) * np.cos(dec0) - np.cos(dec) * np.sin(dec0) * np.cos(ra - ra0)
        n = np.sin(dec) * np.sin(dec0) + np.cos(dec) * np.cos(dec0) * np.cos(ra - ra0)
        truth = 2 * np.exp(2j * np.pi * (uvw @ [l, m, n - 1])[:, None] * freq / C)
        values = np.array([t.getcell(column, int(row)) for row in rows])
        flags = np.array([t.getcell("FLAG", int(row)) for row in rows])
        tolerance = 2e-5 if column == "MODEL_DATA" else 0.1 if name == "dysco.ms" else 1e-3  # Dysco compresses DATA
        for correlation in 0, -1:
            off = abs(values[..., correlation] - truth)
            if column == "CORRECTED_DATA":
                off = off[~flags[..., correlation]]
            if not (off.size and off.max() < tolerance):
                fail(f"{name}: {column} are off by {off.max() if off.size else 'all of it, since all are flagged'}")
    t.close()


for path in sys.argv[2:]:
    name = os.path.basename(path)
    before = read(path)
    t = ct.table(path, ack=False)
    first, field = int(t.getcell("DATA_DESC_ID", 0)), int(t.getcell("FIELD_ID", 0))
    t.close()
    fields = table_of(path, "FIELD")
    ra, dec = np.ravel(fields.getcell("PHASE_DIR", field))[:2]
    source = np.radians([300, -60]) if name == "shifted.ms" else (ra, dec)
    for sky, place in ("centre", source), ("aside", (ra + 0.002, dec - 0.001)):
        with open(sky + ".skymodel", "w") as file:
            file.write(f"format = Name, Type, Ra, Dec, I\na, POINT, {np.degrees(place[0])}, {np.degrees(place[1])}, 2.0\n")
    window = int(table_of(path, "DATA_DESCRIPTION").getcell("SPECTRAL_WINDOW_ID", first))
    which = ["-s", f"ms={path}", "-s", f"field={field}", "-s", f"spectral_window={window}"]
    if not run(name, "predict.tree", *which, "-s", "sky=aside.skymodel"):
        continue
    after = read(path)
    compare(name, before, after, ["MODEL_DATA"])
    if not run(name, "calibrate.tree", *which, "-s", "sky=centre.skymodel", "-s", "smear=none", "-s", "reference=none"):
        continue
    calibrated = read(path)
    compare(name, after, calibrated, ["CORRECTED_DATA", "FLAG", "FLAG_ROW"])
    check(path, name, (ra + 0.002, dec - 0.001), source, first, field)
    run(name, "image.tree", *which, "-s", "size=64", "-s", "cell=10arcsec", "-s", "out=image", "-s", "overwrite=true")
    if not equal(calibrated, read(path)):
        fail(f"{name}: an image changed the set")
    with open("copy.tree", "w") as tree:
        tree.write(f'obs = ms("{path}", field={field}, spectral_window={window})\nsink(obs.data, obs, to="copy.ms", overwrite=true)\n')
    if run(name, "copy.tree"):
        a, b = ct.table(path, ack=False), ct.table("copy.ms", ack=False)
        rows = a.query(f"FIELD_ID == {field} && DATA_DESC_ID == {first}", sortlist="TIME,ANTENNA1,ANTENNA2")
        copy = b.query(sortlist="TIME,ANTENNA1,ANTENNA2")
        for column in "DATA", "FLAG", "UVW", "TIME", "INTERVAL":
            x, y = rows.getcol(column), copy.getcol(column)
            if column == "DATA":  # numbers that are flagged are not copied
                x, y = (np.where(flags, 0, values) for flags, values in ((rows.getcol("FLAG"), x), (copy.getcol("FLAG"), y)))
            if x.shape != y.shape or not np.allclose(x, y, rtol=1e-6, atol=1e-6):
                fail(f"{name}: {column} of a copy differ")
    print(name, "done")
sys.exit(faults > 0)
