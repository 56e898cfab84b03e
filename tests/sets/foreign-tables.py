"""Makes variants of tidy.ms as other programs leave sets, and compares what Grove reads and writes with numpy; see test-foreign-tables.sh."""
import os
import shutil
import subprocess
import sys

import numpy as np
from casacore.tables import makearrcoldesc, makescacoldesc, table, taql

RA, DEC = np.radians([15 * (5 + 42 / 60 + 50 / 3600), -(30 + 3 / 60)])  # of the source
CENTRE = np.radians([15 * (5 + 42 / 60 + 36.1 / 3600), -30.0])


def grove(*arguments):
    done = subprocess.run([sys.argv[1], "run", "-q", *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def run(*arguments):
    code, text = grove(*arguments)
    assert code == 0, text
    return text


def refused(wanted, *arguments):
    code, text = grove(*arguments)
    assert code and wanted in text, "wanted: %s\n%s" % (wanted, text)


def fresh(name="a.ms", without=()):
    """A copy of tidy.ms, without some columns."""
    shutil.rmtree(name, ignore_errors=True)
    if without:
        with table("tidy.ms", ack=False) as t:
            t.query(columns=",".join(c for c in t.colnames() if c not in without)).copy(name, deep=True).close()
    else:
        shutil.copytree("tidy.ms", name)
    return open_table(name)


def open_table(name):
    return table(name, readonly=False, ack=False, lockoptions="permanent")


def write(name, text):
    with open(name, "w") as file:
        file.write(text)


def printed(tree, *arguments):
    """The numbers that a tree prints."""
    write("print.tree", tree)
    text = run("print.tree", *arguments)
    return np.array([float(x) for line in text.splitlines() for x in line.split(": ", 1)[1].split() if x[0] in "-0123456789"])


def close(a, b, what, within=1e-5):
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape and np.abs(a - b).max() <= within * np.abs(b).max(), (what, a, b)


def predicted(name, rows, correlations):
    """The source's visibilities, summed from the UVW column."""
    with table(name, ack=False) as t, table(name + "::SPECTRAL_WINDOW", ack=False) as s:
        uvw, freq = t.getcol("UVW")[rows], s.getcell("CHAN_FREQ", 0)
    l = np.cos(DEC) * np.sin(RA - CENTRE[0])
    m = np.sin(DEC) * np.cos(CENTRE[1]) - np.cos(DEC) * np.sin(CENTRE[1]) * np.cos(RA - CENTRE[0])
    turns = np.outer(uvw @ [l, m, np.sqrt(1 - l**2 - m**2) - 1], freq) / 299792458.0
    of = {5: 2.5, 8: 1.5, 9: 2, 10: 0.5j, 11: -0.5j, 12: 2}
    return np.exp(2j * np.pi * turns)[..., None] * [of.get(c, 0) for c in correlations]


def weights():
    """Some rows have WEIGHT_SPECTRUM, others none, or an empty one: each row counts by its own, however the set is divided."""
    tree = 'obs = ms("a.ms")\nprint(sum(obs.weight, over=[time, baseline, freq]))\n'
    for has in (lambda n, r: r > 0, lambda n, r: r < n - 1, lambda n, r: r % 3 == 1):
        for empty in (False, True):
            t = fresh()
            n = t.nrows()
            t.addcols(makearrcoldesc("WEIGHT_SPECTRUM", 0.0, ndim=2, valuetype="float"))
            weight = np.random.default_rng(1).uniform(1, 2, (n, 4)).astype(np.float32)
            spectrum = np.random.default_rng(2).uniform(3, 9, (n, 4, 4)).astype(np.float32)
            t.putcol("WEIGHT", weight)
            for r in range(n):
                if has(n, r):
                    t.putcell("WEIGHT_SPECTRUM", r, spectrum[r])
                else:
                    spectrum[r] = weight[r]
                    if empty:
                        t.putcell("WEIGHT_SPECTRUM", r, np.zeros((0, 0), np.float32))
            t.close()
            for more in (), ("--tile-times", "1", "--tile-channels", "1"):
                close(printed(tree, *more), spectrum.sum((0, 1)), "weights")
    write("copy.tree", 'obs = ms("a.ms")\nsink(obs.data, obs, to="b.ms", overwrite=true)\n')
    run("copy.tree")
    with table("b.ms", ack=False) as t:
        close(t.getcol("WEIGHT_SPECTRUM"), spectrum, "weights of a copy", 0)


def flag_row():
    """Without FLAG_ROW, flags are those of FLAG."""
    t = fresh(without=["FLAG_ROW"])
    flag = np.random.default_rng(1).random(t.getcol("FLAG").shape) < 0.3
    t.putcol("FLAG", flag)
    data = np.where(flag, 0, t.getcol("DATA")).sum((0, 1))
    t.close()
    close(printed('print(abs(sum(ms("a.ms").data, over=[time, baseline, freq])))\n'), abs(data), "without FLAG_ROW")


def two_polarizations(empty_first=False):
    """Rows of RR, then as many of LL; or rows of four correlations, of the second data description."""
    first, second = ((9, 12), (9, 10, 11, 12)) if empty_first else ((5,), (8,))
    of_cells = {"DATA": 0j, "FLAG": False, "WEIGHT": 0.0, "SIGMA": 0.0}
    t = fresh(without=() if empty_first else of_cells)
    n = t.nrows()
    if not empty_first:
        with table("tidy.ms", ack=False) as tidy:
            for name, zero in of_cells.items():
                value = tidy.getcol(name)[..., :1]
                kind = tidy.getcoldesc(name)["valueType"]
                t.addcols(makearrcoldesc(name, zero, ndim=value.ndim - 1, valuetype=kind))
                t.putcol(name, value)
        t.addrows(n)
        for name in t.colnames():
            if t.iscelldefined(name, 0):
                t.putcol(name, t.getcol(name, 0, n), n, n)
    t.putcol("DATA_DESC_ID", np.arange(t.nrows(), dtype=np.int32) // n if not empty_first else np.ones(n, np.int32))
    t.close()
    with open_table("a.ms::POLARIZATION") as p, open_table("a.ms::DATA_DESCRIPTION") as d:
        p.addrows(1)
        d.addrows(1)
        for row, codes in enumerate((first, second)):
            p.putcell("NUM_CORR", row, len(codes))
            p.putcell("CORR_TYPE", row, np.array(codes, np.int32))
            p.putcell("CORR_PRODUCT", row, np.zeros((len(codes), 2), np.int32))
            d.putcell("POLARIZATION_ID", row, row)
        d.putcell("SPECTRAL_WINDOW_ID", 1, 0)
    return n


def polarizations():
    options = "predict.tree", "-s", "ms=a.ms", "-s", "sky=one.skymodel"
    n = two_polarizations()
    choices = "several polarizations: 0 (RR), 1 (LL); choose one, polarization=0 or another"
    refused("the rows of field 0 and spectral window 0 have " + choices, *options)
    refused(choices, "image.tree", "-s", "ms=a.ms")
    refused("spectral window 0 has no such polarization; it has 0 (RR), 1 (LL)", *options, "-s", "polarization=2")
    refused("has no such polarization", *options, "-s", "polarization=-1")
    assert "a.ms has rows of 2 polarizations; each ms reads one\n" in grove(*options, "-s", "polarization=1")[1]
    with table("a.ms", ack=False) as t:
        close(t.getcol("MODEL_DATA", n, n), predicted("a.ms", slice(n, 2 * n), [8]), "LL")
        assert not t.getcol("MODEL_DATA", 0, n).any()
    # both in one run, into one column
    write("both.tree", 'r = ms("a.ms", polarization=0)\nl = ms("a.ms", polarization=1)\n'
          'sink(2 * r.data, r, column="X")\nsink(3 * l.data, l, column="X")\n')
    assert "polarizations" not in run("both.tree")
    with table("a.ms", ack=False) as t:
        factor = np.repeat([2, 3], n)[:, None, None]
        close(t.getcol("X"), factor * t.getcol("DATA"), "RR and LL")
    with open_table("a.ms") as t:
        t.putcol("FIELD_ID", np.full(2 * n, 3, np.int32))
    refused("no row has field 0 and spectral window 0; there are rows of field 3 and spectral window 0\n", *options)
    # the only one that has rows is taken
    two_polarizations(empty_first=True)
    run(*options)
    with table("a.ms", ack=False) as t:
        close(t.getcol("MODEL_DATA"), predicted("a.ms", slice(0, n), [9, 10, 11, 12]), "four")


def moving():
    """Fields whose phase centre changes with time are refused; terms that are 0 are not."""
    options = "predict.tree", "-s", "ms=a.ms", "-s", "sky=one.skymodel"
    for rate in 0.0, 5e-6:
        fresh().close()
        with open_table("a.ms::FIELD") as f:
            f.putcell("PHASE_DIR", 0, np.array([CENTRE, [0, rate]]))
            f.putcell("NUM_POLY", 0, 1)
        if rate:
            refused("the phase centre of field 0 moves: PHASE_DIR changes with time", *options)
        else:
            run(*options)
    for ephemeris in -1, 0:
        fresh().close()
        with open_table("a.ms::FIELD") as f:
            f.addcols(makescacoldesc("EPHEMERIS_ID", 0))
            f.putcell("EPHEMERIS_ID", 0, ephemeris)
        if ephemeris < 0:
            run(*options)
        else:
            refused("the phase centre of field 0 moves", *options)
    info = subprocess.run([sys.argv[1], "info", "a.ms"], capture_output=True, text=True).stdout
    assert ", moving\n" in info, info


def use_unit(name, column, unit, factor):
    with open_table(name) as t:
        value = t.getcol(column) / factor
        t.putcol(column, value)
        t.putcolkeyword(column, "QuantumUnits", [unit] * (value.shape[-1] if value.ndim > 1 and column != "CHAN_FREQ" else 1))


def units():
    """Numbers in other units are the same set."""
    with table("tidy.ms", ack=False) as t:
        t0 = t.getcol("TIME").min() - 77
    tree = 'option set = "a.ms" ""\no = ms($set)\n' + "".join("print(%s)\n" % each for each in (
        "sum(norm(o.uvw), over=[time, baseline])", "sum(o.freq, over=freq)", "sum(o.channel_width, over=freq)",
        "sum((o.time - 4.9e9s) / 1s - %.0f, over=time)" % (t0 - 4.9e9), "sum(o.interval, over=time)",
        "sum(o.elevation, over=time)", "sum(o.station_diameter, over=station)"))
    fresh().close()
    wanted = printed(tree, "-s", "set=tidy.ms", "--precision", "double")
    day, degree = 86400.0, np.pi / 180
    for name, column, unit, factor in (
            ("a.ms", "TIME", "d", day), ("a.ms", "INTERVAL", "min", 60), ("a.ms", "UVW", "km", 1e3),
            ("a.ms::ANTENNA", "POSITION", "km", 1e3), ("a.ms::ANTENNA", "DISH_DIAMETER", "cm", 0.01),
            ("a.ms::SPECTRAL_WINDOW", "CHAN_FREQ", "MHz", 1e6), ("a.ms::SPECTRAL_WINDOW", "CHAN_WIDTH", "kHz", 1e3),
            ("a.ms::FIELD", "PHASE_DIR", "deg", degree)):
        use_unit(name, column, unit, factor)
    got = printed(tree, "--precision", "double")
    assert len(got) == 7 and np.allclose(got, wanted, rtol=2e-6), (got, wanted)
    run("predict.tree", "-s", "ms=a.ms", "-s", "sky=one.skymodel")
    with table("a.ms", ack=False) as t, table("tidy.ms", ack=False) as tidy:
        close(t.getcol("MODEL_DATA"), tidy.getcol("DATA"), "predicted in other units")
    with open_table("a.ms::FIELD") as f:
        f.putcolkeyword("PHASE_DIR", "QuantumUnits", ["deg", "rad"])
    refused("column PHASE_DIR is in rad; it must have one unit, such as rad", "print.tree")
    with open_table("a.ms::FIELD") as f:
        f.putcolkeyword("PHASE_DIR", "QuantumUnits", ["Hz", "Hz"])
    refused("column PHASE_DIR is in Hz; it must have one unit, such as rad", "print.tree")


def scales():
    """TIME in TAI or TT."""
    with table("tidy.ms", ack=False) as t:
        utc = t.getcol("TIME")
    tree = 'print(max((ms("a.ms").time - %.0fs) / 1s, over=time))\n' % utc.min()
    leap = 32  # from 1999 to 2005
    assert 51179 * 86400.0 < utc[0] < 53736 * 86400.0
    for scale, after in ("TAI", leap), ("TT", leap + 32.184), ("TDT", leap + 32.184), ("UTC", 0):
        t = fresh()
        t.putcol("TIME", utc + after)
        t.putcolkeyword("TIME", "MEASINFO", {"type": "epoch", "Ref": scale})
        t.close()
        close(printed(tree, "--precision", "double"), [utc.max() - round(utc.min())], scale)
    with open_table("a.ms") as t:
        t.putcolkeyword("TIME", "MEASINFO", {"type": "epoch", "Ref": "GMST1"})
    refused("column TIME is in GMST1; UTC, TAI and TT are supported", "print.tree")


def positions():
    """What follows from positions is refused where they are relative or 0, and nothing else."""
    with table("tidy.ms::ANTENNA", ack=False) as a:
        true = a.getcol("POSITION")
    write("up.tree", 'obs = ms("a.ms")\nprint(max(obs.elevation, over=time))\n')
    for name, wrong in ("relative", true - true.mean(0)), ("0", 0 * true):
        fresh().close()
        with open_table("a.ms::ANTENNA") as a:
            a.putcol("POSITION", wrong)
        options = "predict.tree", "-s", "ms=a.ms", "-s", "sky=one.skymodel"
        run(*options, "-s", "smear=freq")
        refused("uvw_rate: it is computed from the stations' positions, but according to POSITION station ", *options, "-s", "smear=time")
        refused("geocentric positions (ITRF) are needed", "up.tree")
    # a station without rows may have none
    up = printed('print(max(ms("tidy.ms").elevation, over=time))\n', "--precision", "double")
    t = fresh()
    t.close()
    with open_table("a.ms::ANTENNA") as a:
        a.addrows(1)
        for column in a.colnames():
            a.putcell(column, len(true), a.getcell(column, 0) if column != "POSITION" else np.zeros(3))
    close(printed('print(max(ms("a.ms").elevation, over=time))\n', "--precision", "double"), up, "elevation")


def copies():
    """A new set of a set's rows has their exposures, centroids and states."""
    t = fresh("b.ms")
    n = t.nrows()
    random = np.random.default_rng(1)
    t.putcol("EXPOSURE", random.uniform(20, 59, n))
    t.putcol("TIME_CENTROID", t.getcol("TIME") + random.uniform(-9, 9, n))
    t.putcol("STATE_ID", random.integers(-1, 3, n).astype(np.int32))
    t.close()
    with open_table("b.ms::STATE") as s:
        s.addrows(2)
        s.putcol("OBS_MODE", ["ONE", "TWO", "THREE"])
    with table("b.ms", ack=False) as t:  # rows in another order, and some less
        t.selectrows(random.permutation(n)[: n - 20].tolist()).copy("a.ms", deep=True).close()
    write("copy.tree", 'obs = ms("a.ms")\nsink(obs.data, obs, to="c.ms", overwrite=true)\n')
    run("copy.tree")
    with table("a.ms", ack=False) as t, table("c.ms", ack=False) as c:
        keys = [np.lexsort((x.getcol("ANTENNA2"), x.getcol("ANTENNA1"), np.round(x.getcol("TIME")))) for x in (t, c)]
        for column in "TIME", "ANTENNA1", "ANTENNA2", "EXPOSURE", "TIME_CENTROID", "STATE_ID":
            assert np.array_equal(t.getcol(column)[keys[0]], c.getcol(column)[keys[1]]), column
    with table("c.ms::STATE", ack=False) as s:
        assert s.getcol("OBS_MODE") == ["ONE", "TWO", "THREE"], s.getcol("OBS_MODE")


def channels():
    """A new set has its source's channels, whose widths are negative where they descend, and their frame, which is warned of."""
    write("copy.tree", 'obs = ms("a.ms")\nsink(obs.data, obs, to="c.ms", overwrite=true)\n')
    for frame, code in ("TOPO", 5), ("LSRK", 1), ("BARY", 3), ("REST", 0), ("Undefined", 64):
        t = fresh()
        with open_table("a.ms::SPECTRAL_WINDOW") as s:
            freq = s.getcell("CHAN_FREQ", 0)[::-1]
            width = np.array([[-1e6, -1e6, -2e6, -1e6]])
            s.putcol("CHAN_FREQ", freq[None])
            s.putcol("CHAN_WIDTH", width)
            s.putcol("EFFECTIVE_BW", 0.8 * abs(width))
            s.putcol("RESOLUTION", 1.2 * abs(width))
            s.putcol("MEAS_FREQ_REF", np.array([code], np.int32))
        t.close()
        said = "its frequencies are in the frame %s, and are used unchanged" % frame in run("copy.tree")
        assert said == (code in (1, 3)), frame
        with table("c.ms::SPECTRAL_WINDOW", ack=False) as s:
            found = {c: np.ravel(s.getcell(c, 0)) for c in s.colnames() if "GROUP_NAME" not in c and c != "NAME"}
        assert np.array_equal(found["CHAN_FREQ"], freq) and np.array_equal(found["CHAN_WIDTH"], width[0]), found
        assert np.allclose(found["EFFECTIVE_BW"], 0.8 * abs(width)) and np.allclose(found["RESOLUTION"], 1.2 * abs(width)), found
        assert found["TOTAL_BANDWIDTH"] == 5e6 and found["MEAS_FREQ_REF"] == (code if said else 5), found


def descriptions():
    """Rows of a data description that there is not."""
    for wrong in -1, 1:
        t = fresh()
        t.putcell("DATA_DESC_ID", 7, wrong)
        t.close()
        refused("a.ms: row 7 has DATA_DESC_ID %d; DATA_DESCRIPTION has 1 row, from 0 on" % wrong,
                "predict.tree", "-s", "ms=a.ms", "-s", "sky=one.skymodel")


def shapes():
    """A cell of another shape is refused, and its row named."""
    with table("tidy.ms", ack=False) as t:
        data = t.getcol("DATA")
    t = fresh(without=["DATA"])
    t.addcols(makearrcoldesc("DATA", 0j, ndim=2, valuetype="complex"))
    for row in range(len(data)):
        t.putcell("DATA", row, data[row][: 3 if row == 5 else 4])
    t.close()
    refused("row 5 has no cell of the spectral window's shape", "predict.tree", "-s", "ms=a.ms", "-s", "sky=one.skymodel")


def one_channel():
    """Cubes of channels of width 0 can be written."""
    shutil.rmtree("c.ms", ignore_errors=True)
    for channels in 1, 3:
        run("simulate.tree", "-s", "sky=one.skymodel", "-s", "array=kat-7", "-s", "phase_centre=05h42m36.1s -30d0m0s",
            "-s", "channels=%d" % channels, "-s", "smear=none", "-s", "hour_angle=-2min..2min", "-s", "integration=60s", "-s", "out=c.ms")
        with open_table("c.ms::SPECTRAL_WINDOW") as s:
            freq = s.getcell("CHAN_FREQ", 0)
            s.putcol("CHAN_WIDTH", np.zeros((1, channels)))
        run("image.tree", "-s", "ms=c.ms", "-s", "size=64", "-s", "bands=%d" % channels, "-s", "out=c", "-s", "overwrite=true")
        with open("c-dirty.fits", "rb") as file:
            header = file.read(20000)
        found = [float(header[at + 10 : at + 30]) for at in (header.find(b"%-8s=" % key) for key in (b"CRVAL3", b"NAXIS3"))]
        assert abs(found[0] - freq[0]) < 1 and found[1] == channels, found
        shutil.rmtree("c.ms")


def numbers(*names):
    """All numbers of some sets: {(set, column): values}."""
    found = {}
    for name in names:
        with table(name, ack=False) as t:
            found.update({(name, c): t.getcol(c) for c in t.colnames() if t.nrows() and t.iscelldefined(c, 0)})
    return found


def changed(before, *names):
    after = numbers(*names)
    return sorted(key for key in after if key not in before or not np.array_equal(before[key], after[key], equal_nan=True))


def later_set(name, model=True):
    t = fresh(name)
    for column in "TIME", "TIME_CENTROID":
        t.putcol(column, t.getcol(column) + 1e4)
    if model:
        t.addcols(makearrcoldesc("MODEL_DATA", 0j, ndim=2, valuetype="complex"))
        t.putcol("MODEL_DATA", 7 + 0 * t.getcol("DATA"))
        t.addcols(makearrcoldesc("WEIGHT_SPECTRUM", 0.0, ndim=2, valuetype="float"))
        t.putcol("WEIGHT_SPECTRUM", 1 + 0 * np.abs(t.getcol("DATA")))
    t.close()


def forwarded(folder, model):
    """Two sets as two windows of a third, whose columns forward to those of the sets, but for DATA_DESC_ID, and those that are new."""
    os.makedirs(folder or ".", exist_ok=True)
    sets = [folder + each for each in ("a.ms", "b.ms", "all.ms")]
    for each in sets[:2]:
        later_set(each, model)
    make = "import sys; from casacore.tables.msutil import msconcat; msconcat(sys.argv[1:3], sys.argv[3])"
    subprocess.run([sys.executable, "-c", make, *sets], check=True, capture_output=True)
    return sets


def concatenations():
    options = "-s", "sky=one.skymodel", "-s", "spectral_window=1"
    for folder in "", "with blanks/":
        a, b, all = forwarded(folder, True)
        n = len(numbers(b)[b, "TIME"])
        before = numbers(a, b, all)
        run("predict.tree", "-s", "ms=" + all, *options)
        assert changed(before, a, b, all) == sorted(((b, "MODEL_DATA"), (all, "MODEL_DATA")))
        with table(all, ack=False) as t:
            close(t.getcol("MODEL_DATA", n), predicted(all, slice(n, 2 * n), [9, 10, 11, 12]), "a forwarded column")
        rows = [table(each + "::HISTORY", ack=False).nrows() for each in (a, b, all, "tidy.ms")]
        assert rows == [rows[3], rows[3], rows[2], rows[3]] and rows[2] == rows[3] + 1, rows
        assert (numbers(all)[all, "MODEL_DATA"][:n] == 7).all()
        # DATA, flags and weights; then of the same rows those of one antenna
        taql("select from '%s' where ANTENNA1 == 2" % all).copy(folder + "some.ms").close()
        write("twice.tree", 'option set = "" ""\nobs = ms($set, spectral_window=1)\n'
              'sink(2 * obs.data, obs, column="DATA", overwrite=true, flags=write, weight=3 * obs.weight)\n')
        for name in all, folder + "some.ms":
            with table(b, readonly=False, ack=False) as t:
                t.putcol("FLAG_ROW", t.getcol("ANTENNA2") == (5 if name == all else 6))
            before = numbers(a, b, all)
            run("twice.tree", "-s", "set=" + name)
            now = numbers(a, b, all)
            written = np.ones(n, bool) if name == all else before[b, "ANTENNA1"] == 2
            flags = before[b, "FLAG"] | (written & before[b, "FLAG_ROW"])[:, None, None]
            assert not any(key[0] == a for key in changed(before, a))
            for column, factor in ("DATA", 2), ("WEIGHT", 3), ("WEIGHT_SPECTRUM", 3):
                wanted = before[b, column].copy()
                wanted[written] *= factor
                close(now[b, column], wanted, column)
            assert np.array_equal(now[b, "FLAG"], flags)
        assert np.array_equal(now[all, "DATA"], np.concatenate([now[a, "DATA"], now[b, "DATA"]]))
    # a new column is the third set's own
    a, b, all = forwarded("new/", False)
    before = numbers(a, b, all)
    run("calibrate.tree", "-s", "ms=" + all, *options)
    run("predict.tree", "-s", "ms=" + all, *options)
    run("predict.tree", "-s", "ms=" + all, "-s", "sky=one.skymodel", "-s", "column=X")
    assert [key for key in changed(before, a, b, all) if key[1] != "FLAG"] == [(all, c) for c in ("CORRECTED_DATA", "MODEL_DATA", "X")]
    with table(all, ack=False) as t:
        wanted = predicted(all, slice(0, 2 * n), [9, 10, 11, 12])
        close(t.getcol("MODEL_DATA", n), wanted[n:], "a new column")
        close(t.getcol("X", 0, n), wanted[:n], "a new column of the first window")
        assert t.getcolkeywords("MODEL_DATA") == {} and not t.getcol("X", n).any()
    write("weight.tree", 'obs = ms("new/all.ms")\nsink(obs.data, obs, column="X", weight=obs.weight)\n')
    refused("a.ms: has no column WEIGHT_SPECTRUM, and it cannot be created through a table that refers to it", "weight.tree")
    os.rename("new", "moved")
    run("predict.tree", "-s", "ms=moved/all.ms", *options)
    os.rename("moved/all.ms_CONCAT", "moved/elsewhere")
    refused("all.ms_CONCAT does not exist", "predict.tree", "-s", "ms=moved/all.ms", *options)


def selections():
    """Concatenations of selections, also of one set; columns under other names."""
    fresh("c.ms").close()
    later_set("d.ms", False)
    for name in "c.ms", "d.ms":
        with open_table(name) as t:
            t.addcols(makearrcoldesc("MODEL_DATA", 0j, ndim=2, valuetype="complex"))
            t.putcol("MODEL_DATA", 7 + 0 * t.getcol("DATA"))
    for k, (name, antenna) in enumerate((("c.ms", 3), ("c.ms", 1), ("d.ms", 2))):
        taql("select from %s where ANTENNA1 == %d orderby TIME desc" % (name, antenna)).copy("some%d.ms" % k).close()
    table(["some%d.ms" % k for k in range(3)], ack=False).rename("some.ms")
    before = numbers("c.ms", "d.ms")
    run("predict.tree", "-s", "ms=some.ms", "-s", "sky=one.skymodel")
    assert changed(before, "c.ms", "d.ms") == [("c.ms", "MODEL_DATA"), ("d.ms", "MODEL_DATA")]
    now = numbers("c.ms", "d.ms")
    for name, antennas in ("c.ms", (1, 3)), ("d.ms", (2,)):
        chosen = np.isin(now[name, "ANTENNA1"], antennas)
        close(now[name, "MODEL_DATA"][chosen], predicted(name, chosen, [9, 10, 11, 12]), "some")
        assert (now[name, "MODEL_DATA"][~chosen] == 7).all()
    others = ", ".join(c for c in table("c.ms", ack=False).colnames() if c not in ("DATA", "MODEL_DATA", "FLAG_CATEGORY"))
    taql("select %s, MODEL_DATA as DATA from c.ms" % others).copy("renamed.ms").close()
    options = "-s", "ms=renamed.ms", "-s", "sky=one.skymodel", "-s", "column=DATA"
    refused("its column DATA is column MODEL_DATA of %s/c.ms; write it there" % os.getcwd(), "predict.tree", *options)
    assert not changed(now, "c.ms")


for case in concatenations, selections, weights, flag_row, polarizations, moving, units, scales, positions, copies, channels, descriptions, shapes, one_channel:
    print(case.__name__, flush=True)
    case()
