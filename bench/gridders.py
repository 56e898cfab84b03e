"""Grove's gridders and ducc0's on the same baselines, in interleaved rounds. bench/peers.sh --gridders
runs it. --method g2g compares going from grid to grid with degridding and gridding, without ducc0.

G1: MeerKAT, declination -45 degrees, 8 hours in 320 times, 32 channels from 1.0 GHz, 20.6 million
visibilities, 4096 x 4096 pixels of 4.26e-6 rad. G1b: pixels of 2 arcsec. G2: G1 without w. G3: a
snapshot of the VLA in its configuration D, 64 channels, 512 x 512 pixels of 15 arcsec. G4: 16384 x 16384
pixels. G5: G1 with baselines stretched until w reaches 44 kilo-wavelengths. G6: 256 times of 0.9 s and 16
channels, as the settings of image-domain gridding in Veenboer 2021. Y: an hour of 1 s of the VLA in its
configuration D, one channel at 1.5 GHz, as in Monnier et al. 2023."""
import argparse
import os
import statistics
import subprocess
import sys
import time

import numpy as np

ARCSEC = np.pi / 180 / 3600
LIGHT = 299792458.0
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data")
CASES = {  # array, times, hours, declination, channels, first, width, size, cell, w
    "G1": ("meerkat", 320, 8, -45, 32, 1e9, 3.125e6, 4096, 4.26e-6, True),
    "G1b": ("meerkat", 320, 8, -45, 32, 1e9, 3.125e6, 4096, 2 * ARCSEC, True),
    "G2": ("meerkat", 320, 8, -45, 32, 1e9, 3.125e6, 4096, 4.26e-6, False),
    "G3": ("vla-d", 10, 0.03, 30, 64, 1.4e9, 1e6, 512, 15 * ARCSEC, True),
    "G4": ("meerkat", 320, 8, -45, 32, 1e9, 3.125e6, 16384, 4.26e-6, True),
    "G5": ("meerkat", 320, 8, -45, 32, 1e9, 3.125e6, 4096, 4.26e-6, True),
    "G6": ("meerkat", 256, 0.064, -45, 16, 1e9, 1e5, 4096, 4.26e-6, True),
    "Y": ("vla-d", 3600, 1, 21.06, 1, 1.5e9, 1e6, 800, 8 * ARCSEC, True),
}


def positions(path):
    """ITRF positions of an array file, m."""
    rows = []
    for line in open(path):
        words = line.split("#")[0].split()
        numbers = []
        for word in words:
            try:
                numbers.append(float(word))
            except ValueError:
                pass
        if len(numbers) >= 3:
            rows.append(numbers[:3])
    return np.array(rows)


def baselines(case, folder, times=None):
    """uvw [row][3], m, with times slowest."""
    array, usual, hours, declination = CASES[case][:4]
    times = times or usual
    place = positions(os.path.join(folder, "arrays", array + ".array"))
    longitude = np.arctan2(place[:, 1].mean(), place[:, 0].mean())
    p, q = np.triu_indices(len(place), 1)
    b = place[p] - place[q]
    sin_d, cos_d = np.sin(np.radians(declination)), np.cos(np.radians(declination))
    uvw = []
    for k in range(times):
        angle = ((k + 0.5) / times - 0.5) * hours * np.pi / 12 - longitude
        s, c = np.sin(angle), np.cos(angle)
        uvw.append(b @ np.array([[s, c, 0], [-sin_d * c, sin_d * s, cos_d],
                                 [cos_d * c, -cos_d * s, sin_d]]).T)
    uvw = np.concatenate(uvw)
    if case == "G5":
        highest = CASES[case][5] + (CASES[case][4] - 1) * CASES[case][6]
        uvw *= 44e3 * LIGHT / highest / abs(uvw[:, 2]).max()
    return np.ascontiguousarray(uvw)


def run_grove(options, case, path, *more):
    """The words of the plan, and of the line with its times."""
    channels, first, width, size, cell, with_w = CASES[case][4:]
    words = [options.grove, "bench", "gridder", "--uvw", path, "--channels", channels, "--frequency", first, "--width", width,
             "--size", size, "--cell", repr(cell), "--flat", "no" if with_w else "yes", "--threads", options.threads, *more]
    plan, line = subprocess.run([str(w) for w in words], check=True, capture_output=True,
                                text=True).stdout.splitlines()
    return plan.split(), line.replace(";", "").split()


def image_and_predict(options, case, path, uvw, epsilon, double, polarisations):
    """Processor's and wall's seconds of both, and bytes of planes."""
    more = {"w_stack": [], "functions": ["--support", 7], "idg": ["--idg", len(uvw) // CASES[case][1]]}[options.method]
    plan, words = run_grove(options, case, path, "--epsilon", epsilon, "--double", "yes" if double else "no",
                            "--polarisations", polarisations, *more)
    first, predict = ("image" if options.method == "w_stack" else "spread"), words.index("predict")
    at = words.index(first)
    return plan, {"image": (float(words[at + 1]), float(words[at + 2])),
                  "predict": (float(words[predict + 1]), float(words[predict + 2])),
                  "bytes": int(words[words.index("bytes") + 1]) if "bytes" in words else 0}


def run_ducc(case, uvw, options, epsilon, double):
    import ducc0
    channels, first, width, size, cell, with_w = CASES[case][4:]
    freq = first + width * np.arange(channels)
    rng = np.random.default_rng(1)
    vis = np.empty((len(uvw), channels), np.complex128 if double else np.complex64)
    vis.real = rng.random(vis.shape, dtype=np.float32) - 0.5
    vis.imag = rng.random(vis.shape, dtype=np.float32) - 0.5
    common = dict(uvw=uvw, freq=freq, pixsize_x=cell, pixsize_y=cell, epsilon=float(epsilon),
                  do_wgridding=with_w, nthreads=options.threads, divide_by_n=False, flip_w=True)
    start = time.process_time(), time.time()
    image = ducc0.wgridder.experimental.vis2dirty(vis=vis, npix_x=size, npix_y=size, **common)
    middle = time.process_time(), time.time()
    ducc0.wgridder.experimental.dirty2vis(dirty=image, **common)
    end = time.process_time(), time.time()
    return {"image": (middle[0] - start[0], middle[1] - start[1]),
            "predict": (end[0] - middle[0], end[1] - middle[1])}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("grove", help="the command")
    parser.add_argument("work", help="folder for files of this run")
    parser.add_argument("--cases", default="G1,G1b,G2,G3,G5")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--accuracy", default="1e-4,1e-7", help="below 1e-5 in double precision")
    parser.add_argument("--four", action="store_true", help="four correlations, too")
    parser.add_argument("--method", default="w_stack", choices=("w_stack", "functions", "idg", "g2g"),
                        help="functions and idg: without transforms of planes")
    options = parser.parse_args()
    if options.method == "g2g":
        grid_to_grid(options)
        return
    print("| case | epsilon | correlations | kernels | grid, planes | Grove: image, s | ducc0, s | ratio "
          "| Grove: predict, s | ducc0, s | ratio | Grove: planes, MB |")
    print("| --- | --- | --: | --- | --- | --: | --: | --: | --: | --: | --: | --: |")
    for case in options.cases.split(","):
        uvw = baselines(case, DATA)
        path = os.path.join(options.work, case + ".uvw")
        uvw.tofile(path)
        for epsilon in options.accuracy.split(","):
            for polarisations in (1, 4) if options.four else (1,):
                compare(case, uvw, path, options, epsilon, polarisations)


def grid_to_grid(options):
    """A row for each of several workloads, which differ from the first in one number."""
    print("| | visibilities | entries, % | degrid and grid, s | g2g, s | ratio | estimated | making the diagonal, s | difference |\n"
          "| --- | --: | --: | --: | --: | --: | --: | --: | --: |")
    path, clock = os.path.join(options.work, "Y.uvw"), 1 if options.threads > 1 else 0
    for name, integration, more in (
            ("4 x 4 cells", 1, {"support": 4}), ("7 x 7", 1, {}), ("16 x 16", 1, {"support": 16}), ("32 x 32", 1, {"support": 32}),
            ("16 fine samples", 1, {"oversampling": 16}), ("64 fine samples", 1, {"oversampling": 64}),
            ("integrations of 5 s", 5, {}), ("integrations of 30 s", 30, {}), ("16 planes of w", 1, {"planes": 16}),
            ("256 planes of w", 1, {"planes": 256})):
        baselines("Y", DATA, 3600 // integration).tofile(path)
        words = [x for k, v in {"support": 7, "oversampling": 8, "g2g": "yes", **more}.items() for x in (f"--{k}", v)]
        lines = [run_grove(options, "Y", path, *words)[1] for _ in range(options.rounds)]
        both, apply, diagonal = (statistics.median(float(x[k + clock]) for x in lines) for k in (2, 5, 8))
        entries, visibilities, estimated = float(lines[0][11]), float(lines[0][13]), [float(x) for x in lines[0][17:19]]
        print(f"| {name} | {visibilities:.3g} | {100 * entries / visibilities:.3g} | {both:.4f} | {apply:.4f} | {both / apply:.3g} "
              f"| {estimated[0] / estimated[1]:.3g} | {diagonal:.4f} | {lines[0][15]} |", flush=True)


def compare(case, uvw, path, options, epsilon, polarisations):
    double = float(epsilon) < 1e-5
    ours, theirs = [], []
    for _ in range(options.rounds):
        words, result = image_and_predict(options, case, path, uvw, epsilon, double, polarisations)
        ours.append(result)
        theirs.append(run_ducc(case, uvw, options, epsilon, double))
    clock = 1 if options.threads > 1 else 0  # seconds of the wall, or of the processor
    row = []
    for what in ("image", "predict"):
        a = statistics.median(r[what][clock] for r in ours)
        b = statistics.median(r[what][clock] for r in theirs) * polarisations
        row.append(f"{a:.3g} | {b:.3g} | {b / a:.2f}")
    print(f"| {case} | {epsilon} | {polarisations} | {words[2]} x {words[2]} x {words[4]} | {words[6]}, "
          f"{words[8]} | {row[0]} | {row[1]} | {ours[0]['bytes'] / 1e6:.0f} |")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
