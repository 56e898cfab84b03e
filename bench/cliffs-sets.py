"""How what a run reads and writes costs with the order of a set's rows, their number and their windows:
called by bench/cliffs-sets.sh and bench/peers.sh. Each line of the table compares a run of Grove with peers:
python-casacore, which does no sum at all, but writes the same numbers in the same storage managers in place
of the column of the round before, and, with --dp3, DP3, which predicts the same sources into a column of its
own that is there already. What Grove takes to write is the run less the same run into the null sink; it is
compared with python-casacore, too. All results are synced to the disk. Rounds are interleaved; times are
seconds of the clock and of the processor, medians."""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

import numpy as np
from casacore.tables import table

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


class Bench:
    def __init__(self, options):
        self.options, self.work = options, options.work
        options.grove = os.path.abspath(options.grove)
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
        """Seconds, of the processor, peak memory in MB."""
        with open(self.path("run.tree"), "w", encoding="ascii") as file:
            file.write(text)
        return self.timed([self.options.grove, "run", "-q", self.path("run.tree"), "--threads", "1", "--device", "cpu",
                           *arguments])

    def timed(self, command):
        os.sync()
        start = time.perf_counter()
        done = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = done.stdout.read()
        _, status, usage = os.wait4(done.pid, 0)
        if status:
            sys.exit(f"{' '.join(command)}\n{said}")
        os.sync()
        return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024

    def dp3(self, name, sky=None, *more):
        """DP3 predicts into a column of its own, which is there after the first run."""
        if not self.options.dp3:
            return None
        command = [sys.executable, self.options.dp3, f"msin={self.path(name)}", "msout=.", "msout.datacolumn=DP3_DATA",
                   "steps=[predict]", f"predict.sourcedb={sky or self.sky}", "numthreads=1", "checkparset=1",
                   "showprogress=false", *more]
        with table(self.path(name), ack=False) as main:
            there = "DP3_DATA" in main.colnames()
        if not there:
            self.timed(command)
        return self.timed(command)

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

    def shaped(self, name, to, tile, cubes=1):
        """DATA and FLAG stored by TiledShapeStMan, as CASA does. With two `cubes` every second time is of another window,
        of half as many channels."""
        if os.path.exists(self.path(to)):
            return to
        shutil.copytree(self.path(name), self.path(to))
        with table(self.path(to), readonly=False, ack=False) as main, table(self.path(name), ack=False) as old:
            times, counts = np.unique(main.getcol("TIME"), return_counts=True)
            channels = main.getcell("DATA", 0).shape[0]
            for column, rows in ("DATA", tile[2]), ("FLAG", 8 * tile[2]):
                description = main.getcoldesc(column)
                main.removecols(column)
                description.pop("shape", None)
                description.update(option=0, ndim=2, dataManagerGroup=f"shaped {column}")
                main.addcols({column: description}, {"TYPE": "TiledShapeStMan", "NAME": f"shaped {column}",
                                                     "SPEC": {"DEFAULTTILESHAPE": [*tile[:2], rows]}})
                for k, row in enumerate(np.cumsum(counts) - counts):
                    part = old.getcol(column, row, counts[k])
                    main.putcol(column, part[:, :channels // (1 + k % cubes)], row, counts[k])
            if cubes == 2:
                slot = np.repeat(np.arange(len(times)), counts)
                main.putcol("DATA_DESC_ID", (slot % 2).astype(np.int32))
                main.putcol("TIME", times[slot - slot % 2])
        if cubes == 2:
            self.add_window(self.path(to), channels // 2)
        return to

    def add_window(self, path, channels):
        with table(path + "/SPECTRAL_WINDOW", readonly=False, ack=False) as window, \
                table(path + "/DATA_DESCRIPTION", readonly=False, ack=False) as described:
            for each in window, described:
                each.addrows(1)
                for column in each.colnames():
                    value = each.getcell(column, 0)
                    each.putcell(column, 1, value[:channels] if column.startswith(("CHAN_", "EFF", "RES")) else value)
            window.putcell("NUM_CHAN", 1, channels)
            described.putcell("SPECTRAL_WINDOW_ID", 1, 1)

    def offsets(self, name, to):
        """Times moved by one of 16 offsets, by baseline."""
        if not os.path.exists(self.path(to)):
            shutil.copytree(self.path(name), self.path(to))
            with table(self.path(to), readonly=False, ack=False) as main:
                number = (self.options.stations * main.getcol("ANTENNA1") + main.getcol("ANTENNA2")) % 16
                main.putcol("TIME", main.getcol("TIME") + number * 10 / 16)
        return to

    def fill_new(self, name):
        """A column that is not there."""
        with table(self.path(name), readonly=False, ack=False) as main:
            if "MODEL_DATA" in main.colnames():
                main.removecols("MODEL_DATA")
        return self.grove(self.old(name, where='column="MODEL_DATA"'))

    def read(self, name):
        return self.grove(f'obs = ms("{self.path(name)}")\nx = sink(obs.data, obs, to="null")\n')

    def peer_read(self, name):
        """python-casacore: DATA and FLAG, from an open table."""
        with table(self.path(name), ack=False) as main:
            start, busy = time.perf_counter(), time.process_time()
            for row in range(0, main.nrows(), 1000):
                for column in "DATA", "FLAG":
                    main.getcol(column, row, 1000)
            return time.perf_counter() - start, time.process_time() - busy

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

    def line(self, name, run, null, peers):
        """Of each program, what `run`, `null` and `peers` return in rounds by turns."""
        runs, found = [run, null, *peers], []
        for _ in range(self.options.rounds):
            found.append([each() if each else None for each in runs])

        def medians(k):
            return [statistics.median(each[k][i] for each in found) for i in range(2)] if runs[k] else None

        def ratio(one, other):
            return f"{one[0] / other[0]:.2f}, {one[1] / other[1]:.2f}"

        whole, summed = medians(0), medians(1)
        writing = [a - b for a, b in zip(whole, summed)] if summed else None
        print(f"| {name} | {whole[0]:.2f}, {whole[1]:.2f} | {max(each[0][2] for each in found):.0f} | ", end="")
        print(f"{writing[0]:.2f}, {writing[1]:.2f} |" if writing else "|", end="")
        for k in range(2, len(runs)):
            peer = medians(k)
            print(f" {peer[0]:.2f}, {peer[1]:.2f} | {ratio(whole, peer)} |" if peer else " | |", end="")
            if k == 2:
                print(f" {ratio(writing, peer)} |" if peer and writing else " |", end="")
        print(flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--grove", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--stations", type=int, default=62)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--dp3", default="", help="DP3.py")
    options = parser.parse_args()
    bench = Bench(options)
    print("| | Grove: wall, processor, s | peak memory, MB | of it writing, s | python-casacore | ratio | ratio of writing |"
          + (" DP3 | ratio |" if options.dp3 else ""))
    print("| --- | --: | --: | --: | --: | --: | --: |" + (" --: | --: |" if options.dp3 else ""))

    def line(name, run, peer=None, dp3=None, null=None):
        if re.search(options.only, name):
            bench.line(name, run, null, [peer, dp3] if options.dp3 else [peer])

    def few():
        return bench.make("few.ms", 4, 1)

    def some():
        return bench.make("some.ms", 8, 64)

    for count in 1, 10:
        sky = bench.write_sky(count)
        line(f"start-up: sources {count}, 4 times, 1 channel", lambda: bench.grove(bench.old(few(), sky=sky)), None,
             lambda: bench.dp3(few(), sky))
    for kind in False, True:
        sky = bench.write_sky(300, kind)
        line(f"300 points{', one of them a Gaussian' if kind else ''}, 8 times, 64 channels",
             lambda: bench.grove(bench.old(some(), sky=sky)), None, lambda: bench.dp3(some(), sky))
    for times in 80, 160:
        def by_time():
            return bench.make(f"time{times}.ms", times, 64)

        def by_baseline():
            return bench.reorder(by_time(), "ANTENNA1,ANTENNA2,TIME", f"baseline{times}.ms")

        line(f"{times} times, by time: replace DATA", lambda: bench.grove(bench.old(by_time())),
             lambda: bench.peer(by_time()), lambda: bench.dp3(by_time()),
             lambda: bench.grove(bench.old(by_time(), where=NULL)))
        line(f"{times} times, by baseline: replace DATA", lambda: bench.grove(bench.old(by_baseline())),
             lambda: bench.peer(by_baseline()), lambda: bench.dp3(by_baseline(), None, "msin.sort=true"),
             lambda: bench.grove(bench.old(by_baseline(), where=NULL)))
        line(f"{times} times, by baseline, --memory 64MiB",
             lambda: bench.grove(bench.old(by_baseline()), "--memory", "64MiB"))

    def eight():
        return bench.windows(bench.make("time80.ms", 80, 64), "windows80.ms", 8)

    def long():
        return bench.make("long.ms", 8000000 // (options.stations * (options.stations - 1) // 2), 1)

    def stored(to, *tile, cubes=1):
        return bench.shaped(bench.make("time80.ms", 80, 64), to, tile, cubes)

    shapes = {"": lambda: stored("shaped80.ms", 4, 64, 128),
              ", tiles of 16 channels": lambda: stored("pieces80.ms", 4, 16, 512),
              ", two windows of 64 and 32 channels": lambda: stored("cubes80.ms", 4, 64, 128, cubes=2)}
    for name, made in shapes.items():
        count = 2 if "two" in name else 1
        line(f"80 times, TiledShapeStMan{name}: replace DATA",
             lambda: bench.grove(bench.all_windows(made(), count)), lambda: bench.peer(made()),
             null=lambda: bench.grove(bench.all_windows(made(), count, NULL)))
        if count == 1:
            line(f"80 times, TiledShapeStMan{name}: read DATA", lambda: bench.read(made()), lambda: bench.peer_read(made()))
    line("80 times, TiledColumnStMan: read DATA", lambda: bench.read(bench.make("time80.ms", 80, 64)),
         lambda: bench.peer_read(bench.make("time80.ms", 80, 64)))
    line("80 times: a new column", lambda: bench.fill_new(bench.make("time80.ms", 80, 64)),
         lambda: bench.peer(bench.make("time80.ms", 80, 64)),
         null=lambda: bench.grove(bench.old(bench.make("time80.ms", 80, 64), where=NULL)))
    line("80 times, 16 offsets: a new column",
         lambda: bench.fill_new(bench.offsets(bench.make("time80.ms", 80, 64), "offsets80.ms")),
         lambda: bench.peer(bench.offsets(bench.make("time80.ms", 80, 64), "offsets80.ms")))
    line("80 times: a new set", lambda: bench.fresh(80, 64), lambda: bench.peer_new(bench.make("time80.ms", 80, 64)),
         null=lambda: bench.grove(bench.new(80, 64, "null")))
    line("80 times, 8 windows: replace DATA, all in one run", lambda: bench.grove(bench.all_windows(eight(), 8)),
         lambda: bench.peer(eight()), null=lambda: bench.grove(bench.all_windows(eight(), 8, NULL)))
    line("80 times, 8 windows: replace DATA, one", lambda: bench.grove(bench.old(eight(), 3)), None,
         lambda: bench.dp3(eight(), None, "msin.band=3"))
    line("8 million rows, 1 channel: replace DATA", lambda: bench.grove(bench.old(long())), lambda: bench.peer(long()),
         lambda: bench.dp3(long()), lambda: bench.grove(bench.old(long(), where=NULL)))
    line("8 million rows, 1 channel, --memory 64MiB", lambda: bench.grove(bench.old(long()), "--memory", "64MiB"))


if __name__ == "__main__":
    main()
