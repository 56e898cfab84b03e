"""The peak of resident memory of a command, in MiB, on standard output: the largest of some runs.

    peak-memory.py TOLD SET COMMAND...

What is told is the memory when all threads work at once. Where the machine is busy, threads may take
turns and need less: the command runs again, at most six times, while its peak is below TOLD / 1.2.
A Measurement Set of the name SET is removed before each run.
"""
import resource
import shutil
import subprocess
import sys

told, written, command = float(sys.argv[1]), sys.argv[2], sys.argv[3:]
for _ in range(6):
    shutil.rmtree(written, ignore_errors=True)
    code = subprocess.call(command, stdout=sys.stderr)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    if code or told <= 1.2 * peak:
        break
print(peak)
sys.exit(code)
