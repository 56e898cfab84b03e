"""Predictions by Grove and DP3, side by side: called by bench/peers.sh.

Grove writes one Measurement Set for each workload; both predict the same sky model file into it. Rounds
are interleaved, times are processor times (user and system) of one thread.
"""

import argparse
import importlib.metadata
import math
import os
import sys

import numpy as np
from casacore.tables import table
from measured import STATIONS, place_stations, run

C = 299792458.0
CENTRE = (math.radians(0.5), math.radians(-45.0))
TIMES, PAIRS = 16, 64 * 63 // 2

# name: sources, channels, centre of the first channel and width in MHz, smeared
WORKLOADS = {
    "P1": (1000, 64, 1003.90625, 7.8125, False),
    "P1, smeared": (1000, 64, 1003.90625, 7.8125, True),
    "P2": (10000, 1, 1250.0, 7.8125, False),
    "P2, smeared": (10000, 1, 1250.0, 7.8125, True),
}


class Sky:
    """Points within a degree of the phase centre: ra, dec in radians, flux in Jy."""

    def __init__(self, count):
        random = np.random.default_rng(2)
        radius, angle = np.sqrt(random.random(count)), 2 * np.pi * random.random(count)
        degrees = np.degrees(CENTRE)
        self.dec = np.radians(np.round(degrees[1] + radius * np.sin(angle), 11))
        self.ra = np.radians(np.round(degrees[0] + radius * np.cos(angle) / np.cos(self.dec), 11))
        self.flux = np.round(0.1 + random.random(count), 4)

    def write(self, path, count):
        """One patch, as makesourcedb text."""
        with open(path, "w", encoding="ascii") as file:
            file.write("format = Name, Type, Patch, Ra, Dec, I\n")
            file.write(f", , all, {np.degrees(CENTRE[0]):.11f}deg, {np.degrees(CENTRE[1]):.11f}deg\n")
            for k in range(count):
                file.write(f"p{k}, POINT, all, {np.degrees(self.ra[k]):.11f}deg, "
                           f"{np.degrees(self.dec[k]):.11f}deg, {self.flux[k]:.4f}\n")

    def lmn(self):
        turn = self.ra - CENTRE[0]
        l = np.cos(self.dec) * np.sin(turn)
        m = np.sin(self.dec) * np.cos(CENTRE[1]) - np.cos(self.dec) * np.sin(CENTRE[1]) * np.cos(turn)
        return np.stack([l, m, -(l * l + m * m) / (1 + np.sqrt(1 - l * l - m * m))], axis=1)


class Problem:
    """A workload: the set and what stands in it."""

    def __init__(self, name, options, sky):
        self.name, self.options, self.sky = name, options, sky
        self.sources, self.channels, first, width, self.smeared = WORKLOADS[name]
        self.set = os.path.join(options.work, f"p{self.channels}.ms")
        if not os.path.exists(self.set):
            sky.write(self.sky_file(1), 1)
            centre = f"{np.degrees(CENTRE[0]):.11f}deg {np.degrees(CENTRE[1]):.11f}deg"
            run([options.grove, "run", "-q", "simulate.tree", "-s", f"sky={self.sky_file(1)}",
                 "-s", f"array={options.work}/stations.txt", "-s", f"phase_centre={centre}",
                 "-s", "hour_angle=-80s..80s", "-s", "integration=10s", "-s", f"frequency={first}MHz",
                 "-s", f"channels={self.channels}", "-s", f"channel_width={width}MHz",
                 "-s", f"out={self.set}", "--device", "cpu"])
        with table(self.set, ack=False) as main, table(f"{self.set}/SPECTRAL_WINDOW", ack=False) as window:
            self.uvw, self.times = main.getcol("UVW"), main.getcol("TIME")
            self.antennas = np.stack([main.getcol("ANTENNA1"), main.getcol("ANTENNA2")], axis=1)
            self.interval = main.getcol("INTERVAL")[0]
            self.freq, self.width = window.getcol("CHAN_FREQ")[0], width * 1e6
        with table(f"{self.set}/FIELD", ack=False) as field:
            assert np.allclose(field.getcol("PHASE_DIR")[0, 0], CENTRE, rtol=0, atol=1e-12)
        assert len(self.freq) == self.channels and len(np.unique(self.times)) == TIMES
        self.cross = np.flatnonzero(self.antennas[:, 0] != self.antennas[:, 1])
        assert len(self.cross) == PAIRS * TIMES
        self.rate = self.turning()

    def sky_file(self, count):
        return os.path.join(self.options.work, f"sky{count}.skymodel")

    def turning(self):
        """Rates of the uvw by central differences; NaN in the first and last slot."""
        rate = np.full_like(self.uvw, np.nan)
        key = self.antennas[:, 0] * STATIONS + self.antennas[:, 1]
        for k in np.unique(key):
            rows = np.flatnonzero(key == k)
            rows = rows[np.argsort(self.times[rows])]
            rate[rows[1:-1]] = (self.uvw[rows[2:]] - self.uvw[rows[:-2]]) / (2 * self.interval)
        return rate

    def error(self, visibilities, count, rows=300):
        """Against the direct sum in double, relative in the norm, as text; either sign of the phase."""
        random = np.random.default_rng(3)
        inner = self.cross[np.isfinite(self.rate[self.cross, 0])]
        row = random.choice(inner, rows)
        channel = random.integers(self.channels, size=rows)
        lmn, freq = self.sky.lmn()[:count], self.freq[channel][:, None]
        delay = self.uvw[row] @ lmn.T / C
        term = np.exp(-2j * np.pi * freq * delay) * self.sky.flux[:count]
        found = visibilities[row, channel]
        if not self.smeared:
            return f"{distance(found, term.sum(axis=1)):.1e}"
        smearing = np.sinc(self.width * delay) * np.sinc(self.interval * freq * (self.rate[row] @ lmn.T) / C)
        error = distance(found, (term * smearing).sum(axis=1))
        absolute = distance(found, (term * np.abs(smearing)).sum(axis=1))
        note = f" ({absolute:.1e} from sums with \\|sinc\\|)" if absolute < 0.01 * error else ""
        return f"{error:.1e}{note}"


def distance(found, truth):
    scale = np.linalg.norm(truth)
    return min(np.linalg.norm(found - truth), np.linalg.norm(found - truth.conj())) / scale


def read_column(path, name):
    with table(path, ack=False) as main:
        return main.getcol(name)[:, :, 0]


class Grove:
    name = "Grove"

    def __init__(self, precision):
        self.precision = precision

    def run(self, problem, count):
        """Processor seconds."""
        problem.sky.write(problem.sky_file(count), count)
        return run([problem.options.grove, "run", "-q", "predict.tree", "-s", f"ms={problem.set}",
                    "-s", f"sky={problem.sky_file(count)}", "-s", "column=GROVE_DATA",
                    "-s", f"smear={'both' if problem.smeared else 'none'}", "--threads", "1",
                    "--precision", self.precision, "--device", "cpu"])[1]

    def error(self, problem, count):
        return problem.error(read_column(problem.set, "GROVE_DATA"), count)


class DP3:
    name, precision = "DP3", "double"

    def run(self, problem, count):
        problem.sky.write(problem.sky_file(count), count)
        smear = "true" if problem.smeared else "false"
        return run([sys.executable, os.path.join(os.path.dirname(sys.executable), "DP3.py"),
                    f"msin={problem.set}", "msout=.", "msout.datacolumn=DP3_DATA", "steps=[predict]",
                    f"predict.sourcedb={problem.sky_file(count)}", f"predict.correctfreqsmearing={smear}",
                    f"predict.correcttimesmearing={smear}", "numthreads=1", "checkparset=1"])[1]

    def error(self, problem, count):
        return problem.error(read_column(problem.set, "DP3_DATA"), count)


def enough(program, problem, limit):
    """All sources, or so many that a run takes about `limit` seconds."""
    program.run(problem, 1)  # compiles, calibrates
    one = program.run(problem, 1)
    some = max(2, problem.sources // 50)
    each = max(program.run(problem, some) - one, 1e-9) / (some - 1)
    count = min(problem.sources, max(some, int((limit - one) / each)))
    return count if count > 0.6 * problem.sources else max(2, min(count, problem.sources // 2))


def measure(problem, programs, options):
    """Lines of the table for one workload. The last program is the one that others are compared with."""
    counts = [enough(program, problem, options.limit) for program in programs]
    ones, alls, errors = [[] for _ in programs], [[] for _ in programs], [""] * len(programs)
    for _ in range(options.rounds):
        for k, program in enumerate(programs):
            for _ in range(5):
                ones[k].append(program.run(problem, 1))
                alls[k].append(program.run(problem, counts[k]))
                if alls[k][-1] > 1:  # shorter ones are noisy
                    break
            errors[k] = program.error(problem, counts[k])
    ones, alone = [np.median(x) for x in ones], []
    for k, count in enumerate(counts):
        alone.append((np.median(alls[k]) - ones[k]) * (problem.sources - 1) / (count - 1))
    whole = [one + rest for one, rest in zip(ones, alone)]
    for k, program in enumerate(programs):
        shares = ["" if k == len(programs) - 1 else f"{x[k] / x[-1]:.2g}" for x in (whole, alone)]
        print(f"| {problem.name} | {program.name} | {program.precision} | {counts[k]} | {whole[k]:.3g} | {shares[0]} "
              f"| {alone[k]:.3g} | {PAIRS * TIMES * problem.channels * problem.sources / alone[k] / 1e9:.3g} | {shares[1]} "
              f"| {errors[k]} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("grove")
    parser.add_argument("work")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=8.0, help="seconds of a run, about")
    parser.add_argument("--workload", default="", help="those with this in their names")
    options = parser.parse_args()
    place_stations(os.path.join(options.work, "stations.txt"))
    sky = Sky(max(w[0] for w in WORKLOADS.values()))
    programs = [Grove("single"), Grove("double"), DP3()]
    print(f"Grove {run([options.grove, '--version'])[3].split()[-1]}, DP3 {importlib.metadata.version('dp3')}\n")
    print("| workload | program | precision | sources run | whole run, s | Grove to DP3 | sum alone, s | 1e9 source-vis/s "
          "| Grove to DP3 | error |\n| --- | --- | --- | --: | --: | --: | --: | --: | --: | --- |", flush=True)
    for name in WORKLOADS:
        if options.workload in name:
            measure(Problem(name, options, sky), programs, options)


main()
