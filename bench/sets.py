"""How fast Measurement Sets are read and written, by the order, number and windows of their rows: called by
bench/peers.sh --sets. Each line of the table compares a run of Grove with python-casacore, which computes
nothing, but writes numbers in the same storage managers in place of the column of the round before, and with
DP3, which predicts the same sources into a column of its own that is there already. "Writing" is the run less
the same run into the null sink. All results are synced to the disk. Rounds are interleaved; times are seconds of
the clock and of the processor, medians."""

import argparse
import os
import re
import shutil
import statistics
import sys
import time

import numpy as np
from casacore.tables import table
from measured import run

NEW = """
obs = observe(array="{array}", phase_centre="05h42m36.1s 49d51m07s", hour_angle={first}s..{last}s,
              integration=10s, frequency=1.4GHz, channels={channels}, channel_width=1MHz)
S = sky_model("{sky}")
write = sink(sum[s](point(S, obs)), obs, to="{where}", overwrite=true)
"""
WINDOW = """
obs{window} = ms("{to}", spectral_window={window})
write{window} = sink(sum[s](point(S, obs{window})), obs{window}, {where})
"""
OLD = """
obs = ms("{to}", spectral_window={window})
S = sky_model("{sky}")
write = sink(sum[s](point(S, obs)), obs, {where})
"""
COLUMN, NULL = 'column="DATA", overwrite=true', 'to="null"'
FORMAT = "format = Name, Type, Patch, Ra, Dec, I, MajorAxis, MinorAxis, Orientation\n, , all, 85.65deg, 49.85deg\n"


def synced(command):
    """As `run`, with what the command has left to be written to the disk."""
    wall, processor, memory, _ = run(command)
    start = time.monotonic()
    os.sync()
    return wall + time.monotonic() - start, processor, memory


class Bench:
    def __init__(self, options):
        self.options, self.work = options, options.work
        random = np.random.default_rng(1)
        self.array, self.sky = self.path("stations.txt"), self.write_sky(1)
        with open(self.array, "w", encoding="ascii") as file:
            for k, (x, y, z) in enumerate(random.uniform(-1000, 1000, (options.stations, 3))):
                file.write(f"{5109943 + x:.3f} {2005422 + y:.3f} {-3240104 + z:.3f} 13.5 s{k}\n")

    def write_sky(self, count, gaussian=False):
        """Points near the phase centre, or one Gaussian among them; returns the file."""
        random, path = np.random.default_rng(2), self.path(f"{'gaussian' if gaussian else 'points'}{count}.skymodel")
        with open(path, "w", encoding="ascii") as file:
            file.write(FORMAT)
            for k in range(count):
                shape = "GAUSSIAN, all" if gaussian and k == count // 2 else "POINT, all"
                ra, dec = (85.65, 49.85) + random.uniform(-0.3, 0.3, 2)
                file.write(f"p{k}, {shape}, {ra:.7f}deg, {dec:.7f}deg, 1.5, {'20, 10, 30' if 'G' in shape else '0, 0, 0'}\n")
        return path

    def path(self, name):
        return os.path.join(self.work, name)

    def grove(self, text, *arguments):
        """Seconds, of the processor, peak memory in MiB."""
        with open(self.path("run.tree"), "w", encoding="ascii") as file:
            file.write(text)
        return synced([self.options.grove, "run", "-q", self.path("run.tree"), "--threads", "1", "--device", "cpu",
                       *arguments])

    def dp3(self, name, sky=None, *more):
        """DP3 predicts into a column of its own, which is there after the first run."""
        command = [sys.executable, os.path.join(os.path.dirname(sys.executable), "DP3.py"), f"msin={self.path(name)}", "msout=.", "msout.datacolumn=DP3_DATA",
                   "steps=[predict]", f"predict.sourcedb={sky or self.sky}", "numthreads=1", "checkparset=1",
                   "showprogress=false", *more]
        with table(self.path(name), ack=False) as main:
            there = "DP3_DATA" in main.colnames()
        if not there:
            synced(command)
        return synced(command)

    def new(self, times, channels, where):
        return NEW.format(array=self.array, sky=self.sky, where=where, channels=channels, first=-5 * times,
                          last=5 * times)

    def fresh(self, times, channels):
        shutil.rmtree(self.path("new.ms"), ignore_errors=True)
        return self.grove(self.new(times, channels, self.path("new.ms")))

    def old(self, name, window=0, sky=None, where=COLUMN):
        return OLD.format(sky=sky or self.sky, to=self.path(name), window=window, where=where)

    def all_windows(self, name, count, where=COLUMN):
        return f'S = sky_model("{self.sky}")\n' + "".join(
            WINDOW.format(to=self.path(name), window=k, where=where) for k in range(count))

    def make(self, name, times, channels):
        if not os.path.exists(self.path(name)):
            self.grove(self.new(times, channels, self.path(name)))
        return name

    def reorder(self, name, order, to):
        if not os.path.exists(self.path(to)):
            with table(self.path(name), ack=False) as main:
                main.sort(order).copy(self.path(to), deep=True).close()
        return to

    def windows(self, name, to, count):
        """Rows of each time by windows, each of which has an equal part of the channels."""
        if os.path.exists(self.path(to)):
            return to
        shutil.copytree(self.path(name), self.path(to))
        with table(self.path(to), readonly=False, ack=False) as main, \
                table(self.path(to) + "/SPECTRAL_WINDOW", readonly=False, ack=False) as window, \
                table(self.path(to) + "/DATA_DESCRIPTION", readonly=False, ack=False) as described:
            window.addrows(count - 1)
            described.addrows(count - 1)
            for k in range(1, count):
                for column in window.colnames():
                    window.putcell(column, k, window.getcell(column, 0))
                for column in described.colnames():
                    described.putcell(column, k, described.getcell(column, 0))
                described.putcell("SPECTRAL_WINDOW_ID", k, k)
            times, counts = np.unique(main.getcol("TIME"), return_counts=True)
            slot = np.repeat(np.arange(len(times)), counts)
            main.putcol("DATA_DESC_ID", (slot % count).astype(np.int32))
            main.putcol("TIME", times[slot - slot % count])
        return to

    def shaped(self, name, to):
        """DATA and FLAG stored by TiledShapeStMan, as CASA does."""
        if os.path.exists(self.path(to)):
            return to
        shutil.copytree(self.path(name), self.path(to))
        with table(self.path(to), readonly=False, ack=False) as main, table(self.path(name), ack=False) as old:
            for column, rows in ("DATA", 128), ("FLAG", 1024):
                description = main.getcoldesc(column)
                main.removecols(column)
                description.pop("shape", None)
                description.update(option=0, ndim=2, dataManagerGroup=f"shaped {column}")
                main.addcols({column: description}, {"TYPE": "TiledShapeStMan", "NAME": f"shaped {column}",
                                                     "SPEC": {"DEFAULTTILESHAPE": [4, 64, rows]}})
                for row in range(0, main.nrows(), 1000):
                    main.putcol(column, old.getcol(column, row, 1000), row, min(1000, main.nrows() - row))
        return to

    def fill_new(self, name):
        """A column that is not there."""
        with table(self.path(name), readonly=False, ack=False) as main:
            if "MODEL_DATA" in main.colnames():
                main.removecols("MODEL_DATA")
        return self.grove(self.old(name, where='column="MODEL_DATA"'))

    def put_column(self, main, some):
        """A new column PEER with the storage manager of DATA; `some`: what its rows get by turns, time by time."""
        info, description = main.getdminfo("DATA"), main.getcoldesc("DATA")
        info["NAME"] = "peer"
        info["SPEC"].pop("HYPERCUBES", None)
        description["dataManagerGroup"] = "peer"
        main.addcols({"PEER": description}, info)
        step = len(some[0])
        for k, row in enumerate(range(0, main.nrows(), step)):
            count = min(step, main.nrows() - row)
            main.putcol("PEER", some[k % len(some)][:count], row, count)
        main.flush()

    def peer(self, name):
        """python-casacore: a column like DATA, all of its rows, in place of the one of the round before."""
        with table(self.path(name), ack=False, readonly=False) as main:
            step = self.options.stations * (self.options.stations - 1) // 2
            some = [main.getcol("DATA", k * step, step) for k in range(2)]
            if "PEER" not in main.colnames():
                self.put_column(main, some)
            os.sync()
            start, busy = time.perf_counter(), time.process_time()
            main.removecols("PEER")
            self.put_column(main, some)
        os.sync()
        return time.perf_counter() - start, time.process_time() - busy

    def peer_new(self, name):
        """python-casacore: a set's table with its managers, DATA, FLAG and UVW, to the disk."""
        to = self.path("peer.ms")
        shutil.rmtree(to, ignore_errors=True)
        with table(self.path(name), ack=False) as main:
            some, rows, info, description = main.getcol("DATA", 0, 1000), main.nrows(), main.getdminfo(), main.getdesc()
            columns = {key: main.getcol(key) for key in ("TIME", "ANTENNA1", "ANTENNA2", "UVW")}
        os.sync()
        start, busy = time.perf_counter(), time.process_time()
        with table(to, description, nrow=rows, dminfo=info, ack=False) as made:
            for key, values in columns.items():
                made.putcol(key, values)
            flags = np.zeros(some.shape, bool)
            for row in range(0, rows, 1000):
                count = min(1000, rows - row)
                made.putcol("DATA", some[:count], row, count)
                made.putcol("FLAG", flags[:count], row, count)
        os.sync()
        return time.perf_counter() - start, time.process_time() - busy

    def line(self, name, whole, peer=None, dp3=None, null=None):
        """What a run, python-casacore, DP3, and the run into the null sink take, in rounds by turns."""
        if not re.search(self.options.only, name):
            return
        runs, found = [whole, null, peer, dp3], []
        for _ in range(self.options.rounds):
            found.append([each() if each else None for each in runs])
        whole, summed, peer, dp3 = ([statistics.median(each[k][i] for each in found) for i in range(2)] if run else None
                                    for k, run in enumerate(runs))
        writing = [a - b for a, b in zip(whole, summed)] if summed else None

        def show(pair, other=None):
            return ", ".join(f"{a / b:.2f}" for a, b in zip(pair, other or (1, 1))) if pair and other != [] else ""

        print(f"| {name} | {show(whole)} | {max(each[0][2] for each in found):.0f} | {show(writing)} | {show(peer)} "
              f"| {show(writing, peer or [])} | {show(dp3)} | {show(whole, dp3 or [])} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("grove")
    parser.add_argument("work")
    parser.add_argument("--stations", type=int, default=62)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="lines with this pattern in their names")
    bench = Bench(parser.parse_args())
    print("| | Grove: wall, processor, s | peak memory, MiB | writing, s | python-casacore, s | Grove's writing to it | DP3, s "
          "| Grove to DP3 |\n| --- | --: | --: | --: | --: | --: | --: | --: |")

    def by_time():
        return bench.make("time.ms", 80, 64)

    def by_baseline():
        return bench.reorder(by_time(), "ANTENNA1,ANTENNA2,TIME", "baseline.ms")

    def eight():
        return bench.windows(by_time(), "windows.ms", 8)

    def shaped():
        return bench.shaped(by_time(), "shaped.ms")

    def long():
        return bench.make("long.ms", 8000000 // (bench.options.stations * (bench.options.stations - 1) // 2), 1)

    def replace(name, made, *dp3):
        bench.line(name + ": replace DATA", lambda: bench.grove(bench.old(made())), lambda: bench.peer(made()),
                   lambda: bench.dp3(made(), None, *dp3), lambda: bench.grove(bench.old(made(), where=NULL)))

    one, many = bench.write_sky(1), bench.write_sky(300, True)
    bench.line("start-up: one source, 4 times, 1 channel",
               lambda: bench.grove(bench.old(bench.make("few.ms", 4, 1), sky=one)),
               dp3=lambda: bench.dp3(bench.make("few.ms", 4, 1), one))
    bench.line("300 points, one of them a Gaussian, 8 times, 64 channels",
               lambda: bench.grove(bench.old(bench.make("some.ms", 8, 64), sky=many)),
               dp3=lambda: bench.dp3(bench.make("some.ms", 8, 64), many))
    replace("80 times, by time", by_time)
    replace("80 times, by baseline", by_baseline, "msin.sort=true")
    bench.line("80 times, by baseline, --memory 64MiB",
               lambda: bench.grove(bench.old(by_baseline()), "--memory", "64MiB"))
    bench.line("80 times: a new set", lambda: bench.fresh(80, 64), lambda: bench.peer_new(by_time()),
               null=lambda: bench.grove(bench.new(80, 64, "null")))
    bench.line("80 times: a new column", lambda: bench.fill_new(by_time()), lambda: bench.peer(by_time()),
               null=lambda: bench.grove(bench.old(by_time(), where=NULL)))
    replace("80 times, TiledShapeStMan", shaped)
    bench.line("80 times, 8 windows: replace DATA, all in one run", lambda: bench.grove(bench.all_windows(eight(), 8)),
               lambda: bench.peer(eight()), null=lambda: bench.grove(bench.all_windows(eight(), 8, NULL)))
    replace("8 million rows, 1 channel", long)
    bench.line("8 million rows, 1 channel, --memory 64MiB", lambda: bench.grove(bench.old(long()), "--memory", "64MiB"))


main()
