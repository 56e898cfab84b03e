"""PTX as nvcc writes it, read into functions and statements (PTX ISA, chapters 4 and 5)."""
import re
from dataclasses import dataclass, field


class PtxError(Exception):
    """What cannot be read or translated, with its line."""

    def __init__(self, line, text):
        super().__init__(f'line {line}: {text}')


@dataclass
class Variable:
    """A variable of a state space: name[bytes]."""
    space: str
    name: str
    align: int
    bytes: int
    initial: list = None  # of its bytes or numbers
    type: str = 'b8'


@dataclass
class Statement:
    """kind: 'open' or 'close' of a scope, 'label', 'registers', 'variable' or 'instruction'."""
    kind: str
    line: int
    place: tuple = None  # (file, line) of the source that it was made of
    name: str = ''  # of the label; the instruction's opcode with its modifiers
    operands: list = field(default_factory=list)
    predicate: str = ''  # of the instruction: '%p1' or '!%p1'
    registers: dict = None  # name: type
    variable: Variable = None


@dataclass
class Function:
    name: str
    entry: bool  # a kernel
    result: Variable
    parameters: list
    max_threads: int  # of a block; 0: any number
    statements: list
    line: int


@dataclass
class Module:
    variables: list
    functions: list
    target: int


TYPE_BYTES = {'pred': 1, 'b8': 1, 'u8': 1, 's8': 1, 'b16': 2, 'u16': 2, 's16': 2, 'b32': 4, 'u32': 4,
              's32': 4, 'f32': 4, 'b64': 8, 'u64': 8, 's64': 8, 'f64': 8}

VARIABLE = re.compile(r'\.(?P<space>global|const|shared|local|param)\s+(?:\.align\s+(?P<align>\d+)\s+)?'
                      r'\.(?P<type>\w+)\s+(?P<name>[\w$]+)(?:\[(?P<count>\d+)\])?'
                      r'(?:\s*=\s*(?P<initial>.*))?$', re.S)
LOCATION = re.compile(r'\.loc\s+(\d+)\s+(\d+)')
LABEL = re.compile(r'([$\w]+):(?!:)')
HEADER = re.compile(r'(?:\.visible\s+|\.weak\s+|\.extern\s+)*\.(entry|func)\b')
DIRECTIVES = re.compile(r'\.(version|target|address_size|file)\b[^\n]*')
QUALIFIERS = re.compile(r'(?:\.visible|\.weak|\.extern)\s+')


def split_list(text):
    """Parts between commas that are in no bracket."""
    parts, depth, part = [], 0, ''
    for letter in text:
        depth += (letter in '{([') - (letter in '})]')
        if letter == ',' and depth == 0:
            parts.append(part.strip())
            part = ''
        else:
            part += letter
    return parts + [part.strip()] if part.strip() else parts


def parse_variable(text, line):
    found = VARIABLE.match(QUALIFIERS.sub('', text.strip()))
    if not found:
        raise PtxError(line, f'a declaration that is not known: {text.strip()[:60]}')
    size = TYPE_BYTES.get(found['type'])
    if not size:
        raise PtxError(line, f'a type that is not known: .{found["type"]}')
    initial = found['initial'] and [int(x, 0) for x in found['initial'].strip('{} \n').split(',')]
    return Variable(found['space'], found['name'], int(found['align'] or size),
                    size * int(found['count'] or 1), initial, found['type'])


def parse_registers(text, line):
    """.reg .b32 %r<3>, %x: names with their type."""
    found = re.match(r'\.reg\s+\.(\w+)\s+(.*)', text, re.S)
    if not found or found[1] not in TYPE_BYTES:
        raise PtxError(line, f'registers that are not known: {text[:60]}')
    names = {}
    for name in split_list(found[2]):
        many = re.fullmatch(r'(%?\w+)<(\d+)>', name)
        for each in [f'{many[1]}{k}' for k in range(int(many[2]))] if many else [name]:
            names[each] = found[1]
    return names


class Reader:
    """Walks over the text of one file."""

    def __init__(self, text):
        text = re.sub(r'//[^\n]*', '', text)
        self.files = {int(n): name for n, name in re.findall(r'\.file\s+(\d+)\s+"([^"]*)"', text)}
        # debugging information of other kinds comes last
        self.text = re.split(r'^\s*\.section\b', text, 1, re.M)[0]
        self.at, self.line, self.place = 0, 1, None

    def advance(self, to):
        self.line += self.text.count('\n', self.at, to)
        self.at = to

    def skip_space(self):
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.line += self.text[self.at] == '\n'
            self.at += 1
        return self.at < len(self.text)

    def take(self, pattern):
        found = pattern.match(self.text, self.at)
        if found:
            self.advance(found.end())
        return found

    def take_until(self, end):
        to = self.text.find(end, self.at)
        if to < 0:
            raise PtxError(self.line, f"no '{end}' follows")
        part = self.text[self.at:to]
        self.advance(to + 1)
        return part

    def read_statement(self):
        line = self.line
        if self.text[self.at] in '{}':
            kind = 'open' if self.text[self.at] == '{' else 'close'
            self.advance(self.at + 1)
            return Statement(kind, line, self.place)
        location = self.take(LOCATION)
        if location:
            if int(location[2]) > 0:  # 0: made of no line
                self.place = (self.files.get(int(location[1]), location[1]), int(location[2]))
            self.take(re.compile(r'[^\n]*'))
            return None
        label = self.take(LABEL)
        if label:
            return Statement('label', line, self.place, label[1])
        return self.parse_statement(self.take_until(';').strip(), line)

    def parse_statement(self, text, line):
        if not text or text.startswith('.pragma'):
            return None
        if text.startswith('.reg'):
            return Statement('registers', line, self.place, registers=parse_registers(text, line))
        if text.startswith('.'):
            return Statement('variable', line, self.place, variable=parse_variable(text, line))
        found = re.match(r'(?:@(!?[%\w]+)\s+)?([\w.:]+)\s*(.*)', text, re.S)
        if not found:
            raise PtxError(line, f'a statement that is not known: {text[:60]}')
        return Statement('instruction', line, self.place, found[2], split_list(found[3]),
                         found[1] or '')

    def read_body(self):
        statements, depth = [], 0
        while self.skip_space():
            statement = self.read_statement()
            if statement is None:
                continue
            depth += (statement.kind == 'open') - (statement.kind == 'close')
            statements.append(statement)
            if depth == 0:
                return statements
        raise PtxError(self.line, 'a function does not end')

    def read_function(self, header):
        """After .entry or .func; None for a declaration."""
        line = self.line
        found = re.compile(r'\s*(?:\((?P<result>[^()]*)\))?\s*(?P<name>[\w$]+)\s*'
                           r'(?:\((?P<parameters>[^()]*)\))?(?P<rest>[^{;]*)').match(self.text, self.at)
        if not found:
            raise PtxError(line, 'a function without a name')
        self.advance(found.end())
        if self.text[self.at] == ';':
            self.advance(self.at + 1)
            return None
        threads = re.search(r'\.maxntid\s+(\d+)(?:,\s*(\d+))?(?:,\s*(\d+))?', found['rest'])
        most = 1
        for n in threads.groups() if threads else ('0',):
            most *= int(n or 1)
        parameters = [parse_variable(p, line) for p in split_list(found['parameters'] or '')]
        result = parse_variable(found['result'], line) if found['result'] else None
        self.place = None
        return Function(found['name'], header == 'entry', result, parameters, most,
                        self.read_body(), line)

    def read_module(self):
        target = re.search(r'^\s*\.target\s+sm_(\d+)', self.text, re.M)
        module = Module([], [], int(target[1]) if target else 0)
        while self.skip_space():
            if self.take(DIRECTIVES):
                continue
            header = self.take(HEADER)
            if header:
                function = self.read_function(header[1])
                module.functions += [function] if function else []
                continue
            line = self.line
            module.variables.append(parse_variable(self.take_until(';'), line))
        return module


def read_module(path):
    with open(path, encoding='utf-8') as file:
        return Reader(file.read()).read_module()
