"""What a command takes: for the programs that bench/peers.sh runs."""
import math
import os
import subprocess
import sys
import time

STATIONS = 64
LATITUDE, LONGITUDE = math.radians(-30.7), math.radians(21.4)


def run(command, folder=None):
    """Seconds of the clock and of the processor, largest memory in MiB, and what was printed. What a
    program before has left to be written to the disk is not counted."""
    os.sync()
    began = time.monotonic()
    process = subprocess.Popen([str(word) for word in command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               encoding="utf-8", errors="replace")
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    if status:
        sys.exit(f"{' '.join(process.args)} failed:\n{said[-3000:]}")
    return time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, said


def place_stations(path):
    """An array file: 45 stations within 300 m, the rest within 4 km, on the ellipsoid WGS 84."""
    import numpy as np
    random = np.random.default_rng(1)
    radius = np.where(np.arange(STATIONS) < 45, 300.0, 4000.0) * np.sqrt(random.random(STATIONS))
    angle = 2 * np.pi * random.random(STATIONS)
    east, north, up = radius * np.cos(angle), radius * np.sin(angle), 5 * random.random(STATIONS)
    sin, cos = math.sin(LATITUDE), math.cos(LATITUDE)
    axis, squared = 6378137.0, 0.00669437999014
    curve = axis / math.sqrt(1 - squared * sin * sin)
    outward, z = cos * (curve + up) - sin * north, sin * ((1 - squared) * curve + up) + cos * north
    x = math.cos(LONGITUDE) * outward - math.sin(LONGITUDE) * east
    y = math.sin(LONGITUDE) * outward + math.cos(LONGITUDE) * east
    with open(path, "w", encoding="ascii") as file:
        for k in range(STATIONS):
            file.write(f"{x[k]:.4f} {y[k]:.4f} {z[k]:.4f} 13.5 s{k:02d}\n")
