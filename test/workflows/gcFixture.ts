// Helpers for tests of `gauntlet store gc`: a server, a store for each test, and files that look old.
import assert from 'node:assert/strict';
import { readdir, stat, utimes } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { RunConfigInput } from '../../core/schema/config.js';
import type { Swept } from '../../store/sweep.js';
import { inProcess } from '../cli/support.js';
import { type Doubles, doubles, SMALL_RUN } from '../support/doubles.js';
import { findable, needTemporal, startServer, type TestServer } from './server.js';

export const DAY = 86_400_000;
/** A short run with one engine update per step. */
export const RUN: RunConfigInput = {
  ...SMALL_RUN,
  stages: [5],
  ppo: { ...SMALL_RUN.ppo, epochs: 1, minibatch: 1000 },
  schedule: { stages: [5], discriminatorSteps: 1, generatorSteps: 2, alternatingSteps: 0 },
  batch: { generator: { problems: 3, samples: 2 }, discriminator: { problems: 2, samples: 2 } },
  evaluation: { problems: 2, testProblems: 2 },
};

type Told = Swept & { open: { run: string; why: string }[]; asked: boolean; dryRun: boolean };

/** Must be called in a suite. */
export function gcFixture() {
  let host: TestServer;
  let world: Doubles;

  before(async function () {
    needTemporal(this);
    host = findable(await startServer());
  });
  after(() => host?.close());
  beforeEach(async () => {
    world = await doubles();
  });

  async function files(): Promise<string[]> {
    const entries = await readdir(world.folder, { recursive: true, withFileTypes: true });
    const found = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    return found.map((path) => relative(world.folder, path)).sort();
  }
  /** Makes everything that was used since `from` look as if it was used `days` days ago. */
  async function age(days: number, from = 0): Promise<void> {
    const then = new Date(Date.now() - days * DAY);
    for (const path of await files()) {
      const { mtimeMs } = await stat(join(world.folder, path));
      if (mtimeMs >= from) await utimes(join(world.folder, path), then, then);
    }
  }
  async function gc(...flags: string[]): Promise<Told> {
    const { code, out, err } = await inProcess('store', 'gc', '--store', world.folder, '--json', ...flags);
    assert.equal(code, 0, err);
    return JSON.parse(out) as Told;
  }
  /** Waits until the server lists what it has. */
  async function noneGoesOn(): Promise<void> {
    const going = async (): Promise<boolean> => {
      for await (const _ of host.client.workflow.list({ query: `ExecutionStatus = 'Running'` })) return true;
      return false;
    };
    while (await going()) await new Promise((resolve) => setTimeout(resolve, 50));
  }

  return {
    get host() {
      return host;
    },
    get world() {
      return world;
    },
    files,
    age,
    gc,
    noneGoesOn,
  };
}
