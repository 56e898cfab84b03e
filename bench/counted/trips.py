"""What executed PTX counts (tests/cuda/ptx_counts.h), and what a GPU issues for it."""
import bisect
import collections
import statistics

from machine_code import ONE_TO_ONE, kind_of

EXPECTED = {'f32': 'fp32', 'f64': 'fp64', 'mma': 'mma', 'shf': 'shuffle', 'ex2': 'special', 'rsq': 'special'}


class Run:
    """The counts of one kernel in one run."""

    def __init__(self):
        self.launches = self.blocks = self.warps = self.threads = 0
        self.ways = []  # (first line, last line, trips of warps)
        self.sectors = self.shared_cycles = 0

    def trips(self, line):
        """How often warps run this line of the PTX."""
        at = bisect.bisect_right(self.ways, (line, float('inf'), 0)) - 1
        return self.ways[at][2] if at >= 0 and line <= self.ways[at][1] else 0


def difference(larger, smaller):
    """What a larger run has more than a smaller one: without what each launch costs."""
    more = Run()
    more.launches, more.blocks, more.warps, more.threads = (larger.launches, larger.blocks, larger.warps,
                                                            larger.threads)
    fewer = {(first, last): trips for first, last, trips in smaller.ways}
    more.ways = [(first, last, trips - fewer.get((first, last), 0)) for first, last, trips in larger.ways]
    more.sectors = larger.sectors - smaller.sectors
    more.shared_cycles = larger.shared_cycles - smaller.shared_cycles
    return more


def read_runs(path):
    """By name of kernel."""
    runs = collections.defaultdict(Run)
    with open(path, encoding='utf-8') as file:
        for row in file:
            words = row.rstrip('\n').split('\t')
            run = runs[words[1]]
            if words[0] == 'launch':
                run.launches, run.blocks, run.warps, run.threads = map(int, words[2:6])
            elif words[0] == 'block':
                run.ways.append((int(words[4]), int(words[5]), int(words[6])))
            elif words[0] == 'access' and words[5] == 'shared':
                run.shared_cycles += int(words[10])
            elif words[0] == 'access':
                run.sectors += int(words[10])
    for run in runs.values():
        run.ways.sort()
    return runs


def expected_kind(text):
    """The kind of the one instruction that a line of PTX becomes; None if it may become several."""
    words = text.split()
    operation = words[1] if words and words[0].startswith('@') and len(words) > 1 else words[0] if words else ''
    if not ONE_TO_ONE.match(operation):
        return None
    if operation.startswith(('ld.', 'st.')):
        return 'shared' if '.shared' in operation else 'memory'
    return EXPECTED.get(operation[:3]) or EXPECTED[operation.rstrip(';').rsplit('.', 1)[1][:3]]


def unrolled(kernel, run, ptx):
    """By first line of a block of PTX: how often ptxas has written it down."""
    kinds = collections.Counter((line, kind_of(operation)) for operation, line in kernel.instructions)
    factors = {}
    for first, last, _ in run.ways:
        found = []
        for line in range(first, last + 1):
            kind = expected_kind(ptx[line - 1])
            if kind and kinds[line, kind]:
                found.append(kinds[line, kind])
        factors[first] = max(1, round(statistics.median(found))) if found else 1
    return factors


def issued(kernel, run, ptx):
    """Instructions that warps issue, by kind."""
    factors = unrolled(kernel, run, ptx)
    starts = sorted(factors)
    counts = collections.Counter()
    for operation, line in kernel.instructions:
        trips = run.trips(line)
        if trips:
            first = starts[bisect.bisect_right(starts, line) - 1]
            counts[kind_of(operation)] += trips / factors[first]
    return counts


def executed_ptx(run, ptx):
    """Instructions of PTX that warps run."""
    total = 0
    for first, last, trips in run.ways:
        lines = [ptx[line - 1].strip() for line in range(first, last + 1)]
        total += trips * sum(t.endswith(';') and not t.startswith(('.', '{', '}', '//')) for t in lines)
    return total
