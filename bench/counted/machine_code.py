"""Machine code that ptxas makes of PTX, instruction by instruction, each with its line of the PTX."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

# What an instruction costs, by the first word of its name in sm_75 to sm_90.
KINDS = {
    'fp32': 'FFMA FMUL FADD FFMA2 FMUL2 FADD2',
    'fp64': 'DFMA DMUL DADD DSETP DMNMX',
    'special': 'MUFU',
    'conversion': 'F2F F2I F2IP I2F I2IP FRND F2FP I2FP',
    'shared': 'LDS STS ATOMS LDSM',
    'memory': 'LDG STG RED ATOMG ATOM LD ST LDL STL LDGSTS LDGDEPBAR CCTL',
    'shuffle': 'SHFL REDUX VOTE MATCH',
    'mma': 'HMMA DMMA',
    'branch': 'BRA BRX BSSY BSYNC EXIT WARPSYNC CALL RET BREAK BAR NOP YIELD JMP KILL DEPBAR MEMBAR ERRBAR RPCMOV',
}
KIND_OF = {word: kind for kind, words in KINDS.items() for word in words.split()}
# Of what PTX makes one instruction only: how many there are of it shows how often a loop is unrolled.
ONE_TO_ONE = re.compile(
    r'(fma\.rn|add|mul|sub)(\.rn)?(\.ftz)?\.f(32|64)|mma\.|shfl\.|ld\.(global|shared)|st\.(global|shared)|ex2\.|rsqrt\.approx')


class CodeError(Exception):
    pass


def kind_of(operation):
    """fp32, fp64, ..., or `integer` for all that is left: integers, logic, moves, comparisons."""
    return KIND_OF.get(operation.split('.')[0], 'integer')


def find_disassembler():
    """nvdisasm of the toolkit or of the Python package nvidia-cuda-nvdisasm; None if there is none."""
    found = shutil.which('nvdisasm') or shutil.which('nvdisasm', path='/usr/local/cuda/bin:/opt/cuda/bin')
    for folder in [] if found else sys.path:
        for major in ('13', '12'):
            program = os.path.join(folder, 'nvidia', 'cu' + major, 'bin', 'nvdisasm')
            if os.access(program, os.X_OK):
                return program
    return found


def with_lines(ptx):
    """The PTX with its own line numbers as source lines."""
    lines, depth = [], 0
    for number, line in enumerate(ptx.split('\n'), 1):
        text = line.strip()
        if re.match(r'\.(loc|file)\s', text):
            continue
        if depth and text.endswith(';') and not text.startswith(('.', '//', '{', '}', '$', '(', ')')):
            lines.append(f'.loc 1 {number} 0')
        lines.append(line)
        if not text.startswith('//'):
            depth += line.count('{') - line.count('}')
    text = '\n'.join(lines)
    # what -lineinfo adds after the code names files that are not there any more
    text = re.sub(r'\n\s*\.section\s+\.debug.*', '\n', text, flags=re.S)
    return text.replace('.address_size 64', '.address_size 64\n.file 1 "kernel.ptx"', 1)


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise CodeError(f'{command[0]}: {(done.stderr or done.stdout).strip()}')
    return done.stdout + done.stderr


class Kernel:
    """One function of a module."""

    def __init__(self):
        self.instructions = []  # (operation, line of the PTX)
        self.registers = self.stack = self.shared = self.spills = 0


def read_resources(text, kernels):
    """What ptxas -v says: registers, stack, shared memory, spills."""
    name = None
    for line in text.split('\n'):
        found = re.search(r"Compiling entry function '(\w+)'|Function properties for (\w+)", line)
        if found:
            name = found.group(1) or found.group(2)
        kernel = kernels.setdefault(name, Kernel())
        for field, pattern in (('registers', r'Used (\d+) registers'), ('shared', r'(\d+) bytes smem'),
                               ('stack', r'(\d+) bytes stack frame'), ('spills', r'(\d+) bytes spill stores')):
            found = re.search(pattern, line)
            if found:
                setattr(kernel, field, int(found.group(1)))


def read_code(text, kernels):
    """What nvdisasm -g prints. Functions that are called are in the section of their kernel. Those of ptxas have no
    lines: divisions of 64-bit integers count where they are called; the others are for numbers that are denormal or
    out of range, and do not. Left out, too, is what only lanes run that do not go on together: where BRA.DIV leads to,
    before the branch back."""
    name, line, apart, own, functions, calls = None, 0, False, None, {}, []
    ways_apart = set(re.findall(r'BRA\.DIV \S+ `\((\S+)\)', text))
    for row in text.split('\n'):
        found = re.match(r'\s*\.section\s+\.text\.(\w+)', row)
        if found:
            name, line, apart, own = found.group(1), 0, False, None
            kernels.setdefault(name, Kernel())
            continue
        found = re.match(r'(\S+):$', row)
        if found and found.group(1).startswith('$__internal_'):
            own = functions.setdefault(found.group(1), [])
        elif found:
            apart = apart or found.group(1) in ways_apart
            continue
        found = re.match(r'\s*//## File "[^"]*", line (\d+)', row)
        if found:
            line = int(found.group(1))
            continue
        found = re.match(r'\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?(\w[\w.]*)', row)
        if found and own is not None:
            own.append(found.group(1))
        elif found and name and not apart:
            kernels[name].instructions.append((found.group(1), line))
            called = re.search(r'CALL\S* `\((\$__internal_\S+_(?:div|rem)_[su]64)\)', row)
            if called:
                calls.append((name, line, called.group(1)))
        if found and re.search(r'\*/\s+BRA `', row):
            apart = False
    for name, line, function in calls:
        kernels[name].instructions += [(operation, line) for operation in functions.get(function, [])]


def assemble(path, machine, disassembler):
    """Kernels by name, of a file of PTX, for a machine such as 90."""
    with open(path, encoding='utf-8') as file:
        ptx = file.read()
    kernels = {}
    with tempfile.TemporaryDirectory() as folder:
        source, code = os.path.join(folder, 'kernel.ptx'), os.path.join(folder, 'kernel.cubin')
        with open(source, 'w', encoding='utf-8') as file:
            file.write(with_lines(ptx))
        assembler = shutil.which('ptxas') or shutil.which('ptxas', path='/usr/local/cuda/bin:/opt/cuda/bin')
        if not assembler:
            raise CodeError('ptxas is not there: it comes with nvcc')
        read_resources(run([assembler, f'-arch=sm_{machine}', '-lineinfo', '-v', '-o', code, source]), kernels)
        read_code(run([disassembler, '-g', '-c', code]), kernels)
    return kernels
