#!/bin/sh
# FITS images of Grove in the eyes of astropy: a valid file, each source at its right ascension and declination, frequency, Stokes
# parameters, beam; and an image of astropy in the eyes of Grove. Skipped without astropy.
python=${GROVE_TEST_PYTHON:-/usr/bin/python3}
grep -q "define HAVE_FITS" "$GROVE_BUILD/config.h" || { echo 'skipped: built without cfitsio and WCSLIB'; exit 77; }
$python -c 'import astropy' 2>/dev/null || { echo 'skipped: no package python3-astropy'; exit 77; }
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 99
grove=$GROVE_BUILD/grove

cat >write.py <<'END'
# A table of an image with three sources at known directions, each on the nearest pixel.
import numpy as np
cell, columns, rows = 2e-4, 21, 16
ra0, dec0 = np.radians([85.65041666666667, 49.85194444444444])
with open("image.csv", "w") as out, open("truth.txt", "w") as truth:
    pixels = {}
    for flux, dl, dm in (1, 7, 5), (2, -9, 3), (3, 4, -8):
        l, m = dl * cell, dm * cell
        n = np.sqrt(1 - l * l - m * m)
        dec = np.arcsin(m * np.cos(dec0) + n * np.sin(dec0))
        ra = ra0 + np.arctan2(l, n * np.cos(dec0) - m * np.sin(dec0))
        truth.write(f"{flux} {np.degrees(ra):.12f} {np.degrees(dec):.12f}\n")
        pixels[dl, dm] = flux
    out.write("l,m,0,1\n")
    for i in range(columns):
        for j in range(rows):
            dl, dm = i - columns // 2, j - rows // 2
            flux = pixels.get((dl, dm), 0)
            out.write(f"{dl * cell!r},{dm * cell!r},{flux},{-flux}\n")
END
cat >write.tree <<'END'
obs = observe(array="vla-c", phase_centre="05h42m36.1s 49d51m07s", start="2026-01-01T00:00:00", duration=600s,
    integration=60s, frequency=1.4GHz, channels=4, channel_width=2MHz)
T = table("image.csv", axes="l m")
image(1Jy * T.value, to="image.fits", unit="Jy/pixel", beam=[2arcmin, 1arcmin, 30deg])
b = [120arcsec, 60arcsec, 0.5rad]
image(1Jy * T.value * obs.freq / obs.freq, to="beams.fits", unit="Jy/beam", beam=b * (1.4GHz / obs.freq))
END
cat >check.py <<'END'
import numpy as np, sys, warnings
from astropy.io import fits
from astropy.wcs import WCS
warnings.simplefilter("ignore")
files = fits.open("image.fits")
files.verify("exception")
image, header = files[0].data, files[0].header
world = WCS(header)
assert image.shape == (2, 1, 16, 21), image.shape
for line in open("truth.txt"):
    flux, ra, dec = map(float, line.split())
    x, y, f, s = world.world_to_pixel_values(ra, dec, 1.403e9, 1)
    assert abs(x - round(float(x))) < 1e-6 and abs(y - round(float(y))) < 1e-6, (x, y)
    assert abs(f) < 1e-9 and abs(s) < 1e-9, (f, s)
    assert image[0, 0, round(float(y)), round(float(x))] == flux
    assert image[1, 0, round(float(y)), round(float(x))] == -flux
# east is on the left, north is up
sky = world.celestial
assert sky.pixel_to_world_values(0, 8)[0] > sky.pixel_to_world_values(20, 8)[0]
assert sky.pixel_to_world_values(10, 15)[1] > sky.pixel_to_world_values(10, 0)[1]
assert abs(header["BMAJ"] - 2 / 60) < 1e-12 and abs(header["BPA"] - 30) < 1e-9
assert header["CDELT3"] == 8e6 and header["TELESCOP"] == "VLA" and header["BUNIT"] == "Jy/pixel"
assert header["DATE-OBS"].startswith("2026-01-01T00:00:00")
# a beam for each channel
files = fits.open("beams.fits")
files.verify("exception")
beams = files["BEAMS"]
assert files[0].data.shape == (2, 4, 16, 21) and files[0].header["CASAMBM"] is True and "BMAJ" not in files[0].header
assert beams.header["NCHAN"] == 4 and beams.header["NPOL"] == 2 and beams.columns["BMAJ"].unit == "arcsec"
freq = 1.4e9 + 2e6 * beams.data["CHAN"] + files[0].header["CRVAL3"] - 1.4e9
assert list(beams.data["CHAN"]) == [0, 1, 2, 3] * 2 and list(beams.data["POL"]) == [0] * 4 + [1] * 4
assert np.allclose(beams.data["BMAJ"], 120 * 1.4e9 / freq, rtol=1e-6)
assert np.allclose(beams.data["BPA"], np.degrees(0.5 * 1.4e9 / freq), rtol=1e-6)
# the same sky about another centre, turned by 25 degrees
turn = np.radians(25)
other = WCS(naxis=2)
other.wcs.ctype = ["RA---SIN", "DEC--SIN"]
other.wcs.crval = [85.7, 49.8]
other.wcs.crpix = [40, 40]
step = np.degrees(5e-5)
other.wcs.cd = step * np.array([[-np.cos(turn), -np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
pixels = np.zeros((160, 160), dtype=np.float32)
with open("places.txt", "w") as places:
    for line in open("truth.txt"):
        flux, ra, dec = map(float, line.split())
        x, y = (int(round(float(c))) for c in other.world_to_pixel_values(ra, dec))
        if 0 <= x < 160 and 0 <= y < 160:
            pixels[y, x] += flux
            places.write(f"{flux} " + " ".join(str(float(c)) for c in other.pixel_to_world_values(x, y)) + "\n")
header = other.to_header()
header["BUNIT"] = "Jy/pixel"
fits.PrimaryHDU(pixels, header).writeto("other.fits")
END
cat >read.tree <<'END'
obs = observe(array="vla-c", phase_centre="05h42m36.1s 49d51m07s", start="2026-01-01T00:00:00", duration=600s,
    integration=60s, frequency=1.4GHz, channels=4, channel_width=2MHz)
M = image_model("other.fits", obs)
save(M.value, to="other.csv")
END
cat >compare.py <<'END'
import numpy as np
ra0, dec0 = np.radians([85.65041666666667, 49.85194444444444])
pixels = np.genfromtxt("other.csv", delimiter=",", skip_header=1)
total, count = 0, 0
for line in open("places.txt"):
    flux, ra, dec = map(float, line.split())
    ra, dec = np.radians([ra, dec])
    l = np.cos(dec) * np.sin(ra - ra0)
    m = np.sin(dec) * np.cos(dec0) - np.cos(dec) * np.sin(dec0) * np.cos(ra - ra0)
    near = np.hypot(pixels[:, 0] - l, pixels[:, 1] - m) < 4e-4
    sums = pixels[near, 2].sum()
    assert abs(sums - flux) < 1e-5, (sums, flux)
    for axis, at in (0, l), (1, m):
        middle = (pixels[near, axis] * pixels[near, 2]).sum() / sums
        assert abs(middle - at) < 1e-7, (axis, middle, at)
    total, count = total + flux, count + 1
assert count >= 2 and abs(pixels[:, 2].sum() - total) < 1e-5
print(f"{count} sources in the eyes of both")
END
for step in "$python write.py" "$grove run -q write.tree" "$python check.py" "$grove run -q read.tree" "$python compare.py"; do
    $step || { echo "FAIL: $step"; exit 1; }
done
