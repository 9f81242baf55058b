// Programs that try to pass without solving their task (x + 1): through the answer channel, the runner's objects, the
// interpreter's hooks and the memory of the process.
import { type HostileRow, increments as tests } from './row.js';

const frames =
  'import os, struct\ndef w(kind, text):\n  b = kind + text\n  os.write(3, struct.pack(">I", len(b)) + b)\n';
const guest =
  'import gc\ndef guests(): return [d for d in gc.get_objects() if type(d) is dict and "to_json" in d and "encode" in d and "call" in d]\n';
const wrong = '\ndef f(x): return 0\n';
const noChannel: [string, string] = ['fail|error', 'there is no descriptor 3'];
const row = (id: string, code: string, expect: string, why: string, wasm?: [string, string]): HostileRow => ({
  id,
  code,
  entry: 'f',
  tests,
  expect,
  why,
  ...(wasm ? { wasm } : {}),
});

export const FORGERIES: HostileRow[] = [
  row(
    'answers_then_exit',
    `${frames}w(b"L", b"")\nfor _ in range(3): w(b"A", b'{"v":true}')\nos._exit(0)`,
    'fail|error',
    'a complete set of answers before the runner speaks: answers, and wrong ones',
    noChannel,
  ),
  row('partial_header', `${frames}os.write(3, b"\\0\\0")${wrong}`, 'error', 'frames are out of step', noChannel),
  row(
    'huge_length',
    `${frames}os.write(3, b"\\x7f\\xff\\xff\\xff")${wrong}`,
    'error',
    'length beyond the cap',
    noChannel,
  ),
  row(
    'zero_length',
    `${frames}os.write(3, b"\\0\\0\\0\\0" * 1000)${wrong}`,
    'error',
    'frames without a kind',
    noChannel,
  ),
  row(
    'length_that_waits',
    `${frames}os.write(3, struct.pack(">I", 1 << 20) + b"A{")${wrong}`,
    'error',
    'the runner’s frames become the body of a forged one that never ends',
    noChannel,
  ),
  row(
    'thousands_of_frames',
    `${frames}\ndef f(x):\n  for _ in range(200000): w(b"A", b'{"v":2}')\n  return 0`,
    'error|fail|timeout',
    'more answers than calls',
    noChannel,
  ),
  row('channel_closed', 'import os\nos.close(3)\ndef f(x): return 0', 'error', 'no answer', noChannel),
  row(
    'channel_replaced',
    'import os\nos.dup2(os.open("/dev/null", os.O_WRONLY), 3)\ndef f(x): return x + 1',
    'error',
    'right answers that never arrive are none',
    ['pass', 'descriptor 3 is a file of the program there: the answers are right and arrive'],
  ),
  row(
    'channel_to_stdout',
    'import os\nos.dup2(1, 3)\ndef f(x): return x + 1',
    'error',
    'what is printed is no answer',
    ['pass', 'descriptor 3 means nothing there: the answers are right and arrive'],
  ),
  row(
    'thread_writes_answers',
    `${frames}import threading, time\ndef flood():\n  while True: w(b"A", b'{"v":4}')\nthreading.Thread(target=flood, daemon=True).start()\ntime.sleep(0.05)${wrong}`,
    'error|fail',
    'a thread races the runner',
    noChannel,
  ),
  row(
    'grandchild_writes_later',
    `${frames}import time\nif os.fork() == 0:\n  time.sleep(0.05)\n  w(b"L", b"")\n  while True: w(b"A", b'{"v":2}')\nos._exit(0)`,
    'error|fail',
    'an orphan goes on writing: after the end nothing is read',
    ['error', 'there is no fork'],
  ),
  row(
    'failure_then_answers',
    `${frames}w(b"X", b'{"e":"x"}')\nw(b"L", b"")\nfor v in b"234": w(b"A", b'{"v":%c}' % v)${wrong}`,
    'error',
    'a failure to load stands',
    noChannel,
  ),
  row(
    'shapes_that_are_no_value',
    `${frames}w(b"L", b"")\nfor t in (b'{"v":{"__proto__":2}}', b'{"v":1e999}', b'{"v":{"toJSON":3}}'): w(b"A", t)\nos._exit(0)`,
    'error',
    'each is valid JSON and no value of the codec',
    noChannel,
  ),
  row(
    'many_nested_brackets',
    `${frames}w(b"L", b"")\nfor _ in range(3): w(b"A", b'{"v":' + b"[" * 500000 + b"]" * 500000 + b"}")\nos._exit(0)`,
    'error',
    'the host must not recurse half a million levels',
    noChannel,
  ),
  row(
    'runner_functions_replaced',
    `import sys\ng = sys._getframe(1).f_globals\nfor n in ("call", "encode", "failure", "to_json"): g[n] = lambda *a: '{"v":"passed"}'${wrong}`,
    'fail|error',
    'the runner’s own namespace, through the caller’s frame',
  ),
  row(
    'runner_found_by_collector',
    `${guest}for g in guests():\n  g["call"] = lambda *a: '{"v":true,"pass":true}'\n  g["MAX_BYTES"] = 1 << 60\n${wrong}`,
    'fail|error',
    'the same, through the collector',
  ),
  row(
    'inputs_rewritten',
    `import gc\nfor o in gc.get_objects():\n  if type(o) is list and o == [[1], [2], [3]]: o[:] = [[1], [1], [1]]\ndef f(x): return 2`,
    'fail',
    'other inputs do not change what is expected of each',
  ),
  row(
    'code_of_runner_replaced',
    `${guest}def fake(function, args): return '{"v":2}'\nfor g in guests(): g["call"].__code__ = fake.__code__${wrong}`,
    'fail|error',
    'one forged answer for every call',
  ),
  row(
    'exception_that_talks',
    `${frames}class E(Exception):\n  def __str__(s):\n    try: w(b"A", b'{"v":2}')\n    except OSError: pass\n    return '{"v":2}'\ndef f(x): raise E`,
    'error|fail',
    'a message that is written while it is asked for',
  ),
  row(
    'exception_of_false_name',
    'class M(type):\n  __name__ = property(lambda s: s.boom)\nclass E(BaseException, metaclass=M):\n  def __str__(s): raise SystemExit(0)\ndef f(x): raise E',
    'error',
    'the name and text of an exception must not be read through its own methods',
  ),
  row(
    'nested_exception_groups',
    'def f(x):\n  e = ValueError("x")\n  for _ in range(5000): e = ExceptionGroup("g", [e])\n  raise e',
    'error',
    'an exception 5000 deep',
  ),
  row(
    'excepthook_and_exit',
    'import os, sys, threading\nsys.excepthook = threading.excepthook = sys.unraisablehook = lambda *a: os._exit(0)\ndef f(x): raise ValueError',
    'error',
    'hooks for what was not caught decide nothing',
  ),
  row(
    'finalizer_answers',
    `${frames}class D:\n  def __del__(s):\n    try: w(b"A", b'{"v":3}')\n    except OSError: pass\ndef f(x):\n  D()\n  return 0`,
    'error|fail',
    'an answer from a finalizer, beside the runner’s',
  ),
  row(
    'exit_functions_answer',
    `${frames}import atexit, threading, weakref\ndef late():\n  for _ in range(9): w(b"A", b'{"v":2}')\natexit.register(late); threading._register_atexit(late)\nclass C: pass\nc = C()\nweakref.finalize(c, late)${wrong}`,
    'fail|error',
    'nothing runs at exit, and nothing would be read',
  ),
  row(
    'import_patched',
    'import builtins, sys, json.encoder\nbuiltins.__import__ = lambda *a, **k: 2\nsys.meta_path.clear()\njson.encoder.encode_basestring_ascii = json.encoder.c_make_encoder = lambda *a: "true"\ndef f(x): return "0"',
    'fail|error',
    'the runner imports nothing later, and its encoder only forges answers',
  ),
  row(
    'codecs_patched',
    'import codecs, encodings\ncodecs.register(lambda n: None)\ncodecs.register_error("strict", lambda e: ("2", e.end))\nencodings._cache.clear()\ndef f(x): return "\\ud800"',
    'fail|error',
    'encoders of its own process only',
  ),
  row(
    'timer_raises_in_runner',
    'import signal\ndef h(*a): raise KeyboardInterrupt\nsignal.signal(signal.SIGALRM, h)\nsignal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)\ndef f(x): return 0',
    'fail|error',
    'exceptions between any two instructions of the runner',
  ),
  row(
    'monitoring_events',
    'import sys\nm = sys.monitoring\nm.use_tool_id(1, "t")\nm.register_callback(1, m.events.PY_RETURN, lambda c, o, v: m.DISABLE)\nm.set_events(1, m.events.PY_RETURN | m.events.CALL)\nsys.setprofile(lambda fr, e, a: None)\ndef f(x): return 0',
    'fail|error',
    'events of the interpreter change no value',
  ),
  row(
    'small_int_overwritten',
    'import ctypes\nctypes.memmove(id(0) + 24, id(2) + 24, 4)\ndef f(x): return 0',
    'fail|error|timeout|memory',
    'zero is two in this process: still one answer for all calls',
  ),
  row(
    'base_methods_overwritten',
    'import ctypes, gc\nfor t in (int, str, list):\n  d = gc.get_referents(t.__dict__)[0]\n  for n in ("__index__", "__str__", "__iter__", "__eq__", "__repr__"): d[n] = lambda *a: 2\n  ctypes.pythonapi.PyType_Modified(ctypes.py_object(t))\ndef f(x): return 0',
    'fail|error|timeout|memory',
    'the base classes the runner relies on, in its own process only',
  ),
  row(
    'main_and_solution_replaced',
    'import sys, types\nm = types.ModuleType("solution")\nm.f = lambda x: x + 1\nm.expected = m.result = True\nsys.modules["solution"] = sys.modules["__main__"] = m\ndef f(x): return 0',
    'fail',
    'the function is looked up in the program’s namespace, once',
  ),
  row(
    'entry_that_changes',
    'class F:\n  def __call__(s, x): return 0\n  def __eq__(s, o): return True\n  def __getattr__(s, n): return s\nf = F()',
    'fail',
    'a callable that claims everything',
  ),
];
