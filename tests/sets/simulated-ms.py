"""Looks at a simulated Measurement Set with casacore alone; see test-simulated-ms.sh."""
import sys

import numpy as np
from casacore.tables import table, taql

path, feed = sys.argv[1:3]
C = 299792458.0
t = table(path, ack=False)

for name in ("ANTENNA DATA_DESCRIPTION FEED FIELD FLAG_CMD HISTORY OBSERVATION POINTING POLARIZATION "
             "PROCESSOR SPECTRAL_WINDOW STATE").split():
    sub = table(path + "::" + name, ack=False)
    if name not in ("FLAG_CMD", "POINTING"):
        assert sub.nrows() > 0, name + " is empty"
assert t.getcolkeyword("UVW", "MEASINFO")["Ref"] == "J2000"
for column, shape in (("WEIGHT", (4,)), ("SIGMA", (4,)), ("FLAG", (7, 4)), ("DATA", (7, 4)), ("UVW", (3,))):
    assert t.getcell(column, 0).shape == shape, column
assert t.nrows() == 24 * 27 * 26 // 2, t.nrows()
assert not t.getcol("FLAG").any() and not t.getcol("FLAG_ROW").any()
codes = table(path + "::POLARIZATION", ack=False).getcol("CORR_TYPE")[0]
assert list(codes) == ([9, 10, 11, 12] if feed == "linear" else [5, 6, 7, 8]), codes
assert np.allclose(t.getcol("INTERVAL"), 600) and np.allclose(t.getcol("EXPOSURE"), 600)
assert np.allclose(np.diff(np.unique(t.getcol("TIME"))), 600)

both = taql("select UVW, mscal.uvwj2000() as OTHER, mscal.ha() as HA from $t")
uvw, other = both.getcol("UVW"), both.getcol("OTHER")
difference = np.abs(uvw - other).max() / np.abs(uvw).max()
print("uvw differs from casacore's by %.2g of the longest" % difference)
assert difference < 5e-6
hours = np.rad2deg(both.getcol("HA")) / 15
assert abs(hours.min() + 2) < 0.1 and abs(hours.max() - 2) < 0.1, (hours.min(), hours.max())

freq = table(path + "::SPECTRAL_WINDOW", ack=False).getcol("CHAN_FREQ")[0]
assert np.allclose(freq, 1.4e9 + 3e6 * np.arange(7))
ra0, dec0 = table(path + "::FIELD", ack=False).getcol("PHASE_DIR")[0, 0]
sources = (((5, 42, 36.1), (49, 51, 7), (2, 0, 0, 0), -0.7), ((5, 43, 30), (49, 40, 0), (1, 0.3, -0.2, 0.1), 0),
           ((5, 41, 0), (50, 10, 0), (-0.5, 0, 0, 0.4), 0), ((5, 42, 0), (49, 30, 0), (0, 0, 0.7, 0), 0))
model = np.zeros(t.getcol("DATA").shape, complex)
for ra, dec, stokes, index in sources:
    ra = np.deg2rad(15 * (ra[0] + ra[1] / 60 + ra[2] / 3600))
    dec = np.deg2rad(dec[0] + dec[1] / 60 + dec[2] / 3600)
    l = np.cos(dec) * np.sin(ra - ra0)
    m = np.sin(dec) * np.cos(dec0) - np.cos(dec) * np.sin(dec0) * np.cos(ra - ra0)
    n = np.sin(dec) * np.sin(dec0) + np.cos(dec) * np.cos(dec0) * np.cos(ra - ra0)
    i, q, u, v = stokes
    b = (i + q, u + 1j * v, u - 1j * v, i - q) if feed == "linear" else (i + v, q + 1j * u, q - 1j * u, i - v)
    wave = np.exp(2j * np.pi * np.outer(uvw @ (l, m, n - 1) / C, freq)) * (freq / 1.4e9) ** index
    model += wave[:, :, None] * np.array(b)
error = np.linalg.norm(t.getcol("DATA") - model) / np.linalg.norm(model)
print("%s: visibilities differ by %.2g" % (feed, error))
assert error < 1e-6
