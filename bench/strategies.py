#!/usr/bin/env python3
"""Configurations that strategies try on complete records of grove tune until one is within 5 % of the
optimum: those of Grove, and those of kernel_tuner 1.5 in its simulation mode. A table in Markdown.

    bench/strategies.py BUILD/bench/strategies RECORD.json ...
"""
import contextlib
import io
import json
import random
import subprocess
import sys

import kernel_tuner
import numpy

THEIRS = ["random_sample", "greedy_mls", "genetic_algorithm", "simulated_annealing"]
SEEDS = 20


def evaluations(path, strategy, seed):
    """How many different configurations a strategy of kernel_tuner tries until it is there."""
    random.seed(seed)
    numpy.random.seed(seed)
    record = json.load(open(path))
    points = record["cache"]
    goal = 1.05 * min(p["time"] for p in points.values() if "__error__" not in p)
    options = dict(max_fevals=len(points))
    with contextlib.redirect_stdout(io.StringIO()):
        results, _ = kernel_tuner.interface.tune_cache(path, quiet=True, strategy=strategy, strategy_options=options)
    seen = set()
    for result in results:
        seen.add(tuple(result[key] for key in record["tune_params_keys"]))
        if "__error__" not in result and result["time"] <= goal:
            break
    else:
        return len(points)
    return len(seen)


def main():
    own = subprocess.run(sys.argv[1:], check=True, capture_output=True, text=True).stdout
    print("| kernel, sizes | configurations | exhaustive | random | local | " +
          " | ".join(f"theirs: {name}" for name in THEIRS) + " |")
    print("|---|" + "--:|" * (4 + len(THEIRS)))
    for line in own.splitlines():
        path, count, *ours = line.split("\t")
        record = json.load(open(path))
        sizes = "x".join(str(n) for n in record["problem_size"])
        theirs = [numpy.mean([evaluations(path, name, seed) for seed in range(SEEDS)]) for name in THEIRS]
        print(f"| {record['kernel_name']} {sizes} | {count} | " +
              " | ".join(ours) + " | " + " | ".join(f"{n:.1f}" for n in theirs) + " |", flush=True)


main()
