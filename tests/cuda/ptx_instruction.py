"""Instructions of PTX as statements of C++ (PTX ISA, chapter 9), for ptx.h.

Only what nvcc writes for kernels of ours is known; anything else is an error. Results of `add`, `mul`
and the like are rounded to nearest, as PTX does where nothing else is said.
"""
import re
import struct

from ptx_source import PtxError, TYPE_BYTES, split_list

C_TYPES = {'pred': 'bool', 'f32': 'float', 'f64': 'double'}
C_TYPES.update({letter + str(bits): prefix + f'int{bits}_t'
                for letter, prefix in (('b', 'u'), ('u', 'u'), ('s', '')) for bits in (8, 16, 32, 64)})
WIDE = {'u16': 'uint32_t', 's16': 'int32_t', 'u32': 'uint64_t', 's32': 'int64_t', 'u64': 'unsigned __int128', 's64': '__int128'}
SPECIAL = {f'%{name}.{axis}': f'(uint32_t){of}.{axis}' for axis in 'xyz' for name, of in
           (('tid', 'threadIdx'), ('ntid', 'blockDim'), ('ctaid', 'blockIdx'), ('nctaid', 'gridDim'))}
SPECIAL['%laneid'] = '(uint32_t)emulated_now->lane()'

INTEGER, FLOAT, BITS = r'(?P<t>[us](?:16|32|64))', r'(?P<t>f32|f64)', r'(?P<t>b(?:16|32|64))'

# Opcode; types of the operands, the result first: t that of the opcode, u without sign, w of double
# width, i u32, p a predicate; the result from operands {1}, {2}, {3}. {T} is t, {W} the wide type in C.
RULES = [
    (r'(?:add|sub)\.' + INTEGER, 'tuu', '{1} {sign} {2}'),
    (r'mul\.lo\.' + INTEGER, 'tuu', '(uint64_t){1} * {2}'),
    (r'mul\.wide\.(?P<t>[us](?:16|32))', 'wtt', '({W}){1} * {2}'),
    (r'mul\.hi\.(?P<t>[us](?:32|64))', 'ttt', '({W}){1} * {2} >> 8 * sizeof({T})'),
    (r'mad\.lo\.' + INTEGER, 'tuuu', '(uint64_t){1} * {2} + {3}'),
    (r'mad\.wide\.(?P<t>[us]32)', 'wttw', '(uint64_t)(({W}){1} * {2}) + {3}'),
    (r'div\.(?P<t>[us](?:32|64))', 'ttt', 'ptx_divide<{T}>({1}, {2}, {line})'),
    (r'rem\.(?P<t>[us](?:32|64))', 'ttt', 'ptx_remainder<{T}>({1}, {2}, {line})'),
    (r'neg\.(?P<t>s(?:16|32|64))', 'tu', '0 - {1}'),
    (r'min\.' + INTEGER, 'ttt', '{1} < {2} ? {1} : {2}'),
    (r'max\.' + INTEGER, 'ttt', '{1} > {2} ? {1} : {2}'),
    (r'and\.' + BITS, 'ttt', '{1} & {2}'),
    (r'or\.' + BITS, 'ttt', '{1} | {2}'),
    (r'xor\.' + BITS, 'ttt', '{1} ^ {2}'),
    (r'not\.' + BITS, 'tt', '~{1}'),
    (r'and\.pred', 'ppp', '{1} && {2}'),
    (r'or\.pred', 'ppp', '{1} || {2}'),
    (r'xor\.pred', 'ppp', '{1} != {2}'),
    (r'not\.pred', 'pp', '!{1}'),
    (r'shl\.' + BITS, 'tti', 'ptx_shift_left<{T}>({1}, {2})'),
    (r'shr\.(?P<t>[usb](?:16|32|64))', 'tti', 'ptx_shift_right<{T}>({1}, {2})'),
    (r'clz\.b32', 'ii', 'ptx_leading_zeros({1}, 32)'),
    (r'clz\.(?P<t>b64)', 'it', 'ptx_leading_zeros({1}, 64)'),
    (r'popc\.(?P<t>b32|b64)', 'it', '__builtin_popcountll({1})'),
    (r'bfi\.(?P<t>b32|b64)', 'tttii', 'ptx_insert_bits<{T}>({1}, {2}, {3}, {4})'),
    (r'selp\.(?P<t>[usbf](?:16|32|64))', 'tttp', '{3} ? {1} : {2}'),
    (r'mov\.(?P<t>pred|[usbf](?:16|32|64))', 'tt', '{1}'),
    (r'(?:add|sub)(?:\.rn)?\.' + FLOAT, 'ttt', '{1} {sign} {2}'),
    (r'mul(?:\.rn)?\.' + FLOAT, 'ttt', '{1} * {2}'),
    (r'fma\.rn\.f32', 'ffff', 'fmaf({1}, {2}, {3})'),
    (r'fma\.rn\.f64', 'dddd', 'fma({1}, {2}, {3})'),
    (r'fma\.rm\.f32', 'ffff', 'ptx_fma_down({1}, {2}, {3})'),
    (r'div\.rn\.' + FLOAT, 'ttt', '{1} / {2}'),
    (r'rcp\.rn\.' + FLOAT, 'tt', '1 / {1}'),
    (r'rcp\.approx\.ftz\.f64', 'dd', 'ptx_high_word(1 / ptx_high_word({1}))'),
    (r'rsqrt\.approx\.ftz\.f64', 'dd', 'ptx_high_word(1 / sqrt(ptx_high_word({1})))'),
    (r'rsqrt\.approx\.f64', 'dd', '1 / sqrt({1})'),
    (r'rsqrt\.approx(?:\.ftz)?\.f32', 'ff', '(float)(1 / sqrt((double){1}))'),
    (r'sqrt\.rn\.f32', 'ff', 'sqrtf({1})'),
    (r'sqrt\.rn\.f64', 'dd', 'sqrt({1})'),
    (r'ex2\.approx\.f32', 'ff', 'exp2f({1})'),
    (r'ex2\.approx\.ftz\.f32', 'ff', 'ptx_flush(exp2f(ptx_flush({1})))'),
    (r'neg\.' + FLOAT, 'tt', '-{1}'),
    (r'abs\.' + FLOAT, 'tt', '({T})fabs({1})'),
    (r'abs\.(?P<t>s32|s64)', 'tt', '{1} < 0 ? ({T})(0 - (uint64_t){1}) : {1}'),
    (r'min\.' + FLOAT, 'ttt', 'ptx_min({1}, {2})'),
    (r'max\.' + FLOAT, 'ttt', 'ptx_max({1}, {2})'),
    (r'copysign\.' + FLOAT, 'ttt', '({T})copysign({2}, {1})'),
    (r'cvt\.(?P<t>[us]\d+)\.(?P<s>[us]\d+)', 'ts', '{1}'),
    (r'cvt\.rn\.(?P<t>f\d+)\.(?P<s>[us]\d+)', 'ts', '({T}){1}'),
    (r'cvt\.(?P<round>r[nzmp]i)\.(?P<t>[us]\d+)\.(?P<s>f\d+)', 'ts', 'ptx_to_integer<{T}>({round}({1}), {nan})'),
    (r'cvt\.(?P<round>r[nzmp]i)\.(?P<t>f\d+)\.(?P=t)', 'tt', '({T}){round}({1})'),
    (r'cvt\.f64\.f32', 'df', '(double){1}'),
    (r'cvt\.rn\.f32\.f64', 'fd', '(float){1}'),
    (r'cvt\.sat\.f32\.f32', 'ff', 'ptx_saturate({1})'),
    (r'cvta\.(?:to\.)?(?:global|local|param)\.(?P<t>u64)', 'tt', '{1}'),
    (r'cvta\.shared\.(?P<t>u64)', 'tt', 'ptx_generic_of_shared({1})'),
    (r'cvta\.to\.shared\.(?P<t>u64)', 'tt', 'ptx_shared_of_generic({1})'),
]
RULES = [(re.compile(pattern), types, result) for pattern, types, result in RULES]
ROUND = {'rni': 'nearbyint', 'rzi': 'trunc', 'rmi': 'floor', 'rpi': 'ceil'}

# Comparisons of numbers {a} and {b}. Those with u hold also where one is no number.
COMPARE = {'eq': '{a} == {b}', 'lt': '{a} < {b}', 'le': '{a} <= {b}', 'gt': '{a} > {b}', 'ge': '{a} >= {b}',
           'lo': '{a} < {b}', 'ls': '{a} <= {b}', 'hi': '{a} > {b}', 'hs': '{a} >= {b}'}
COMPARE_FLOATS = {'ne': '({a} < {b} || {a} > {b})', 'neu': '{a} != {b}', 'equ': '!({a} < {b} || {a} > {b})',
                  'ltu': '!({a} >= {b})', 'leu': '!({a} > {b})', 'gtu': '!({a} <= {b})', 'geu': '!({a} < {b})',
                  'num': '({a} == {a} && {b} == {b})', 'nan': '({a} != {a} || {b} != {b})'}

# Other lane and whether it is in reach, for each kind of shuffle: in ptx.h.
SHUFFLES = ('bfly', 'down', 'up', 'idx')
ATOMIC = {'add': '{old} + {b}', 'min': '{b} < {old} ? {b} : {old}', 'max': '{old} < {b} ? {b} : {old}',
          'and': '{old} & {b}', 'or': '{old} | {b}', 'xor': '{old} ^ {b}', 'exch': '{b}',
          'cas': '{old} == {b} ? {c} : {old}'}


def wide(name):
    return name[0] + str(2 * int(name[1:]))


def float_literal(digits, double):
    value = struct.unpack('>d' if double else '>f', bytes.fromhex(digits))[0]
    if value - value != 0:  # infinite, or no number
        return f'ptx_float64(0x{digits}ull)' if double else f'ptx_float32(0x{digits}u)'
    return value.hex() + ('' if double else 'f')


def list_of(operand):
    """{%f1, %f2}, or one register."""
    return split_list(operand.strip()[1:-1]) if operand.startswith('{') else [operand]


class Instructions:
    """The instructions of one function: `scope` knows its names."""

    def __init__(self, scope):
        self.scope = scope
        self.line = 0

    def fail(self, text):
        raise PtxError(self.line, text)

    # ---- operands ----
    def value(self, operand, kind):
        """An operand as an expression of this type."""
        found = re.fullmatch(r'0([fFdD])([0-9A-Fa-f]{8}|[0-9A-Fa-f]{16})', operand)
        if found:
            if kind != ('f64' if found[1] in 'dD' else 'f32'):
                self.fail(f'{operand} as .{kind}')
            return f'({float_literal(found[2], kind == "f64")})'
        if operand in SPECIAL:
            return f'({C_TYPES[kind]}){SPECIAL[operand]}'
        if re.fullmatch(r'-?(?:0[xX][0-9A-Fa-f]+|\d+)U?', operand):
            return self.integer(int(operand.rstrip('U'), 0), kind)
        own = self.scope.register(operand)
        if own:
            return self.convert(self.scope.name(operand), own, kind)
        address = self.scope.address(operand)
        if address is None or kind[0] == 'f':
            self.fail(f'operand {operand} is not known')
        return f'({C_TYPES[kind]}){address}'

    def integer(self, number, kind):
        if kind == 'pred':
            return 'true' if number else 'false'
        if kind[0] == 'f':
            self.fail(f'{number} as .{kind}')
        bits = 8 * TYPE_BYTES[kind]
        return f'({C_TYPES[kind]}){number % (1 << bits):#x}{"ull" if bits == 64 else "u"}'

    def convert(self, name, own, kind):
        """A register of type `own` read, or a number of that type used, as `kind`."""
        if (own == 'pred') != (kind == 'pred'):
            self.fail(f'{name} is .{own}, not .{kind}')
        if own == kind or C_TYPES[own] == C_TYPES[kind]:
            return name
        if own[0] == 'f' or kind[0] == 'f':
            if TYPE_BYTES[own] != TYPE_BYTES[kind]:
                self.fail(f'{name} is .{own}, not .{kind}')
            return (f'ptx_float{kind[1:]}({name})' if kind[0] == 'f' else
                    f'({C_TYPES[kind]})ptx_bits_of({name})')
        return f'({C_TYPES[kind]}){name}'

    def set(self, operand, kind, expression):
        """`operand` = an expression, which becomes that type; registers may be wider."""
        if operand == '_':
            return ''
        own = self.scope.register(operand)
        if not own:
            self.fail(f'{operand} is not a register')
        name = self.scope.name(operand)
        if (own[0] == 'f') != (kind[0] == 'f'):
            return f'{name} = {self.convert(f"({C_TYPES[kind]})({expression})", kind, own)};'
        return f'{name} = ({C_TYPES[kind]})({expression});'

    def bytes_at(self, operand, space, count, access):
        """Checked pointer to [register + offset] or [name + offset]."""
        found = re.fullmatch(r'\[\s*([^\s+]+)\s*(?:\+\s*(-?\d+))?\s*\]', operand)
        if not found:
            self.fail(f'address {operand} is not known')
        base, offset = found[1], int(found[2] or 0)
        if space == 'param' and not self.scope.register(base):
            return self.scope.parameter(base, offset, count, self.line)
        kind = 'u32' if space == 'shared' else 'u64'
        address = f'{self.value(base, kind)} + {self.integer(offset, kind)}'
        site = self.scope.site(self.line, space or 'generic', access, count)
        return f'PTX_{(space or "generic").upper()}({address}, {count}, {self.line}, {site})'

    # ---- instructions ----
    def translate(self, opcode, operands, line):
        self.line = line
        base = opcode.split('.')[0]
        special = getattr(self, 'do_' + base, None)
        text = special(opcode, operands) if special else None
        return text if text is not None else self.by_rule(opcode, operands)

    def by_rule(self, opcode, operands):
        for pattern, types, result in RULES:
            found = pattern.fullmatch(opcode)
            if not found:
                continue
            if len(operands) != len(types):
                self.fail(f'{opcode} with {len(operands)} operands')
            groups = found.groupdict()
            t = groups.get('t') or 'u32'
            kinds = {'t': t, 's': groups.get('s'), 'i': 'u32', 'p': 'pred', 'f': 'f32', 'd': 'f64',
                     'u': 'u' + t[1:], 'w': wide(t) if 'w' in types else None}
            values = [self.value(operand, kinds[letter]) for operand, letter in zip(operands[1:], types[1:])]
            expression = result.format(
                None, *values, T=C_TYPES[t], W=WIDE.get(t), line=self.line, round=ROUND.get(groups.get('round')),
                sign='-' if opcode.startswith('sub') else '+', nan='true' if '64' in opcode else 'false')
            return self.set(operands[0], kinds[types[0]], expression)
        self.fail(f'instruction {opcode} is not known')

    def do_setp(self, opcode, operands):
        found = re.fullmatch(r'setp\.(\w+)\.([usbf](?:16|32|64))', opcode)
        if not found or len(operands) != 3:
            self.fail(f'instruction {opcode} {", ".join(operands)} is not known')
        how, kind = found.groups()
        table = dict(COMPARE, **(COMPARE_FLOATS if kind[0] == 'f' else {'ne': '{a} != {b}'}))
        if how not in table:
            self.fail(f'instruction {opcode} is not known')
        test = table[how].format(a=self.value(operands[1], kind), b=self.value(operands[2], kind))
        return self.set(operands[0], 'pred', test)

    def do_mov(self, opcode, operands):
        """{low, high} from one register, or one from {low, high}; others by rule."""
        if not any(operand.startswith('{') for operand in operands):
            return None
        if opcode != 'mov.b64':
            self.fail(f'instruction {opcode} with a pair is not known')
        if operands[1].startswith('{'):
            low, high = (self.value(x, 'u32') for x in list_of(operands[1]))
            return self.set(operands[0], 'b64', f'(uint64_t){low} | (uint64_t){high} << 32')
        low, high = list_of(operands[0])
        return (f'{{ uint64_t both = {self.value(operands[1], "b64")}; {self.set(low, "u32", "both")} '
                f'{self.set(high, "u32", "both >> 32")} }}')

    def do_ld(self, opcode, operands):
        found = re.fullmatch(r'ld(?:\.(?P<space>param|global|shared|local))?(?:\.nc)?(?:\.v(?P<n>[24]))?'
                             r'\.(?P<t>[usbf]\d+)', opcode)
        registers = list_of(operands[0])
        if not found or len(registers) != int(found['n'] or 1) or '.nc' in opcode and found['space'] != 'global':
            self.fail(f'instruction {opcode} is not known')
        count = TYPE_BYTES[found['t']] * len(registers)
        at = self.bytes_at(operands[1], found['space'], count, 'load')
        parts = ' '.join(self.set(r, found['t'], f'from[{k}]') for k, r in enumerate(registers))
        return f'{{ const {C_TYPES[found["t"]]} *from = (const {C_TYPES[found["t"]]} *){at}; {parts} }}'

    def do_st(self, opcode, operands):
        found = re.fullmatch(r'st(?:\.(?P<space>param|global|shared|local))?(?:\.v(?P<n>[24]))?'
                             r'\.(?P<t>[usbf]\d+)', opcode)
        registers = list_of(operands[1])
        if not found or len(registers) != int(found['n'] or 1):
            self.fail(f'instruction {opcode} is not known')
        count = TYPE_BYTES[found['t']] * len(registers)
        at = self.bytes_at(operands[0], found['space'], count, 'store')
        parts = ' '.join(f'to[{k}] = {self.value(r, found["t"])};' for k, r in enumerate(registers))
        return f'{{ {C_TYPES[found["t"]]} *to = ({C_TYPES[found["t"]]} *){at}; {parts} }}'

    def atomic(self, opcode, operands, result):
        found = re.fullmatch(r'(?:atom|red)(?:\.(?P<space>global|shared))?\.(?P<how>\w+)\.(?P<t>[usbf]\d+)', opcode)
        if not found or found['how'] not in ATOMIC or len(operands) != 2 + (found['how'] == 'cas'):
            self.fail(f'instruction {opcode} is not known')
        t, c = found['t'], C_TYPES[found['t']]
        b, *more = (self.value(x, t) for x in operands[1:])
        at = self.bytes_at(operands[0], found['space'], TYPE_BYTES[t], 'atomic')
        new = ATOMIC[found['how']].format(old='old', b=b, c=more[0] if more else '')
        keep = self.set(result, t, 'old') if result else ''
        return f'{{ {c} *to = ({c} *){at}, old = *to; *to = ({c})({new}); {keep} }}'

    def do_atom(self, opcode, operands):
        return self.atomic(opcode, operands[1:], operands[0])

    def do_red(self, opcode, operands):
        return self.atomic(opcode, operands, None)

    def carry(self, opcode, operands):
        """Sums, differences and halves of products that take a carry, leave one, or both."""
        found = re.fullmatch(r'(?P<what>add|sub|mad)(?P<in>c?)(?:\.(?P<half>lo|hi))?(?P<out>\.cc)?\.(?P<t>[us](?:32|64))',
                             opcode)
        if not found or not (found['in'] or found['out']) or bool(found['half']) != (found['what'] == 'mad'):
            return None
        u = 'u' + found['t'][1:]
        big, bits = WIDE[u], 8 * TYPE_BYTES[u]
        values = [f'({big}){self.value(x, u)}' for x in operands[1:]]
        sign = '-' if found['what'] == 'sub' else '+'
        first = values[0]
        if found['what'] == 'mad':
            product = f'{values[0]} * {values[1]}'
            first = f'({big})({C_TYPES[u]})({product})' if found['half'] == 'lo' else f'({product} >> {bits})'
        total = f'{first} {sign} {values[-1]}' + (f' {sign} carry' if found['in'] else '')
        after = f' carry = (uint32_t)(total >> {bits}) & 1;' if found['out'] else ''
        return f'{{ {big} total = {total}; {self.set(operands[0], u, "total")}{after} }}'

    do_add = do_sub = do_mad = do_addc = do_subc = do_madc = carry

    def do_bar(self, opcode, operands):
        if opcode == 'bar.sync' and operands == ['0']:
            return 'emulated_now->barrier();'
        if opcode == 'bar.warp.sync' and len(operands) == 1:
            return f'ptx_warp_barrier({self.value(operands[0], "u32")}, {self.line});'
        self.fail(f'instruction {opcode} {", ".join(operands)} is not known')

    def do_shfl(self, opcode, operands):
        found = re.fullmatch(r'shfl\.sync\.(\w+)\.b32', opcode)
        if not found or found[1] not in SHUFFLES or len(operands) != 5:
            self.fail(f'instruction {opcode} is not known')
        result, _, reached = operands[0].partition('|')
        value, by, clamp, mask = (self.value(x, 'u32') for x in operands[1:])
        flag = self.set(reached, 'pred', 'reached') if reached else ''
        call = f'ptx_shuffle_{found[1]}({value}, {by}, {clamp}, {mask}, &reached, {self.line})'
        return f'{{ bool reached; uint32_t all = {call}; {self.set(result, "b32", "all")} {flag} }}'

    def do_mma(self, opcode, operands):
        forms = {'mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32': ('ptx_mma_tf32', 'b32', 'f32', (4, 4, 2, 4)),
                 'mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64': ('ptx_mma_f64', 'f64', 'f64', (2, 1, 1, 2))}
        parts = [list_of(operand) for operand in operands]
        name, of, to, counts = forms.get(opcode, (None, None, None, None))
        if not name or tuple(map(len, parts)) != counts:
            self.fail(f'instruction {opcode} is not known')
        d, a, b, c = parts
        arrays = [f'{C_TYPES[kind]} {letter}[] = {{{", ".join(self.value(x, kind) for x in part)}}};'
                  for letter, kind, part in (('a', of, a), ('b', of, b), ('c', to, c))]
        after = ' '.join(self.set(x, to, f'c[{k}]') for k, x in enumerate(d))
        return f'{{ {" ".join(arrays)} {name}(a, b, c); {after} }}'

    def do_bra(self, opcode, operands):
        if opcode not in ('bra', 'bra.uni'):
            self.fail(f'instruction {opcode} is not known')
        return f'goto {self.scope.label(operands[0])};'

    def do_ret(self, opcode, operands):
        if opcode != 'ret' or operands:
            self.fail(f'instruction {opcode} is not known')
        return 'return;'

    def do_call(self, opcode, operands):
        """call (result), function, (arguments), all of them in .param memory."""
        names = [[x for x in split_list(part.strip('() '))] for part in operands]
        if opcode not in ('call', 'call.uni') or len(operands) != 3 or not operands[0].startswith('('):
            self.fail(f'instruction {opcode} {", ".join(operands)} is not known')
        memory = [self.scope.parameter(name, 0, 1, self.line) for name in names[0] + names[2]]
        return f'{self.scope.function(names[1][0], self.line)}({", ".join(memory + ["PTX_TRIPS"])});'
