// The features of a daemon, the options of containers, the cause of a container's end, and the guest's cgroup counters.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import type Docker from 'dockerode';
import { GauntletError } from '../../core/base/errors.js';
import type { Packages } from '../../core/schema/execution.js';
import { containersSchema } from '../../core/schema/execution.js';
import { ROOT } from '../../infra/root.mjs';
import {
  type Daemon,
  describeBoundary,
  describeDaemon,
  listContainers,
  readInfo,
  requireDaemon,
  within,
} from '../../sandbox/docker/daemon.js';
import { ensureImage, hasImage, IMAGES } from '../../sandbox/docker/image.js';
import { openDocker } from '../../sandbox/docker/openDocker.js';
import { containerOptions, uidRange } from '../../sandbox/docker/options.js';
import { DaemonWatch } from '../../sandbox/docker/watch.js';
import { openSandbox } from '../../workers/deps/openSandbox.js';
import { requireDocker } from './docker.js';

const INFO = {
  CgroupVersion: '2',
  CgroupDriver: 'systemd',
  Runtimes: { runc: {}, 'io.containerd.runc.v2': {} },
  DefaultRuntime: 'runc',
  SecurityOptions: ['name=seccomp,profile=default', 'name=rootless', 'name=cgroupns'],
  MemoryLimit: true,
  SwapLimit: true,
  PidsLimit: true,
  CpuCfsQuota: true,
};
const daemon = (info: object): Daemon => ({ docker: undefined as unknown as Docker, version: '28', ...readInfo(info) });
const refused = (message: RegExp) => (error: unknown) =>
  error instanceof GauntletError && error.code === 'SANDBOX_UNAVAILABLE' && message.test(error.message);

describe('the features of a Docker daemon', () => {
  it('are described in one line: cgroup version, runtimes, rootless mode, swap', () => {
    assert.equal(
      describeDaemon(daemon({ ...INFO, SwapLimit: false })),
      'docker 28 · cgroup 2 · runtimes io.containerd.runc.v2, runc · security cgroupns, rootless, seccomp · rootless · swap is not limited',
    );
    assert.deepEqual(describeBoundary(daemon({ SecurityOptions: ['name=userns'], SwapLimit: true })), [
      'userns-remap',
      'no seccomp',
    ]);
    assert.deepEqual(describeBoundary(daemon({ ...INFO, SecurityOptions: ['name=seccomp'] })), []);
    const old = daemon({
      ...INFO,
      CgroupVersion: undefined,
      SecurityOptions: ['name=userns'],
      CpuCfsQuota: undefined,
      CPUCfsQuota: true,
    });
    assert.deepEqual([old.cgroup, old.rootless, old.remapped, old.limits.cpu], ['1', false, true, true]);
    assert.equal(daemon({ ...INFO, CgroupDriver: 'none' }).cgroup, 'none');
  });

  it('must include limits and the requested runtime, or the daemon is refused', () => {
    requireDaemon(daemon(INFO), null);
    requireDaemon(daemon(INFO), 'runc');
    assert.throws(
      () => requireDaemon(daemon(INFO), 'runsc'),
      refused(/'runsc' \(installed: io.containerd.runc.v2, runc\)/),
    );
    const bare = { ...INFO, MemoryLimit: false, PidsLimit: false, CgroupDriver: 'none' };
    assert.throws(() => requireDaemon(daemon(bare), null), refused(/cannot limit memory, pids \(it is rootless/));
  });

  it('are an error if the daemon does not answer in time', async () => {
    await assert.rejects(within(5, 'asking', new Promise(() => {})), /asking: no answer in time/);
    assert.equal(await within(1000, 'asking', Promise.resolve(3)), 3);
  });
});

describe('the options of a container', () => {
  it('use uid 65534 without capabilities in strict isolation, and three capabilities for pid 1 in uid isolation', () => {
    const base = { image: 'i', memoryMb: 256 };
    const strict = containerOptions({ ...base, isolation: 'strict', runtime: 'runsc' });
    assert.deepEqual(
      [strict.User, strict.HostConfig!.CapAdd, strict.HostConfig!.Runtime],
      ['65534:65534', [], 'runsc'],
    );
    const uid = containerOptions({ ...base, isolation: 'uid' });
    assert.deepEqual(uid.HostConfig!.SecurityOpt, ['no-new-privileges']);
    const filtered = containerOptions({ ...base, isolation: 'uid', seccomp: true }).HostConfig!.SecurityOpt!;
    assert.match(filtered[1]!, /^seccomp=\{"defaultAction":"SCMP_ACT_ERRNO"/);
    assert.deepEqual([uid.User, uid.HostConfig!.CapAdd], ['0:0', ['SETUID', 'SETGID', 'KILL']]);
    for (const { HostConfig: host } of [strict, uid]) {
      assert.deepEqual(host!.CapDrop, ['ALL']);
      assert.deepEqual([host!.NetworkMode, host!.ReadonlyRootfs, host!.IpcMode], ['none', true, 'none']);
      assert.equal(host!.Memory, host!.MemorySwap);
    }
  });

  it('use ranges of uids that do not overlap and fit into a remapped daemon', () => {
    for (const remapped of [false, true]) {
      const ranges = Array.from({ length: 20 }, () => uidRange(remapped)).sort((a, b) => a.first - b.first);
      for (const [i, { first, span }] of ranges.entries()) {
        if (i > 0) assert.ok(ranges[i - 1]!.first + ranges[i - 1]!.span <= first);
        assert.ok(first > 0 && first + span < (remapped ? 65_534 : 2 ** 31));
      }
    }
  });

  it('never allow WebAssembly in place of Docker for strict isolation, packages or a runtime', async () => {
    await assert.rejects(openSandbox('wasm', { isolation: 'strict' }), refused(/'strict'/));
    await assert.rejects(openSandbox('wasm', { packages: 'numpy' }), refused(/'numpy'/));
    await assert.rejects(openSandbox('wasm', { runtime: 'runsc' }), refused(/'runsc'/));
    await assert.rejects(openSandbox('wasm', { image: 'python:3.12' }), refused(/'python:3.12'/));
    const parsed = { isolation: 'uid', packages: 'none', image: null, runtime: null };
    assert.deepEqual(containersSchema.parse({}), parsed);
  });

  it('refuse packages beside an image, which has its own', () => {
    const { error } = containersSchema.safeParse({ image: 'python:3.12', packages: 'numpy' });
    assert.deepEqual(error?.issues[0]?.path, ['packages']);
  });
});

describe('the containers of a daemon', () => {
  it('exclude a removed container that the daemon still lists', async () => {
    const rows = [
      { Id: 'running', State: 'running' },
      { Id: 'stuck', State: 'dead' },
      { Id: 'removed', State: 'dead' },
    ];
    const asked: string[] = [];
    const docker = {
      listContainers: async ({ all, filters }: Docker.ContainerListOptions) =>
        all && JSON.stringify(filters) === '{"label":["a label"]}' ? rows : [],
      getContainer: (id: string) => ({
        inspect: async () => {
          asked.push(id);
          if (id === 'removed') throw Object.assign(new Error('no such container'), { statusCode: 404 });
        },
      }),
    } as unknown as Docker;
    assert.deepEqual(
      (await listContainers(docker, 'a label')).map(({ Id }) => Id),
      ['running', 'stuck'],
    );
    assert.deepEqual(asked, ['stuck', 'removed']);
  });
});

describe("the cause of a container's end", () => {
  const event = (Action: string) => `${JSON.stringify({ Action, Actor: { ID: 'c' } })}\n`;
  const watching = async () => {
    const stream = new PassThrough();
    const docker = { getEvents: async () => stream, ping: async () => 'OK' } as unknown as Docker;
    const watch = new DaemonWatch(docker, 'label', () => {});
    await watch.open();
    watch.follow('c');
    return { watch, stream };
  };

  it('is the program if the daemon stayed up and reports the death, and memory after an OOM kill', async () => {
    const { watch, stream } = await watching();
    stream.write(event('oom').slice(0, 10));
    stream.write(event('oom').slice(10) + event('die'));
    assert.equal(await watch.blame('c', watch.epoch), 'program, memory');
    watch.close();
    const plain = await watching();
    plain.stream.write(event('die') + event('kill')); // a kill event after the death does not count
    assert.equal(await plain.watch.blame('c', plain.watch.epoch), 'program');
    plain.watch.close();
  });

  it('is the infrastructure after a kill request, without a report of the death, or after an outage', async () => {
    const killed = await watching();
    killed.stream.write(event('kill') + event('die'));
    assert.equal(await killed.watch.blame('c', killed.watch.epoch), 'infrastructure');
    killed.watch.close();
    const broken = await watching();
    broken.stream.write(event('die'));
    const { epoch } = broken.watch;
    setTimeout(() => broken.stream.end(), 5);
    await new Promise((resolve) => broken.stream.once('close', resolve));
    assert.equal(await broken.watch.blame('c', epoch), 'infrastructure');
    assert.equal(await broken.watch.isSteady(epoch), false);
    broken.watch.close();
  });
});

describe('the guest in a container', () => {
  let docker: Docker;
  before(async function () {
    docker = await requireDocker(this);
    await ensureImage(docker, 'none', () => {});
  });

  it('reads CPU time and OOM kills from cgroup v2, v1 or /proc', async () => {
    const source = fs.readFileSync(path.join(ROOT, 'sandbox/guest/cgroup.py'), 'utf8');
    const check = `
import json, subprocess, sys
def tree(name, files):
    for file, text in files.items():
        os.makedirs(os.path.dirname('/tmp/' + name + '/' + file), exist_ok=True)
        open('/tmp/' + name + '/' + file, 'w').write(text)
    return '/tmp/' + name
def own(text):
    open('/tmp/own', 'w').write(text)
    return '/tmp/own'
stat = 'usage_usec 2500000\\nuser_usec 1\\n'
events = 'low 0\\nhigh 0\\nmax 9\\noom 4\\noom_kill 3\\noom_group_kill 0\\n'
v2 = Cgroup(tree('v2', {'cpu.stat': stat, 'memory.events': events}), own('0::/\\n'))
inner = Cgroup(tree('in', {'cpu.stat': 'usage_usec 1\\n', 'a/b/cpu.stat': stat, 'a/b/memory.events': events}), own('0::/a/b\\n'))
v1 = Cgroup(tree('v1', {'cpuacct/cpuacct.usage': '1500000000\\n', 'memory/memory.oom_control': 'oom_kill_disable 0\\nunder_oom 0\\noom_kill 7\\n'}), own('4:memory:/docker/x\\n'))
none = Cgroup('/tmp/nothing', own(''))
before = none.cpu_seconds()
child = os.fork()
if child == 0:
    x = 0
    for i in range(3000000): x += i
    os._exit(0)
os.waitpid(child, 0)
groups = (v2, inner, v1, none)
start = [group.memory() for group in groups]
def kill(name, file, text):
    open('/tmp/' + name + '/' + file, 'w').write(text)
kill('v2', 'memory.events', events.replace('oom 4', 'oom 5').replace('oom_kill 3', 'oom_kill 5'))
kill('in', 'a/b/memory.events', events.replace('oom_kill 3', 'oom_kill 5'))
kill('v1', 'memory/memory.oom_control', 'oom_kill_disable 0\\nunder_oom 0\\noom_kill 8\\n')
causes = [group.killed_by(group.memory()) for group in groups]
print(json.dumps([[c.cpu_seconds() for c in (v2, inner, v1)], [g.killed_by(s) for g, s in zip(groups, start)], causes, none.cpu_seconds() > before, cpu_of(os.getpid()) > 0, cpu_of(99999)]))
`;
    const output = new PassThrough();
    let text = '';
    output.on('data', (part) => {
      text += part;
    });
    const create = { HostConfig: { NetworkMode: 'none', Tmpfs: { '/tmp': 'rw' } } };
    const [status, container] = await docker.run(IMAGES.none, ['python3', '-c', source + check], output, create);
    await container.remove();
    assert.equal(status.StatusCode, 0, text);
    const nobody = [null, null, null, null];
    assert.deepEqual(JSON.parse(text), [
      [2.5, 2.5, 1.5],
      ['container', 'host', 'container', null],
      nobody,
      true,
      true,
      0,
    ]);
  });

  it('runs in a known runtime, and an unknown one is refused and named', async () => {
    const sandbox = await openDocker({ size: 1, runtime: 'runc' });
    const [result] = await sandbox.run([{ id: 'a', code: 'def f(x): return x', entry: 'f', inputs: [[4]] }]);
    assert.deepEqual(result!.calls, [{ kind: 'value', value: 4 }]);
    await sandbox.close();
    await assert.rejects(
      openDocker({ runtime: 'runsc-that-is-not-there' }),
      refused(/has no runtime .* \(installed: .*runc/),
    );
  });

  it('imports a seeded numpy only with the numpy packages', async () => {
    const code = 'import numpy\ndef f(x): return [float(numpy.random.rand()), int(numpy.arange(x).sum())]';
    const job = { id: 'n', code, entry: 'f', inputs: [[5]] };
    const callsIn = async (packages: Packages) => {
      const sandbox = await openDocker({ size: 1, packages });
      try {
        return (await sandbox.run([job]))[0]!.calls;
      } finally {
        await sandbox.close();
      }
    };
    const calls = await callsIn('numpy');
    assert.equal(await hasImage(docker, IMAGES.numpy), true);
    assert.equal(calls[0]!.kind, 'value');
    assert.deepEqual(await callsIn('numpy'), calls, 'numpy loaded anew');
    assert.equal((await callsIn('none'))[0]!.kind, 'error');
  });
});
