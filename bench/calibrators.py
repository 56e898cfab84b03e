"""Calibrations by Grove and DP3 of the same Measurement Sets: called by bench/peers.sh.

Grove simulates sets of two lengths, with the model in MODEL_DATA. Each program fits the same terms
in the same intervals to DATA and writes CORRECTED_DATA and its solutions, as one command. What the
longer set takes more is the time without start-up and compilation. Rounds are interleaved. The fits
are compared by the weighted sum of |DATA - G MODEL G^H|^2, which Grove computes from the solution table
that each program has written. C4 fits gains for five directions, from a sky model, and writes
solutions only.
"""

import argparse
import importlib.metadata
import os
import re
import shutil
import statistics
import sys

import numpy as np
from measured import place_stations, run

CHANNELS, INTEGRATION = 16, 10.0

# name: what is simulated, times in a solution, terms of Grove and of DP3
WORKLOADS = {
    "C1": ("diagonal", 10, 'G[p] = parm("G", jones=diagonal, time=100s)', "diagonal"),
    "C2": ("full", 1, 'G[p] = parm("G", jones=full, time=10s)', "fulljones"),
    "C3": ("delay", 10, 'P[p] = parm("P", jones=phase, time=100s)\n'
           'K[p] = parm("K", jones=delay, time=100s)\nG[p] = K[p] * P[p]', None),
    "C4": ("directions", 10, None, "ddecal"),
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
APPLIED = """
obs    = ms("{set}")
G[p]   = solutions("{solutions}", obs)
V[p,q] = G[p] * obs.column("MODEL_DATA") * G[q]^H
{action}
"""
CHI_SQUARED = 'print(mean(obs.weight * norm(obs.data - V)^2 / 8), title="chi-squared", digits=8)'
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


def write_sky(path):
    random = np.random.default_rng(2)
    with open(path, "w", encoding="ascii") as file:
        file.write("format = Name, Type, Ra, Dec, I\n")
        for k in range(20):
            l, m = random.uniform(-0.7, 0.7, 2)
            flux = random.uniform(1, 3)
            file.write(f"p{k}, POINT, {28.64788975654 + l:.9f}deg, {-45 + m:.9f}deg, {flux:.4f}\n")


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


class Problem:
    def __init__(self, name, times, options):
        self.name, self.times, self.options = name, times, options
        self.kind, self.per_solution, self.terms, self.dp3 = WORKLOADS[name]
        self.set = os.path.join(options.work, f"{name}-{times}.ms")
        self.grove("simulate", self.simulation())

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
        """By the solution table of a program."""
        if self.kind == "directions":
            tree = self.predicted(f'solutions("{solutions}", obs)', CHI_SQUARED)
        else:
            tree = APPLIED.format(set=self.set, solutions=solutions, action=CHI_SQUARED)
        return float(re.search("chi-squared: ([0-9.e+-]+)", self.grove("residual", tree)[3]).group(1))

    def file(self, ending):
        return os.path.join(self.options.work, f"{self.name}-{self.times}{ending}")

    def grove(self, what, tree):
        with open(self.file(f"-{what}.tree"), "w", encoding="ascii") as file:
            file.write(tree)
        return run([self.options.grove, "run", self.file(f"-{what}.tree"), "--device", "cpu",
                    "--threads", str(self.options.threads)])

    def run_grove(self):
        table_ = self.file("-grove.h5")
        if self.kind == "directions":
            return self.grove("grove", self.predicted(
                'parm("dE", jones=diagonal, time=100s, groups=patch)',
                f'fit = solve(V, obs.data, tolerance=1e-6, max_iterations=100, to="{table_}", overwrite=true)'
            )), table_
        parms = ", ".join(re.findall(r"^(\w+)\[p\] = parm", self.terms, re.M))
        measured = self.grove("grove", CALIBRATION.format(set=self.set, terms=self.terms, parms=parms,
                                                          solutions=table_))
        return measured, table_

    def run_dp3(self):
        solutions = self.file("-dp3.h5")
        if os.path.exists(solutions):
            os.remove(solutions)
        if self.kind == "directions":
            return self.run_ddecal(solutions), solutions
        measured = run([f"{self.options.bin}/DP3.py", f"msin={self.set}", "msout=.",
                        "msout.datacolumn=CORRECTED_DATA", "steps=[gaincal]", "gaincal.usemodelcolumn=True",
                        f"gaincal.caltype={self.dp3}", f"gaincal.solint={self.per_solution}",
                        "gaincal.nchan=0", "gaincal.applysolution=True", f"gaincal.parmdb={solutions}",
                        "gaincal.tolerance=1e-6", "gaincal.maxiter=200",
                        f"numthreads={self.options.threads}"])
        return measured, solutions

    def run_ddecal(self, solutions):
        return run([f"{self.options.bin}/DP3.py", f"msin={self.set}", "msout=", "steps=[ddecal]",
                    "ddecal.mode=diagonal", f"ddecal.sourcedb={self.options.work}/patches.skymodel",
                    "ddecal.directions=[" + ",".join(f"[{x}]" for x in PATCHES) + "]",
                    f"ddecal.solint={self.per_solution}", "ddecal.nchan=0", "ddecal.maxiter=500",
                    "ddecal.tolerance=1e-6", "ddecal.detectstalling=false", "ddecal.propagatesolutions=true", f"ddecal.h5parm={solutions}",
                    "ddecal.solveralgorithm=directioniterative", f"numthreads={self.options.threads}"])

    def programs(self):
        return {"Grove": self.run_grove, **({"DP3": self.run_dp3} if self.dp3 else {})}


def main():
    parser = argparse.ArgumentParser(prog="bench/peers.sh")
    parser.add_argument("grove")
    parser.add_argument("work")
    parser.add_argument("--workloads", default="C1,C2,C3,C4")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--times", default="100,400", help="lengths of the short and the long set")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    options.bin = os.path.dirname(sys.executable)
    place_stations(f"{options.work}/stations.txt")
    write_sky(f"{options.work}/sky.skymodel")
    write_patches(f"{options.work}/patches.skymodel")
    short, long = (int(x) for x in options.times.split(","))
    print(f"Processor seconds in parentheses. Load at the start: {os.getloadavg()[0]:.1f}. DP3 {importlib.metadata.version('dp3')}\n")
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
            wall, cpu, memory = (statistics.median(x) for x in list(zip(*a))[:3])
            more = [statistics.median(y[i] for y in b) - (wall, cpu)[i] for i in range(2)]
            chi2 = problems[0].chi_squared(results[program, 0][-1][1])
            print(f"| {name} | {program} | {wall:.2f} ({cpu:.2f}) | {more[0]:.2f} ({more[1]:.2f}) | {memory:.0f}, "
                  f"{statistics.median(m[2] for m in b):.0f} | {chi2:.5f} |", flush=True)
        for problem in problems:
            shutil.rmtree(problem.set)


main()
