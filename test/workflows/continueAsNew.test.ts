// A run continues as new between stages, on a real server. In continueAsNew.system.test.ts, the server suggests it before every
// step; in continuing.test.ts, the run goes in this process.
import assert from 'node:assert/strict';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { inputOf } from '../../cli/run/training.js';
import type { Request } from '../../core/run/control.js';
import type { RunResult } from '../../core/schema/run.js';
import { historiesOf } from '../../lab/bench/histories.js';
import { bytesOf, TWO_STAGES, undisturbed } from './disturbances.js';
import { runFixture } from './fixture.js';
import { payloadSizes, record } from './golden.js';

describe('a run that continues as new between its stages', () => {
  const f = runFixture('long');

  it('keeps its input, its progress and earlier changes', async () => {
    const hold = f.holdUpdate(2);
    const handle = await f.start(TWO_STAGES);
    await hold.reached;
    const fields = { ppo: { learningRate: 0.25 } };
    await f.update('change', fields);
    hold.release();
    const result = (await handle.result()) as RunResult;

    const controls = await f.controls();
    assert.deepEqual(await f.actions(), [['change', 2]]);
    const request: Request = { kind: 'change', fields, at: controls[0]!.at };
    const expected = await undisturbed(TWO_STAGES, { 2: [request] });
    assert.deepEqual(result.digests, expected.result.digests);
    assert.notDeepEqual(result.digests, (await undisturbed(TWO_STAGES)).result.digests);
    const histories = await historiesOf(f.host.client, f.id);
    assert.equal(histories.length, 2, 'one execution for each stage');
    const progress = await f.progressOf(handle);
    assert.deepEqual([progress.state, progress.step, progress.totalSteps, progress.stage], ['completed', 4, 4, 5]);
    const { searchAttributes } = await handle.describe();
    assert.deepEqual([searchAttributes.GauntletState, searchAttributes.GauntletModel], [['completed'], ['tiny']]);
    assert.deepEqual(await inputOf(f.host.client, f.id), TWO_STAGES);
    for (const events of histories) {
      const sizes = payloadSizes(JSON.parse(historyToJSON({ events })) as unknown);
      assert.ok(Math.max(...sizes) < 8 * 1024, `a payload of ${Math.max(...sizes)} bytes`);
    }
    assert.equal(Object.keys(await bytesOf(f.world.deps.store, f.id)).length, 5, 'checkpoints');
    await record('continued', handle);
  });
});
