"""The table of counts: rows, writing, reading, comparing."""
import collections
import datetime
import os
import re

KINDS = ['fp32', 'fp64', 'integer', 'special', 'conversion', 'memory', 'shared', 'shuffle', 'mma', 'branch']
GROWTH = 1.03
HEAD = '''# Counts of the CUDA kernels

What a GPU issues, counted without one by `bench/gpu-counted BUILD`; no number here was measured on a GPU.
Each workload is launched twice: 64 stations, 1 time, sources times channels 2048 and 4096; arrays of
8 x 2016 x 8 and 16 x 2016 x 8 cells. The difference counts, so that what a launch costs by itself does
not. All numbers are per cell: a term of the sum (a source-visibility), or a cell of an array. The gridder's
kernels: 96 and 192 rows of 32 channels of the field G1 (4096 x 4096 pixels, 1e-4 single: kernels of 6 x 6 x 5
cells; 1e-7 double: 8 x 8 x 8), per visibility; 8192 and 16384 cells or pixels of a plane. What a tile costs by
itself is left out. By convolution functions: 12 and 24 tracks of 8 times and 32 channels, 7 x 7 cells, per visibility
with all its correlations. From grid to grid: tracks of 256 entries, from one fine sample to the next, 8 and 16
of functions of 7 x 7 cells with 8 (finer: 32) fine samples for each, 4 and 8 of 16 x 16, 2 and 4 of 32 x 32, per entry; of
the result 8192 and 16384 cells, which 512 such tracks have reached; what is made once for a diagonal is left out. Image-domain gridding: 2 and 4
subgrids with one number of 512 visibilities each, 32 times of 16 channels or 512 of one, per visibility, or per pixel; matrices of 2 and 4 stations, per pixel and element. Fits, all in double but for what they read: normal equations (8 derivatives, 1 time x 16
channels) and compressed sums (4 numbers, 10 times x 16 channels) of 16 and 32 baselines, per cell of 2 x 2 numbers;
matrices of one and two domains (full Jones of 64 stations, 2016 baselines), and solutions, per element of the matrix.

`PTX`: instructions of PTX that a thread runs. `all`: instructions of machine code, of which `fp32` to
`branch` are the kinds (`integer` has logic, moves and comparisons, too); lanes of a warp are taken to go on together
(but on sm_75 instructions for others are counted, too); a division of 64-bit integers, which ptxas makes a function,
counts where it is called. `warps`: as many as a
multiprocessor holds, given registers and shared memory. A chip's bound is the rate (1e12 cells/s) at
which the limit named before it would be reached if nothing else cost time; a real run reaches a part
of it. The aim is that on an H200. Limits: an instruction a cycle for each scheduler (`issue`), the units of
each kind, requests to shared and global memory (`loads`), and bytes that must come from memory and go
there (`memory`); see `bench/counted/limits.py`.
'''


class Row:
    """A workload in one precision."""

    def __init__(self, name, precision, cells, aim):
        self.name, self.precision, self.cells, self.aim = name, precision, cells, aim
        self.counts = collections.Counter()
        self.ptx = 0
        self.times, self.resources, self.most = {}, None, 0

    def add_ptx(self, instructions):
        self.ptx += instructions

    def add_code(self, code, counts, limits):
        self.counts += counts
        for chip, times, _ in limits:
            sums = self.times.setdefault(chip.name, collections.Counter())
            sums.update(times)
        if sum(counts.values()) > self.most:
            self.most = sum(counts.values())
            self.resources = (code.registers, code.stack, code.shared, code.spills, limits[0][2])

    def per_cell(self, warps):
        return warps * 32 / self.cells

    def key(self):
        return self.name, self.precision

    def columns(self):
        registers, stack, shared, spills, (held, most) = self.resources
        numbers = [self.ptx, sum(self.counts.values())] + [self.counts[kind] for kind in KINDS]
        text = [self.name, self.precision] + [f'{self.per_cell(n):.3g}' if n else '' for n in numbers]
        text += [str(registers), str(stack), str(spills), str(shared), f'{held} of {most}']
        for times in self.times.values():
            limit = max(times, key=times.get)
            text += [limit, f'{self.cells / times[limit] / 1e12:.3g}']
        return text + [f'{self.aim / 1e12:.3g}' if self.aim else '']


def section(rows, machine, compiler):
    chips = list(rows[0].times)
    head = ['workload', 'precision', 'PTX', 'all'] + KINDS + ['registers', 'stack', 'spilled', 'shared', 'warps']
    for chip in chips:
        head += [f'{chip}: limit', 'bound']
    head.append('aim')
    lines = [f'## sm_{machine}', '', f'nvcc {compiler}, {datetime.date.today().isoformat()}:'
             f' `make`, `make cuda-counted PTX_MACHINE={machine}` in BUILD, `bench/gpu-counted BUILD`', '']
    lines.append('| ' + ' | '.join(head) + ' |')
    lines.append('| --- | --- |' + ' --: |' * (len(head) - 2))
    lines += ['| ' + ' | '.join(row.columns()) + ' |' for row in rows]
    return '\n'.join(lines) + '\n'


def write_table(path, rows, machine, compiler):
    """Writes the section of this machine; those of others stay."""
    sections = {machine: section(rows, machine, compiler)}
    if os.path.exists(path):
        with open(path, encoding='utf-8') as file:
            for part in re.split(r'^(?=## sm_)', file.read(), flags=re.M)[1:]:
                sections.setdefault(part.split('\n')[0][len('## sm_'):].strip(), part.rstrip() + '\n')
    with open(path + '.new', 'w', encoding='utf-8') as file:
        file.write('\n'.join([HEAD] + [sections[m] for m in sorted(sections, key=int, reverse=True)]))
    os.replace(path + '.new', path)


def read_table(path, machine):
    """(compiler, {(workload, precision): (PTX, all)}) of a machine's section."""
    with open(path, encoding='utf-8') as file:
        parts = re.split(r'^(?=## sm_)', file.read(), flags=re.M)
    for part in parts:
        if not part.startswith(f'## sm_{machine}\n'):
            continue
        compiler = re.search(r'^nvcc ([\d.]+)', part, re.M).group(1)
        rows = [[word.strip() for word in line.strip('|').split('|')] for line in part.split('\n')
                if line.startswith('| ')]
        return compiler, {(row[0], row[1]): (float(row[2]), float(row[3])) for row in rows
                          if row[1] in ('single', 'double')}
    return None, {}


def compare(table, rows, compiler, with_code):
    """0 when no row has more than in the table; else says which."""
    known, expected = table
    worse = 0
    if known != compiler:
        print(f'skipped: the table is of nvcc {known}, this is {compiler}')
        return 77
    for row in rows:
        if row.key() not in expected:
            print(f'{row.name}, {row.precision}: not in the table; run bench/gpu-counted and commit it')
            worse += 1
            continue
        before = expected[row.key()]
        numbers = [('instructions of PTX', row.per_cell(row.ptx), before[0])]
        if with_code:
            numbers.append(('instructions', row.per_cell(sum(row.counts.values())), before[1]))
        for what, now, then in numbers:
            if now > GROWTH * then:
                print(f'{row.name}, {row.precision}: {now:.3g} {what} per cell, {then:.3g} in the table;'
                      ' mend that, or run bench/gpu-counted and commit the table')
                worse += 1
    print(f'{len(rows)} rows compared' + ('' if with_code else ', executed PTX alone: nvdisasm is not there'))
    return 1 if worse else 0
