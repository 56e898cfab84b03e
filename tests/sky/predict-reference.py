"""Predicts a makesourcedb sky model for a Measurement Set on its own (numpy, double) and compares a column with it.

    predict-reference.py SET SKYMODEL COLUMN [SCALE]

Prints the relative error ||V - V_ref|| / ||V_ref|| over all rows and exits with 0 when it is below 1e-5. SCALE multiplies
the reference. Written from the equations alone; shares nothing with Grove.
"""
import re
import sys

import numpy as np
from casacore.tables import table

C = 299792458.0


def angle(text, hours):
    text = text.strip()
    sign = -1 if text.startswith("-") else 1
    parts = text.lstrip("+-")
    if ":" in parts:
        a, b, c = parts.split(":")
    else:
        a, b, c = parts.split(".", 2)
    value = float(a) + float(b) / 60 + float(c) / 3600
    return sign * np.deg2rad(value * (15 if hours else 1))


def read_sky(path):
    names, sources = None, []
    for line in open(path):
        line = line.strip()
        head = re.match(r"#?\s*\(?(.*?)\)?\s*=\s*format\s*$|^format\s*=\s*(.*)$", line)
        if head:
            names = [n.strip().split("=")[0].strip() for n in (head.group(1) or head.group(2)).split(",")]
            continue
        if not line or line.startswith("#"):
            continue
        fields, depth, field = [], 0, ""
        for ch in line:
            depth += (ch == "[") - (ch == "]")
            if ch == "," and depth == 0:
                fields.append(field.strip())
                field = ""
            else:
                field += ch
        fields.append(field.strip())
        row = dict(zip(names, fields))
        if row["Name"]:
            sources.append(row)
    return sources


def main():
    ms, sky, column = sys.argv[1:4]
    scale = float(sys.argv[4]) if len(sys.argv) > 4 else 1.0
    t = table(ms, ack=False)
    uvw = t.getcol("UVW")
    data = t.getcol(column)
    freq = table(ms + "::SPECTRAL_WINDOW", ack=False).getcol("CHAN_FREQ")[0]
    ra0, dec0 = table(ms + "::FIELD", ack=False).getcol("PHASE_DIR")[0, 0]
    reference = np.zeros(data.shape[:2], complex)
    for s in read_sky(sky):
        ra, dec = angle(s["Ra"], True), angle(s["Dec"], False)
        l = np.cos(dec) * np.sin(ra - ra0)
        m = np.sin(dec) * np.cos(dec0) - np.cos(dec) * np.sin(dec0) * np.cos(ra - ra0)
        n = np.sin(dec) * np.sin(dec0) + np.cos(dec) * np.cos(dec0) * np.cos(ra - ra0)
        flux = np.full(len(freq), float(s["I"]))
        terms = [float(x) for x in s.get("SpectralIndex", "[]").strip("[]").split(",") if x.strip()]
        x = np.log10(freq / float(s.get("ReferenceFrequency") or 1))
        if terms and s.get("LogarithmicSI", "true") == "true":
            flux = flux * 10 ** sum(a * x ** (k + 1) for k, a in enumerate(terms))
        # the set's UVW has the sign that goes with exp(+2 pi i ...)
        turns = uvw @ np.array([l, m, n - 1]) / C
        vis = flux * np.exp(2j * np.pi * np.outer(turns, freq))
        if s["Type"] == "GAUSSIAN":
            arcsec = np.pi / 180 / 3600
            major, minor = (float(s[k] or 0) * arcsec for k in ("MajorAxis", "MinorAxis"))
            pa = np.deg2rad(float(s["Orientation"] or 0))
            along = uvw[:, 0] * np.sin(pa) + uvw[:, 1] * np.cos(pa)
            across = uvw[:, 0] * np.cos(pa) - uvw[:, 1] * np.sin(pa)
            lam = np.outer(major ** 2 * along ** 2 + minor ** 2 * across ** 2, (freq / C) ** 2)
            vis = vis * np.exp(-np.pi ** 2 / (4 * np.log(2)) * lam)
        reference += vis
    reference *= scale
    full = np.zeros(data.shape, complex)
    full[:, :, 0] = full[:, :, -1] = reference
    error = np.linalg.norm(data - full) / np.linalg.norm(full)
    wrong = np.linalg.norm(data - full.conj()) / np.linalg.norm(full)
    print("relative error %.3g (with the wrong sign it would be %.3g)" % (error, wrong))
    return 0 if error < 1e-5 else 1


sys.exit(main())
