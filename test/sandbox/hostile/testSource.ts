// Programs that try to pass test source without solving it, and test source that tries to break the run. The programs
// return x + 1 never, or only for 1; the tests check 1 and 2. In names.jsonl, a program decides by its names only.
import { rowsOf } from '../../support/rows.js';

/** A program can reach the runner's classes in S, so everything that its process sends can be forged. */
const guest = 'import sys\nP = sys._getframe(1).f_globals["Program"]\n';
const names = (...entries: string[]) => `${guest}P.names = lambda self: [["f", "f", None], ${entries.join(', ')}]\n`;
const replies = (expression: string) =>
  `n = [0]\ndef reply(self, text):\n  n[0] += 1\n  return ${expression}\nP.answer = reply\n`;
const then = (second: string) => replies(`'{"v":2}' if n[0] == 1 else '${second}'`);
const f = 'def f(x): return 0\n';

export const PROGRAMS: Record<string, string> = {
  'an object of the library that equals anything': `${names('["ANY", "i", "unittest.mock"]')}${replies(`'{"v":{"g":"ANY"}}'`)}${f}`,
  'the same inside a list': `${names('["ANY", "i", "unittest.mock"]')}${replies(`'{"v":[{"g":"ANY"}]}'`)}${f}`,
  'another such object': `${names('["call", "i", "unittest.mock"]', '["c", "o", None]')}${replies(`'{"v":{"g":"c"}}'`)}${f}`,
  'an exception that skips a test':
    'from unittest import SkipTest\ndef f(x):\n  if x == 2: raise SkipTest("x")\n  return x + 1\n',
  'the same, by its own name':
    'import unittest\nclass Skip(unittest.SkipTest): pass\ndef f(x):\n  if x == 2: raise Skip("x")\n  return x + 1\n',
  'a forged exception that skips': `${names('["SkipTest", "i", "unittest"]')}${then('{"x":["Exception","t","SkipTest",[],null]}')}${f}`,
  'a forged exception that stops a test case': `${names('["_ShouldStop", "i", "unittest.case"]')}${replies(`'{"x":["Exception","t","_ShouldStop",[],{"g":"_ShouldStop"}]}'`)}${f}`,
  'an unexpected success': `${names('["_UnexpectedSuccess", "i", "unittest.case"]')}${replies(`'{"x":["Exception","t","_UnexpectedSuccess",[],{"g":"_UnexpectedSuccess"}]}'`)}${f}`,
  'the host’s word that the program ended': `${guest}${replies(`'{"dead":"the program ended"}'`)}${f}`,
  'an answer with more in it': `${guest}${replies(`'{"v":2,"dead":"x","pass":true}'`)}${f}`,
  'a report of the tests': `${guest}${replies(`'{"end":["line 1","pass",null]}'`)}${f}`,
  'two answers in one': `${guest}${replies(`'{"v":2}{"v":3}'`)}${f}`,
  'a name that leads to itself': `${names('["a", "o", None]')}${replies(`'{"v":{"g":"a"}}'`)}${f}`,
  'an argument that was not given': `${guest}${replies(`'{"v":0,"w":[[0,[1]]]}'`)}${f}`,
  'exit status 0': 'import os\ndef f(x):\n  if x == 2: os._exit(0)\n  return x + 1\n',
  SystemExit: 'def f(x):\n  if x == 2: raise SystemExit(0)\n  return x + 1\n',
  KeyboardInterrupt: 'def f(x):\n  if x == 2: raise KeyboardInterrupt\n  return x + 1\n',
  'an object that equals anything':
    'class A:\n  def __eq__(s, o): return True\n  def __ne__(s, o): return False\n  __hash__ = None\na = A()\ndef f(x): return a if x == 1 else A()\n',
  'an int that equals anything':
    'class A(int):\n  def __eq__(s, o): return True\n  __hash__ = int.__hash__\ndef f(x): return A(0)\n',
  'a class that equals anything':
    'class M(type):\n  def __eq__(s, o): return True\n  __hash__ = None\nclass A(metaclass=M): pass\ndef f(x): return A\n',
  'patched assertions':
    'import builtins, unittest\nbuiltins.AssertionError = ValueError\nunittest.TestCase.assertEqual = lambda *a: None\nassertEqual = check = test_a = lambda *a: True\ndef f(x): return 0\n',
  'names of the tests’ tools':
    'class unittest:\n  class TestCase: pass\nclass pytest: pass\ndef check(c): return True\ndef f(x): return 0\n',
  'files for the tests’ runner':
    'import os\nfor d in ("/tmp", "/tmp/tests"):\n  for n in ("conftest.py", "pytest.ini", "solution.py"):\n    try:\n      os.makedirs(d, exist_ok=True); open(os.path.join(d, n), "w").write("import os; os._exit(0)")\n    except OSError: pass\ndef f(x): return 0\n',
  'a loop': 'def f(x):\n  while x == 2: pass\n  return x + 1\n',
};

export const SOURCES = {
  assert: 'assert f(1) == 2\nassert f(2) == 3\n',
  'a test case':
    'import unittest\nfrom solution import f\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(1), 2)\n    def test_b(self):\n        self.assertEqual([f(2)], [3])\n',
  pytest: 'from solution import f\ndef test_a():\n    assert f(1) == 2\ndef test_b():\n    assert [f(2)] == [3]\n',
} as const;

/** Test source that exits, floods or forges. It must not pass or affect the next job. */
export const TESTS: Record<string, string> = {
  'an exit': 'import os\nassert f(1) == 2\nos._exit(0)\nassert f(2) == 3\n',
  'no report at all': 'import sys\nsys._getframe(1).f_globals["channel"].send("passed")\nassert f(1) == 2\n',
  'a loop': 'while True: pass\nassert f(1) == 2\n',
  'processes left behind':
    'import os, time\nif hasattr(os, "fork") and os.fork() == 0: time.sleep(1000)\nopen("/tmp/left", "w").write("x")\nassert f(1) == 3\n',
  nothing: '# there is no test\n',
};

/** The programs return 0, and the tests expect twice the argument. `attack` defines names that would decide the tests. */
export const NAMES = rowsOf<{
  id: string;
  tests: string;
  attack: string;
  imports?: string; // the entry of the problem
  style?: 'assert' | 'pytest'; // the default is both styles
  right?: 'error'; // the outcome of a right program, if such tests are refused
}>('sandbox/hostile/names.jsonl');
