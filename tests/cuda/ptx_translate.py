#!/usr/bin/env python3
"""Translates PTX to C++ for the emulated driver: ptx_translate.py NAME.ptx >NAME.cc

Each kernel becomes a function that one thread runs, as kernels compiled with emulated.h do. ptx.h is
what it needs. Compiled with -DPTX_COUNTS it counts what it runs: see ptx_counts.h.
"""
import os
import re
import sys

from ptx_instruction import C_TYPES, Instructions
from ptx_source import PtxError, read_module

SHARED_BASE = 1024  # so that 0 is the address of nothing


def identifier(name, letter):
    return letter + re.sub(r'\W', '_', name.lstrip('%$'))


class Scope:
    """The names that a function sees, and the places where it touches memory."""

    def __init__(self, module, shared):
        self.module, self.shared = module, shared
        self.blocks, self.sites = [], []
        self.registers, self.memory = [{}], [{}]

    def begin(self, function):
        self.registers, self.memory = [{}], [{}]
        for variable in function.parameters + ([function.result] if function.result else []):
            self.memory[0][variable.name] = variable

    def open(self):
        self.registers.append({})
        self.memory.append({})

    def close(self):
        self.registers.pop()
        self.memory.pop()

    def register(self, name):
        return next((each[name] for each in reversed(self.registers) if name in each), None)

    def find(self, name):
        return next((each[name] for each in reversed(self.memory) if name in each),
                    next((v for v in self.module.variables if v.name == name), None))

    @staticmethod
    def name(register):
        return identifier(register, 'R')

    @staticmethod
    def label(name):
        return identifier(name, 'L')

    def address(self, operand):
        """Of a variable: in its space, which is its own for shared memory only."""
        variable = self.find(operand)
        if not variable:
            return None
        if variable.space == 'shared':
            return f'{SHARED_BASE + self.shared[operand]}u'
        return f'(uintptr_t){identifier(operand, "V")}'

    def parameter(self, name, offset, count, line):
        variable = self.find(name)
        if not variable or variable.space != 'param':
            raise PtxError(line, f'parameter {name} is not known')
        if offset < 0 or offset + count > variable.bytes or offset % count or variable.align % count:
            raise PtxError(line, f'{count} bytes at {offset} of {name}, of {variable.bytes}')
        return f'({identifier(name, "V")} + {offset})'

    def function(self, name, line):
        if not any(f.name == name and not f.entry for f in self.module.functions):
            raise PtxError(line, f'function {name} is not known')
        return identifier(name, 'F')

    def site(self, line, space, access, count):
        """A number for an access to memory."""
        self.sites.append((line, len(self.blocks) - 1, space, access, count))
        return len(self.sites) - 1


class FunctionWriter:
    """One function as C++."""

    def __init__(self, scope, function):
        self.scope, self.function = scope, function
        self.instructions = Instructions(scope)
        self.lines = []
        self.block_open = False

    def write(self):
        f = self.function
        self.scope.begin(f)
        single = f.parameters[0] if f.entry and len(f.parameters) == 1 else None
        self.lines += [
            self.head(), '{', 'uint32_t carry = 0; (void)carry;',
            f'const uintptr_t parameters = {"(uintptr_t)" + identifier(single.name, "V") if single else 0};',
            f'const size_t parameter_bytes = {single.bytes if single else 0};',
            '(void)parameters; (void)parameter_bytes;']
        self.write_depot()
        for statement in f.statements:
            getattr(self, 'write_' + statement.kind)(statement)
        return self.lines + ['}']

    def head(self):
        memory = [self.function.result] if self.function.result else []
        names = [f'char *{identifier(v.name, "V")}' for v in memory + self.function.parameters]
        letter = 'K' if self.function.entry else 'F'
        return f'static void {identifier(self.function.name, letter)}({", ".join(names + ["PTX_TRIPS_PARAMETER"])})'

    def write_depot(self):
        """Local memory, filled with what is no number."""
        found = [s.variable for s in self.function.statements if s.kind == 'variable' and s.variable.space == 'local']
        if len(found) > 1:
            raise PtxError(self.function.line, f'{self.function.name} has local memory of several names')
        name, count = (identifier(found[0].name, 'V'), found[0].bytes) if found else ('none', 1)
        self.lines.append(f'alignas(16) char {name}[{count}]; char *const depot = {name}; '
                          f'const size_t depot_bytes = {count if found else 0}; memset(depot, 0xff, {count}); '
                          '(void)depot_bytes;')

    # ---- blocks: statements that run as often as each other ----
    def begin_block(self, label, line):
        self.scope.blocks.append([self.function.name, label, line, line, []])
        self.lines.append(f'PTX_BLOCK({len(self.scope.blocks) - 1})')
        self.block_open = True

    def enter_block(self, statement):
        if not self.block_open:
            self.begin_block('', statement.line)
        block = self.scope.blocks[-1]
        block[3] = statement.line
        if statement.place and statement.place not in block[4]:
            block[4].append(statement.place)

    # ---- statements ----
    def write_open(self, _):
        self.scope.open()
        self.lines.append('{')

    def write_close(self, _):
        self.scope.close()
        self.lines.append(';}')

    def write_label(self, statement):
        self.lines.append(f'{self.scope.label(statement.name)}:;')
        self.begin_block(statement.name, statement.line)

    def write_registers(self, statement):
        self.scope.registers[-1].update(statement.registers)
        by_type = {}
        for name, kind in statement.registers.items():
            kind = 'b' + kind[1:] if kind[0] in 'su' else kind
            self.scope.registers[-1][name] = kind
            by_type.setdefault(C_TYPES[kind], []).append(self.scope.name(name))
        for kind, names in by_type.items():
            self.lines += [f'{kind} {", ".join(names[k:k + 40])};' for k in range(0, len(names), 40)]

    def write_variable(self, statement):
        variable = statement.variable
        self.scope.memory[-1][variable.name] = variable
        if variable.space == 'param':
            self.lines.append(f'alignas({max(8, variable.align)}) char {identifier(variable.name, "V")}[{variable.bytes}];')
        elif variable.space not in ('local', 'shared'):
            raise PtxError(statement.line, f'a variable in .{variable.space} memory of a function')

    def write_instruction(self, statement):
        self.enter_block(statement)
        text = self.instructions.translate(statement.name, statement.operands, statement.line)
        if statement.predicate:
            text = f'if ({statement.predicate[0].replace("%", "")}{self.predicate(statement)}) {{ {text} }}'
        self.lines.append(text)
        if statement.name.split('.')[0] in ('bra', 'ret'):
            self.block_open = False

    def predicate(self, statement):
        name = statement.predicate.lstrip('!')
        if self.scope.register(name) != 'pred':
            raise PtxError(statement.line, f'{name} is no predicate')
        return self.scope.name(name)


def place_shared(module):
    """Offsets of all shared variables, and how many bytes they take together."""
    offsets, end = {}, 0
    inside = [s.variable for f in module.functions for s in f.statements if s.kind == 'variable']
    for variable in module.variables + inside:
        if variable.space == 'shared':
            end = -(-end // variable.align) * variable.align
            offsets[variable.name] = end
            end += variable.bytes
    return offsets, end


def write_variable(variable):
    """A variable of the module, and that other name by which the driver finds it."""
    kind, name = C_TYPES[variable.type], identifier(variable.name, 'V')
    numbers = ', '.join(map(str, variable.initial or [0]))
    count = variable.bytes // {'b8': 1, 'u8': 1, 's8': 1}.get(variable.type, int(variable.type[1:]) // 8)
    return [f'extern "C" __attribute__((visibility("default"))) {kind} {name}[] __asm__("{variable.name}");',
            f'alignas({variable.align}) {kind} {name}[{count}] = {{{numbers}}};']


def write_kernel(function):
    name, memory = function.name, function.parameters
    sizes = ' '.join(f'sizes[{k}] = {v.bytes};' for k, v in enumerate(memory))
    values = ', '.join([f'(char *)arguments[{k}]' for k in range(len(memory))] + ['PTX_TRIPS'])
    return [f'PTX_EXPORT size_t emulated_sizes_{name}(size_t *sizes) {{ {sizes} return {len(memory)}; }}',
            f'PTX_EXPORT void emulated_run_{name}(void **arguments)', '{',
            f'PTX_BEGIN("{name}", {function.max_threads});',
            f'{identifier(name, "K")}({values});', 'PTX_END', '}']


def write_tables(scope):
    """What the counts are of: only compiled with -DPTX_COUNTS."""
    yield 'const ptx_block ptx_blocks[] = {'
    for function, label, first, last, places in scope.blocks:
        text = ' '.join(f'{os.path.basename(file)}:{line}' for file, line in places)
        yield f'{{"{function}", "{label}", {first}, {last}, "{text}"}},'
    yield '{}};'
    yield 'const ptx_site ptx_sites[] = {'
    for line, block, space, access, count in scope.sites:
        yield f'{{{line}, {block}, "{space}", "{access}", {count}}},'
    yield '{}};'
    yield f'const size_t ptx_block_count = {len(scope.blocks)}, ptx_site_count = {len(scope.sites)};'


def translate(module):
    offsets, shared_bytes = place_shared(module)
    scope = Scope(module, offsets)
    functions = sorted(module.functions, key=lambda f: f.entry)  # those called come first
    bodies = [line for f in functions for line in FunctionWriter(scope, f).write()]
    lines = [f'enum {{ PTX_SHARED_BASE = {SHARED_BASE}, PTX_SHARED_BYTES = {shared_bytes} }};', '#include "ptx.h"']
    lines += [line for v in module.variables if v.space != 'shared' for line in write_variable(v)]
    lines += ['#ifdef PTX_COUNTS', *write_tables(scope), '#endif']
    lines += bodies
    return lines + [line for f in functions if f.entry for line in write_kernel(f)]


def main():
    if len(sys.argv) != 2:
        sys.exit('usage: ptx_translate.py NAME.ptx')
    try:
        print('\n'.join(translate(read_module(sys.argv[1]))))
    except PtxError as error:
        sys.exit(f'{sys.argv[1]}: {error}')


if __name__ == '__main__':
    main()
