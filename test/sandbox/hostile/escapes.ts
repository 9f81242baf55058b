// Programs that try to reach the fork server, its supervisor, the kernel and other namespaces. Each returns what it
// reached; the right answer is nothing.
import { type HostileRow, NO_SYSCALLS, OWN_SERVER } from './row.js';

type Value = HostileRow['tests'][number][1];
const LIBC =
  'import ctypes, os\nl = ctypes.CDLL(None, use_errno=True)\ndef call(x86, arm, *a): return l.syscall(x86 if os.uname().machine == "x86_64" else arm, *a)\n';
const row = (
  id: string,
  code: string,
  expected: Value,
  why: string,
  wasm: [string, string] = NO_SYSCALLS,
): HostileRow => ({
  id,
  code,
  entry: 'f',
  tests: [[[1], expected]],
  expect: 'pass',
  why,
  wasm,
});
const denied = (body: string) => `import os, socket, sys, time\ndef f(x):\n  out = []\n${body}\n  return out`;
/** Evaluates each expression and returns those that did not raise. */
const attempts = (...expressions: string[]) =>
  denied(
    expressions
      .map((e) => `  try: ${e}; out.append(${JSON.stringify(e)})\n  except (OSError, ValueError, AttributeError): pass`)
      .join('\n'),
  );

const onServer = ['supervisor_killed', 'limits_of_server', 'descriptors_of_server'];
const ROWS: HostileRow[] = [
  row(
    'ptrace_server',
    `${LIBC}def f(x): return [l.ptrace(16, p, 0, 0) for p in (1, os.getppid())]`,
    [-1, -1],
    'neither pid 1 nor the supervisor can be traced',
  ),
  row(
    'read_memory_of_server',
    `${LIBC}def f(x):\n  b = (ctypes.c_uint64 * 2)(id(l), 64)\n  return [l.process_vm_readv(p, b, 1, b, 1, 0) for p in (1, os.getppid())]`,
    [-1, -1],
    'their memory cannot be read',
  ),
  row(
    'write_memory_of_server',
    `${LIBC}def f(x):\n  b = (ctypes.c_uint64 * 2)(id(l), 8)\n  return [l.process_vm_writev(p, b, 1, b, 1, 0) for p in (1, os.getppid())]`,
    [-1, -1],
    'nor written',
  ),
  row(
    'supervisor_files',
    attempts(
      ...['mem', 'fd/0', 'fd/1', 'environ', 'maps', 'cwd/x'].map((n) => `open("/proc/%d/${n}" % os.getppid(), "rb")`),
    ),
    [],
    'nothing of the supervisor can be opened',
    ['pass', 'there is no /proc: nothing opens either'],
  ),
  row(
    'supervisor_killed',
    attempts('os.kill(os.getppid(), 9)', 'os.kill(os.getppid(), 19)', 'os.kill(1, 9)'),
    [],
    'no signal reaches it',
    ['pass|error|fail', 'there is one process'],
  ),
  row(
    'limits_of_server',
    attempts(
      '__import__("resource").prlimit(1, 7, (0, 0))',
      '__import__("resource").prlimit(os.getppid(), 0, (1, 1))',
      'os.sched_setaffinity(1, {0})',
      'os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)',
    ),
    [],
    'the limits of others are theirs',
    ['pass|error', 'there are no limits to set'],
  ),
  row(
    'descriptors_of_server',
    `${LIBC}def f(x):\n  out = []\n  for p in (1, os.getppid()):\n    fd = l.syscall(434, p, 0)\n    out.append(fd < 0 or l.syscall(438, fd, 0, 0) < 0)\n    out.append(fd < 0 or l.syscall(424, fd, 9, 0, 0) < 0)\n  return out`,
    [true, true, true, true],
    'a handle on the server gives neither its descriptors nor its end',
  ),
  row(
    'namespaces',
    `${LIBC}def f(x):\n  out = [l.unshare(n) for n in (0x10000000, 0x20000000, 0x40000000, 0x20000, 0x2000000)]\n  for n in ("mnt", "net", "pid", "user"):\n    try: out.append(l.setns(os.open("/proc/1/ns/" + n, os.O_RDONLY), 0))\n    except OSError: out.append(-1)\n  return out`,
    Array(9).fill(-1),
    'no namespace can be made or entered',
  ),
  row(
    'other_roots',
    `${LIBC}def f(x): return [l.chroot(b"/tmp"), call(155, 41, b"/tmp", b"/tmp"), l.mount(b"/", b"/tmp", None, 4096, None), l.umount2(b"/tmp", 2)]`,
    [-1, -1, -1, -1],
    'neither root nor mounts change',
  ),
  row(
    'devices',
    attempts(
      'os.mknod("/tmp/disk", 0o60666, os.makedev(8, 0))',
      'os.mknod("/tmp/mem", 0o20666, os.makedev(1, 1))',
      'open("/dev/mem", "rb")',
      'open("/dev/kmsg")',
      'open("/dev/sda", "rb")',
    ),
    [],
    'no device',
    ['pass|error', 'there is none'],
  ),
  row(
    'file_by_handle',
    `${LIBC}def f(x):\n  h = ctypes.create_string_buffer(b"\\x08\\0\\0\\0\\x01\\0\\0\\0\\x02" + b"\\0" * 32)\n  return l.open_by_handle_at(os.open("/", os.O_RDONLY), h, 0)`,
    -1,
    'files of the host by their inode',
  ),
  row(
    'keyring',
    `${LIBC}def f(x): return [call(248, 217, b"user", b"k", b"v", 1, -3), call(250, 219, 0, -3, 1), call(249, 218, b"user", b"k", None, 0)]`,
    [-1, -1, -1],
    'keyrings are not in a namespace',
  ),
  row(
    'kernel_interfaces',
    `${LIBC}def f(x): return [call(*n, 0, 0, 0, 0, 0) for n in ((321, 280), (298, 241), (175, 105), (313, 273), (169, 142), (246, 104), (173, -1))]`,
    Array(7).fill(-1),
    'bpf, perf, modules, reboot, kexec, ports',
  ),
  row(
    'time_and_names',
    `${LIBC}${denied('  for e in ("time.clock_settime(0, 1.0)", "socket.sethostname(\'x\')", "os.setgroups([0])", "os.setresuid(0, 0, 0)", "os.setgid(0)", "os.nice(-5)"):\n    try: eval(e); out.append(e)\n    except OSError: pass')}`,
    [],
    'clock, names, groups and priorities of the machine',
    ['pass|error|fail', 'calls that do nothing there: no clock, name or group of the host changes'],
  ),
  row(
    'sockets_around',
    `import socket\n${denied('  for kind in (socket.AF_PACKET, 40, 38, 15):\n    for t in (socket.SOCK_RAW, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM, socket.SOCK_STREAM):\n      try: socket.socket(kind, t).bind(("lo", 0) if kind == 17 else (0, 0)); out.append([kind, t])\n      except (OSError, TypeError, ValueError): pass\n  import fcntl\n  s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n  try: names = socket.if_nameindex()\n  except OSError: names = []\n  out += [n for _, n in names if n != "lo" and fcntl.ioctl(s, 0x8913, n.encode().ljust(40, b"\\0"))[16] & 1]')}`,
    [],
    'raw packets, virtual machine sockets, other interfaces that are up (some kernels put tunnels that are down into every namespace)',
  ),
  row(
    'docker_socket',
    attempts(
      ...['/var/run/docker.sock', '/run/docker.sock', '/run/containerd/containerd.sock'].map(
        (p) => `socket.socket(socket.AF_UNIX).connect("${p}")`,
      ),
    ),
    [],
    'the daemon is not in the container',
    ['pass|error', 'there are no sockets'],
  ),
  row(
    'abstract_sockets',
    'import socket\ndef f(x):\n  try: return [l.split()[7] for l in open("/proc/net/unix").read().splitlines()[1:] if len(l.split()) > 7]\n  except OSError: return "closed"',
    [],
    'no socket of the host is in sight',
  ),
  row(
    'control_groups',
    attempts(
      ...[
        'memory/memory.limit_in_bytes',
        'memory.max',
        'pids/pids.max',
        'pids.max',
        'cgroup.procs',
        'memory/release_agent',
        'cpu/cpu.cfs_quota_us',
      ].map((n) => `open("/sys/fs/cgroup/${n}", "wb", 0).write(b"1")`),
    ),
    [],
    'its own limits cannot be raised',
    ['pass', 'there is no /sys'],
  ),
  row(
    'kernel_switches',
    attempts(
      'open("/proc/sys/kernel/core_pattern", "wb", 0).write(b"|/tmp/x")',
      'open("/proc/sysrq-trigger", "wb", 0).write(b"c")',
      'open("/proc/sys/vm/overcommit_memory", "wb", 0).write(b"1")',
      'open("/proc/sys/net/ipv4/ip_forward", "wb", 0).write(b"1")',
      'open("/proc/kcore", "rb").read(1) or os.stat("/none")',
      'open("/proc/self/attr/current", "wb", 0).write(b"unconfined")',
    ),
    [],
    'switches of the kernel',
    ['pass', 'there is no /proc'],
  ),
  row(
    'commands_from_tmp',
    `${denied('  open("/tmp/tool", "wb", 0).write(b"#!/bin/sh\\necho hi\\n"); os.chmod("/tmp/tool", 0o4755)\n  try: os.execv("/tmp/tool", ["/tmp/tool"])\n  except OSError as e: out.append(type(e).__name__)')}`,
    ['PermissionError'],
    '/tmp cannot hold programs',
    ['error', 'there is nothing to execute, and modes cannot be changed'],
  ),
  row(
    'right_by_setuid',
    `import os, stat
IDS = ("Uid:", "Gid:", "CapPrm:", "CapEff:")
def ids(pid): return [line.split() for line in open(f"/proc/{pid}/status") if line.startswith(IDS)]
def f(x):
  out, seen = [], set()
  for d in ("/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/lib", "/lib"):
    for n in os.listdir(d) if os.path.isdir(d) else ():
      p = os.path.realpath(os.path.join(d, n))
      if p in seen or not os.path.isfile(p): continue
      seen.add(p)
      if os.stat(p).st_mode & (stat.S_ISUID | stat.S_ISGID):
        r, w = os.pipe()
        pid = os.fork()
        if pid == 0:
          try: os.execv(p, [p])
          finally: os._exit(9)
        os.close(w); os.read(r, 1); os.close(r)
        os.kill(pid, 9)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        if ids(pid) != ids("self"): out.append(p)
        os.waitpid(pid, 0)
  return out`,
    [],
    'no-new-privileges: a setuid file gives nothing',
    ['pass|error', 'there is no such file'],
  ),
  row(
    'own_memory_file',
    attempts(
      'open("/proc/self/mem", "r+b")',
      'open("/proc/thread-self/mem", "r+b")',
      'open("/proc/self/clear_refs", "wb", 0).write(b"1")',
      'open("/proc/self/environ")',
    ),
    [],
    'a process that is not dumpable has no such files',
    ['pass', 'there is no /proc'],
  ),
  row(
    'interpreter_in_javascript',
    'import gc, sys\ndef f(x):\n  for o in gc.get_objects():\n    if type(o).__name__ == "JsFinder":\n      api = o.jsproxies["pyodide_js"]\n      api.setInterruptBuffer(None)\n      api.FS.write = None\n      return str(api.constructor.constructor)\n  return "none"',
    'none',
    'there is no such object on Docker',
    ['error', 'the object is found, and asking it for anything ends the interpreter'],
  ),
];

export const ESCAPES = ROWS.map((one) => (onServer.includes(one.id) ? { ...one, strict: OWN_SERVER } : one));
