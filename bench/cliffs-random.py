#!/usr/bin/env python3
"""Random sums over sources, each with the method that Grove picks and with every other vectorised one:
called by bench/cliffs --random.

    bench/cliffs-random.py GROVE N SEED [--rounds N] [--size N] [--choices] [--references N] [--svg FILE]
        [--only NUMBER,...]

A workload draws sources and their kinds, array, channels, times, precision, Jones terms, smearing and
coordinates that stray from the stations'. One process runs all methods of a workload, one thread; a
figure is the lowest of the rounds (three times as many where the pick is not the best), in nanoseconds for a source-visibility, of the node `predict` alone
(`grove run --profile`). The pick is compared with the best workload of the same arithmetic: precision, elements of
Jones terms and whether they vary with frequency, smearing, kind of sky; and with what its operations take
(operations.py). The last columns are that ratio, the way of these operations, and what most of their time goes to.
"""
import argparse
import math
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile

import operations

CHANNELS = [1, 1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 20, 32, 33, 48, 63, 64, 65, 80, 100, 128, 130]
SKIES = ["points", "points", "IQUV", "spectra", "Gaussians", "one Gaussian", "half Gaussians", "half polarised"]
JONES = ["none", "none", "scalar", "diagonal", "matrix"]
SMEAR = ["none", "none", "time", "freq", "both"]
WEIGHT = {"none": 1, "scalar": 3, "diagonal": 5, "matrix": 8}  # about what source-visibilities take
COPIES = 4  # of a sum in a process, of other times
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}


class Workload:
    """What is summed. vary: Jones terms vary with frequency. stray: mm."""

    def __init__(self, **parts):
        self.parts = parts
        self.__dict__.update(parts)

    @property
    def pairs(self):
        return operations.ARRAY_SIZES[self.array] * (operations.ARRAY_SIZES[self.array] - 1) // 2

    @property
    def visibilities(self):
        return self.pairs * self.channels * self.times

    @property
    def arithmetic(self):
        sky = "one Gaussian" if self.sky == "points" else self.sky  # one Gaussian more is no other arithmetic
        return (self.precision, self.jones, self.vary, self.smear != "none", sky)

    def words(self):
        jones = self.jones + (" of channels" if self.vary else "")
        return (f"{self.array}, {self.channels} channels, {self.times} times, {self.sources} {self.sky}, "
                f"Jones {jones}, smear {self.smear}, stray {self.stray} mm, {self.precision}")

    def methods(self):
        return ["baselines"] + (["stations"] if self.smear == "none" else [])

    def tree(self, order):
        """All methods, evaluated in that order, COPIES times, a minute later each time."""
        element = " * obs{0}.freq / 1GHz" if self.vary else ""
        side = {"none": "", "scalar": "E", "diagonal": "D", "matrix": "M"}[self.jones]
        sides = f", left={side}{{0}}[s,p], right={side}{{0}}[s,q]^H" if side else ""
        uvw = f", uvw=obs{{0}}.uvw + vector({self.stray}mm, 0mm, {self.stray}mm)" if self.stray else ""
        lines = ['S = sky_model("sky.skymodel")']
        for copy in range(COPIES):
            text = [
                f'obs{{0}} = observe(array="{self.array}", phase_centre="0h2m0s -30d12m0s", hour_angle={copy - 120}min..'
                f"{self.times + copy - 120}min, integration=60s, frequency=1.3GHz, channels={self.channels}, "
                "channel_width=1MHz)",
                f"E{{0}}[s,p] = (1 + S.reference_frequency / 100GHz * (obs{{0}}.station_index + 1)){element}",
                "D{0}[s,p] = diagonal(E{0}, 2 * E{0})", "M{0}[s,p] = matrix(E{0}, 0.1, 0.2, 2 * E{0})"]
            for name in order:
                text.append(f"{name}_{{0}}[p,q] = predict(S, obs{{0}}, method={name}, smear={self.smear}{sides}{uvw})")
                text.append(f'{name}_{{0}}_out = sink({name}_{{0}}, obs{{0}}, to="null")')
            lines += [line.format(copy) for line in text]
        return "\n".join(lines) + "\n"

    def skymodel(self):
        draw = random.Random(1)
        lines = ["format = Name, Type, Ra, Dec, I, Q, U, V, MajorAxis, MinorAxis, Orientation, "
                 "ReferenceFrequency='1.3e9', SpectralIndex='[]'"]
        for k in range(self.sources):
            half = k % 2 and self.sky.startswith("half")
            shape = self.sky == "Gaussians" or (half and "Gauss" in self.sky) or (
                self.sky == "one Gaussian" and k == self.sources // 2)
            polarised = self.sky == "IQUV" or (half and "polarised" in self.sky)
            lines.append(f"s{k}, {'GAUSSIAN' if shape else 'POINT'}, {1.1 * draw.random():.6f}deg, "
                         f"{-30.7 + draw.random():.6f}deg, {0.2 + draw.random():.4f}, "
                         f"{'0.05, 0.03, 0.01' if polarised else '0, 0, 0'}, {'20, 10' if shape else '0, 0'}, 0, , "
                         f"{'[-0.7]' if self.sky == 'spectra' else '[]'}")
        return "\n".join(lines) + "\n"


def drawn(draw, size):
    """A workload of about `size` source-visibilities of points."""
    jones = draw.choice(JONES)
    parts = {"array": draw.choice(["meerkat", "meerkat", "vla-a", "wsrt", "kat-7"]), "channels": draw.choice(CHANNELS),
             "sky": draw.choice(SKIES), "jones": jones, "vary": jones != "none" and draw.random() < 0.4,
             "smear": draw.choice(SMEAR), "stray": draw.choice([0, 0, 0, 1]),
             "precision": draw.choice(["single", "single", "double"]), "sources": int(10 ** draw.uniform(1.3, 3.5))}
    pairs = operations.ARRAY_SIZES[parts["array"]] * (operations.ARRAY_SIZES[parts["array"]] - 1) / 2
    want = size / WEIGHT[jones] / (2 if parts["precision"] == "double" else 1) / (1 if parts["smear"] == "none" else 3)
    each = pairs * parts["channels"]
    parts["sources"] = max(20, min(parts["sources"], int(want / each)))
    parts["times"] = max(1, min(300, int(want / each / parts["sources"])))
    return Workload(**parts)


def references(workload):
    """Workloads of the same arithmetic that should go fast."""
    for channels, sources in ((64, 100), (16, 300), (1, 1000)):
        parts = dict(workload.parts, array="meerkat", channels=channels, sources=sources, stray=0,
                     times=max(1, 16 // channels * 2))
        if parts["smear"] != "none":
            parts["smear"] = "both"
        parts["sky"] = workload.arithmetic[-1]
        yield Workload(**parts)


def run(grove, folder, workload, order):
    """Seconds of each method, the lowest of the copies."""
    with open(os.path.join(folder, "now.tree"), "w", encoding="utf-8") as file:
        file.write(workload.tree(order))
    with open(os.path.join(folder, "sky.skymodel"), "w", encoding="utf-8") as file:
        file.write(workload.skymodel())
    done = subprocess.run([grove, "run", "now.tree", "--threads", "1", "--device", "cpu", "--profile", "--precision",
                           workload.precision], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{workload.words()}\n{done.stdout}{done.stderr}")
    seconds = {}
    for name, number, unit in re.findall(r"^(\w+_\d+) +\d+ +([\d.e+]+) (ns|us|ms|s|min) ", done.stdout + done.stderr, re.M):
        seconds[name] = seconds.get(name, 0.0) + float(number) * UNITS[unit]
    return {name: min(seconds[f"{name}_{copy}"] for copy in range(COPIES)) for name in order}


def picked(grove, folder, workload):
    """The method that auto is, as `grove check` says."""
    with open(os.path.join(folder, "now.tree"), "w", encoding="utf-8") as file:
        file.write(workload.tree(["auto"]))
    with open(os.path.join(folder, "sky.skymodel"), "w", encoding="utf-8") as file:
        file.write(workload.skymodel())
    done = subprocess.run([grove, "check", "now.tree", "--precision", workload.precision], cwd=folder,
                          capture_output=True, text=True, check=True)
    return "stations" if "products of matrices" in done.stdout + done.stderr else "baselines"


def measure(grove, folder, workload, rounds, pick):
    """ns for a source-visibility by each method; the lowest of the rounds, or of three times as many where the pick is not the best.
    Without a pick: by the one that is picked alone."""
    lowest, names = {}, workload.methods() if pick else ["auto"]
    for k in range(3 * rounds):
        if k >= rounds and lowest[pick or "auto"] <= 1.15 * min(lowest.values()):
            break
        order = names[k % len(names):] + names[:k % len(names)]
        for name, seconds in run(grove, folder, workload, order).items():
            lowest[name] = min(seconds, lowest.get(name, seconds))
    each = 1e9 / (workload.visibilities * workload.sources)
    return {name: seconds * each for name, seconds in lowest.items()}


def operation_costs(grove, folder, options):
    """Seconds of each kind of operation, by the precision."""
    costs = {}
    for precision in ("single", "double"):
        measured = []
        for parts in operations.references(precision, options.references):
            workload = Workload(**parts)
            lowest = {}
            for _ in range(options.rounds):
                for name, seconds in run(grove, folder, workload, workload.methods()).items():
                    lowest[name] = min(seconds, lowest.get(name, seconds))
            method = min(lowest, key=lowest.get)
            measured.append((operations.counted(workload, operations.way_of(workload, method)), lowest[method]))
        costs[precision] = operations.fitted(measured)
    return costs


def draw_figure(rows, title):
    """Ratios in rising order, as an SVG."""
    left, top, width, height, most = 60, 30, 560, 320, 10.0
    lines = ['<svg xmlns="http://www.w3.org/2000/svg" width="660" height="410" font-family="sans-serif" font-size="12">',
             '<rect width="660" height="410" fill="white"/>', f'<text x="{left}" y="18">{title}</text>']
    scale = lambda y: top + height * (1 - min(max(y, 0), 1))
    level = lambda ratio: math.log(ratio) / math.log(most) if ratio > 1 else 0
    for tick in (1, 1.15, 1.5, 2, 3, 5, 10):
        y = scale(level(tick))
        lines.append(f'<path d="M{left} {y:.1f}h{width}" stroke="#ddd"/>'
                     f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for share in range(0, 101, 20):
        lines.append(f'<text x="{left + width * share / 100}" y="{top + height + 18}" text-anchor="middle">{share} %</text>')
    kinds = [("#c1440e", "the method picked, to the best one", sorted(r[0] for r in rows if r[0])),
             ("#1b6ca8", "to the best workload of the same arithmetic", sorted(r[1] for r in rows)),
             ("#3a7d2c", "to what the operations take", sorted(r[2] for r in rows))]
    for n, (colour, name, ratios) in enumerate(kinds):
        for k, ratio in enumerate(ratios):
            x = left + width * (k + 0.5) / len(ratios)
            lines.append(f'<circle cx="{x:.1f}" cy="{scale(level(ratio)):.1f}" r="2.2" fill="{colour}"/>')
        lines.append(f'<text x="{left + 12}" y="{top + 20 + 18 * n}" fill="{colour}">{name}</text>')
    lines.append(f'<text x="{left + width / 2}" y="{top + height + 40}" text-anchor="middle">share of the workloads</text>')
    return "\n".join(lines + ["</svg>", ""])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("grove")
    parser.add_argument("count", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--size", type=float, default=2e7, help="source-visibilities of a workload, about")
    parser.add_argument("--choices", action="store_true", help="only workloads for which there is more than one method")
    parser.add_argument("--references", type=int, default=50, help="workloads that tell what operations cost, each precision")
    parser.add_argument("--svg")
    parser.add_argument("--only", help="numbers of workloads, with commas between them")
    options = parser.parse_args()
    grove, draw, best, rows = os.path.abspath(options.grove), random.Random(options.seed), {}, []
    only = {int(k) for k in options.only.split(",")} if options.only else None
    with tempfile.TemporaryDirectory() as folder:
        costs = operation_costs(grove, folder, options)
        for k in range(options.count):
            workload = drawn(draw, options.size)
            if (only and k not in only) or (options.choices and len(workload.methods()) < 2):
                continue
            key = workload.arithmetic
            if key not in best:
                best[key] = min(measure(grove, folder, of, options.rounds, None)["auto"] for of in references(workload))
            pick = picked(grove, folder, workload)
            times = measure(grove, folder, workload, options.rounds, pick)
            rows.append((k, workload, times, pick))
            print(f"{k}: {workload.words()}: {pick}, {times}", file=sys.stderr, flush=True)
    print_costs(costs)
    print_table(rows, best, costs, options)


def print_costs(costs):
    print("| operation | single, ns | double, ns |\n| --- | --: | --: |")
    for kind in operations.KINDS:
        print(f"| {kind} | {1e9 * costs['single'][kind]:.3g} | {1e9 * costs['double'][kind]:.3g} |")
    print()


def print_table(rows, best, costs, options):
    """The table, what it comes to, and the picture."""
    ratios, above = [], []
    for _, workload, times, pick in rows:
        best[workload.arithmetic] = min(best[workload.arithmetic], times[pick])
    print("| | workload | pick | ns | to the best method | to the best of its arithmetic | to its operations | way | most |")
    print("| --: | --- | --- | --: | --: | --: | --: | --- | --- |")
    for k, workload, times, pick in rows:
        chosen = times[pick] / min(times.values()) if len(times) > 1 else None
        needed, way, most, share = operations.explained(workload, costs[workload.precision])
        over = times[pick] * 1e-9 * workload.visibilities * workload.sources / needed
        ratios.append((chosen, times[pick] / best[workload.arithmetic], over))
        above += [k] if over > 3 else []
        print(f"| {k} | {workload.words()} | {pick} | {times[pick]:.3g} | {f'{chosen:.2f}' if chosen else ''} "
              f"| {ratios[-1][1]:.2f} | {over:.2f} | {way} | {most} {100 * share:.0f} % |")
    choices, slow, over = [r[0] for r in ratios if r[0]], [r[1] for r in ratios], [r[2] for r in ratios]
    good = sum(r <= 1.15 for r in choices)
    said = (f"{good} of {len(choices)} picks within 15 % of the best method, worst {max(choices, default=1):.2f}; "
            f"to the best of the same arithmetic: median {statistics.median(slow):.2f}, worst {max(slow):.2f}")
    said += (f"; to what the operations take: median {statistics.median(over):.2f}, worst {max(over):.2f}, "
             f"above 3: {', '.join(map(str, above)) or 'none'}")
    print(f"\n{said}.")
    if options.svg:
        with open(options.svg, "w", encoding="utf-8") as file:
            file.write(draw_figure(ratios, f"{len(ratios)} random sums, seed {options.seed}"))


main()
