// Programs that answer correctly and leave something for the next one. `after` looks for it, and a fingerprint of the
// interpreter is compared after every program.
import { type HostileRow, increments } from './row.js';

const row = (id: string, code: string, why: string, more: Partial<HostileRow> = {}): HostileRow => ({
  id,
  code: `${code}\ndef f(x): return x + 1`,
  entry: 'f',
  tests: increments,
  expect: 'pass',
  why,
  ...more,
});
const NO_FORK: Partial<HostileRow> = { wasm: ['error', 'there is no fork'] };
const looks = (expression: string) => `import os, sys, socket\ndef f(x): return bool(${expression})`;
const ALONE = looks('len([p for p in os.listdir("/proc") if p.isdigit()]) <= 3'); // server, supervisor and itself

export const LEFTOVERS: HostileRow[] = [
  row(
    'daemon',
    'import os, signal, time\nif os.fork() == 0:\n  os.setsid()\n  if os.fork() == 0:\n    for s in range(1, 65):\n      try: signal.signal(s, signal.SIG_IGN)\n      except (OSError, ValueError): pass\n    while True: time.sleep(1)\n  os._exit(0)\nos.wait()',
    'a daemon in a session of its own that ignores every signal',
    { ...NO_FORK, after: ALONE },
  ),
  row(
    'own_subreaper',
    'import ctypes, os, time\nctypes.CDLL(None).prctl(36, 1, 0, 0, 0)\nif os.fork() == 0:\n  if os.fork() == 0: time.sleep(1000)\n  os._exit(0)\ntime.sleep(0.05)',
    'orphans that come back to the program first',
    { ...NO_FORK, after: ALONE },
  ),
  row(
    'stopped_children',
    'import os, signal\nfor _ in range(5):\n  if os.fork() == 0: os.kill(os.getpid(), signal.SIGSTOP)',
    'stopped processes',
    { ...NO_FORK, after: ALONE },
  ),
  row(
    'traced_child',
    'import ctypes, os\nif os.fork() == 0:\n  ctypes.CDLL(None).ptrace(0, 0, 0, 0)\n  os.kill(os.getpid(), 19)\nos.waitpid(-1, 2)',
    'a process that is being traced',
    { ...NO_FORK, after: ALONE },
  ),
  row(
    'vanishing_threads',
    'import ctypes, os, threading, time\nthreading.stack_size(262144)\nfor _ in range(20): threading.Thread(target=time.sleep, args=(1000,)).start()\nif os.fork() == 0: threading.Thread(target=time.sleep, args=(1000,)).start()',
    'threads in several processes',
    { wasm: ['error', 'there are no threads'], after: ALONE },
  ),
  row(
    'listener',
    'import os, socket, time\nif os.fork() == 0:\n  s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("127.0.0.1", 8765)); s.listen()\n  u = socket.socket(socket.AF_UNIX); u.bind("\\0left"); u.listen()\n  time.sleep(1000)\ntime.sleep(0.05)',
    'ports and names that wait for the next program',
    {
      ...NO_FORK,
      after:
        'import socket\ndef f(x):\n  ok = 0\n  for family, where in ((socket.AF_INET, ("127.0.0.1", 8765)), (getattr(socket, "AF_UNIX", -1), "\\0left")):\n    try: socket.socket(family).connect(where)\n    except OSError: ok += 1\n  return ok == 2',
    },
  ),
  row(
    'deep_folders',
    'import os\nos.chdir("/tmp")\nfor i in range(300):\n  os.mkdir("d" * 50); os.chdir("d" * 50)\nopen("deep", "w").write("x")\nos.chmod("/tmp/" + "d" * 50, 0)',
    'a path longer than any call takes, closed at its top',
    { wasm: ['error|pass', 'modes cannot be changed there'], after: looks('os.listdir("/tmp") == []') },
  ),
  row(
    'odd_names',
    'import os, socket\nos.chdir("/tmp")\nfor n in (b"\\xff\\xfe", b"new\\nline", b"-rf", b"x" * 255, b"..."): open(n, "w").close()\nfor a, b in (("/etc", "etc"), ("loop", "loop"), ("/proc/self/root", "root"), ("..", "up")): os.symlink(a, b)\nos.mkdir("shut"); open("shut/in", "w").close()\ntry:\n  os.mkfifo("fifo"); os.link("shut/in", "hard"); socket.socket(socket.AF_UNIX).bind("sock"); os.chmod("shut", 0)\nexcept (OSError, AttributeError): pass',
    'links, pipes, sockets and names that break scripts',
    { after: looks('os.listdir("/tmp") == []') },
  ),
  row(
    'modules_in_tmp',
    'import os\nfor n in ("json", "random", "sitecustomize", "usercustomize", "base64", "types", "solution"):\n  open(f"/tmp/{n}.py", "w").write("raise SystemExit(0)")\nos.makedirs("/tmp/.local/lib/python3/site-packages"); os.makedirs("/tmp/__pycache__", exist_ok=True)\nopen("/tmp/.local/lib/python3/site-packages/x.pth", "w").write("import os; os._exit(0)")',
    'modules that the next interpreter would take for the library’s',
    { after: looks('__import__("json").dumps([1]) == "[1]" and os.listdir("/tmp") == []') },
  ),
  row(
    'deleted_but_open',
    'import os, time\nfd = os.open("/tmp/big", os.O_CREAT | os.O_RDWR)\nos.write(fd, bytes(15 << 20)); os.unlink("/tmp/big")\ntry:\n  if os.fork() == 0: time.sleep(1000)\nexcept OSError: pass',
    'space of a deleted file that a daemon holds',
    {
      wasm: ['pass|error', 'there is no fork'],
      after: 'def f(x):\n  with open("/tmp/b", "wb") as b: return b.write(bytes(15 << 20)) == 15 << 20',
    },
  ),
  row(
    'library_changed',
    'import builtins, collections, functools, json, math, random, re, string\njson.dumps = json.loads = None\nmath.pi = 3; random.random = lambda: 0.5; random.seed(1); re.match.__code__ = (lambda *a: 1).__code__\nbuiltins.sorted = builtins.range = builtins.sum = lambda *a, **k: 0\nstring.digits = "0"; collections.Counter.__eq__ = lambda s, o: True; functools.reduce = None',
    'functions, constants and code of the library',
    {
      after: looks(
        'sum(range(4)) == 6 and __import__("math").pi > 3.1 and not __import__("re").match("a", "b") and sorted([2, 1]) == [1, 2]',
      ),
    },
  ),
  row(
    'interpreter_changed',
    'import copyreg, decimal, gc, locale, sys, time, warnings\nsys.setrecursionlimit(150); sys.setswitchinterval(10); sys.set_int_max_str_digits(0)\ngc.disable(); gc.set_threshold(1); gc.freeze()\ndecimal.getcontext().prec = 2; locale.setlocale(locale.LC_ALL, "C"); warnings.simplefilter("error")\nsys.path.insert(0, "/tmp"); sys.path_hooks.clear(); sys.meta_path.clear(); sys.dont_write_bytecode = False\nsys.flags, sys.argv, sys.platform, sys.maxsize = None, ["x"], "evil", 1',
    'switches of the interpreter',
    {
      after: looks(
        'sys.getrecursionlimit() >= 500 and __import__("gc").isenabled() and __import__("decimal").getcontext().prec == 28 and sys.maxsize > 1',
      ),
    },
  ),
  row(
    'bytes_of_objects_changed',
    'import ctypes\nctypes.memmove(id(7) + 24, id(8) + 24, 4)\nctypes.memset(id("solution") + 48, 65, 3)',
    'a small int and a name overwritten in memory',
    {
      expect: 'pass|error|fail|timeout|memory', // its own arithmetic is broken
      after: looks('3 + 4 == len("1234567") and 6 + 1 == 7 and int("7") == 7 and str(7) == "7"'),
    },
  ),
  row(
    'environment_changed',
    'import ctypes, os\nos.environ["PYTHONHASHSEED"] = "1"; os.environ["PYTHONPATH"] = "/tmp"; os.environ["LD_PRELOAD"] = "/tmp/x.so"; os.putenv("LEFT", "1")\nos.umask(0o777); os.chdir("/")',
    'environment, umask, folder',
    {
      after: looks(
        '"LEFT" not in os.environ and "LD_PRELOAD" not in os.environ and os.getcwd() == "/tmp" and os.umask(0o22) != 0o777',
      ),
    },
  ),
  row(
    'timers_and_handlers',
    'import faulthandler, signal, sys\nfaulthandler.dump_traceback_later(0.3, exit=True)\nfor s in (signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF):\n  try: signal.signal(s, lambda *a: sys.exit(0))\n  except (OSError, ValueError): pass\nsignal.setitimer(signal.ITIMER_REAL, 0.5); signal.setitimer(signal.ITIMER_PROF, 0.5)',
    'timers that go off later',
    {
      expect: 'pass|error', // on a slow machine its own timer may end it first
      wasm: ['pass|error', 'there are no threads for the watchdog, and timers never fire'],
    },
  ),
  row(
    'descriptors_moved',
    'import os\nfd = os.open("/tmp/log", os.O_CREAT | os.O_RDWR)\nfor n in (0, 1, 2): os.dup2(fd, n)\nos.write(1, b"left")',
    'standard streams that are a file',
    {
      after:
        'import os\ndef f(x):\n  print("still printing", flush=True)\n  return os.listdir("/tmp") == [] and os.read(0, 1) == b""',
    },
  ),
  row(
    'descriptors_closed',
    'import os\nfor n in (0, 1, 2):\n  try: os.close(n)\n  except OSError: pass',
    'standard streams that are gone',
    {
      after:
        'import os\ndef f(x):\n  print("still printing", flush=True)\n  return os.open("/tmp/n", os.O_CREAT | os.O_RDWR) >= 3',
    },
  ),
  row(
    'shared_memory',
    'import ctypes, mmap, os\nfor p in ("/dev/shm/left", "/dev/mqueue/left", "/run/left", "/var/tmp/left"):\n  try: open(p, "w").write("x")\n  except OSError: pass\nl = ctypes.CDLL(None)\ntry: l.shmget(7, 4096, 0o1666); l.msgget(7, 0o1666); l.semget(7, 1, 0o1666); l.mq_open(b"/left", 66, 0o666, None)\nexcept AttributeError: pass',
    'memory and queues that outlive processes',
    {
      wasm: ['pass|error', 'there are no such calls'],
      after: looks(
        'not any(os.path.exists(p) for p in ("/dev/shm/left", "/dev/mqueue/left", "/run/left", "/var/tmp/left")) and (not os.path.exists("/proc/sysvipc/shm") or all(len(open("/proc/sysvipc/" + n).readlines()) == 1 for n in ("shm", "msg", "sem")))',
      ),
    },
  ),
  row(
    'terminals',
    'import os\nKEEP = []\ntry:\n  while True: KEEP.append(os.openpty())\nexcept (OSError, AttributeError): pass',
    'pseudo-terminals of the container',
    {
      wasm: ['pass|error', 'there are none'],
      after: looks('not os.path.isdir("/dev/pts") or os.listdir("/dev/pts") == ["ptmx"]'),
    },
  ),
  row(
    'locks_on_the_library',
    'import fcntl, os\nKEEP = open(os.__file__)\nfcntl.flock(KEEP, fcntl.LOCK_EX)\nfcntl.lockf(open("/tmp/l", "w"), fcntl.LOCK_EX)',
    'locks on files that all programs read',
    {
      wasm: ['pass|error', 'locks do nothing there'],
      after:
        'import fcntl, os\ndef f(x):\n  try: fcntl.flock(open(os.__file__), fcntl.LOCK_EX | fcntl.LOCK_NB)\n  except BlockingIOError: return False\n  except NotADirectoryError: pass  # in an archive\n  return True',
    },
  ),
  row(
    'priority_lowered',
    'import os\ntry: os.nice(19); os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0)); os.sched_setaffinity(0, {0})\nexcept (OSError, AttributeError): pass\nfor n, v in (("comm", "evil"), ("oom_score_adj", "1000"), ("coredump_filter", "0"), ("timerslack_ns", "1")):\n  try: open("/proc/self/" + n, "w").write(v)\n  except OSError: pass',
    'scheduling of what comes after',
  ),
  row(
    'memory_of_answers',
    'import ctypes\nMARK = "left" + "-in-memory-" + "4417"\nKEEP = [MARK + str(i) for i in range(1000)]',
    'text in memory that is freed, not cleared',
    {
      after:
        'import ctypes\ndef f(x):\n  want, n = b"left" + b"-in-memory-" + b"44", 0\n  try: maps = open("/proc/self/maps").read().splitlines()\n  except OSError: maps = []\n  for line in maps:\n    where, rights = line.split()[:2]\n    if rights.startswith("rw") and "[v" not in line:\n      a, b = [int(p, 16) for p in where.split("-")]\n      n += sum(part[:2] == b"17" for part in ctypes.string_at(a, b - a).split(want)[1:])\n  return n == 0',
    },
  ),
];
