import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { Readable } from 'node:stream';
import type Docker from 'dockerode';
import { listContainers } from '../../sandbox/docker/daemon.js';
import { ensureImage, IMAGES } from '../../sandbox/docker/image.js';
import { openDocker } from '../../sandbox/docker/openDocker.js';
import { ownLabels, reapContainers } from '../../sandbox/docker/reaper.js';
import { sandboxEnvironment } from '../../sandbox/environment.js';
import type { Sandbox } from '../../sandbox/sandbox.js';
import { openSandbox } from '../../workers/deps/openSandbox.js';
import { callingConformance } from './calling.js';
import { conformance, essentials, job } from './conformance.js';
import { requireDocker, requireGvisor } from './docker.js';
import { anEighth, checkHostile, hostileRows } from './hostile.js';

for (const isolation of ['uid', 'strict'] as const) {
  describe(`the Docker sandbox, isolation ${isolation}`, () => {
    let sandbox: Sandbox;
    before(async function () {
      await requireDocker(this);
      sandbox = await openDocker({ size: 2, isolation });
    });
    after(() => sandbox?.close());

    it('reports that it is a security boundary', () => {
      assert.equal(sandbox.info.kind, 'docker');
      assert.equal(sandbox.info.boundary, true);
      assert.match(sandbox.info.description, isolation === 'uid' ? /a uid per program/ : /a container per program/);
    });

    if (isolation === 'uid') {
      conformance(() => sandbox);
      callingConformance(() => sandbox); // the same code runs in strict isolation
    } else essentials(() => sandbox); // dockerKinds.system.test.ts runs the other rows

    it('ends an eighth of the hostile programs as the catalogue expects, and goes on running known programs', async function () {
      const rows = hostileRows();
      if (!rows) return this.skip(); // the catalogue needs GAUNTLET_SHARED
      await checkHostile(anEighth(rows), sandbox, isolation);
    });

    it('answers the other calls after one call crashes', async () => {
      const code = 'import os\ndef f(x):\n  if x == 1: os.abort()\n  if x == 2: os._exit(0)\n  return x';
      const [result] = await sandbox.run([job(code, [[0], [1], [2], [3]])]);
      assert.deepEqual(
        result!.calls.map((call) => call.kind),
        ['value', 'error', 'error', 'value'],
      );
    });

    it('counts the CPU time of child processes, and gives the verdict `memory` beyond the limit of the container', async () => {
      const forking = 'import os\ndef f(x):\n  if os.fork() == 0:\n    while True: pass\n  os.wait()';
      const mapping = `
import os
def f(x):
  for _ in range(3):
    if os.fork() == 0:
      keep = bytearray(180 << 20)
      for i in range(0, len(keep), 4096): keep[i] = 1
      while True: pass
  os.wait()
  os.kill(os.getpid(), 9)
`;
      const results = await sandbox.run([
        job(forking, [[1]], { cpuSeconds: 0.5 }),
        job(mapping, [[1]], { cpuSeconds: 20, wallSeconds: 60 }),
      ]);
      assert.deepEqual(
        results.map(({ calls }) => calls[0]!.kind),
        ['timeout', 'memory'],
      );
    });

    it('treats a forged frame in the answer channel as an error', async () => {
      const frame = (kind: string, text: string) =>
        `os.write(3, struct.pack(">I", ${text.length + 1}) + b'${kind}' + b'${text}')`;
      const [own, load, broken] = await sandbox.run([
        job(`import os, struct\n${frame('L', '')}\n${frame('A', '{"v":7,"pass":true}')}\ndef f(x): return x`, [[1]]),
        job(`import os, struct\n${frame('X', '{"v":7}')}\ndef f(x): return x`, [[1]]),
        job('import os\nos.write(3, b"\\xff" * 100)\ndef f(x): return x', [[1]]),
      ]);
      assert.deepEqual(
        [own, load, broken].map((result) => result!.calls[0]!.kind),
        ['error', 'error', 'error'],
      );
    });
  });
}

describe('the Docker sandbox on gVisor', () => {
  let sandbox: Sandbox;
  before(async function () {
    await requireGvisor(this);
    sandbox = await openDocker({ size: 2, runtime: 'runsc' });
  });
  after(() => sandbox?.close());

  essentials(() => sandbox); // dockerKinds.system.test.ts runs the other rows

  it('refuses isolation strict, in which a program could forge answers', async () => {
    const message =
      /^runtime 'runsc' does not isolate programs: with isolation 'strict' a program opens [^\n]*isolation 'uid'[^\n]*$/;
    await assert.rejects(openDocker({ size: 1, runtime: 'runsc', isolation: 'strict' }), {
      code: 'SANDBOX_UNAVAILABLE',
      message,
    });
  });
});

describe('containers of the Docker sandbox', () => {
  let sandbox: Sandbox;
  let docker: Docker;

  before(async function () {
    docker = await requireDocker(this);
    sandbox = await openDocker({ size: 1 });
  });
  after(() => sandbox?.close());

  const own = () => listContainers(docker, `gauntlet.sandbox.session=${ownLabels()['gauntlet.sandbox.session']}`);

  it('belong to the sandbox that `auto` selects and logs if a daemon answers', async () => {
    const lines: string[] = [];
    const chosen = await openSandbox('auto', { log: (line) => lines.push(line), size: 1 });
    assert.equal(chosen.info.kind, 'docker');
    assert.match(lines.join('\n'), /sandbox: docker/);
    await chosen.close();
  });

  it('use an image of the user, which is refused if it is missing or has no Python', async () => {
    await ensureImage(docker, 'numpy', console.log);
    const code = 'import numpy\ndef f(x): return int(numpy.sum(x))';
    const own = await openDocker({ size: 1, image: IMAGES.numpy });
    try {
      const [result] = await own.run([job(code, [[[1, 2]]])]);
      assert.deepEqual(result!.calls, [{ kind: 'value', value: 3 }]);
    } finally {
      await own.close();
    }
    const emptyTar = Readable.from(Buffer.alloc(1024));
    const progress = await docker.importImage(emptyTar, { repo: 'gauntlet-empty', tag: '1' });
    await new Promise((resolve) => docker.modem.followProgress(progress, resolve));
    try {
      for (const [image, reason] of [
        ['gauntlet-missing:1', /^containers\.image: no image gauntlet-missing:1[^\n]*build it[^\n]*$/],
        ['gauntlet-empty:1', /^containers\.image: gauntlet-empty:1 cannot run programs[^\n]*Python 3\.11[^\n]*$/],
      ] as const)
        await assert.rejects(openDocker({ size: 1, image }), { code: 'SANDBOX_UNAVAILABLE', message: reason });
    } finally {
      await docker.getImage('gauntlet-empty:1').remove();
    }
  });

  it('fork programs without memory of an earlier program', async () => {
    const earlier = 'SECRET = "sec" + "ret-" + "7719" + "-of-the-reference"\ndef f(x): return SECRET + str(x)';
    const scan = `
import ctypes
def f(x):
  wanted, found = b"secret-" + x.encode(), 0
  for line in open("/proc/self/maps"):
    where, rights = line.split()[:2]
    if rights.startswith("rw") and "[v" not in line:
      start, end = [int(part, 16) for part in where.split("-")]
      found += ctypes.string_at(start, end - start).count(wanted + b"-of")
  return found
`;
    const [known, , scanned] = await sandbox.run([
      job(earlier, [[1], [2]]),
      job(earlier, [[3]]),
      job(scan, [['7719']], { cpuSeconds: 20 }),
    ]);
    assert.equal(known!.calls[0]!.kind, 'value');
    assert.deepEqual(scanned!.calls, [{ kind: 'value', value: 0 }]);
  });

  it('report the version of Python, the packages and the image, and hide the names of cgroups', async () => {
    const { facts, details } = await sandboxEnvironment(sandbox);
    assert.equal(facts.backend, 'docker');
    assert.match(facts.python!, /^3\.\d+\.\d+$/);
    assert.equal(facts.packages, 'none');
    assert.match(details.image!, /^sha256:[0-9a-f]{64}$/);
    assert.deepEqual([details.isolation, details.runtime, facts.image], ['uid', 'runc', undefined]);
    const cgroups = 'def f(): return [line.strip().split(":")[2] for line in open("/proc/self/cgroup")]';
    const [result] = await sandbox.run([job(cgroups, [[]])]);
    const [call] = result!.calls;
    assert.ok(call!.kind === 'value' && (call!.value as string[]).every((name) => name === '/'), JSON.stringify(call));
  });

  it('block system calls that no program needs', async () => {
    const code = `
import ctypes, socket
libc = ctypes.CDLL(None, use_errno=True)
def failing(name, *args):
  ctypes.set_errno(0)
  return [name, getattr(libc, name)(*args), ctypes.get_errno()]
def f():
  calls = [('ptrace', 0, 0, 0, 0), ('unshare', 0x10000000), ('shmget', 0, 4096, 0o1600), ('process_vm_readv', 1, 0, 0, 0, 0, 0)]
  calls += [('keyctl', 0, -3, 0)] if hasattr(libc, 'keyctl') else []
  sockets = [('socket', kind, socket.SOCK_STREAM, 0) for kind in (15, 16, 38, 40)]
  pair = socket.socketpair()
  pair[0].send(b'x')
  return [failing(*call) for call in calls + sockets] + [['socketpair', len(pair[1].recv(1)), 0]]
`;
    const [result] = await sandbox.run([job(code, [[]])]);
    const [call] = result!.calls;
    assert.ok(call!.kind === 'value', JSON.stringify(call));
    const seen = call!.value as [string, number, number][];
    assert.deepEqual(seen.pop(), ['socketpair', 1, 0]);
    assert.ok(seen.length >= 8);
    assert.deepEqual(
      seen.filter(([, outcome, errno]) => outcome !== -1 || errno !== 1), // EPERM
      [],
    );
  });

  it('run every program under a new uid without groups', async () => {
    const code = 'import os\ndef f(x): return [os.getuid(), os.geteuid(), os.getgroups()]';
    const [first, second] = await sandbox.run([job(code, [[1]]), job(code, [[1]])]);
    const ids = (result: typeof first) => (result!.calls[0] as unknown as { value: [number, number, number[]] }).value;
    const [[uid, effective, groups], [next]] = [ids(first), ids(second)];
    assert.ok(uid >= 1_000_000 && next > uid);
    assert.equal(effective, uid);
    assert.deepEqual(groups, []);
  });

  it('give a program its own __main__, and no memory that is both writable and executable', async () => {
    const code = `
import sys, __main__
def f(x):
  rights = {line.split()[1] for line in open("/proc/self/maps")}
  return [hasattr(__main__, "f"), sys.modules["solution"] is __main__, any("w" in r and "x" in r for r in rights)]`;
    const [seen] = await sandbox.run([job(code, [[1]])]);
    assert.deepEqual(seen!.calls, [{ kind: 'value', value: [true, true, false] }]);
  });

  it('run after-fork handlers in forks that a program makes', async () => {
    const code = `
import os, random
def f(x):
  back, there = os.pipe()
  if os.fork() == 0:
    os.write(there, repr(random.random()).encode())
    os._exit(0)
  os.wait()
  return os.read(back, 100).decode() != repr(random.random())`;
    const [result] = await sandbox.run([job(code, [[1]])]);
    assert.deepEqual(result!.calls, [{ kind: 'value', value: true }]);
  });

  it('take answers only from the program, not from a fork that it left running', async () => {
    const forked = 'who = "program" if os.fork() else "fork"\n';
    const slow = 'if who == "program": time.sleep(0.1)\n';
    const programs = [
      `import os, time\n${forked}${slow}def f(x): return who`, // otherwise the fork would answer first
      `import os, time\ndef f(x):\n  ${forked}  ${slow}  return who`,
    ];
    const results = await sandbox.run(programs.map((code) => job(code, [[1], [2]])));
    const value = { kind: 'value', value: 'program' };
    for (const { calls } of results) assert.deepEqual(calls, [value, value]);
  });

  it('return the right answers whatever a program does with the wake-up descriptor', async () => {
    const programs = [
      'import os\nos.write(4, b"x" * 50)\ndef f(x): return x',
      'import os\nos.close(4)\ndef f(x): return x',
      'import os\nfor _ in range(9): os.write(4, b"\\0" * 3000)\ndef f(x): return [x] * 30000',
      'import os\nif os.fork() == 0:\n  while True: os.write(4, b"no")\ndef f(x): return x',
    ];
    const results = await sandbox.run(programs.map((code) => job(code, [[1], [2]])));
    const values = results.map(({ calls }) => calls.map((call) => (call as { value: unknown }).value));
    const long = (x: number) => Array.from({ length: 30_000 }, () => x);
    assert.deepEqual(values, [
      [1, 2],
      [1, 2],
      [long(1), long(2)],
      [1, 2],
    ]);
  });

  it('keep the answers of a program up to its budget, and report errors for later ones', async () => {
    const calls = Array.from({ length: 10 }, (_, x) => [x]);
    const [result] = await sandbox.run([
      job('def f(x): return [[] for _ in range(199_990)]', calls, { cpuSeconds: 30 }),
    ]);
    const kinds = result!.calls.map(({ kind }) => kind);
    const values = kinds.indexOf('error');
    assert.ok(values > 0, kinds.join());
    assert.deepEqual(
      kinds,
      kinds.map((_, i) => (i < values ? 'value' : 'error')),
    );
  });

  it('have more memory for a job that needs it', async () => {
    const [result] = await sandbox.run([job('def f(x): return len(bytearray(300 << 20))', [[1]], { memoryMb: 400 })]);
    assert.deepEqual(result!.calls, [{ kind: 'value', value: 300 << 20 }]);
  });

  it('are replaced if they are killed from outside, and their job runs again', async () => {
    const running = sandbox.run([
      job('def f(x):\n  t = 0\n  for i in range(6_000_000): t += i\n  return x', [[9]], { cpuSeconds: 30 }),
    ]);
    await new Promise((resolve) => setTimeout(resolve, 100));
    for (const { Id } of await own())
      await docker
        .getContainer(Id)
        .kill()
        .catch(() => {});
    assert.deepEqual((await running)[0]!.calls, [{ kind: 'value', value: 9 }]);
  });

  it('are removed at the next start if their worker was killed', async () => {
    const script = `
      import { openDocker } from ${JSON.stringify(new URL('../../sandbox/docker/openDocker.js', import.meta.url).href)};
      const sandbox = await openDocker({ size: 1 });
      await sandbox.run([{ id: 'a', code: 'def f(x): return x', entry: 'f', inputs: [[1]] }]);
      void sandbox.run([{ id: 'b', code: 'def f(x):\\n  while True: pass', entry: 'f', inputs: [[1]], limits: { cpuSeconds: 600, wallSeconds: 600, memoryMb: 256, outputBytes: 1000 } }]);
      console.log('running');
    `;
    const worker = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await new Promise((resolve) => worker.stdout.once('data', resolve));
    const left = async () =>
      (await listContainers(docker)).filter(({ Labels }) =>
        Labels['gauntlet.sandbox.owner']?.includes(`,${worker.pid},`),
      );
    assert.equal((await left()).length, 1);
    const exited = new Promise((resolve) => worker.once('exit', resolve));
    worker.kill('SIGKILL');
    await exited;
    const next = await openDocker({ size: 1 });
    assert.equal((await left()).length, 0);
    await next.close();
  });

  it('are removed by the reaper only if their worker is dead', async () => {
    const make = (labels: Record<string, string>) =>
      docker.createContainer({
        Image: IMAGES.none,
        Cmd: ['python3', '-c', 'pass'],
        Labels: labels,
        HostConfig: { NetworkMode: 'none' },
      });
    const [host] = JSON.parse(ownLabels()['gauntlet.sandbox.owner']!);
    const dead = await make({ 'gauntlet.sandbox.owner': JSON.stringify([host, 2 ** 22 - 1, '1']) });
    const reused = await make({ 'gauntlet.sandbox.owner': JSON.stringify([host, process.pid, 'another start']) });
    const stranger = await make({ 'gauntlet.sandbox.owner': JSON.stringify(['elsewhere', 1, '1']) });
    const alive = await make(ownLabels());
    try {
      assert.ok((await reapContainers(docker)) >= 2);
      await assert.rejects(dead.inspect(), /no such container/i);
      await assert.rejects(reused.inspect(), /no such container/i);
      await stranger.inspect();
      await alive.inspect();
    } finally {
      await stranger.remove({ force: true });
      await alive.remove({ force: true });
    }
  });

  it('are removed on close', async () => {
    const other = await openDocker({ size: 2 });
    const before = new Set((await own()).map(({ Id }) => Id));
    await other.run([job('def f(x): return x', [[1]]), job('def f(x): return x', [[1]])]);
    const opened = (await own()).filter(({ Id }) => !before.has(Id));
    assert.ok(opened.length > 0);
    await other.close();
    assert.equal((await own()).filter(({ Id }) => !before.has(Id)).length, 0);
    await assert.rejects(other.run([job('def f(x): return x', [[1]])]), /closed/);
  });
});
