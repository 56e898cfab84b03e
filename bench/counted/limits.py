"""What chips issue and move, and which of these limits binds a kernel.

Rates: CUDA C++ Programming Guide, "Throughput of native arithmetic instructions"; data sheets of the
chips for tensor cores and memory. An instruction of a warp takes so many cycles of one of the four
schedulers of a multiprocessor. Tensor cores: m16n8k8 in TF32, m8n8k4 in fp64.
"""
import collections

Chip = collections.namedtuple('Chip', 'name machine multiprocessors clock memory cycles warps registers shared')
# cycles: of a scheduler, by kind; what is not named takes 1
CHIPS = {
    '90': [
        Chip('H100', '90', 132, 1.83e9, 3.35e12,
             {'integer': 2, 'fp64': 2, 'special': 8, 'conversion': 2, 'shuffle': 4, 'memory': 4, 'shared': 4,
              'tf32': 4, 'dmma': 8}, 64, 65536, 233472),
        Chip('H200', '90', 132, 1.83e9, 4.8e12,
             {'integer': 2, 'fp64': 2, 'special': 8, 'conversion': 2, 'shuffle': 4, 'memory': 4, 'shared': 4,
              'tf32': 4, 'dmma': 8}, 64, 65536, 233472)],
    '80': [
        Chip('A100', '80', 108, 1.41e9, 1.56e12,
             {'integer': 2, 'fp32': 2, 'fp64': 4, 'special': 8, 'conversion': 2, 'shuffle': 4, 'memory': 4,
              'shared': 4, 'tf32': 8, 'dmma': 16}, 64, 65536, 167936)],
    '75': [
        Chip('T4', '75', 40, 1.59e9, 3.2e11,
             {'integer': 2, 'fp32': 2, 'fp64': 64, 'special': 8, 'conversion': 8, 'shuffle': 4, 'memory': 8,
              'shared': 4, 'tf32': 16, 'dmma': 64}, 32, 65536, 65536)],
}
SCHEDULERS = 4
LANES = 32


def occupancy(chip, kernel, threads):
    """Warps that a multiprocessor holds, of those that it could."""
    warps = -(-threads // LANES)
    registers = -(-max(kernel.registers, 1) * LANES // 256) * 256 * warps
    blocks = min(chip.warps // max(warps, 1), chip.registers // registers, 32)
    if kernel.shared:
        blocks = min(blocks, chip.shared // (kernel.shared + 1024))
    return blocks * warps, chip.warps


def seconds(chip, counts, run, moved, double):
    """The time that each limit alone would take, by name. moved: bytes that memory must give and take."""
    per_second = chip.multiprocessors * SCHEDULERS * chip.clock
    times = {'issue': sum(counts.values()) / per_second, 'memory': moved / chip.memory}
    for kind in ('fp32', 'fp64', 'integer', 'special', 'conversion', 'shuffle'):
        times[kind] = counts[kind] * chip.cycles.get(kind, 1) / per_second
    times['mma'] = counts['mma'] * chip.cycles['dmma' if double else 'tf32'] / per_second
    # a multiprocessor serves one access to shared memory, or one request for global memory, a cycle
    times['loads'] = (run.shared_cycles + counts['memory']) / (chip.multiprocessors * chip.clock)
    return times
