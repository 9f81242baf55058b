import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { defaultFailureConverter, defaultPayloadConverter } from '@temporalio/common';
import { notingActivities, samplingSpeed } from '../../cli/run/activityNotes.js';

interface Pending {
  id: string;
  type: string;
  attempt: number;
  paused?: boolean;
}

/** A client of a server that shows these lists of activities one after another. Then the work ends. */
async function notesOf(shown: readonly (readonly Pending[] | Error)[], steps = false): Promise<string[]> {
  const notes: string[] = [];
  let [asked, end] = [0, (): void => undefined];
  const work = new Promise<string>((resolve) => {
    end = () => resolve('done');
  });
  const describe = async (): Promise<unknown> => {
    const list = shown[asked++];
    if (list === undefined) end();
    if (list instanceof Error) throw list;
    const pendingActivities = (list ?? []).map(({ id, type, attempt, paused = false }) => ({
      activityId: id,
      activityType: { name: type },
      attempt,
      paused,
      lastFailure: { message: `no ${type} here`, applicationFailureInfo: { type: 'SANDBOX_FAULT' } },
    }));
    return { status: { name: 'RUNNING' }, runId: 'r', raw: { pendingActivities } };
  };
  const loadedDataConverter = {
    payloadConverter: defaultPayloadConverter,
    failureConverter: defaultFailureConverter,
    payloadCodecs: [],
  };
  const client = { workflow: { getHandle: () => ({ describe }) }, options: { loadedDataConverter } };
  const watch = {
    client: client as unknown as Client,
    id: 'run',
    note: (line: string) => notes.push(line),
    everyMs: 1,
  };
  assert.equal(await notingActivities(work, { ...watch, steps }), 'done');
  await sleep(10);
  assert.ok(asked <= shown.length + 2, 'the watch ends with the work');
  return notes;
}

describe('notingActivities', () => {
  const failing = (attempt: number, id = '1'): Pending => ({ id, type: 'executeSuite', attempt });

  it('prints one note about an activity from its third attempt on', async () => {
    assert.deepEqual(await notesOf([[failing(1)], [failing(2)]]), []);
    const notes = await notesOf([[failing(2)], [failing(3)], [failing(4)], [failing(3, '2')]]);
    assert.equal(notes.length, 2, notes.join('\n'));
    assert.match(notes[0]!, /^executeSuite is being retried \(attempt 3\): SANDBOX_FAULT: no executeSuite here/);
  });

  it('prints no note about a pause or a server that does not answer', async () => {
    assert.deepEqual(await notesOf([new Error('no answer'), [{ ...failing(5), paused: true }]]), []);
  });

  it('prints a note about each step on request', async () => {
    const at = (type: string): Pending[] => [{ id: type, type, attempt: 1 }];
    const shown = [at('prepareSolving'), at('generateChains'), at('generateChains'), [], at('executeSuite')];
    assert.deepEqual(await notesOf(shown, true), ['loading the model', 'sampling chains', 'running tests']);
    assert.deepEqual(await notesOf(shown), []);
  });

  it('passes the failure of the work on', async () => {
    const watch = { client: {} as Client, id: 'run', note: assert.fail };
    await assert.rejects(notingActivities(Promise.reject(new Error('the run failed')), watch), /the run failed/);
  });
});

describe('the speed of sampling', () => {
  it('is noted every half minute, with the time that is left after the first part', () => {
    let now = 0;
    const speed = samplingSpeed(() => now);
    const at = (seconds: number, index: number, tokens: number) => {
      now = 1000 * seconds;
      return speed({ tokens, shard: { index, of: 3 } });
    };
    const lines = [at(0, 0, 0), at(10, 0, 1000), at(40, 0, 4000), at(60, 0, 6000), at(62, 1, 100), at(90, 1, 2900)];
    assert.deepEqual(lines, [
      ...[undefined, undefined, 'part 1 of 3, 100 tokens/s', undefined, undefined],
      'part 2 of 3, 100 tokens/s, about 1 min 36 s left',
    ]);
    assert.equal(at(120, 1, 5900), 'part 2 of 3, 100 tokens/s, about 1 min 06 s left', 'falls by the time that passed');
    assert.equal(at(190, 1, 12_900), 'part 2 of 3, 100 tokens/s', 'the part takes longer than the one before');
    assert.equal(speed(undefined), undefined);
  });

  it('is that of the whole work if it has no parts', () => {
    let now = 0;
    const speed = samplingSpeed(() => now);
    speed({ tokens: 5 });
    now = 50_000;
    assert.equal(speed({ tokens: 5005 }), '100 tokens/s');
  });
});
