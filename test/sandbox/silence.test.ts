// A guest ends by itself if its host is gone, even if its input stays open. A daemon that is killed while it starts a
// container can forget the container and keep its input open forever.
import assert from 'node:assert/strict';
import type Docker from 'dockerode';
import { limitsSchema } from '../../core/schema/execution.js';
import { ContainerGuest } from '../../sandbox/docker/container.js';
import { Fleet } from '../../sandbox/docker/fleet.js';
import { ensureImage } from '../../sandbox/docker/image.js';
import { type ContainerSpec, containerOptions } from '../../sandbox/docker/options.js';
import { requireDocker } from './docker.js';

const SILENCE = 2;
const KINDS = [{ isolation: 'uid', guest: 'values' }, { isolation: 'uid' }, { isolation: 'strict' }] as const;

describe('a guest without a job', () => {
  let docker: Docker;
  let fleet: Fleet;
  before(async function () {
    docker = await requireDocker(this);
    fleet = new Fleet(docker);
    await fleet.open();
  });
  after(() => fleet?.close());

  const startSilently = async (spec: ContainerSpec) => {
    const container = await docker.createContainer({ ...containerOptions(spec), Labels: fleet.labels() });
    const input = await container.attach({ stream: true, stdin: true, stdout: true, stderr: true, hijack: true });
    input.resume();
    const removed = container.wait({ condition: 'removed' });
    await container.start();
    return { ended: removed.then(({ StatusCode }) => StatusCode as number), input };
  };

  it('ends if its host is silent although its input is open, but stays and runs a job if keep-alives arrive', async () => {
    const image = await ensureImage(docker, 'none', () => {});
    const specs = KINDS.map((kind) => ({ image, memoryMb: 256, silenceSeconds: SILENCE, ...kind }));
    const attended = await Promise.all(specs.map((spec) => ContainerGuest.start(fleet, spec)));
    try {
      const silent = await Promise.all(specs.map(startSilently)); // ends later than the others
      assert.deepEqual(await Promise.all(silent.map(({ ended }) => ended)), [0, 0, 0]);
      for (const { input } of silent) input.end();
      const code = 'def f(x): return x + 1';
      for (const guest of attended) {
        assert.ok(guest.usable, `it ended: ${JSON.stringify(guest.spec)}`);
        const job = { id: 'a', code, entry: 'f', inputs: [[41]], limits: limitsSchema.parse({}) };
        assert.deepEqual((await guest.run(job)).calls, [{ kind: 'value', value: 42 }]);
      }
    } finally {
      await Promise.all(attended.map((guest) => guest.close()));
    }
  });
});
