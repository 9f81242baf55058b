// Faults of the infrastructure: a daemon that goes away, workers that are killed, and leaks over thousands of programs.
// GAUNTLET_SOAK=1 runs the long form with 50 kills and 10,000 programs.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import type Docker from 'dockerode';
import { ROOT } from '../../infra/root.mjs';
import { connectDocker, listContainers } from '../../sandbox/docker/daemon.js';
import { IMAGES } from '../../sandbox/docker/image.js';
import { openDocker } from '../../sandbox/docker/openDocker.js';
import { ownLabels } from '../../sandbox/docker/reaper.js';
import { requireDocker } from './docker.js';

const exec = promisify(execFile);
const SOAK = process.env.GAUNTLET_SOAK === '1';
const KILLS = SOAK ? 50 : 3;
const EXECUTIONS = SOAK ? 10_000 : 300;

/** Programs with every kind of outcome, so that an outage that changes a verdict is visible. */
const program = (i: number) => {
  const codes = [
    'def f(x):\n  t = 0\n  for i in range(20000): t += i % 7\n  return [x, t]',
    'def f(x): raise ValueError(str(x))',
    'import os\ndef f(x):\n  if x % 2: os._exit(1)\n  return x',
    'open("/tmp/left", "w").write("x" * 1000)\ndef f(x): return sorted([x, 3, 1])',
    'def f(x): return bytearray(900 << 20)',
  ];
  return { id: `p${i}`, code: codes[i % codes.length]!, entry: 'f', inputs: [[i], [i + 1]] };
};
const verdicts = (results: { id: string; calls: object[] }[]) =>
  results.map(({ id, calls }) => ({ id, calls: calls.map((call) => ({ ...call, message: undefined })) }));

describe('a Docker daemon that stops in the middle of a batch', () => {
  let folder = '';
  let pid = 0;
  const engine = async () => {
    const env = { ...process.env, DOCKER_HOST: `unix://${folder}/d.sock` };
    const { stdout } = await exec('bash', [path.join(ROOT, 'infra/ci/docker-engine.sh')], { env });
    return Number(stdout.trim());
  };
  const stop = async (signal: NodeJS.Signals) => {
    process.kill(pid, signal);
    while (fs.existsSync(`/proc/${pid}`)) await pause(50);
  };
  /** Runs `open` while DOCKER_HOST names the daemon of this test. */
  const there = async <T>(open: () => Promise<T>): Promise<T> => {
    const host = process.env.DOCKER_HOST;
    process.env.DOCKER_HOST = `unix://${folder}/d.sock`;
    try {
      return await open();
    } finally {
      if (host === undefined) delete process.env.DOCKER_HOST;
      else process.env.DOCKER_HOST = host;
    }
  };

  before(async function () {
    const docker = await requireDocker(this);
    if (process.getuid?.() !== 0) {
      console.log('      skipped: starting a Docker daemon of its own needs root');
      return this.skip();
    }
    await (await openDocker({ size: 1 })).close(); // builds the image
    folder = fs.mkdtempSync('/tmp/gauntlet-d-');
    pid = await engine();
    const other = await there(connectDocker);
    const image = await docker.getImage(IMAGES.none).get();
    await new Promise((resolve, reject) => {
      other.docker.loadImage(image, (error, stream) =>
        error || !stream ? reject(error) : other.docker.modem.followProgress(stream, resolve),
      );
    });
  });
  after(async () => {
    if (pid) await stop('SIGTERM');
    if (!folder) return;
    const mounts = fs.readFileSync('/proc/mounts', 'utf8').split('\n');
    const inside = mounts.map((line) => line.split(' ')[1] ?? '').filter((place) => place.startsWith(`${folder}/`));
    for (const place of inside.sort().reverse()) await exec('umount', ['-l', place]).catch(() => {}); // the mounts of a killed daemon
    fs.rmSync(folder, { recursive: true, force: true });
  });

  const ends = [
    ['SIGKILL', 'uid'],
    ['SIGTERM', 'uid'],
    ['SIGTERM', 'strict'],
  ] as const;
  for (const [signal, isolation] of SOAK ? ends : ends.slice(0, 1)) {
    it(`does not change verdicts after ${signal} in isolation ${isolation}`, async () => {
      const jobs = Array.from({ length: isolation === 'uid' ? 100 : 16 }, (_, i) => program(i));
      const sandbox = await there(() => openDocker({ size: 2, isolation }));
      try {
        const undisturbed = await sandbox.run(jobs);
        let outage: Promise<void> | undefined;
        const disturbed = await sandbox.run(jobs, {
          onProgress: (done) => {
            if (done < jobs.length / 4) return;
            outage ??= (async () => {
              await stop(signal);
              await pause(1500);
              pid = await engine();
            })();
          },
        });
        await outage;
        assert.deepEqual(verdicts(disturbed), verdicts(undisturbed));
      } finally {
        await sandbox.close();
      }
      const { docker } = await there(connectDocker);
      assert.deepEqual(
        (await listContainers(docker)).map(({ Status }) => Status),
        [],
      );
    });
  }

  it('leaves no orphaned containers and processes after a restart', async () => {
    const { docker } = await there(connectDocker);
    const Cmd = ['python3', '-c', 'import time; time.sleep(1000)'];
    const container = await docker.createContainer({ Image: IMAGES.none, Cmd, NetworkDisabled: true });
    await container.start();
    const { State } = await container.inspect();
    await stop('SIGKILL');
    fs.rmSync(path.join(folder, 'd.sock.d/lib/containers', container.id), { recursive: true });
    assert.ok(fs.existsSync(`/proc/${State.Pid}`), 'it did not outlive its daemon');
    pid = await engine();
    await assert.rejects(container.inspect(), { statusCode: 404 });
    for (let i = 0; fs.existsSync(`/proc/${State.Pid}`) && i < 100; i++) await pause(50); // waits until the parent has reaped it
    assert.ok(!fs.existsSync(`/proc/${State.Pid}`), 'its process runs on');
  });
});

describe('workers of the Docker sandbox', function () {
  if (SOAK) this.timeout(1_200_000);
  let docker: Docker;
  before(async function () {
    docker = await requireDocker(this);
  });

  it(`leave no container and neither lose nor repeat a result when killed ${KILLS} times during batches`, async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'gauntlet-kill-'));
    const total = KILLS * 60;
    // a worker that writes each result once and atomically, into a file named after the job
    const script = `
      import fs from 'node:fs';
      import { openDocker } from ${JSON.stringify(new URL('../../sandbox/docker/openDocker.js', import.meta.url).href)};
      const folder = ${JSON.stringify(folder)};
      const codes = ['def f(x): return x * 2', 'def f(x):\\n  t = 0\\n  for i in range(50000): t += i\\n  return [x, t]', 'import os\\ndef f(x): os.abort()'];
      const sandbox = await openDocker({ size: 2 });
      const left = [...Array(${total}).keys()].filter((i) => !fs.existsSync(folder + '/' + i + '.json'));
      while (left.length > 0) {
        const batch = left.splice(0, 20);
        const results = await sandbox.run(batch.map((i) => ({ id: String(i), code: codes[i % 3], entry: 'f', inputs: [[i]] })));
        for (const { id, calls } of results) {
          fs.writeFileSync(folder + '/' + id + '.tmp', JSON.stringify({ id, calls }));
          fs.linkSync(folder + '/' + id + '.tmp', folder + '/' + id + '.json'); // throws if the file exists
          fs.rmSync(folder + '/' + id + '.tmp');
        }
      }
      await sandbox.close();
    `;
    const start = () => {
      fs.readdirSync(folder)
        .filter((name) => name.endsWith('.tmp'))
        .forEach((name) => {
          fs.rmSync(path.join(folder, name));
        });
      return spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'ignore', 'inherit'] });
    };
    const pids: number[] = [];
    const of = async (pids: number[]) =>
      (await listContainers(docker)).filter(({ Labels }) =>
        pids.some((pid) => Labels['gauntlet.sandbox.owner']?.includes(`,${pid},`)),
      );
    for (let kill = 0; kill < KILLS; kill++) {
      const worker = start();
      pids.push(worker.pid!);
      const exited = new Promise((resolve) => worker.once('exit', resolve));
      await pause(300 + Math.random() * 1500);
      worker.kill('SIGKILL');
      await exited;
    }
    const last = start();
    assert.equal(await new Promise((resolve) => last.once('exit', resolve)), 0);
    assert.deepEqual(await of([...pids, last.pid!]), []);
    const names = fs.readdirSync(folder);
    assert.equal(names.length, total);
    for (let i = 0; i < total; i++) {
      const { id, calls } = JSON.parse(fs.readFileSync(path.join(folder, `${i}.json`), 'utf8'));
      const value = [i * 2, [i, 1249975000]][i % 3];
      assert.equal(id, String(i));
      if (i % 3 === 2) assert.equal(calls[0].kind, 'error');
      else assert.deepEqual(calls, [{ kind: 'value', value }]);
    }
    fs.rmSync(folder, { recursive: true });
  });

  it(`leak no container, process, file, descriptor or memory over ${EXECUTIONS} programs`, async () => {
    const sandbox = await openDocker({ size: 2 });
    const session = `gauntlet.sandbox.session=${ownLabels()['gauntlet.sandbox.session']}`;
    const containers = () => listContainers(docker, session);
    const before = new Set((await containers()).map(({ Id }) => Id));
    const snapshot = async () => {
      globalThis.gc?.();
      const mine = (await containers()).filter(({ Id }) => !before.has(Id));
      const tops = await Promise.all(mine.map(({ Id }) => docker.getContainer(Id).top()));
      return {
        containers: mine.length,
        processes: tops.reduce((sum, top) => sum + top.Processes.length, 0),
        descriptors: process.platform === 'linux' ? fs.readdirSync('/proc/self/fd').length : 0,
        rss: process.memoryUsage().rss / 2 ** 20,
      };
    };
    const chunk = (from: number, count: number) =>
      sandbox.run(Array.from({ length: count }, (_, i) => program(from + i)));
    try {
      await chunk(0, 50);
      const first = await snapshot();
      const bases = [];
      for (let done = 0; done < EXECUTIONS; done += 250) {
        await chunk(done, Math.min(250, EXECUTIONS - done));
        bases.push(process.memoryUsage().rss / 2 ** 20);
      }
      const last = await snapshot();
      const look =
        'import os\ndef f(x): return [sorted(os.listdir("/tmp")), sorted(p for p in os.listdir("/proc") if p.isdigit())]';
      const [seen] = await sandbox.run([{ id: 'look', code: look, entry: 'f', inputs: [[1]] }]);
      console.log(`      ${JSON.stringify({ first, last, seen: seen!.calls[0] })}`);
      assert.ok(last.containers <= 2 && first.containers <= 2);
      assert.ok(last.processes <= 3 * last.containers, 'only pid 1 and a supervisor, or the one before it');
      assert.ok(last.descriptors <= first.descriptors + 4);
      const half = Math.ceil(bases.length / 2);
      const peak = (values: number[]) => Math.max(...values);
      if (bases.length >= 4)
        assert.ok(peak(bases.slice(half)) < peak(bases.slice(0, half)) + 40, JSON.stringify(bases));
      assert.equal(seen!.calls[0]!.kind, 'value');
      assert.deepEqual((seen!.calls[0] as { value: unknown[][] }).value[0], []);
    } finally {
      await sandbox.close();
    }
    assert.deepEqual(
      (await containers()).filter(({ Id }) => !before.has(Id)),
      [],
    );
  });
});
