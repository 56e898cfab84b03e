"""Grove's gridder beside ducc0's on the same baselines, in interleaved rounds. bench/peers.sh --gridders
runs it.

G1: MeerKAT, declination -45 degrees, 8 hours in 320 times, 32 channels from 1.0 GHz, 20.6 million
visibilities, 4096 x 4096 pixels of 4.26e-6 rad. G1b: pixels of 2 arcsec. G2: G1 without w. G3: a
snapshot of the VLA in its configuration D, 64 channels, 512 x 512 pixels of 15 arcsec. G4: 16384 x 16384
pixels. G5: G1 with baselines stretched until w reaches 44 kilo-wavelengths. G6: 256 times of 0.9 s and 16
channels, as the settings of image-domain gridding in Veenboer 2021."""
import argparse
import os
import statistics
import subprocess
import sys
import time

import numpy as np

ARCSEC = np.pi / 180 / 3600
LIGHT = 299792458.0
CASES = {  # array, times, hours, declination, channels, first, width, size, cell, w
    "G1": ("meerkat", 320, 8, -45, 32, 1e9, 3.125e6, 4096, 4.26e-6, True),
    "G1b": ("meerkat", 320, 8, -45, 32, 1e9, 3.125e6, 4096, 2 * ARCSEC, True),
    "G2": ("meerkat", 320, 8, -45, 32, 1e9, 3.125e6, 4096, 4.26e-6, False),
    "G3": ("vla-d", 10, 0.03, 30, 64, 1.4e9, 1e6, 512, 15 * ARCSEC, True),
    "G4": ("meerkat", 320, 8, -45, 32, 1e9, 3.125e6, 16384, 4.26e-6, True),
    "G5": ("meerkat", 320, 8, -45, 32, 1e9, 3.125e6, 4096, 4.26e-6, True),
    "G6": ("meerkat", 256, 0.064, -45, 16, 1e9, 1e5, 4096, 4.26e-6, True),
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


def baselines(case, folder):
    """uvw [row][3], m, with times slowest."""
    array, times, hours, declination = CASES[case][:4]
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


def run_grove(grove, case, path, options, epsilon, double, polarisations):
    channels, first, width, size, cell, with_w = CASES[case][4:]
    words = [grove, "bench", "gridder", "--uvw", path, "--channels", channels, "--frequency", first, "--width", width,
             "--size", size, "--cell", repr(cell), "--epsilon", epsilon, "--double",
             "yes" if double else "no", "--flat", "no" if with_w else "yes",
             "--polarisations", polarisations, "--threads", options.threads]
    plan, line = subprocess.run([str(w) for w in words], check=True, capture_output=True,
                                text=True).stdout.splitlines()
    words = line.split()
    return plan, {"image": (float(words[1]), float(words[2])), "predict": (float(words[8]), float(words[9])),
                  "bytes": int(words[6])}


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
    parser.add_argument("--costs", metavar="FILE", help="instead: cost against size, visibilities, epsilon and w, "
                        "a part of G1, with a picture in FILE.svg; without ducc0")
    parser.add_argument("--peak", type=float, default=127, help="10^9 operations a second of a core in single precision")
    parser.add_argument("--bandwidth", type=float, default=24.3, help="10^9 bytes a second")
    options = parser.parse_args()
    if options.costs:
        costs(options)
        return
    print("| case | epsilon | correlations | kernels | grid, planes | Grove: image, s | ducc0, s | ratio "
          "| Grove: predict, s | ducc0, s | ratio | Grove: planes, MB |")
    print("| --- | --- | --: | --- | --- | --: | --: | --: | --: | --: | --: | --: |")
    for case in options.cases.split(","):
        uvw = baselines(case, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data"))
        path = os.path.join(options.work, case + ".uvw")
        uvw.tofile(path)
        for epsilon in options.accuracy.split(","):
            for polarisations in (1, 4) if options.four else (1,):
                compare(case, uvw, path, options, epsilon, polarisations)


def costs(options):
    """Tables and a picture of seconds against each of four quantities, the others as of a part of G1."""
    usual = dict(size=2048, times=80, epsilon="1e-4", stretch=1)
    charts = []
    for name, label, values in (
            ("size", "pixels along each side", (256, 512, 1024, 2048, 4096, 8192)),
            ("times", "million visibilities", (5, 10, 20, 40, 80, 160, 320)),
            ("epsilon", "digits of epsilon", ("1e-1", "1e-2", "1e-3", "1e-4", "1e-5", "1e-6", "1e-8", "1e-10")),
            ("stretch", "largest w, kilo-wavelengths", (0.1, 1, 2, 4, 8))):
        points = []
        print(f"\n| {label} | kernels | grid, planes, transforms | image, s | predict, s | operations, 10^9: kernels "
              "| transforms | bytes, 10^9: visibilities | planes | pixels | 10^9 operations a second | share of the limit |"
              "\n| --: | --- | --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |")
        for value in values:
            w = dict(usual, **{name: value})
            places, plan, result = cost_of(w, options)
            image, predict = (min(r[what][0] for r in result) for what in ("image", "predict"))
            spread, transforms, *traffic = counted(w, places, plan, result[0]["bytes"])
            real = 2 if float(w["epsilon"]) < 1e-5 else 1
            limit = max((spread + transforms) * real / options.peak, sum(traffic) / options.bandwidth)
            points.append((places[name], image, predict))
            print(f"| {places[name]:.4g} | {plan[2]} x {plan[2]} x {plan[4]} | {plan[6]}, {plan[8]}, {plan[16]} | {image:.3g} "
                  f"| {predict:.3g} | {spread:.3g} | {transforms:.3g} | " + " | ".join(f"{t:.3g}" for t in traffic) +
                  f" | {(spread + transforms) / image:.3g} | {100 * limit / image:.0f} % |")
            sys.stdout.flush()
        charts.append((label, points))
    with open(options.costs, "w") as out:
        out.write(picture(charts))


def cost_of(w, options):
    """Where this is along each quantity, the plan's words, and what runs gave."""
    CASES["costs"] = ("meerkat", w["times"], 8, -45, 16, 1e9, 3.125e6, w["size"], 4.26e-6, True)
    uvw = baselines("costs", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data")) * w["stretch"]
    path = os.path.join(options.work, "costs.uvw")
    uvw.tofile(path)
    runs = [run_grove(options.grove, "costs", path, options, w["epsilon"], float(w["epsilon"]) < 1e-5, 1)
            for _ in range(options.rounds)]
    highest = (1e9 + 15 * 3.125e6) / LIGHT
    return ({"size": w["size"], "times": len(uvw) * 16e-6, "epsilon": -np.log10(float(w["epsilon"])),
             "stretch": abs(uvw[:, 2]).max() * highest / 1e3, "v": abs(uvw[:, 1]).max() * highest},
            runs[0][0].split(), [r[1] for r in runs])


def counted(w, places, plan, planes_bytes):
    """10^9 operations of kernels (four for each cell of a visibility) and of transforms and pixels (5 n log2(n) of each
    row that holds samples and column of the view, two for each tap); 10^9 bytes: the visibilities once; planes cleared,
    added to, and read; rows of transforms written and read, and pixels."""
    real = 8 if float(w["epsilon"]) < 1e-5 else 4
    width, width_w, grid, planes, transform, taps = (int(plan[k]) for k in (2, 4, 6, 8, 16, 18))
    rows = min(grid, 2 * places["v"] * 4.26e-6 * grid + 40)  # others are empty
    view = w["size"] if not taps else min(w["size"], w["size"] * transform / grid + taps)
    sums = 2 * taps * w["size"] * (view + w["size"])
    pixels = (planes * view * view + w["size"] ** 2) * real if taps else 2 * planes * w["size"] ** 2 * real
    return (4e-3 * places["times"] * width ** 2 * width_w,
            1e-9 * (5 * planes * (rows + view) * transform * np.log2(transform) + sums),
            2e-3 * real * places["times"], 4e-9 * planes_bytes, 1e-9 * (4 * real * planes * rows * view + pixels))


def picture(charts):
    """An SVG of charts in a row, seconds and what they are against in logarithms; blue: image, orange: predict."""
    side, gap = 220, 70
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{len(charts) * (side + gap) + gap}" height="{side + 90}" '
           'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>']
    seconds = [t for _, points in charts for p in points for t in p[1:]]
    low, high = np.floor(np.log10(min(seconds))), np.ceil(np.log10(max(seconds)))
    for k, (label, points) in enumerate(charts):
        left, scale = gap + k * (side + gap), (lambda x: x) if "digits" in label else np.log10
        first, last = scale(points[0][0]), scale(points[-1][0])
        x_of = lambda x: left + side * (scale(x) - first) / (last - first)
        y_of = lambda t: 20 + side * (high - np.log10(t)) / (high - low)
        out.append(f'<rect x="{left}" y="20" width="{side}" height="{side}" fill="none" stroke="#888"/>')
        for power in range(int(low), int(high) + 1):
            out.append(f'<text x="{left - 6}" y="{y_of(10.0 ** power) + 4:.1f}" text-anchor="end">{10.0 ** power:g} s</text>')
        for p in (points[0], points[-1]):
            out.append(f'<text x="{x_of(p[0]):.1f}" y="{side + 38}" text-anchor="middle">{p[0]:.4g}</text>')
        out.append(f'<text x="{left + side / 2}" y="{side + 60}" text-anchor="middle">{label}</text>')
        for which, colour in ((1, "#1f6fb4"), (2, "#e07b1a")):
            line = " ".join(f"{x_of(p[0]):.1f},{y_of(p[which]):.1f}" for p in points)
            out.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
            out += [f'<circle cx="{x_of(p[0]):.1f}" cy="{y_of(p[which]):.1f}" r="3" fill="{colour}"/>' for p in points]
    out.append(f'<text x="{gap}" y="14" fill="#1f6fb4">image</text>'
               f'<text x="{gap + 50}" y="14" fill="#e07b1a">predict</text></svg>')
    return "\n".join(out) + "\n"


def compare(case, uvw, path, options, epsilon, polarisations):
    double = float(epsilon) < 1e-5
    ours, theirs = [], []
    for _ in range(options.rounds):
        plan, result = run_grove(options.grove, case, path, options, epsilon, double, polarisations)
        ours.append(result)
        theirs.append(run_ducc(case, uvw, options, epsilon, double))
    clock = 1 if options.threads > 1 else 0  # seconds of the wall, or of the processor
    words = plan.split()
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
