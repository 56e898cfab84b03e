"""Makes sets as observatories leave them from a tidy one, and checks what Grove computed from them.

    odd-sets.py make TIDY ODD     rows shuffled, some missing, FLAG_ROW, FLAG and NaN set
    odd-sets.py pair TIDY ODD     the same with XX and YY alone
    odd-sets.py break TIDY ODD WHAT    one thing odd: interval, frame, frames, uvw, weight, fields, windows
    odd-sets.py check ODD         TWICE is 2 DATA, MEAN the mean over time of good samples

See test-odd-sets.sh.
"""
import sys

import numpy as np
from casacore.tables import makearrcoldesc, makescacoldesc, table


def spoil(path):
    t = table(path, readonly=False, ack=False)
    rng = np.random.default_rng(3)
    n = t.nrows()
    data, flag, flag_row = t.getcol("DATA"), t.getcol("FLAG"), t.getcol("FLAG_ROW")
    flag |= rng.random(flag.shape) < 0.2
    flag_row |= rng.random(n) < 0.1
    data[rng.random(data.shape) < 0.1] = np.nan
    data[rng.random(data.shape) < 0.02] = complex(1, np.inf)
    data[flag] = 1e6  # what is flagged must not matter
    t.putcol("DATA", data)
    t.putcol("FLAG", flag)
    t.putcol("FLAG_ROW", flag_row)
    t.close()


def make(tidy, odd):
    t = table(tidy, ack=False)
    rows = np.random.default_rng(2).permutation(t.nrows())[: t.nrows() * 9 // 10]
    t.selectrows(rows.tolist()).copy(odd, deep=True).close()


def pair(tidy, odd):
    make(tidy, odd + ".all")
    t = table(odd + ".all", ack=False)
    kept = {name: t.getcol(name)[..., [0, 3]] for name in ("DATA", "FLAG", "WEIGHT", "SIGMA")}
    t.query(columns=",".join(name for name in t.colnames() if name not in kept)).copy(odd, deep=True).close()
    t = table(odd, readonly=False, ack=False)
    for name, value in kept.items():
        zero = {"DATA": 0j, "FLAG": False}.get(name, 0.0)
        kind = {"DATA": "complex", "FLAG": "boolean"}.get(name, "float")
        t.addcols(makearrcoldesc(name, zero, valuetype=kind, shape=list(value.shape[1:])))
        t.putcol(name, value)
    t.close()
    p = table(odd + "::POLARIZATION", readonly=False, ack=False)
    p.putcell("NUM_CORR", 0, 2)
    p.putcell("CORR_TYPE", 0, np.array([9, 12], np.int32))
    p.putcell("CORR_PRODUCT", 0, np.array([[0, 0], [1, 1]], np.int32))
    p.close()


def spoil_one(path, what):
    t = table(path, readonly=False, ack=False)
    f = table(path + "::FIELD", readonly=False, ack=False)
    if what == "interval":
        t.putcell("INTERVAL", 3, -t.getcell("INTERVAL", 3))
    elif what == "frame":
        f.putcolkeyword("PHASE_DIR", "MEASINFO", {"type": "direction", "Ref": "B1950"})
    elif what == "frames":
        f.addcols(makescacoldesc("PhaseDir_Ref", 0))
        f.putcell("PhaseDir_Ref", 0, 3)
        f.putcolkeyword("PHASE_DIR", "MEASINFO", {
            "type": "direction", "VarRefCol": "PhaseDir_Ref",
            "TabRefTypes": ["J2000", "B1950"], "TabRefCodes": np.array([0, 3], np.uint32)})
    elif what == "fields":
        f.addrows(1)
        for name in f.colnames():
            if f.iscelldefined(name, 0):
                f.putcell(name, 1, f.getcell(name, 0))
        t.putcell("FIELD_ID", range(t.nrows() // 2), 1)
    elif what == "windows":
        with table(path + "::SPECTRAL_WINDOW", readonly=False, ack=False) as w, \
                table(path + "::DATA_DESCRIPTION", readonly=False, ack=False) as d:
            for each in w, d:
                each.addrows(1)
                for name in each.colnames():
                    if each.iscelldefined(name, 0):
                        each.putcell(name, 1, each.getcell(name, 0))
            d.putcell("SPECTRAL_WINDOW_ID", 1, 1)
        t.putcol("DATA_DESC_ID", np.arange(t.nrows(), dtype=np.int32) % 2)
    elif what == "uvw":
        uvw = t.getcol("UVW")[:, :2]
        t.removecols("UVW")
        t.addcols(makearrcoldesc("UVW", 0.0, valuetype="double", shape=[2]))
        t.putcol("UVW", uvw)
    elif what == "weight":
        t.addcols(makearrcoldesc("WEIGHT", 0.0, valuetype="float", shape=[1]))
    f.close()
    t.close()


def check(path):
    t = table(path, ack=False)
    data, twice, mean = t.getcol("DATA"), t.getcol("TWICE"), t.getcol("MEAN")
    good = np.isfinite(data) & ~t.getcol("FLAG") & ~t.getcol("FLAG_ROW")[:, None, None]
    assert 0.2 < good.mean() < 0.8
    assert np.isfinite(twice).all() and np.isfinite(mean).all()
    assert np.allclose(twice[good], 2 * data[good], rtol=1e-6), "TWICE"
    assert (twice[~np.isfinite(data)] == 0).all(), "not a number became one"
    keys = t.getcol("ANTENNA1") * 1000 + t.getcol("ANTENNA2")
    for key in np.unique(keys):
        rows = keys == key
        count = good[rows].sum(axis=0)
        wanted = np.where(good[rows], data[rows], 0).sum(axis=0) / np.maximum(count, 1)
        assert np.allclose(mean[rows], wanted, rtol=1e-5, atol=1e-6), "MEAN of baseline %d" % key
    print("%s: %d rows, %.0f %% good" % (path.rsplit("/", 1)[-1], t.nrows(), 100 * good.mean()))


def predicted(path):
    """1 Jy at the phase centre and 0.5 Jy a tenth of a degree north of it, in each row by itself."""
    t = table(path, ack=False)
    uvw, freq = t.getcol("UVW"), table(path + "::SPECTRAL_WINDOW", ack=False).getcell("CHAN_FREQ", 0)
    angle = np.radians(0.1)
    turns = np.outer(uvw[:, 1] * np.sin(angle) + uvw[:, 2] * (np.cos(angle) - 1), freq) / 299792458.0
    point = t.getcol("POINT")
    assert np.allclose(point[..., 0], 1 + 0.5 * np.exp(2j * np.pi * turns), atol=2e-5), "POINT"
    assert np.allclose(point[..., -1], point[..., 0], atol=2e-5), "POINT"


if sys.argv[1] == "predicted":
    predicted(sys.argv[2])
elif sys.argv[1] == "check":
    check(sys.argv[2])
elif sys.argv[1] == "break":
    t = table(sys.argv[2], ack=False)
    names = [name for name in t.colnames() if name != "WEIGHT" or sys.argv[4] != "weight"]
    t.query(columns=",".join(names)).copy(sys.argv[3], deep=True).close()
    spoil_one(sys.argv[3], sys.argv[4])
else:
    {"make": make, "pair": pair}[sys.argv[1]](*sys.argv[2:4])
    spoil(sys.argv[3])
