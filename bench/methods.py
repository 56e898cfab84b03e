#!/usr/bin/env python3
"""Error against time of the gridding methods: w-stacking, and functions by linear interpolation and
by the nearest samples. Makes a set with simulate.tree, images it without and with each choice, and
draws docs/images/gridders-methods.svg.

    bench/methods.py GROVE [SVG]
"""
import math
import os
import re
import resource
import subprocess
import sys
import tempfile

SKY = """format = Name, Type, Ra, Dec, I
centre, POINT, 05:42:36.0, +49.51.07.0, 1.0
south,  POINT, 05:42:40.0, +49.49.07.0, 0.5
"""
IMAGE = "obs.data, obs, size=256, cell=4arcsec"
EPSILON = ["1e-1", "3e-2", "1e-2", "3e-3", "1e-3", "3e-4", "1e-4", "3e-5", "1e-5"]
METHODS = [
    ("w_stack", "#1b6ca8", [f"method=w_stack, epsilon={e}" for e in EPSILON]),
    ("aw, linear interpolation", "#c1440e", [f"method=aw, samples=linear, epsilon={e}" for e in EPSILON]),
    ("aw, nearest samples", "#4a8f29",
     [f"method=aw, epsilon=1e-5, oversampling={q}" for q in (4, 8, 16, 32, 64, 128)]),
]


def run(grove, folder, text, *options):
    """Runs a tree: what it says, and its processor seconds."""
    with open(os.path.join(folder, "t.tree"), "w", encoding="utf-8") as file:
        file.write(text)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([grove, "run", "-q", "--threads", "1", "t.tree", *options], cwd=folder,
                          capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(grove, folder):
    """(error, seconds beyond reading) of each choice of each method."""
    head = 'obs = ms("field.ms")\n'
    reading = min(run(grove, folder, head + "x = print(sum_of_weights(obs.data, obs))\n")[1]
                  for _ in range(3))
    found = []
    for name, colour, choices in METHODS:
        points = []
        for choice in choices:
            image = head + f"x = dirty_image({IMAGE}, {choice})\n"
            exact = f"e = compare(x, dirty_image({IMAGE}, epsilon=1e-9))\n"
            said = run(grove, folder, image + exact)[0]
            error = float(re.search(r"relative ([-+.e0-9]+)", said).group(1))
            seconds = sorted(run(grove, folder, image + "y = print(max(x))\n")[1] - reading
                             for _ in range(3))[1]
            print(f"| {name} | {choice} | {error:.2g} | {seconds:.2f} |", flush=True)
            points.append((error, max(seconds, 1e-3)))
        found.append((name, colour, points))
    return found


def draw(found):
    """An SVG with logarithmic axes."""
    left, top, width, height = 70, 20, 560, 340
    seconds = [s for _, _, points in found for _, s in points]
    errors = [e for _, _, points in found for e, _ in points]
    low = [math.floor(math.log10(min(seconds))), math.floor(math.log10(min(errors)))]
    high = [math.ceil(math.log10(max(seconds))), math.ceil(math.log10(max(errors)))]

    def place(error, second):
        return (left + width * (math.log10(second) - low[0]) / (high[0] - low[0]),
                top + height * (high[1] - math.log10(error)) / (high[1] - low[1]))

    lines = ['<svg xmlns="http://www.w3.org/2000/svg" width="660" height="420" font-family="sans-serif" '
             'font-size="12">', '<rect width="660" height="420" fill="white"/>']
    for k in range(low[0], high[0] + 1):
        x = place(1, 10.0**k)[0]
        lines.append(f'<path d="M{x:.1f} {top}v{height}" stroke="#ddd"/>'
                     f'<text x="{x:.1f}" y="{top + height + 18}" text-anchor="middle">{10.0**k:g}</text>')
    for k in range(low[1], high[1] + 1):
        y = place(10.0**k, 10.0 ** low[0])[1]
        lines.append(f'<path d="M{left} {y:.1f}h{width}" stroke="#ddd"/>'
                     f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">1e{k}</text>')
    for n, (name, colour, points) in enumerate(found):
        at = [place(*point) for point in points]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in at)
        lines.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        lines += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in at]
        lines.append(f'<text x="{left + width - 10}" y="{top + 20 + 18 * n}" text-anchor="end" '
                     f'fill="{colour}">{name}</text>')
    lines.append(f'<text x="{left + width / 2}" y="{top + height + 42}" text-anchor="middle">processor '
                 'seconds beyond reading, one core</text>')
    lines.append(f'<text x="16" y="{top + height / 2}" text-anchor="middle" '
                 f'transform="rotate(-90 16 {top + height / 2})">relative error of the image</text>')
    return "\n".join(lines + ["</svg>", ""])


def main():
    """Measures and draws."""
    grove = os.path.abspath(sys.argv[1])
    svg = sys.argv[2] if len(sys.argv) > 2 else "docs/images/gridders-methods.svg"
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "field.skymodel"), "w", encoding="utf-8") as file:
            file.write(SKY)
        subprocess.run([grove, "run", "-q", "simulate.tree", "-s", "sky=field.skymodel", "-s",
                        "phase_centre=05h42m36s 49d51m07s", "-s", "hour_angle=-2h..2h", "-s",
                        "integration=30s", "-s", "channels=8", "-s", "channel_width=4MHz", "-s",
                        "smear=none", "-s", "out=field.ms"], cwd=folder, check=True)
        with open(svg, "w", encoding="utf-8") as file:
            file.write(draw(measure(grove, folder)))


main()
