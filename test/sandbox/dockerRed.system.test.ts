// Attacks on the container. Each attack is a program that returns what it could reach.
import assert from 'node:assert/strict';
import type { Value } from '../../core/schema/value.js';
import { openDocker } from '../../sandbox/docker/openDocker.js';
import type { Sandbox } from '../../sandbox/sandbox.js';
import { job } from './conformance.js';
import { requireDocker } from './docker.js';

const TRY = `
import ctypes, errno, os, resource, signal, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def attempt(do):
  try: return ["done", str(do())[:60]]
  except BaseException as error: return ["refused", type(error).__name__]
def syscall(*args):
  ctypes.set_errno(0)
  if libc.syscall(*args) == -1: raise OSError(ctypes.get_errno(), "")
  return "done"
`;

for (const isolation of ['uid', 'strict'] as const) {
  describe(`attacks on a container, isolation ${isolation}`, () => {
    let sandbox: Sandbox;
    before(async function () {
      await requireDocker(this);
      sandbox = await openDocker({ size: 1, isolation });
    });
    after(() => sandbox?.close());

    const value = async (code: string, input: Value = 0, limits = {}): Promise<Value> => {
      const [result] = await sandbox.run([job(TRY + code, [[input]], limits)]);
      const [answer] = result!.calls;
      assert.equal(answer!.kind, 'value', JSON.stringify(answer));
      return (answer as { value: Value }).value;
    };

    it('get no capabilities, and can write only /tmp', async () => {
      const code = `
def f(x):
  status = dict(line.split(":\\t") for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
  writable = []
  for folder, names, files in os.walk("/"):
    names[:] = [n for n in names if os.path.join(folder, n) not in ("/proc", "/sys", "/tmp")]
    for name in ["."] + files:
      path = os.path.join(folder, name)
      if os.access(path, os.W_OK) and not os.path.islink(path): writable.append(os.path.normpath(path))
  return [status["CapEff"], status["CapPrm"], status["CapBnd"], status["NoNewPrivs"], status["Seccomp"], sorted(set(writable))]
`;
      const [effective, permitted, bounding, noNew, seccomp, writable] = (await value(code)) as [
        string,
        string,
        string,
        string,
        string,
        string[],
      ];
      const none = '0000000000000000';
      assert.deepEqual([effective, permitted, noNew, seccomp], [none, none, '1', '2']);
      if (isolation === 'strict') assert.equal(bounding, none);
      const devices = /^\/dev\/(mqueue|null|zero|full|random|urandom|tty|ptmx|pts\/ptmx)$/;
      // queues cannot be created in /dev/mqueue, as tested below
      assert.deepEqual(
        writable.filter((path) => !devices.test(path)),
        [],
      );
    });

    it('cannot reach memory, files, namespaces or descriptors of the guest', async () => {
      const code = `
def f(x):
  others = [int(p) for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid()]
  found = []
  for pid in others:
    tries = {
      "mem": lambda: open(f"/proc/{pid}/mem", "rb").read(1),
      "environ": lambda: open(f"/proc/{pid}/environ", "rb").read(1),
      "fd": lambda: os.listdir(f"/proc/{pid}/fd"),
      "cwd": lambda: os.readlink(f"/proc/{pid}/root"),
      "adj": lambda: open(f"/proc/{pid}/oom_score_adj", "w").write("1000"),
      "ptrace": lambda: syscall(101, 16, pid, 0, 0),
      "vm": lambda: syscall(310, pid, 0, 0, 0, 0, 1),
      "pidfd": lambda: syscall(438, syscall(434, pid, 0) and 3, 0, 0),
      "setns": lambda: os.setns if False else syscall(308, os.open(f"/proc/{pid}/ns/net", os.O_RDONLY), 0),
    }
    for name, do in tries.items():
      if attempt(do)[0] == "done": found.append([pid, name])
  return [len(others), found, sorted(int(n) for n in os.listdir("/proc/self/fd"))[:4]]
`;
      const [others, found, descriptors] = (await value(code)) as [number, Value[], number[]];
      assert.deepEqual(found, []);
      assert.ok(others <= (isolation === 'uid' ? 3 : 1), `${others} other processes are there`);
      assert.deepEqual(descriptors.slice(0, 4), [0, 1, 2, 3]); // the descriptors: null, output, output, answers
    });

    it('cannot affect the next program by changed limits of the guest or by signals', async () => {
      const code = `
def f(x):
  out = []
  for pid in [int(p) for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid()]:
    for what in (resource.RLIMIT_NOFILE, resource.RLIMIT_CPU, resource.RLIMIT_AS):
      attempt(lambda: resource.prlimit(pid, what, (1, 1)))
    for number in (signal.SIGSTOP, signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGALRM):
      attempt(lambda: os.kill(pid, number))
  attempt(lambda: os.kill(-1, signal.SIGSTOP))
  return 1
`;
      await sandbox.run([job(TRY + code, [[0]], { cpuSeconds: 1, wallSeconds: 3 })]);
      assert.equal(await value('def f(x): return x + 1', 41), 42);
    });

    it('leave no daemons, stopped children or fork bombs for the next program', async () => {
      const leave = `
import time
def f(x):
  for kind in range(6):
    if os.fork() == 0:
      os.setsid()
      if os.fork() != 0: os._exit(0)
      for number in range(1, 65):
        try: signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError): pass
      if kind == 0: os.kill(os.getpid(), signal.SIGSTOP)
      if kind == 1: signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
      while True:
        if kind >= 4:
          try:
            if os.fork() == 0: continue
          except OSError: pass
        elif kind == 3: time.sleep(0.01)
  return 1
`;
      await sandbox.run([job(TRY + leave, [[0]], { cpuSeconds: 2, wallSeconds: 20 })]);
      const look = `
import time
def f(x):
  before = time.process_time()
  mine = [p for p in os.listdir("/proc") if p.isdigit()]
  return [len(mine), time.process_time() - before < 0.5]
`;
      const [processes, cheap] = (await value(look, 0, { cpuSeconds: 1 })) as [number, boolean];
      assert.ok(processes <= (isolation === 'uid' ? 4 : 2), `${processes} processes are left`);
      assert.equal(cheap, true);
    });

    it('leave no deep trees, closed folders, links, strange names, open or sparse files in /tmp', async () => {
      const leave = `
def f(x):
  os.mkdir("/tmp/deep"); os.chdir("/tmp/deep")
  for i in range(400):
    os.mkdir("d" * 40); os.chdir("d" * 40)
  os.chdir("/tmp")
  os.mkdir("/tmp/closed"); open("/tmp/closed/file", "w").write("x"); os.chmod("/tmp/closed/file", 0); os.chmod("/tmp/closed", 0)
  for i, target in enumerate(["/", "/etc", "/proc/1", "/tmp", "/dev", "..", "nowhere"]): os.symlink(target, f"/tmp/link{i}")
  os.mkfifo("/tmp/fifo"); os.mkdir(b"/tmp/\\xff\\xfe\\n"); open(b"/tmp/-rf *", "w").close()
  s = socket.socket(socket.AF_UNIX); s.bind("/tmp/socket")
  with open("/tmp/sparse", "wb") as file: file.truncate(8 << 20)
  os.mkdir("/tmp/sticky", 0o1777)
  if os.fork() == 0:
    os.chdir("/tmp/deep")
    held = open("/tmp/held", "w"); os.unlink("/tmp/held"); held.write("x" * 4000000); held.flush()
    while True: pass
  return 1
`;
      await sandbox.run([job(TRY + leave, [[0]])]);
      const look = `
def f(x):
  v = os.statvfs("/tmp")
  return [os.listdir("/tmp"), (v.f_blocks - v.f_bfree) * v.f_frsize, v.f_files - v.f_ffree, sorted(os.listdir("/"))[:3] != []]
`;
      const [names, bytes, files, root] = (await value(look)) as [string[], number, number, boolean];
      assert.deepEqual([names, root], [[], true]);
      assert.ok(bytes < 10_000 && files <= 2, `${bytes} bytes and ${files} files are left`);
    });

    it('leave no memory allocated for the next program', async () => {
      const leave = `
def f(x):
  fds = []
  for i in range(4):
    fd = libc.memfd_create(b"left", 0)
    os.write(fd, b"x" * (12 << 20)); fds.append(fd)
  with open("/tmp/fill", "wb") as file:
    file.write(b"x" * (14 << 20))
  if os.fork() == 0:
    keep = bytearray(60 << 20)
    while True: pass
  return 1
`;
      for (let i = 0; i < 2; i++) await sandbox.run([job(TRY + leave, [[0]])]);
      const code =
        'def f(x):\n  keep = bytearray(200 << 20)\n  for i in range(0, len(keep), 4096): keep[i] = 1\n  return len(keep) >> 20';
      assert.equal(await value(code, 0, { cpuSeconds: 20, caseCpuSeconds: 20 }), 200);
    });

    it('cannot leave queues, shared memory, semaphores, keyrings or other kernel objects', async () => {
      const code = `
def f(x):
  key = 7719
  refused = {
    "shmget": attempt(lambda: syscall(29, key, 4096, 0o1666)),
    "msgget": attempt(lambda: syscall(68, key, 0o1666)),
    "semget": attempt(lambda: syscall(64, key, 1, 0o1666)),
    "mq_open": attempt(lambda: syscall(240, b"left", 0o102, 0o666, 0)),
    "add_key": attempt(lambda: syscall(248, b"user", b"left", b"x", 1, -5)),
    "keyctl": attempt(lambda: syscall(250, 0, -5, 1)),
    "request_key": attempt(lambda: syscall(249, b"user", b"left", 0, -5)),
    "unshare": attempt(lambda: syscall(272, 0x10000000)),
    "mount": attempt(lambda: syscall(165, b"none", b"/tmp", b"tmpfs", 0, 0)),
    "bpf": attempt(lambda: syscall(321, 0, 0, 0)),
    "perf": attempt(lambda: syscall(298, 0, 0, -1, -1, 0)),
    "userfaultfd": attempt(lambda: syscall(323, 0)),
    "setuid": attempt(lambda: os.setuid(0)),
    "chroot": attempt(lambda: os.chroot("/tmp")),
    "nice": attempt(lambda: os.nice(-5)),
    "shm": attempt(lambda: open("/dev/shm/left", "w")),
    "mqueue": attempt(lambda: open("/dev/mqueue/left", "w")),
    "mknod": attempt(lambda: os.mknod("/tmp/dev", 0o60666, os.makedev(8, 0))),
    "route": attempt(lambda: socket.create_connection(("1.1.1.1", 80), 1)),
  }
  return sorted(name for name, (state, _) in refused.items() if state == "done")
`;
      assert.deepEqual(await value(code), []);
      const meet = `
def f(name):
  s = socket.socket(socket.AF_UNIX)
  try: s.connect("\\0left"); met = True
  except OSError: met = False
  libc.mlock(ctypes.create_string_buffer(65536), 65536)
  libc.inotify_init1(0)
  s = socket.socket(socket.AF_UNIX); s.bind("\\0left"); s.listen()
  if os.fork() == 0:
    os.setsid()
    while True: s.accept()
  return met
`;
      assert.equal(await value(meet), false);
      assert.equal(await value(meet), false);
    });

    it('cannot reduce the process limit of the next program with a fork bomb', async () => {
      const bomb = 'import os\ndef f(x):\n  while True:\n    try: os.fork()\n    except OSError: pass';
      const [result] = await sandbox.run([job(bomb, [[1]], { cpuSeconds: 0.5 })]);
      assert.equal(result!.calls[0]!.kind, 'timeout');
      const many =
        'import os\ndef f(x):\n  pids = []\n  for i in range(40):\n    pid = os.fork()\n    if pid == 0: os._exit(0)\n    pids.append(pid)\n  for pid in pids: os.waitpid(pid, 0)\n  return len(pids)';
      assert.equal(await value(many), 40);
    });
  });
}
