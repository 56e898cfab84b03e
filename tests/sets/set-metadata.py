"""What a new set says beside its visibilities, read with casacore alone; see test-set-metadata.sh."""
import sys

import numpy as np
from casacore.tables import table

folder = sys.argv[1]


def main(name):
    return table(folder + "/" + name, ack=False)


def sub(name, which):
    return table(folder + "/" + name + "::" + which, ack=False)


if sys.argv[2] == "odd":
    table(folder + "/odd.ms::HISTORY", ack=False, readonly=False).removecols("MESSAGE")
    sys.exit()
if sys.argv[2] == "change":
    # sigma = sefd / sqrt(2 channel_width interval)
    t = main("noise.ms")
    weight = 2 * 1e6 * 60 / 420.0**2
    assert np.allclose(t.getcol("WEIGHT_SPECTRUM"), weight, rtol=1e-6)
    assert np.allclose(t.getcol("WEIGHT"), weight, rtol=1e-6)
    assert np.allclose(t.getcol("SIGMA"), 420 / np.sqrt(2 * 1e6 * 60), rtol=1e-6)
    assert t.getcell("WEIGHT_SPECTRUM", 5).shape == (3, 4)

    plain = main("plain.ms")
    assert "WEIGHT_SPECTRUM" not in plain.colnames()
    assert (plain.getcol("WEIGHT") == 1).all() and (plain.getcol("SIGMA") == 1).all()

# weights that differ by channel and correlation
t = main("given.ms")
freq = sub("given.ms", "SPECTRAL_WINDOW").getcol("CHAN_FREQ")[0]
row = np.stack([freq / 1e9, np.sqrt(freq / 1e9 * 4), np.sqrt(freq / 1e9 * 4), 0 * freq + 4], -1)
assert np.allclose(t.getcol("WEIGHT_SPECTRUM"), row, rtol=1e-6)
assert np.allclose(t.getcol("WEIGHT"), row.mean(0), rtol=1e-6)
assert np.allclose(t.getcol("SIGMA"), 1 / np.sqrt(row.mean(0)), rtol=1e-6)

# a copy of a set that another program has changed
if sys.argv[2] == "change":
    t = table(folder + "/noise.ms", ack=False, readonly=False)
    spectrum = t.getcol("WEIGHT_SPECTRUM")
    spectrum *= 1 + np.arange(spectrum.size).reshape(spectrum.shape) % 7
    t.putcol("WEIGHT_SPECTRUM", spectrum)
    field = table(folder + "/noise.ms::FIELD", ack=False, readonly=False)
    field.putcell("NAME", 0, "3C147")
    antenna = table(folder + "/noise.ms::ANTENNA", ack=False, readonly=False)
    antenna.putcell("MOUNT", 3, "EQUATORIAL")
    sys.exit()
source, copy = main("changed.ms"), main("copy.ms")
assert np.array_equal(source.getcol("WEIGHT_SPECTRUM"), copy.getcol("WEIGHT_SPECTRUM"))
assert np.array_equal(source.getcol("DATA"), copy.getcol("DATA"))
assert np.array_equal(2 * source.getcol("DATA"), copy.getcol("TWICE"))
assert np.array_equal(source.getcol("FLAG"), copy.getcol("FLAG"))
assert sub("copy.ms", "FIELD").getcell("NAME", 0) == "3C147"
mounts = sub("copy.ms", "ANTENNA").getcol("MOUNT")
assert mounts[3] == "EQUATORIAL" and mounts[2] == "ALT-AZ", mounts

# HISTORY: of a set that was made, and a row for each writing into one that existed
first = sub("noise.ms", "HISTORY")
lines = list(first.getcell("APP_PARAMS", first.nrows() - 1))
assert "-s sefd=420Jy" in lines and any("= noise(obs" in line or "noise(obs," in line for line in lines), lines
assert "simulate.tree" in first.getcell("MESSAGE", first.nrows() - 1)
assert lines[1] == "columns written: DATA", lines
both = sub("copy.ms", "HISTORY")
assert both.nrows() == first.nrows() and both.getcell("APP_PARAMS", 1)[1] == "columns written: DATA TWICE"
later = sub("changed.ms", "HISTORY")
assert later.nrows() == first.nrows() + 1, (later.nrows(), first.nrows())
assert 'write = sink(2 * obs.data, obs, column="TWICE")' in later.getcell("APP_PARAMS", later.nrows() - 1)
