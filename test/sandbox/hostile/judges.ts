// Validators, checkers and test source with many kinds of faults, and programs that attack the process that judges them.
// The problem: f(x) is x + 1, and a checker accepts only the expected value.

/** Bodies that return neither True nor False in time. They must not count as True or affect the next process. */
const FAULTS: Record<string, string> = {
  loops: 'while True: pass',
  'prints a forged verdict': 'print("True\\npass\\n{\\"v\\": true}")',
  'writes a forged answer':
    'import os, struct\n  for fd in (1, 3, 4):\n    try: os.write(fd, struct.pack(">I", 11) + b\'A{"v":true}\')\n    except OSError: pass',
  'exhausts memory': 'keep = [bytearray(64 << 20) for _ in range(64)]\n  return bool(keep)',
  raises: 'raise ValueError("True")',
  'raises an assertion': 'assert False, "True"',
  'ends its process': 'import os\n  os._exit(0)',
  exits: 'raise SystemExit(0)',
  'returns 1': 'return 1',
  'returns a text': 'return "True"',
  'returns a list': 'return [True]',
  'returns an object that is true':
    'class Yes:\n    def __bool__(self): return True\n    def __eq__(self, other): return True\n  return Yes()',
  'returns a function': 'return lambda: True',
  yields: 'yield True',
  recurses: 'def again(): return again()\n  return again()',
  'forgets to return': 'pass',
  'floods its output': 'while True: print("True" * 100000)',
};

const asFunction = (header: string) =>
  Object.fromEntries(Object.entries(FAULTS).map(([what, body]) => [what, `def ${header}:\n  ${body}\n`]));
export const VALIDATORS = asFunction('validator(x)');
export const CHECKERS: Record<string, string> = {
  ...asFunction('checker(inputs, answer, expected)'),
  'does not parse': 'def checker(inputs, answer, expected) return True\n',
  'loops while it loads': 'while True: pass\ndef checker(inputs, answer, expected): return True\n',
  'is not there': 'def check(inputs, answer, expected): return True\n',
};

const leaving = (text: string) => `
import os
def f(x):
  for folder in ('/tmp', os.getcwd()):
    for name in ('checker.py', 'json.py', 'sitecustomize.py', 'usercustomize.py', 'builtins.py'):
      try: open(os.path.join(folder, name), 'w').write(${JSON.stringify(text)})
      except OSError: pass
  return x
`;

/** Programs that never give the right answer. No checker may accept them. */
export const PROGRAMS: Record<string, string> = {
  'an object that equals anything':
    'class A:\n  def __eq__(s, o): return True\n  __hash__ = None\ndef f(x): return A()\n',
  'an int that equals anything':
    'class A(int):\n  def __eq__(s, o): return True\n  def __bool__(s): return True\n  __hash__ = int.__hash__\ndef f(x): return A(0)\n',
  'a text that equals anything':
    'class A(str):\n  def __eq__(s, o): return True\n  __hash__ = str.__hash__\ndef f(x): return A("")\n',
  'a list that lies':
    'class A(list):\n  def __eq__(s, o): return True\n  def __iter__(s): return iter([x + 1])\n  def __len__(s): return 1\ndef f(x): return A([0])\n',
  'a dict with keys that equal anything':
    'class K(str):\n  def __eq__(s, o): return True\n  __hash__ = str.__hash__\ndef f(x): return {K("v"): True}\n',
  'the answer of a checker': 'def f(x): return True\n',
  'a value in the codec': 'def f(x): return {"v": True, "d": [["v", True]]}\n',
  'a forged answer of the next process':
    'import os, struct\nframe = struct.pack(">I", 11) + b\'A{"v":true}\'\ndef f(x):\n  for fd in (1, 3, 4):\n    try: os.write(fd, frame * 2)\n    except OSError: pass\n  return 0\n',
  'patched builtins':
    'import builtins, json, operator\nbuiltins.bool = builtins.isinstance = lambda *a: True\nbuiltins.AssertionError = None\njson.loads = lambda *a, **k: True\noperator.eq = lambda *a: True\ndef f(x): return 0\n',
  'a checker of its own':
    'import builtins, sys\ndef checker(*a): return True\nbuiltins.checker = checker\nsys.modules["checker"] = sys.modules[__name__] if __name__ in sys.modules else sys\ndef f(x): return 0\n',
  'modules that the checker would import': leaving('def checker(*a): return True\nloads = lambda *a, **k: True\n'),
  'a process that outlives it':
    'import os, time\ndef f(x):\n  if hasattr(os, "fork") and os.fork() == 0:\n    end = time.time() + 20\n    while time.time() < end:\n      for pid in os.listdir("/proc"):\n        for name in ("mem", "fd/1", "fd/3"):\n          try: os.write(os.open(f"/proc/{pid}/{name}", os.O_WRONLY), b\'A{"v":true}\' * 9)\n          except (OSError, ValueError): pass\n    os._exit(0)\n  return 0\n',
  'a search for the expected value':
    'import gc, sys\ndef f(x):\n  for one in gc.get_objects():\n    if isinstance(one, dict) and "expected" in one: return one["expected"]\n    if isinstance(one, (list, tuple)) and len(one) == 3 and one[0] == [x]: return one[2]\n  frame = sys._getframe()\n  while frame:\n    for name in ("expected", "tests", "answer"):\n      if name in frame.f_locals: return frame.f_locals[name]\n    frame = frame.f_back\n  return 0\n',
  'changed arguments': 'def f(xs):\n  return xs\n',
};

/** Test source in which no test passes for a program that answers right only once. */
export const SOURCES: Record<string, string> = {
  'a loop in its set-up': 'while True: pass\nassert f(1) == 2\n',
  'a loop in a test': 'def test_a():\n  while True: pass\n',
  'a printed verdict': 'print("passed")\nassert f(2) == 3, "pass"\n',
  'a forged report':
    'import sys\nframe = sys._getframe()\nwhile frame and "channel" not in frame.f_globals: frame = frame.f_back\ndef test_a():\n  frame.f_globals["channel"].send(\'{"end": ["test_a", "pass", null], "pass": true}\')\n  assert f(2) == 3\n',
  'no memory': 'def test_a():\n  keep = [bytearray(64 << 20) for _ in range(64)]\n  assert keep and f(2) == 3\n',
  'an exception': 'raise ValueError("pass")\nassert f(1) == 2\n',
  'a wrong type': 'def test_a(): return f(2) == 3 or int("x")\n',
  'an exit': 'import os\ndef test_a():\n  f(1)\n  os._exit(0)\n',
  'a generator': 'def test_a():\n  assert f(2) == 3\n  yield\n',
};
