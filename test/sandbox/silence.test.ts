// A guest ends by itself if its host is gone, even if its input stays open. A daemon that is killed while it starts a
// container can forget the container and keep its input open forever.
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type Docker from 'dockerode';
import { limitsSchema } from '../../core/schema/execution.js';
import { ContainerGuest } from '../../sandbox/docker/container.js';
import { Fleet } from '../../sandbox/docker/fleet.js';
import { ensureImage } from '../../sandbox/docker/image.js';
import { type ContainerSpec, containerOptions } from '../../sandbox/docker/options.js';
import { requireDocker } from './docker.js';

const SILENCE = 2;
const KINDS = [{ isolation: 'uid', guest: 'values' }, { isolation: 'uid' }, { isolation: 'strict' }] as const;
const log = () => {};

describe('a guest without a job', function () {
  this.timeout(180_000);
  let docker: Docker;
  let fleet: Fleet;
  let specs: ContainerSpec[];
  before(async function () {
    docker = await requireDocker(this);
    fleet = new Fleet(docker);
    await fleet.open();
    const image = await ensureImage(docker, 'none', log);
    specs = KINDS.map((kind) => ({ image, memoryMb: 256, silenceSeconds: SILENCE, ...kind }));
  });
  after(() => fleet?.close());

  it('ends if its host is silent, although its input is open', async () => {
    const ends = specs.map(async (spec) => {
      const container = await docker.createContainer({ ...containerOptions(spec), Labels: fleet.labels() });
      const input = await container.attach({ stream: true, stdin: true, stdout: true, stderr: true, hijack: true });
      input.resume();
      const ended = container.wait({ condition: 'removed' });
      await container.start();
      const { StatusCode } = await ended;
      input.end();
      return StatusCode;
    });
    assert.deepEqual(await Promise.all(ends), [0, 0, 0]);
  });

  it('lives while its host sends keep-alives, and then runs a job', async () => {
    const answers = specs.map(async (spec) => {
      const guest = await ContainerGuest.start(fleet, spec);
      try {
        await pause(1500 * SILENCE);
        assert.ok(guest.usable, `it ended: ${JSON.stringify(spec)}`);
        const code = 'def f(x): return x + 1';
        return await guest.run({ id: 'a', code, entry: 'f', inputs: [[41]], limits: limitsSchema.parse({}) });
      } finally {
        await guest.close();
      }
    });
    for (const { calls } of await Promise.all(answers)) assert.deepEqual(calls, [{ kind: 'value', value: 42 }]);
  });
});
