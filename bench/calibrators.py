"""Calibrations by Grove, DP3 and QuartiCal of the same Measurement Sets: called by bench/peers.sh.

Grove simulates sets of two lengths, with the model in MODEL_DATA. Each program fits the same terms
in the same intervals to DATA and writes CORRECTED_DATA and its solutions, as one command. What the
longer set takes more is the time without start-up and compilation. Rounds are interleaved. The fits
are compared by the weighted sum of |DATA - G MODEL G^H|^2, which is computed here from the solutions
that each program has written. C4 fits gains for five directions, from a sky model, and writes
solutions only.
"""

import argparse
import importlib.metadata
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

import h5py
import numpy as np
from casacore.tables import table

STATIONS, CHANNELS, INTEGRATION = 64, 16, 10.0
LATITUDE, LONGITUDE = math.radians(-30.7), math.radians(21.4)

# name: what is simulated, times in a solution, terms of Grove, of DP3 and of QuartiCal
WORKLOADS = {
    "C1": ("diagonal", 10, 'G[p] = parm("G", jones=diagonal, time=100s)', "diagonal",
           "diag_complex"),
    "C2": ("full", 1, 'G[p] = parm("G", jones=full, time=10s)', "fulljones", "complex"),
    "C3": ("delay", 10, 'P[p] = parm("P", jones=phase, time=100s)\n'
           'K[p] = parm("K", jones=delay, time=100s)\nG[p] = K[p] * P[p]', None,
           "delay_and_offset"),
    "C4": ("directions", 10, None, "ddecal", None),
}
PATCHES = "ABCDE"

SIMULATION = """
obs    = observe(array="{work}/stations.txt", phase_centre="28.64788975654deg -45deg", hour_angle=-{half}s..{half}s,
                 integration={integration}s, frequency=1GHz, channels={channels}, channel_width=1MHz)
S      = sky_model("{work}/sky.skymodel")
M[p,q] = sum[s](point(S, obs))
A[p]   = gains(obs, kind=constant, amplitude=0.2, phase=40deg, seed=3)
B[p]   = gains(obs, kind=constant, amplitude=0.2, phase=40deg, seed=4)
D[p]   = gains(obs, kind=constant, amplitude=0, phase=10deg, seed=5)
e      = exp(1i * arg(D[p]) / 1rad * (obs.freq - 1GHz) / 2MHz)
G[p]   = {gains}
w      = 2 * obs.channel_width * obs.interval / 400Jy^2
V[p,q] = G[p] * M[p,q] * G[q]^H + noise(obs, sefd=400Jy, seed=2)
data   = sink(V, obs, to="{set}", weight=w)
model  = sink(M, obs, to="{set}", column="MODEL_DATA", weight=w)
"""
DIRECTIONS = """
obs    = observe(array="{work}/stations.txt", phase_centre="28.64788975654deg -45deg", hour_angle=-{half}s..{half}s,
                 integration={integration}s, frequency=1GHz, channels={channels}, channel_width=1MHz)
S      = sky_model("{work}/patches.skymodel")
{gains}
w      = 2 * obs.channel_width * obs.interval / 400Jy^2
V[p,q] = {sum} + noise(obs, sefd=400Jy, seed=2)
data   = sink(V, obs, to="{set}", weight=w)
"""
PREDICTED = """
obs     = ms("{set}")
S       = sky_model("{work}/patches.skymodel")
dE[s,p] = {dE}
V[p,q]  = sum[s](dE[s,p] * point(S, obs) * dE[s,q]^H)
{action}
"""
GAINS = {
    "diagonal": "diagonal(A[p], B[p])",
    "full": "matrix(A[p], 0.1 * (B[p] - A[p]), 0.1 * (A[p] - B[p]), B[p])",
    "delay": "diagonal(A[p] / abs(A[p]) * e, B[p] / abs(B[p]) * e)",
}
CALIBRATION = """
obs    = ms("{set}")
{terms}
fit    = solve(G[p] * obs.column("MODEL_DATA") * G[q]^H, obs.data, parms=[{parms}], reference="0", tolerance=1e-6,
               max_iterations=100, to="{solutions}", overwrite=true)
write  = sink(G[p]^-1 * obs.data * G[q]^-1^H, obs, column="CORRECTED_DATA")
"""


def place_stations(path):
    random = np.random.default_rng(1)
    axis, flattening = 6378137.0, 1 / 298.257223563
    squared = flattening * (2 - flattening)
    curve = axis / math.sqrt(1 - squared * math.sin(LATITUDE) ** 2)
    out = curve * math.cos(LATITUDE)
    centre = (out * math.cos(LONGITUDE), out * math.sin(LONGITUDE), curve * (1 - squared) * math.sin(LATITUDE))
    with open(path, "w", encoding="ascii") as file:
        for k in range(STATIONS):
            radius, angle = (300 if k < 45 else 4000) * math.sqrt(random.random()), 2 * math.pi * random.random()
            east, north = radius * math.cos(angle), radius * math.sin(angle)
            inward = -math.sin(LATITUDE) * north
            file.write(f"{centre[0] + inward * math.cos(LONGITUDE) - east * math.sin(LONGITUDE):.4f} "
                       f"{centre[1] + inward * math.sin(LONGITUDE) + east * math.cos(LONGITUDE):.4f} "
                       f"{centre[2] + math.cos(LATITUDE) * north:.4f} 13.5 s{k:02d}\n")


def write_sky(path, polarised):
    random = np.random.default_rng(2)
    with open(path, "w", encoding="ascii") as file:
        file.write("format = Name, Type, Ra, Dec, I, Q, U, V\n")
        for k in range(20):
            l, m = random.uniform(-0.7, 0.7, 2)
            flux = random.uniform(1, 3)
            file.write(f"p{k}, POINT, {28.64788975654 + l:.9f}deg, {-45 + m:.9f}deg, {flux:.4f}, "
                       f"{polarised * 0.1 * flux:.4f}, {-polarised * 0.05 * flux:.4f}, 0\n")


def write_patches(path):
    random = np.random.default_rng(3)
    with open(path, "w", encoding="ascii") as file:
        file.write("format = Name, Type, Patch, Ra, Dec, I\n")
        for k, patch in enumerate(PATCHES):
            l, m = random.uniform(-0.7, 0.7, 2)
            file.write(f", , {patch}, {28.64788975654 + l:.9f}deg, {-45 + m:.9f}deg\n")
            for i in range(4):
                file.write(f"{patch}{i}, POINT, {patch}, {28.64788975654 + l + 0.01 * i:.9f}deg, "
                           f"{-45 + m + 0.01 * i * i:.9f}deg, {(20 - 3 * k) / (1 + 3 * i):.4f}\n")


def run(command, log):
    """Wall and processor seconds, and the largest memory in MiB. What the program before has left to be
    written to disk is not counted."""
    os.sync()
    began = time.monotonic()
    with open(log, "w", encoding="utf-8") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - began
    if status:
        sys.exit(f"{' '.join(command)} failed:\n" + open(log, encoding="utf-8").read()[-3000:])
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


# ---- solutions, as [time][channel][station][2][2] ----


def as_matrix(values):
    """Of diagonal elements or whole matrices in the last axis."""
    if values.shape[-1] == 4:
        return values.reshape(values.shape[:-1] + (2, 2))
    matrix = np.zeros(values.shape[:-1] + (2, 2), complex)
    matrix[..., 0, 0], matrix[..., 1, 1] = values[..., 0], values[..., -1]
    return matrix


def read_h5parm(path, freq):
    """The product of all solution tables of the file."""
    amplitude, phase = 1, 0
    with h5py.File(path) as file:
        for name, group in file["sol000"].items():
            if not isinstance(group, h5py.Group):
                continue
            axes = group["val"].attrs["AXES"].decode().split(",")
            value = group["val"][...]
            for k, axis in enumerate(("time", "freq", "ant", "pol")):
                if axis not in axes:
                    value = np.expand_dims(value, k)
            if name.startswith("amplitude"):
                amplitude = amplitude * value
            elif name.startswith("phase"):
                phase = phase + value
            elif name.startswith("clock"):
                phase = phase + 2 * np.pi * value * freq[:, None, None]
            else:
                sys.exit(f"{path}: {name} is not expected")
    return as_matrix(amplitude * np.exp(1j * phase))


def read_quartical(path):
    from daskms.experimental.zarr import xds_from_zarr
    parts = [xds.gains.values[:, :, :, 0, :] for xds in xds_from_zarr(path + "::G")]
    return as_matrix(np.concatenate(parts))


def chi_squared(path, jones, times_each, channels_each=0):
    """Weighted, of crosscorrelations that are not flagged, by the solutions of intervals of so many
    time slots and channels (0: all). Solutions that are not finite leave their data out."""
    total, count = 0.0, 0
    with table(path, ack=False) as main:
        times = np.unique(main.getcol("TIME"))
        rows = len(main) // len(times)
        one, two = main.getcol("ANTENNA1", 0, rows), main.getcol("ANTENNA2", 0, rows)
        cross = one != two
        for t in range(len(times)):
            assert np.all(main.getcol("TIME", t * rows, rows) == times[t])
            data, model, weight, flag = (main.getcol(c, t * rows, rows)[cross] for c in
                                         ("DATA", "MODEL_DATA", "WEIGHT_SPECTRUM", "FLAG"))
            channels = data.shape[1]
            g = np.repeat(jones[t // times_each], channels_each or channels // len(jones[0]), 0)[:channels]
            left, right = g[:, one[cross]].swapaxes(0, 1), g[:, two[cross]].swapaxes(0, 1)
            matrix = model.reshape(model.shape[:2] + (2, 2))
            left_out = data - (left @ matrix @ right.conj().swapaxes(-1, -2)).reshape(data.shape)
            good = ~flag & np.isfinite(left_out)
            total += np.sum((weight * np.abs(left_out) ** 2)[good])
            count += 2 * np.count_nonzero(good)
    return total / count, count


# ---- programs ----


class Problem:
    def __init__(self, name, times, options):
        self.name, self.times, self.options = name, times, options
        self.kind, self.per_solution, self.terms, self.dp3, self.quartical = WORKLOADS[name]
        self.set = os.path.join(options.work, f"{name}-{times}.ms")
        self.grove("simulate", self.simulation())
        with table(f"{self.set}/SPECTRAL_WINDOW", ack=False) as window:
            self.freq = window.getcol("CHAN_FREQ")[0]
        with table(self.set, ack=False) as main:
            assert len(np.unique(main.getcol("TIME"))) == times

    def simulation(self):
        known = {"work": self.options.work, "set": self.set, "integration": INTEGRATION, "channels": CHANNELS,
                 "half": self.times * INTEGRATION / 2 * 1.00274 - 0.1}
        if self.kind != "directions":
            return SIMULATION.format(gains=GAINS[self.kind], **known)
        gains = "\n".join(f"{x}[p] = gains(obs, kind=constant, jones=diagonal, amplitude=0.1, phase=30deg, "
                          f"seed={k + 7})" for k, x in enumerate(PATCHES))
        terms = (f'{x}[p] * sum[s](S.patch("{x}") * point(S, obs)) * {x}[q]^H' for x in PATCHES)
        return DIRECTIONS.format(gains=gains, sum=" + ".join(terms), **known)

    def predicted(self, jones, action):
        return PREDICTED.format(work=self.options.work, set=self.set, dE=jones, action=action)

    def chi_squared(self, solutions):
        """Of directions Grove applies each program's table; the others are computed here."""
        if self.kind != "directions":
            return chi_squared(self.set, solutions(), self.per_solution)[0]
        self.grove("residual", self.predicted(
            f'solutions("{solutions()}", obs)',
            'print(mean(obs.weight * norm(obs.data - V)^2 / 4), title="chi-squared", digits=8)'))
        with open(self.file("-residual.out"), encoding="ascii") as file:
            return float(re.search("chi-squared: ([0-9.e+-]+)", file.read()).group(1)) / 2

    def file(self, ending):
        return os.path.join(self.options.work, f"{self.name}-{self.times}{ending}")

    def grove(self, what, tree):
        with open(self.file(f"-{what}.tree"), "w", encoding="ascii") as file:
            file.write(tree)
        return run([self.options.grove, "run", self.file(f"-{what}.tree"), "--device", "cpu",
                    "--threads", str(self.options.threads)], self.file(f"-{what}.out"))

    def run_grove(self):
        table_ = self.file("-grove.h5")
        if self.kind == "directions":
            return self.grove("grove", self.predicted(
                'parm("dE", jones=diagonal, time=100s, groups=patch)',
                f'fit = solve(V, obs.data, tolerance=1e-6, max_iterations=100, to="{table_}", overwrite=true)'
            )), lambda: table_
        parms = ", ".join(re.findall(r"^(\w+)\[p\] = parm", self.terms, re.M))
        measured = self.grove("grove", CALIBRATION.format(set=self.set, terms=self.terms, parms=parms,
                                                          solutions=table_))
        return measured, lambda: read_h5parm(table_, self.freq)

    def run_dp3(self):
        solutions = self.file("-dp3.h5")
        if os.path.exists(solutions):
            os.remove(solutions)
        if self.kind == "directions":
            return self.run_ddecal(solutions), lambda: solutions
        measured = run([f"{self.options.bin}/DP3.py", f"msin={self.set}", "msout=.",
                        "msout.datacolumn=CORRECTED_DATA", "steps=[gaincal]", "gaincal.usemodelcolumn=True",
                        f"gaincal.caltype={self.dp3}", f"gaincal.solint={self.per_solution}",
                        "gaincal.nchan=0", "gaincal.applysolution=True", f"gaincal.parmdb={solutions}",
                        "gaincal.tolerance=1e-6", "gaincal.maxiter=200",
                        f"numthreads={self.options.threads}"], self.file("-dp3.out"))
        return measured, lambda: read_h5parm(solutions, self.freq)

    def run_ddecal(self, solutions):
        return run([f"{self.options.bin}/DP3.py", f"msin={self.set}", "msout=", "steps=[ddecal]",
                    "ddecal.mode=diagonal", f"ddecal.sourcedb={self.options.work}/patches.skymodel",
                    "ddecal.directions=[" + ",".join(f"[{x}]" for x in PATCHES) + "]",
                    f"ddecal.solint={self.per_solution}", "ddecal.nchan=0", "ddecal.maxiter=500",
                    "ddecal.tolerance=1e-6", "ddecal.detectstalling=false", "ddecal.propagatesolutions=true", f"ddecal.h5parm={solutions}",
                    "ddecal.solveralgorithm=directioniterative", f"numthreads={self.options.threads}"],
                   self.file("-dp3.out"))

    def run_quartical(self):
        folder = self.file("-quartical")
        shutil.rmtree(folder, ignore_errors=True)
        measured = run([f"{self.options.bin}/goquartical", f"input_ms.path={self.set}",
                        "input_ms.data_column=DATA", "input_ms.weight_column=WEIGHT_SPECTRUM",
                        "input_ms.time_chunk=50", "input_ms.freq_chunk=0",
                        "input_model.recipe=MODEL_DATA", "solver.terms=[G]", "solver.iter_recipe=[100]",
                        f"solver.threads={self.options.threads}", "solver.convergence_criteria=1e-6",
                        "solver.reference_antenna=0", "dask.threads=1", f"G.type={self.quartical}",
                        f"G.time_interval={self.per_solution}", "G.freq_interval=0",
                        f"G.initial_estimate={self.kind == 'delay'}",
                        f"output.gain_directory={folder}", "output.overwrite=True",
                        f"output.log_directory={self.options.work}/logs",
                        "output.products=[corrected_data]", "output.columns=[CORRECTED_DATA]"],
                       self.file("-quartical.out"))
        return measured, lambda: read_quartical(folder)

    def programs(self):
        return {"Grove": self.run_grove, **({"DP3": self.run_dp3} if self.dp3 else {}),
                **({"QuartiCal": self.run_quartical} if self.quartical and self.options.quartical else {})}


def compare(options):
    """Residuals of Grove's and DP3's fits to a set that exists, with a sky model."""
    path = os.path.join(options.work, "set.ms")
    shutil.copytree(options.set, path)
    log, tables = os.path.join(options.work, "log"), [os.path.join(options.work, x) for x in ("a.h5", "b.h5")]
    run([options.grove, "run", "predict.tree", "-s", f"ms={path}", "-s", f"sky={options.sky}"], log)
    with table(path, ack=False) as main, table(f"{path}/SPECTRAL_WINDOW", ack=False) as window:
        interval, freq = main.getcell("INTERVAL", 0), window.getcol("CHAN_FREQ")[0]
    print("| kind | times | channels | chi-squared / 2N of Grove | of DP3 | ratio |\n| --- | --: | --: | --: | --: | --: |")
    for kind, caltype in (("diagonal", "diagonal"), ("phase", "phaseonly"), ("full", "fulljones")):
        for times in (1, 4):
            for channels in (1, 2, len(freq)):
                run([options.grove, "run", "calibrate.tree", "-s", f"ms={path}", "-s", "model_column=MODEL_DATA",
                     "-s", f"kind={kind}", "-s", f"time={times * interval}s", "-s",
                     f"freq={channels * (freq[1] - freq[0])}Hz", "-s", "corrected=none", "-s",
                     f"solutions={tables[0]}", "-s", "overwrite=true", "-s", "max_iterations=200"], log)
                if os.path.exists(tables[1]):
                    os.remove(tables[1])
                run([f"{options.bin}/DP3.py", f"msin={path}", "msout=", "steps=[gaincal]",
                     "gaincal.usemodelcolumn=True", f"gaincal.caltype={caltype}", f"gaincal.solint={times}",
                     f"gaincal.nchan={channels}", f"gaincal.parmdb={tables[1]}", "gaincal.tolerance=1e-7",
                     "gaincal.maxiter=500"], log)
                ours, theirs = (chi_squared(path, read_h5parm(x, freq), times, channels) for x in tables)
                assert ours[1] == theirs[1]
                print(f"| {kind} | {times} | {channels} | {ours[0]:.5g} | {theirs[0]:.5g} | "
                      f"{ours[0] / theirs[0]:.5f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="bench/peers.sh")
    parser.add_argument("grove")
    parser.add_argument("work")
    parser.add_argument("--workloads", default="C1,C2,C3,C4")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--times", default="100,400", help="lengths of the short and the long set")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--without-quartical", dest="quartical", action="store_false")
    parser.add_argument("--set", help="a Measurement Set: compares residuals instead")
    parser.add_argument("--sky", help="its sky model")
    options = parser.parse_args()
    options.bin = os.path.dirname(sys.executable)
    if options.set:
        compare(options)
        return
    place_stations(f"{options.work}/stations.txt")
    write_sky(f"{options.work}/sky.skymodel", 0)
    write_patches(f"{options.work}/patches.skymodel")
    short, long = (int(x) for x in options.times.split(","))
    versions = {"DP3": "dp3", "QuartiCal": "quartical"}
    print("Processor seconds in parentheses. Load at the start: %.1f. " % os.getloadavg()[0] +
          ", ".join(f"{k} {importlib.metadata.version(v)}" for k, v in versions.items()) + "\n")
    print(f"| workload | program | command, {short} times, s | {long - short} times more, s | memory, MiB | "
          "chi-squared / 2N |\n| --- | --- | --: | --: | --: | --: |")
    for name in options.workloads.split(","):
        problems = [Problem(name, times, options) for times in (short, long)]
        results = {}
        for _ in range(options.rounds):
            for program in problems[0].programs():
                for k, problem in enumerate(problems):
                    results.setdefault((program, k), []).append(problem.programs()[program]())
        for program in problems[0].programs():
            a, b = ([r[0] for r in results[program, k]] for k in range(2))
            wall, cpu, memory = (statistics.median(x) for x in zip(*a))
            more = [statistics.median(y[i] for y in b) - (wall, cpu)[i] for i in range(2)]
            chi2 = problems[0].chi_squared(results[program, 0][-1][1])
            print(f"| {name} | {program} | {wall:.2f} ({cpu:.2f}) | {more[0]:.2f} ({more[1]:.2f}) | {memory:.0f}, "
                  f"{statistics.median(m[2] for m in b):.0f} | {chi2:.5f} |", flush=True)
        for problem in problems:
            shutil.rmtree(problem.set)


main()
