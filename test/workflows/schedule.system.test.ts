// What `gauntlet schedule` says about workers, on a real server.
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import type { RunningWorkers } from '../../workers/start.js';
import { gauntlet, inProcess } from '../cli/support.js';
import { type Doubles, doubles } from '../support/doubles.js';
import { findable, needTemporal, startServer, type TestServer, workersOver } from './server.js';

describe('gauntlet schedule create', function () {
  this.timeout(120_000);
  let host: TestServer;
  let world: Doubles;
  let workers: RunningWorkers;

  before(async function () {
    needTemporal(this);
    host = findable(await startServer());
    world = await doubles();
    workers = await workersOver(host.server, world);
  });
  after(async () => {
    await workers?.shutdown();
    await host?.close();
    if (world) await rm(world.folder, { recursive: true, force: true });
  });

  it('says how to start a worker if none is running, and nothing about workers otherwise', async () => {
    const nightly = (id: string) => ['schedule', 'create', id, '--store', world.folder];
    const served = await gauntlet(nightly('served'), { TEMPORAL_ADDRESS: host.server.address });
    assert.match(served.out, /^schedule 'served': next run at \d{4}-\S+T02:00:00.000Z\n$/);
    assert.deepEqual([served.code, served.err], [0, '']);
    const alone = await inProcess(...nightly('alone')); // a process does not count workers of its own
    assert.deepEqual(
      [alone.code, alone.err],
      [0, `no worker serves runs yet: start one with npx gauntlet up --store ${world.folder}\n`],
    );
    for (const id of ['served', 'alone']) await host.client.schedule.getHandle(id).delete();
  });
});
