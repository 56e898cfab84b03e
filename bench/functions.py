#!/usr/bin/env python3
"""The cost of gridding by functions that are given, against ducc0 and against support, polarisations
and the number of functions.

    bench/functions.py GROVE FOLDER [--rounds N] [--threads N,N] [--svg FILE]

First G2 of gridders.py, MeerKAT without w, 20.6 million visibilities: functions of 7 x 7 cells and
ducc0 in turns, with each number of threads: processor seconds with one, else elapsed ones. Then, one
thread, processor seconds of a part of it, in turns, too; drawn into FILE. All are medians."""
import argparse
import math
import os
import statistics
import subprocess
import types

from gridders import CASES, baselines, run_ducc

TIMES = 10  # of G2's 320, for the tables
PARTS = (  # a label, what it is of, and options of each point
    ("support, cells", "support", [(k, {"support": k}) for k in (5, 7, 8, 9, 11, 15, 16, 23, 31)]),
    ("functions of a visibility (correlations x images)", "elements",
     [(j * r, {"polarisations": j, "images": r, "functions": j * r})
      for j, r in ((1, 1), (2, 1), (4, 1), (4, 2), (4, 3), (4, 4))]),
    ("number of functions, 8 fine samples", "number",
     [(n, {"functions": n, "oversampling": 8}) for n in (1, 10, 100, 1000, 10000)]),
)
LINES = (("nearest, gridding", "no", 0, "#1f6fb4", ""), ("nearest, degridding", "no", 1, "#e07b1a", ""),
         ("linear, gridding", "yes", 0, "#1f6fb4", "5 3"), ("linear, degridding", "yes", 1, "#e07b1a", "5 3"))


def run_grove(grove, path, threads, **options):
    """Processor and elapsed seconds of gridding, and of degridding."""
    channels, first, width, size, cell = CASES["G2"][4:9]
    options = {"support": 7, "threads": threads, **options}
    words = [grove, "bench", "gridder", "--uvw", path, "--channels", channels, "--frequency", first,
             "--width", width, "--size", size, "--cell", repr(cell), "--flat", "yes"]
    for name, value in options.items():
        words += ["--" + name, value]
    said = subprocess.run([str(w) for w in words], check=True, capture_output=True, text=True).stdout
    words = said.splitlines()[-1].replace(";", "").split()
    return (float(words[2]), float(words[3])), (float(words[5]), float(words[6]))


def against_ducc(options, threads, uvw, path):
    """A table of both, in turns."""
    clock = 0 if threads == 1 else 1
    million = len(uvw) * CASES["G2"][4] / 1e6
    seconds = {"ducc0, epsilon 1e-4": [], "functions of 7 x 7 cells": []}
    for _ in range(options.rounds):
        ducc = run_ducc("G2", uvw, types.SimpleNamespace(threads=threads), "1e-4", False)
        seconds["ducc0, epsilon 1e-4"].append((ducc["image"][clock], ducc["predict"][clock]))
        ours = run_grove(options.grove, path, threads)
        seconds["functions of 7 x 7 cells"].append((ours[0][clock], ours[1][clock]))
    print(f"\n{million:.1f} million visibilities, {threads} thread{'s' * (threads > 1)}, "
          f"{'elapsed' if clock else 'processor'} seconds, medians of {options.rounds}, "
          f"load {os.getloadavg()[0]:.0f}\n")
    print("| | image, s | million per second | predict, s | million per second |\n"
          "| --- | --: | --: | --: | --: |")
    rates = []
    for name, got in seconds.items():
        a, b = (statistics.median(s[k] for s in got) for k in (0, 1))
        rates.append((million / a, million / b))
        print(f"| {name} | {a:.3f} | {million / a:.1f} | {b:.3f} | {million / b:.1f} |")
    print(f"| ratio | | {rates[1][0] / rates[0][0]:.2f} | | {rates[1][1] / rates[0][1]:.2f} |", flush=True)


def measure(options, million, path):
    """(label, name, [value, [rate of each line]]) of each part."""
    found = []
    for label, name, points in PARTS:
        seconds = [[] for _ in points]
        for _ in range(options.rounds):
            for k, (_, more) in enumerate(points):
                both = [run_grove(options.grove, path, 1, linear=way, **more) for way in ("no", "yes")]
                seconds[k].append([both[line[1] == "yes"][line[2]][0] for line in LINES])
        rates = [(points[k][0], [million / statistics.median(s[n] for s in got) for n in range(len(LINES))])
                 for k, got in enumerate(seconds)]
        print(f"\n| {label} | " + " | ".join(line[0] for line in LINES) +
              " |\n| --: | --: | --: | --: | --: |")
        for value, rate in rates:
            print(f"| {value} | " + " | ".join(f"{r:.2f}" for r in rate) + " |", flush=True)
        found.append((label, rates))
    return found


def draw(found):
    """An SVG of all parts in a row: million visibilities a second, logarithms both."""
    side, gap = 240, 60
    rates = [r for _, points in found for _, all_ in points for r in all_]
    low, high = math.floor(math.log10(min(rates))), math.ceil(math.log10(max(rates)))
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{len(found) * (side + gap) + gap}" '
           f'height="{side + 110}" font-family="sans-serif" font-size="12">'
           '<rect width="100%" height="100%" fill="white"/>']

    def y_of(rate):
        return 20 + side * (high - math.log10(rate)) / (high - low)

    for k, (label, points) in enumerate(found):
        left = gap + k * (side + gap)
        first, last = math.log10(points[0][0]), math.log10(points[-1][0])
        out.append(f'<rect x="{left}" y="20" width="{side}" height="{side}" fill="none" stroke="#888"/>')
        for power in range(low, high + 1):
            for times in (1, 2, 5) if power < high else (1,):
                y = y_of(times * 10.0**power)
                out.append(f'<path d="M{left} {y:.1f}h{side}" stroke="#ddd"/><text x="{left - 6}" '
                           f'y="{y + 4:.1f}" text-anchor="end">{times * 10.0**power:g}</text>')
        for value, _ in points:
            x = left + side * (math.log10(value) - first) / (last - first)
            if value != 12 and (k or value not in (8, 16)):  # no room
                out.append(f'<text x="{x:.1f}" y="{side + 36}" text-anchor="middle">{value}</text>')
        out.append(f'<text x="{left + side / 2}" y="{side + 56}" text-anchor="middle">{label}</text>')
        for n, (_, _, _, colour, dashes) in enumerate(LINES):
            at = [(left + side * (math.log10(v) - first) / (last - first), y_of(r[n])) for v, r in points]
            out.append('<polyline points="' + " ".join(f"{x:.1f},{y:.1f}" for x, y in at) +
                       f'" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"/>')
            out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in at]
    out.append(f'<text x="{gap}" y="14">million visibilities a second, one core</text>')
    for n, (name, _, _, colour, dashes) in enumerate(LINES):
        out.append(f'<path d="M{gap + 190 * n} {side + 84}h30" stroke="{colour}" stroke-width="2" '
                   f'stroke-dasharray="{dashes}"/><text x="{gap + 190 * n + 36}" y="{side + 88}" '
                   f'fill="{colour}">{name}</text>')
    return "\n".join(out + ["</svg>", ""])


def main():
    """Measures, prints, draws."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("grove", help="the command")
    parser.add_argument("work", help="folder for files of this run")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", default="1,2", help="with ducc0 (default 1,2; empty: without)")
    parser.add_argument("--svg", help="tables, too, and their picture")
    options = parser.parse_args()
    uvw = baselines("G2", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data"))
    path = os.path.join(options.work, "functions.uvw")
    uvw.tofile(path)
    for threads in options.threads.split(",") if options.threads else ():
        against_ducc(options, int(threads), uvw, path)
    if not options.svg:
        return
    rows = len(uvw) // CASES["G2"][1] * TIMES
    uvw[:rows].tofile(path)
    found = measure(options, rows * CASES["G2"][4] / 1e6, path)
    with open(options.svg, "w", encoding="utf-8") as file:
        file.write(draw(found))


main()
