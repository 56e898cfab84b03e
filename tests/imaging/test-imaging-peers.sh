#!/bin/sh
# Images of Grove beside those of other programs, of the same simulated set: ducc0 (Python) and WSClean, each if it is there; images
# of one band and of several, and visibilities of an image, agree within the accuracies asked for.
python=${GROVE_TEST_PYTHON:-/usr/bin/python3}
grep -q "^ms " "$GROVE_BUILD/nodes/.libs/classes.index" || { echo 'skipped: built without casacore'; exit 77; }
grep -q "define HAVE_FITS" "$GROVE_BUILD/config.h" || { echo 'skipped: built without cfitsio and WCSLIB'; exit 77; }
$python -c 'import numpy' 2>/dev/null || { echo 'skipped: no package python3-numpy'; exit 77; }
ducc=no wsclean=no
$python -c 'import ducc0' 2>/dev/null && ducc=yes
command -v wsclean >/dev/null && wsclean=yes
[ $ducc$wsclean = nono ] && { echo 'skipped: no package wsclean, no ducc0 (PyPI)'; exit 77; }
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 99
grove=$GROVE_BUILD/grove
status=0

must()
{
    if ! "$@" >said 2>&1; then
        echo "FAIL: $*"
        cat said
        status=1
    fi
}

cat >field.skymodel <<'END'
format = Name, Type, Ra, Dec, I
middle, POINT, 05:42:36.0, +49.51.07.0, 1.0
north, POINT, 05:42:42.2, +49.58.07.0, 0.8
far, POINT, 05:41:10.8, +50.04.07.0, 3.0
END
must "$grove" run -q simulate.tree -s sky=field.skymodel -s phase_centre='05h42m36s 49d51m07s' -s hour_angle=-5h..-4h \
    -s integration=120s -s channels=8 -s channel_width=20MHz -s smear=none -s sefd=420Jy -s out=field.ms

cat >images.tree <<'END'
obs = ms("field.ms")
dirty = dirty_image(obs.data, obs, weights=1, size=[512, 400], cell=[4arcsec, 5arcsec], epsilon=1e-8)
model[p,q] = predict_image(1e-3 * dirty, obs, epsilon=1e-8)
save(dirty, to="dirty.npy")
save(model[p,q], to="model.npy")
save(obs.data, to="data.npy")
save(obs.uvw, to="uvw.npy")
save(obs.freq, to="freq.npy")
END
cat >ducc.py <<'END'
import ducc0, numpy as np
data, uvw, freq = np.load("data.npy"), np.load("uvw.npy"), np.load("freq.npy")
dirty, model = np.load("dirty.npy"), np.load("model.npy")
data = ((data[..., 0, 0] + data[..., 1, 1]) / 2).reshape(-1, len(freq)).astype(np.complex128)
model = model[..., 0, 0].reshape(-1, len(freq))
arcsec = np.pi / 180 / 3600
# Grove counts from the pixel (size - 1) / 2 along l, ducc0 from size / 2.
common = dict(uvw=np.ascontiguousarray(uvw.reshape(-1, 3)), freq=freq, pixsize_x=4 * arcsec, pixsize_y=5 * arcsec,
              center_x=4 * arcsec, epsilon=1e-9, do_wgridding=True, divide_by_n=False, flip_w=True)
truth = ducc0.wgridder.experimental.vis2dirty(vis=data, npix_x=512, npix_y=400, **common).T / data.size
off = np.linalg.norm(dirty - truth) / np.linalg.norm(truth)
assert off < 1.2e-8, f"the images differ by {off}"
truth = ducc0.wgridder.experimental.dirty2vis(dirty=np.ascontiguousarray(1e-3 * dirty.T), **common)
assert np.linalg.norm(truth) > 1
off = np.linalg.norm(model - truth) / np.linalg.norm(truth)
assert off < 1.2e-8, f"the visibilities differ by {off}"
END
cat >planes.py <<'END'
# Planes of FITS cubes against FITS images: planes.py TOLERANCE CUBE IMAGE...
import numpy as np, sys
def read(path):
    bytes, at, cards = open(path, "rb").read(), 0, {}
    while True:
        card = bytes[at:at + 80].decode()
        at += 80
        if card.startswith("END "):
            break
        if card[8:10] == "= ":
            cards[card[:8].strip()] = card[10:].split("/")[0].strip()
    at = -(-at // 2880) * 2880
    shape = [int(cards[f"NAXIS{k}"]) for k in range(int(cards["NAXIS"]), 0, -1)]
    kind = {-32: ">f4", -64: ">f8"}[int(cards["BITPIX"])]
    return cards, np.frombuffer(bytes, kind, int(np.prod(shape)), at).reshape(shape).astype(float)
tolerance, cards, cube = float(sys.argv[1]), *read(sys.argv[2])
assert cube.shape[1] == len(sys.argv) - 3, cube.shape
for k, path in enumerate(sys.argv[3:]):
    own, image = read(path)
    off = np.linalg.norm(cube[0, k] - image[0, 0]) / np.linalg.norm(image)
    assert off < tolerance, f"plane {k} is off by {off}"
    for axis in "12":
        for name in "CRPIX", "CDELT", "CRVAL":
            assert abs(float(cards[name + axis]) - float(own[name + axis])) < 1e-8, name + axis
    freq = float(cards["CRVAL3"]) + (k + 1 - float(cards["CRPIX3"])) * float(cards["CDELT3"])
    assert abs(freq - float(own["CRVAL3"])) < 1 and abs(float(cards["CDELT3"]) - float(own["CDELT3"])) < 1, (freq, own["CRVAL3"])
END

if [ $ducc = yes ]; then
    must "$grove" run -q images.tree --precision double
    must $python ducc.py
else
    echo 'without ducc0'
fi
if [ $wsclean = yes ]; then
    for bands in 1 4; do
        must wsclean -quiet -j 2 -no-update-model-required -use-wgridder -wgridder-accuracy 1e-5 -no-small-inversion -weight natural \
            -size 512 400 -scale 4asec -niter 0 -channels-out $bands -name peer$bands field.ms
        must "$grove" run -q image.tree -s ms=field.ms -s size='[512, 400]' -s cell=4arcsec -s weighting=natural -s epsilon=1e-5 \
            -s bands=$bands -s out=own$bands
    done
    must $python planes.py 2e-5 own1-dirty.fits peer1-dirty.fits
    must $python planes.py 2e-5 own4-dirty.fits peer4-0000-dirty.fits peer4-0001-dirty.fits peer4-0002-dirty.fits peer4-0003-dirty.fits
else
    echo 'without wsclean'
fi
exit $status
