# Checks the types of one program with mypy. The program is text here and never runs. Before the first fork, pid 1 lets
# mypy check a text that imports much of the standard library. Every check is an incremental update of that state in a
# forked process, so it takes milliseconds and no program affects another one. The options are fixed; comments that
# would switch the checker off are changed before mypy reads them.
import ast
import os
import re

from mypy.dmypy_server import Server
from mypy.main import process_options

PATH = '/tmp/program'  # without a suffix: no import finds it
MESSAGES = 5
MESSAGE_CHARS = 300
RECURSION = 2 ** 14  # mypy's own
OPTIONS_OF_MYPY = (
    '--config-file= --python-version=3.11 --platform=linux --no-site-packages --follow-imports=skip '
    '--ignore-missing-imports --check-untyped-defs --no-error-summary --no-color-output --hide-error-context'
).split()
LEARNED = (
    'abc array bisect cmath collections collections.abc contextlib copy dataclasses datetime decimal enum fractions '
    'functools heapq io itertools json math numbers operator os queue random re statistics string struct sys textwrap '
    'time types typing typing_extensions'
).split()

# mypy reads options from a line '# mypy: …', also inside a multi-line string
OPTION_LINE = re.compile('^# mypy:', re.MULTILINE)
IGNORE = re.compile(r'#([^\S\n]*)type:([^\S\n]*)ignore')
ERROR = re.compile(r'program(?::(\d+))?: error: (.*)')


def without_directives(code):
    """The same program with the same lines, without comments that mypy obeys, except type comments."""
    lines = code.replace('\r\n', '\n').replace('\r', '\n').split('\n')
    for i, line in enumerate(lines[:2]):
        if line.lstrip().startswith('#'):
            lines[i] = line.replace('coding', 'Coding')  # a declared encoding would change the text
    return IGNORE.sub(r'#\1Type:\2ignore', OPTION_LINE.sub('# Mypy:', '\n'.join(lines)))


def write_program(code):
    with open(PATH, 'w', encoding='utf-8', newline='') as file:
        file.write(code)


def start_mypy():
    sys.setrecursionlimit(RECURSION)
    write_program('import ' + ', '.join(LEARNED) + '\n')
    sources, options = process_options(OPTIONS_OF_MYPY + [PATH], server_options=True)
    server = Server(options, '/nowhere')
    result = server.check(sources, False, False, 80)
    if result['status'] != 0:
        raise RuntimeError('mypy does not check: ' + str(result['out'])[:500])
    os.unlink(PATH)
    return lambda: server.check(sources, False, False, 80)


run_mypy = start_mypy()


def check_types(code):
    """Returns a verdict, the number of errors and messages. Failures that the text causes are part of the answer."""
    try:
        ast.parse(code, 'program')
    except (SyntaxError, ValueError) as error:
        line = getattr(error, 'lineno', None)
        return 'unparsed', 0, [(f'line {line}: ' if line else '') + str(getattr(error, 'msg', error))]
    except (RecursionError, MemoryError) as error:
        return 'unchecked', 0, ['too deep to be parsed: ' + type(error).__name__]
    try:
        write_program(without_directives(code))
        result = run_mypy()
    except BaseException as error:
        return 'unchecked', 0, ['mypy failed: ' + type(error).__name__]
    if result['status'] == 0:
        return 'ok', 0, []
    found = [match for match in map(ERROR.fullmatch, result['out'].split('\n')) if match]
    if not found:
        return 'unchecked', 0, ['mypy gave no error and no success']
    return 'errors', len(found), [f'line {m[1]}: {m[2]}' if m[1] else m[2] for m in found[:MESSAGES]]


def converse(job):
    verdict, errors, messages = check_types(job['code'])
    cut = [message[:MESSAGE_CHARS] for message in messages]
    channel.send(to_json({'verdict': verdict, 'errors': errors, 'messages': cut}))
