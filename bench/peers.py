"""Predictions by Grove and by programs from PyPI, side by side: called by bench/peers.sh.

Grove writes one Measurement Set for each workload; all that read Measurement Sets predict the same
sky model file into it, the others get its uvw, channels, times and stations as arrays. Rounds are
interleaved, times are processor times (user and system) of one thread.
"""

import argparse
import importlib.metadata
import math
import os
import re
import resource
import subprocess
import sys
import time

import numpy as np
from astropy import units
from astropy.coordinates import EarthLocation, SkyCoord
from astropy.time import Time
from casacore.tables import table

C = 299792458.0
LATITUDE, LONGITUDE = math.radians(-30.7), math.radians(21.4)
CENTRE = (math.radians(0.5), math.radians(-45.0))
STATIONS, TIMES, PAIRS = 64, 16, 64 * 63 // 2

# name: sources, channels, centre of the first channel and width in MHz, smeared
WORKLOADS = {
    "P1": (1000, 64, 1003.90625, 7.8125, False),
    "P1, smeared": (1000, 64, 1003.90625, 7.8125, True),
    "P2": (10000, 1, 1250.0, 7.8125, False),
    "P2, smeared": (10000, 1, 1250.0, 7.8125, True),
}


def place_stations(path):
    """45 stations within 300 m, the rest within 4 km; returns ITRF positions and east-north-up."""
    random = np.random.default_rng(1)
    radius = np.where(np.arange(STATIONS) < 45, 300.0, 4000.0) * np.sqrt(random.random(STATIONS))
    angle = 2 * np.pi * random.random(STATIONS)
    east, north, up = radius * np.cos(angle), radius * np.sin(angle), 5 * random.random(STATIONS)
    origin = EarthLocation.from_geodetic(np.degrees(LONGITUDE), np.degrees(LATITUDE), 1050 * units.m)
    sin, cos = np.sin(LATITUDE), np.cos(LATITUDE)
    outward, inward = cos * up - sin * north, sin * up + cos * north
    offset = np.stack([
        np.cos(LONGITUDE) * outward - np.sin(LONGITUDE) * east,
        np.sin(LONGITUDE) * outward + np.cos(LONGITUDE) * east,
        inward,
    ], axis=1)
    xyz = offset + np.array([origin.x.value, origin.y.value, origin.z.value])
    with open(path, "w", encoding="ascii") as file:
        for k, (x, y, z) in enumerate(xyz):
            file.write(f"{x:.6f} {y:.6f} {z:.6f} 13.5 s{k:02d}\n")
    return np.stack([east, north, up], axis=1), origin


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


def run(command):
    """Processor seconds of a command, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def timer(match):
    """Seconds of a number and its unit; NaN where nothing was found."""
    unit = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
    return float(match[1]) * unit.get(match[2], math.nan) if match else math.nan


def read_column(path, name):
    with table(path, ack=False) as main:
        return main.getcol(name)[:, :, 0]


class Grove:
    name, package = "Grove", None
    workloads = tuple(WORKLOADS)

    def __init__(self, precision):
        self.precision = precision

    def version(self, options):
        return run([options.grove, "--version"])[1].split()[-1]

    def run(self, problem, count):
        problem.sky.write(problem.sky_file(count), count)
        seconds, text = run([
            problem.options.grove, "run", "-q", "predict.tree", "-s", f"ms={problem.set}",
            "-s", f"sky={problem.sky_file(count)}", "-s", "column=GROVE_DATA",
            "-s", f"smear={'both' if problem.smeared else 'none'}", "--threads", "1",
            "--precision", self.precision, "--device", "cpu", "--profile"])
        self.own = timer(re.search(r"^predict +\d+ +([\d.]+) (\w+)", text, re.M))
        return seconds

    def error(self, problem, count):
        return problem.error(read_column(problem.set, "GROVE_DATA"), count)


class DP3:
    name, package, precision = "DP3", "dp3", "double"
    workloads = tuple(WORKLOADS)

    def run(self, problem, count):
        problem.sky.write(problem.sky_file(count), count)
        smear = "true" if problem.smeared else "false"
        seconds, text = run([
            sys.executable, os.path.join(os.path.dirname(sys.executable), "DP3.py"),
            f"msin={problem.set}", "msout=.", "msout.datacolumn=DP3_DATA", "steps=[predict]",
            f"predict.sourcedb={problem.sky_file(count)}", f"predict.correctfreqsmearing={smear}",
            f"predict.correcttimesmearing={smear}", "numthreads=1", "checkparset=1"])
        self.own = timer(re.search(r"\( *([\d.]+) +(\w+)\) OnePredict", text))
        return seconds

    def error(self, problem, count):
        return problem.error(read_column(problem.set, "DP3_DATA"), count)


class Codex:
    name, package = "codex-africanus", "codex-africanus"
    workloads = ("P1", "P2")

    def __init__(self, precision):
        self.precision = precision

    def run(self, problem, count):
        from africanus.rime.wsclean_predict import wsclean_predict
        real = np.float32 if self.precision == "single" else np.float64
        lm = np.ascontiguousarray(problem.sky.lmn()[:count, :2], real)
        arguments = (problem.uvw[problem.cross].astype(real), lm, np.full(count, "POINT"),
                     problem.sky.flux[:count].astype(real), np.zeros((count, 1), real),
                     np.zeros(count, bool), np.full(count, problem.freq[0], real), np.zeros((count, 3), real),
                     problem.freq.astype(real))
        start = time.process_time()
        self.found = wsclean_predict(*arguments)
        return time.process_time() - start

    def error(self, problem, count):
        found = np.empty((len(problem.uvw), problem.channels), complex)
        found[problem.cross] = self.found[:, :, 0]
        return problem.error(found, count)


class Matvis:
    name, package = "matvis", "matvis"
    workloads = ("P1", "P2")

    def __init__(self, precision):
        self.precision = precision

    def channels(self, problem):
        """A few of them: it takes one after the other, each with everything anew."""
        return np.arange(0, problem.channels, max(1, problem.channels // 4))

    def prepare(self, problem, count):
        sky = problem.sky
        coordinates = SkyCoord(ra=sky.ra[:count] * units.rad, dec=sky.dec[:count] * units.rad, frame="icrs")
        return coordinates, Time(np.unique(problem.times) / 86400, format="mjd", scale="utc")

    def run(self, problem, count):
        from matvis.cpu import simulate
        from pyuvdata.analytic_beam import UniformBeam
        coordinates, times = self.prepare(problem, count)
        pairs = np.array([(p, q) for p in range(STATIONS) for q in range(p + 1, STATIONS)])
        start = time.process_time()
        self.found = [simulate(antpos=problem.enu, freq=f, times=times, skycoords=coordinates,
                               telescope_loc=problem.origin, I_sky=problem.sky.flux[:count],
                               beam_list=[UniformBeam(feed_array=["x"], feed_angle=[np.pi / 2],
                                                      include_cross_pols=False)],
                               antpairs=pairs, precision=1 if self.precision == "single" else 2)
                      for f in problem.freq[self.channels(problem)]]
        return (time.process_time() - start) * problem.channels / len(self.found)

    def error(self, problem, count):
        """Against a direct sum over its own directions: half of the flux in one polarisation."""
        from matvis.core.coords import CoordinateRotation
        coordinates, times = self.prepare(problem, count)
        turn = CoordinateRotation._methods["CoordinateRotationAstropy"](
            flux=problem.sky.flux[:count], times=times, telescope_loc=problem.origin, skycoords=coordinates,
            source_buffer=1.0, precision=2)
        turn.setup()
        pairs = np.array([(p, q) for p in range(STATIONS) for q in range(p + 1, STATIONS)])
        random, found, truth = np.random.default_rng(3), [], []
        freq = problem.freq[self.channels(problem)]
        for t in range(0, TIMES, 5):
            turn.rotate(t)
            direction = turn.all_coords_topo
            for k in random.integers(len(pairs), size=75):
                c = random.integers(len(self.found))
                delay = (problem.enu[pairs[k, 1]] - problem.enu[pairs[k, 0]]) @ direction / C
                truth.append(0.5 * np.sum(problem.sky.flux[:count] * np.exp(2j * np.pi * freq[c] * delay)))
                found.append(self.found[c][t, k])
        return f"{distance(np.array(found), np.array(truth)):.1e}"


def enough(program, problem, limit):
    """All sources, or so many that a run takes about `limit` seconds."""
    program.run(problem, 1)  # compiles, calibrates
    one = program.run(problem, 1)
    some = max(2, problem.sources // 50)
    each = max(program.run(problem, some) - one, 1e-9) / (some - 1)
    if hasattr(program, "channels"):
        limit *= problem.channels / len(program.channels(problem))
    count = min(problem.sources, max(some, int((limit - one) / each)))
    return count if count > 0.6 * problem.sources else max(2, min(count, problem.sources // 2))


def measure(problem, programs, options):
    """Lines of the table for one workload."""
    counts = [enough(program, problem, options.limit) for program in programs]
    ones, alls = [[] for _ in programs], [[] for _ in programs]
    errors, own = [""] * len(programs), [[] for _ in programs]
    for _ in range(options.rounds):
        for k, program in enumerate(programs):
            for _ in range(5):
                ones[k].append(program.run(problem, 1))
                alls[k].append(program.run(problem, counts[k]))
                if alls[k][-1] > 1:  # shorter ones are noisy
                    break
            errors[k] = program.error(problem, counts[k])
            own[k].append(getattr(program, "own", math.nan))
    work = PAIRS * TIMES * problem.channels * problem.sources
    lines, grove = [], {}
    for k, program in enumerate(programs):
        one, run_time = np.median(ones[k]), np.median(alls[k])
        alone = (run_time - one) * (problem.sources - 1) / (counts[k] - 1)
        whole = one + alone
        if program.name == "Grove":
            grove[program.precision] = (whole, alone)
        base = grove[program.precision]
        told = min(own[k]) * problem.sources / counts[k]
        told = "" if math.isnan(told) else f"{told:.3g}"
        ran = str(counts[k])
        if hasattr(program, "channels") and len(program.channels(problem)) < problem.channels:
            ran += f", {len(program.channels(problem))} channels"
        lines.append(f"| {problem.name} | {program.name} | {program.precision} | {ran} | {whole:.3g} "
                     f"| {work / whole / 1e9:.3g} | {base[0] / whole:.2g} | {alone:.3g} "
                     f"| {work / alone / 1e9:.3g} | {base[1] / alone:.2g} "
                     f"| {told} | {errors[k]} |")
    return lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("grove")
    parser.add_argument("work")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=8.0, help="seconds of a run, about")
    parser.add_argument("--workload", default="", help="those with this in their names")
    options = parser.parse_args()
    enu, origin = place_stations(os.path.join(options.work, "stations.txt"))
    sky = Sky(max(w[0] for w in WORKLOADS.values()))
    programs = [Grove("single"), Grove("double"), DP3(), Codex("single"), Codex("double"), Matvis("single"),
                Matvis("double")]
    versions = {p.name: p.version(options) if p.package is None else importlib.metadata.version(p.package)
                for p in programs}
    print(", ".join(f"{name} {version}" for name, version in versions.items()), "\n")
    print("| workload | program | precision | sources run | whole run, s | 1e9 source-vis/s | to Grove's "
          "| sum alone, s | 1e9 source-vis/s | to Grove's | by its own timer, s | error |")
    print("| --- | --- | --- | --: | --: | --: | --: | --: | --: | --: | --: | --- |", flush=True)
    for name in WORKLOADS:
        if options.workload and options.workload not in name:
            continue
        problem = Problem(name, options, sky)
        problem.enu, problem.origin = enu, origin
        chosen = [p for p in programs if name in p.workloads]
        print("\n".join(measure(problem, chosen, options)), flush=True)


main()
