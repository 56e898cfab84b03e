"""Jones terms inside the sum over sources by Grove, codex-africanus and matvis: called by bench/peers.sh --jones.

Processor seconds of one thread, medians of rounds by turns, less those with one source: of whole runs of
Grove into the null sink, and of calls of the others with their arrays in memory. codex-africanus
(`phase_delay`, a product for the coherencies and one for P E, `predict_vis`) takes as many sources at once
as 200 MB hold; matvis has one polarised Gaussian beam and no terms of stations, for which Grove and
codex-africanus have E alone. Start-up: whole processes with one source.
"""
import argparse
import os
import resource
import statistics
import subprocess
import sys
import time

import numpy as np

C = 299792458.0
STATIONS, RADIUS = 64, 1000.0
# name: sources, channels, double precision, Jones terms
WORKLOADS = {
    "Jones chain inside the sum, 64 channels": (50, 64, False, "chain"),
    "Jones terms at 1 channel, double": (1000, 1, True, "beam"),
}
START = "start-up"


def spent(command, folder):
    """Processor seconds of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def directions(count):
    random = np.random.default_rng(1)
    return np.column_stack([0.02 * random.random(count) - 0.01, 0.02 * random.random(count) - 0.01])


class Grove:
    name = "Grove"

    def __init__(self, grove, work):
        self.grove, self.work = grove, work
        place = 2 * np.pi * np.arange(STATIONS) / STATIONS
        with open(os.path.join(work, "ring.txt"), "w", encoding="ascii") as file:
            for k, angle in enumerate(place):  # about the centre of the MeerKAT array
                file.write(f"{5109360 - RADIUS * np.cos(angle) * 0.5:.3f} {2006852 + RADIUS * np.sin(angle):.3f} "
                           f"{-3238948 + RADIUS * np.cos(angle) * 0.8:.3f} 13.5 s{k:02d}\n")

    def run(self, workload, sources, times):
        _, channels, double, terms = workload
        with open(os.path.join(self.work, "now.skymodel"), "w", encoding="ascii") as file:
            file.write("format = Name, Type, Ra, Dec, I\n")
            for k, (l, m) in enumerate(np.degrees(directions(sources))):
                file.write(f"p{k}, POINT, {l:.9f}deg, {m - 30:.9f}deg, 1\n")
        jones = "G[p] * P[p] * E[s,p]" if terms == "chain" else "E[s,p]"
        with open(os.path.join(self.work, "now.tree"), "w", encoding="ascii") as file:
            file.write(f"""obs = observe(array="ring.txt", phase_centre="0deg -30deg", hour_angle=0min..{times}min,
    integration=60s, frequency=1.3GHz, channels={channels}, channel_width=1MHz)
S = sky_model("now.skymodel")
e[s,p] = beam_gaussian(S, obs, diameter=13.5m) * (1 + 0.001 * obs.station_index)
E[s,p] = matrix(e, 0.01, 0.01, e)
P[p] = rotation(obs.parallactic)
G[p] = gains(obs, kind=sine, jones=diagonal, period=1h, seed=3)
J[s,p] = {jones}
w = sink(sum[s](J[s,p] * point(S, obs) * J[s,q]^H), obs, to="null")
""")
        return spent([self.grove, "run", "-q", "now.tree", "--threads", "1", "--device", "cpu", "--precision",
                      "double" if double else "single"], self.work)


class Codex:
    name = "codex-africanus"

    def run(self, workload, sources, times):
        from africanus.rime import phase_delay, predict_vis
        _, channels, double, terms = workload
        real, complex_ = (np.float64, np.complex128) if double else (np.float32, np.complex64)
        p, q = np.triu_indices(STATIONS, 1)
        random = np.random.default_rng(2)
        place = RADIUS * random.random((STATIONS, 3))
        uvw, lm = (place[p] - place[q]).astype(real), directions(sources).astype(real)
        freq = (1.3e9 + 1e6 * np.arange(channels)).astype(real)

        def drawn(*shape):
            return (random.random(shape) + 1j * random.random(shape)).astype(complex_)

        beam, turn, gain = (drawn(sources, 1, STATIONS, channels, 2, 2), drawn(STATIONS, 2, 2),
                            drawn(1, STATIONS, channels, 2, 2))
        bright = np.eye(2, dtype=complex_)
        each = max(1, int(2e8 / (len(p) * channels * 4 * complex_().nbytes)))
        index = np.zeros(len(p), np.int32)
        start = time.process_time()
        for _ in range(times):
            sums = 0
            for first in range(0, sources, each):
                some = slice(first, first + each)
                coherency = phase_delay(lm[some], uvw, freq)[..., None, None] * bright
                terms_of = turn[None, None, :, None] @ beam[some] if terms == "chain" else beam[some]
                sums = sums + predict_vis(index, p, q, dde1_jones=terms_of, source_coh=coherency, dde2_jones=terms_of)
            if terms == "chain":
                predict_vis(index, p, q, die1_jones=gain, base_vis=sums, die2_jones=gain)
        return time.process_time() - start


class Matvis:
    name = "matvis"

    def run(self, workload, sources, times):
        from astropy import units
        from astropy.coordinates import EarthLocation, SkyCoord
        from astropy.time import Time
        from matvis.cpu import simulate
        from pyuvdata.analytic_beam import GaussianBeam
        _, channels, double, _ = workload
        random = np.random.default_rng(2)
        at = RADIUS * random.random((STATIONS, 3))
        pairs = np.column_stack(np.triu_indices(STATIONS, 1))
        ra, dec = np.degrees(directions(sources)).T
        sky = SkyCoord(ra=ra * units.deg, dec=(dec - 30) * units.deg, frame="icrs")
        when = Time(2459845 + np.arange(times) / 1440 - 0.07, format="jd", scale="utc")
        origin = EarthLocation.from_geodetic(21.44 * units.deg, -30.71 * units.deg, 1050 * units.m)
        beam = GaussianBeam(diameter=13.5)
        start = time.process_time()
        for freq in 1.3e9 + 1e6 * np.arange(channels):
            simulate(antpos=at, freq=freq, times=when, skycoords=sky, telescope_loc=origin, I_sky=np.ones(sources),
                     beam_list=[beam], antpairs=pairs, polarized=True, precision=2 if double else 1)
        return time.process_time() - start


def measure(program, workload, rounds, times):
    """Seconds of the sum alone, scaled to all times; medians."""
    program.run(workload, 2, 1)  # compiles
    alls, ones = [], []
    for _ in range(rounds):
        alls.append(program.run(workload, workload[0], times))
        ones.append(program.run(workload, 1, times))
    return statistics.median(alls) - statistics.median(ones)


def start_up(grove, work):
    """Whole processes with one source: seconds."""
    one = "import importlib.util as u; s = u.spec_from_file_location('p', {0!r}); m = u.module_from_spec(s); " \
          "s.loader.exec_module(m); m.{1}().run((1, 1, True, 'beam'), 1, 1)"
    workload = (1, 1, True, "beam")
    yield "Grove", statistics.median(grove.run(workload, 1, 1) for _ in range(5))
    for name in ("Codex", "Matvis"):
        command = [sys.executable, "-c", one.format(os.path.abspath(__file__), name)]
        spent(command, work)  # caches
        yield globals()[name].name, statistics.median(spent(command, work) for _ in range(3))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("grove")
    parser.add_argument("work")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    grove = Grove(options.grove, options.work)
    print("| workload | program | processor, s | ns for a source-visibility | to Grove's |")
    print("| --- | --- | --: | --: | --: |", flush=True)
    for name, workload in WORKLOADS.items():
        programs = [(grove, 40), (Codex(), 1)] + ([(Matvis(), 4)] if workload[3] == "beam" else [])
        base = None
        for program, times in programs:
            seconds = measure(program, workload, options.rounds, times) / times
            base = base or seconds
            each = STATIONS * (STATIONS - 1) / 2 * workload[1] * (workload[0] - 1)
            print(f"| {name} | {program.name} | {seconds:.3g} | {1e9 * seconds / each:.3g} | {seconds / base:.3g} |", flush=True)
    base = None
    for name, seconds in start_up(grove, options.work):
        base = base or seconds
        print(f"| {START} | {name} | {seconds:.3g} | | {seconds / base:.3g} |", flush=True)


if __name__ == "__main__":
    main()
