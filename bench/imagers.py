"""Whole runs of image.tree and of wsclean on the same set, in interleaved rounds: reading, weighting,
gridding, and FITS files of the dirty image and the point-spread function. bench/peers.sh --imagers runs
it; wsclean must be in PATH.

The set: MeerKAT, declination -45 degrees, 4 hours, 16 channels of 3.125 MHz from 1.0 GHz; integrations
of 120 s make 3.9 million visibilities, of 60 s 7.7 million."""
import argparse
import os
import statistics
import sys

from measured import run

ARCSEC = 3.14159265358979 / 180 / 3600


def make_set(options):
    with open(os.path.join(options.work, "sky.txt"), "w") as sky:
        sky.write("format = Name, Type, Ra, Dec, I\n")
        for k in range(3):
            sky.write(f"s{k}, POINT, 0:{k}:0, -45.{10 * k}.0, {k + 1}\n")
    run([options.grove, "run", "-q", "simulate.tree", "-s", "sky=sky.txt", "-s", "out=set.ms",
                    "-s", "array=meerkat", "-s", "phase_centre=00h00m00s -45d00m00s",
                    "-s", "hour_angle=-2h..2h", "-s", f"integration={options.integration}s",
                    "-s", "channels=16", "-s", "frequency=1.0GHz", "-s", "channel_width=3.125MHz",
                    "-s", "smear=none"], options.work)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("grove", help="the command")
    parser.add_argument("work", help="folder for files of this run")
    parser.add_argument("--sizes", default="2048,4096")
    parser.add_argument("--cell", type=float, default=4.26e-6 / ARCSEC, help="arcsec")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--integration", type=int, default=60, help="seconds")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--wsclean", default="", help="more options of wsclean, such as '-use-wgridder'")
    options = parser.parse_args()
    make_set(options)
    millions = 2016 * 16 * int(4 * 3600 / options.integration) / 1e6
    print("| million visibilities | pixels | weights | Grove, s | wsclean, s | Grove to wsclean | elapsed: Grove, s | wsclean, s "
          "| memory: Grove, MiB | wsclean, MiB |")
    print("| --: | --: | --- | --: | --: | --: | --: | --: | --: | --: |")
    for size in options.sizes.split(","):
        for weights in ("natural", "briggs"):
            ours, theirs = [], []
            for _ in range(options.rounds):
                ours.append(run([options.grove, "run", "-q", "image.tree", "-s", "ms=set.ms", "-s",
                                     f"size={size}", "-s", f"cell={options.cell:.6g}arcsec", "-s",
                                     f"weighting={weights}", "-s", "out=ours", "-s", "overwrite=true",
                                     "--threads", options.threads], options.work))
                theirs.append(run(["wsclean", "-j", options.threads, *options.wsclean.split(),
                                       "-no-update-model-required", "-niter", 0, "-make-psf", "-weight", weights, *(["0"] if weights == "briggs" else []),
                                       "-size", size, size, "-scale", f"{options.cell:.6g}asec",
                                       "-name", "theirs", "set.ms"], options.work))
            (a_elapsed, a, a_memory), (b_elapsed, b, b_memory) = (
                [statistics.median(k) for k in list(zip(*of))[:3]] for of in (ours, theirs))
            print(f"| {millions:.1f} | {size} | {weights} | {a:.3g} | {b:.3g} | {a / b:.2f} | {a_elapsed:.3g} | {b_elapsed:.3g} "
                  f"| {a_memory:.0f} | {b_memory:.0f} |")
            sys.stdout.flush()


main()
