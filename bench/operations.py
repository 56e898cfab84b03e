"""The operations that a sum over sources takes whatever program computes it, and what one of them costs: for
bench/cliffs-random.py.

A sum goes by one of three ways: "rows", in which each row has phases of its own, in recurrences over groups of
channels; "factors", in which a row's phase and Jones terms are products of those of its two stations, which are made
for each channel; "stations", in which the sum over sources is a product of matrices of stations by sources. `counted`
tells the operations of a way, from the sizes alone; what the cheapest way takes counts as needed.

What an operation costs is fitted to workloads that should go fast (`references`), each by its fastest method, which
are no part of what is judged: many sources between all stations of MeerKAT, or the few of WSRT, where what is done
for a station weighs more, and whole vectors of channels; one source, for what is stored; and next to nothing, for the
set-up. A difference counts by its part of the measured time, so that
a reference that is slow has less weight than one that is fast.
"""
import random

KINDS = ("multiply-adds", "sines and cosines", "smearing factors", "exponentials", "Jones elements", "stored numbers", "rows",
         "sources", "runs")
BLOCK, GROUP = 64, 16  # channels that share phases, and those of a group
ARRAY_SIZES = {"meerkat": 64, "vla-a": 27, "wsrt": 14, "kat-7": 7}  # stations
ELEMENTS = {"none": 1, "scalar": 1, "diagonal": 2, "matrix": 4}


def sources(workload):
    """Number, whether Gaussian, whether polarised."""
    n, sky = workload.sources, workload.sky
    if sky.startswith("half") or sky == "one Gaussian":
        odd = 1 if sky == "one Gaussian" else n // 2
        return [(n - odd, False, False), (odd, "Gauss" in sky, "pol" in sky)]
    return [(n, sky == "Gaussians", sky == "IQUV")]


def blocks(channels):
    """For each block the channels in it."""
    return [BLOCK] * (channels // BLOCK) + ([channels % BLOCK] if channels % BLOCK else [])


def phases(channels):
    """Phases to evaluate in a block, and multiply-adds of their recurrence."""
    if channels < 3:
        return channels, 0
    if channels <= GROUP:
        return 2, 4 * channels / 2
    return 4, 4 * (channels / GROUP + GROUP / 2)


def by_rows(to, workload, count, gaussian, polarised):
    """A row's phases by recurrence."""
    rows, elements = workload.pairs * workload.times * count, ELEMENTS[workload.jones]
    sums, within = 4 if polarised else elements, workload.jones != "none"
    shared = workload.sky != "spectra" and not gaussian and not workload.vary
    in_time, in_width = workload.smear in ("time", "both"), workload.smear in ("freq", "both")
    product = {1: 4, 2: 8, 4: 32}[elements] * (2 if polarised else 1) if within else 0
    for channels in blocks(workload.channels):
        evaluated, recurred = phases(channels)
        factor = 2 if in_time else 1
        to["sines and cosines"] += rows * evaluated * factor
        to["multiply-adds"] += rows * recurred * factor
        to["smearing factors"] += rows * (in_time + in_width)
        if gaussian:
            to["exponentials"] += rows * (channels if channels < 3 else 3 if channels <= GROUP else 6)
            to["multiply-adds"] += rows * 4 * channels
        weights = 2 * sums * (2 if within and not shared else 1)
        one_by_one = (10 if in_time else 6) + weights
        each = min((4 if in_time else 2) * sums, one_by_one) if shared else one_by_one
        to["multiply-adds"] += rows * channels * (each + (product if workload.vary else 0))
    to["multiply-adds"] += 0 if workload.vary else rows * product
    to["Jones elements"] += 2 * rows * elements * (workload.channels if workload.vary else 1) if within else 0


def at_stations(to, workload, count, polarised, sides):
    """Phases and Jones terms of stations in each channel."""
    elements = ELEMENTS[workload.jones]
    cells = ARRAY_SIZES[workload.array] * workload.times * count * workload.channels
    to["sines and cosines"] += cells * sides
    if workload.jones != "none":
        to["multiply-adds"] += cells * (sides * 4 * elements + ({1: 4, 2: 8, 4: 16}[elements] if polarised else 0))
        to["Jones elements"] += sides * cells * elements / (1 if workload.vary else workload.channels)


def by_factors(to, workload, count, gaussian, polarised):
    """A row's products of what its stations have."""
    rows, elements = workload.pairs * workload.times * count, ELEMENTS[workload.jones]
    sums = 4 if polarised else elements
    smeared = (workload.smear in ("time", "both")) * workload.channels + (workload.smear in ("freq", "both"))
    factor = 1 if smeared or gaussian else 0
    at_stations(to, workload, count, polarised, 2)
    to["smearing factors"] += rows * smeared
    to["exponentials"] += rows * workload.channels if gaussian else 0
    to["multiply-adds"] += rows * workload.channels * (32 + 8 * factor if elements == 4 else sums * (4 + 2 * factor))


def by_stations(to, workload, count, gaussian, polarised):
    """A product of matrices, with three multiplications for a complex one."""
    elements = ELEMENTS[workload.jones]
    sums = 4 if polarised else elements
    at_stations(to, workload, count, polarised, 1 if workload.jones == "none" else 2)
    to["multiply-adds"] += workload.pairs * workload.times * count * workload.channels * (24 if elements == 4 else 3 * sums)


WAYS = {"rows": by_rows, "factors": by_factors, "stations": by_stations}


def counted(workload, way):
    """Operations of each kind. Gaussians have no factors of stations: they go by rows beside sums by stations."""
    to = dict.fromkeys(KINDS, 0.0)
    for count, gaussian, polarised in sources(workload):
        (by_rows if gaussian and way == "stations" else WAYS[way])(to, workload, count, gaussian, polarised)
    rows = workload.pairs * workload.times
    to["stored numbers"] = rows * workload.channels * 8
    to["rows"], to["sources"], to["runs"] = rows, workload.sources, 1
    return to


def ways(workload):
    """The ways that can be gone."""
    fit = ["stations"] if workload.smear == "none" and not workload.stray else []
    return ["rows"] + (["factors"] if not workload.stray else []) + fit


def way_of(workload, method):
    """The way that Grove goes by a method."""
    if method == "stations":
        return "stations"
    within = workload.jones != "none"
    few = workload.channels < 8 and (within or (workload.smear != "none" and workload.array == "meerkat"))
    return "factors" if few or workload.vary else "rows"


def references(precision, count):
    """Parts of workloads that tell the costs, the same in each run."""
    draw = random.Random(7)
    for k in range(count):
        jones = draw.choice(list(ELEMENTS))
        parts = {"array": "meerkat", "channels": draw.choice([1, 2, 4, 8, 16, 64, 128]), "jones": jones,
                 "sky": draw.choice(["points", "points", "IQUV", "spectra", "Gaussians"]),
                 "vary": jones != "none" and draw.random() < 0.4, "smear": draw.choice(["none", "none", "time", "freq", "both"]),
                 "stray": 0, "precision": precision, "sources": draw.choice([256, 512, 1024])}
        size = 6e6 / (1 + ELEMENTS[jones])
        if k % 5 == 3:
            parts["sources"], size = 1, 3e5
        if k % 5 == 1:
            parts["array"] = "wsrt"
        if k % 10 == 7:
            parts.update(array="kat-7", channels=1, sources=20)
            size = 0
        pairs = ARRAY_SIZES[parts["array"]] * (ARRAY_SIZES[parts["array"]] - 1) // 2
        parts["times"] = max(1, min(300, int(size / pairs / parts["channels"] / parts["sources"])))
        yield parts


def fitted(measured):
    """Seconds of an operation of each kind, none below zero: least squares of relative differences, a cost at a time
    in turn. measured: operations, seconds."""
    rows = [[operations[kind] / seconds for kind in KINDS] for operations, seconds in measured]
    costs, left = [0.0] * len(KINDS), [1.0] * len(rows)
    for _ in range(5000):
        for k in range(len(KINDS)):
            square = sum(row[k] * row[k] for row in rows)
            if not square:
                continue
            new = max(0.0, costs[k] + sum(row[k] * rest for row, rest in zip(rows, left)) / square)
            change, costs[k] = new - costs[k], new
            left = [rest - change * row[k] for row, rest in zip(rows, left)]
    return dict(zip(KINDS, costs))


def explained(workload, costs):
    """Seconds of the least way, its name, and the kind of operation that takes most of it with its share."""
    least = None
    for way in ways(workload):
        parts = {kind: costs[kind] * number for kind, number in counted(workload, way).items()}
        if least is None or sum(parts.values()) < sum(least[1].values()):
            least = (way, parts)
    way, parts = least
    seconds, most = sum(parts.values()), max(parts, key=parts.get)
    return seconds, way, most, parts[most] / seconds
