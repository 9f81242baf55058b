// A short form of `npm run chaos` with real model, sandbox and server and one worker process per role. All are killed once
// during a run of two updates. Strikes depend on the run's progress, not on the machine's speed.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { RunConfigInput } from '../../core/schema/config.js';
import { shippedModelPath } from '../../data/paths.js';
import { chaos } from '../../lab/chaos/chaos.js';
import { complaints } from '../../lab/chaos/figures.js';
import { temporaryFolder } from '../infra/support.js';
import { needTemporal } from './server.js';

const SHORT_RUN: RunConfigInput = {
  preset: 'tiny',
  seed: 1,
  schedule: { stages: [2], discriminatorSteps: 1, generatorSteps: 1, alternatingSteps: 0 },
  batch: { generator: { problems: 4, samples: 4 }, discriminator: { problems: 3, samples: 4 } },
  evaluation: { problems: 3, testProblems: 3 },
};
const SEED = 452; // five kills strike five victims, two of them during a write

describe('kill -9 during a run', () => {
  let folder = '';
  before(async function () {
    needTemporal(this);
    if (!existsSync(join(shippedModelPath('tiny'), 'model.safetensors'))) this.skip(); // the embedded model has not been built
    folder = temporaryFolder();
  });

  it('does not change the bytes of the result if it hits all workers and the server', async () => {
    const options = { kills: 5, seed: SEED, sandbox: 'wasm', disk: false } as const;
    const lines: string[] = [];
    const figures = await chaos({
      ...options,
      folder,
      store: join(folder, 'store'),
      storeFaults: 0.003,
      config: SHORT_RUN,
      log: (line) => lines.push(line),
    });
    assert.deepEqual(complaints(figures), [], lines.join('\n'));
    assert.deepEqual(figures.kills, { cpu: 1, gpu: 1, orchestrator: 1, sandbox: 1, server: 1 });
    assert.ok(figures.workersStarted >= 8, 'the dead were replaced');
  });
});
