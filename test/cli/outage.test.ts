import assert from 'node:assert/strict';
import type { ScheduleHandle, WorkflowHandle } from '@temporalio/client';
import { describeSchedule, throughOutages, watchServer } from '../../cli/run/outage.js';
import { watchRun } from '../../cli/run/watch.js';
import { refusal } from '../store/support.js';

/** The error that the Temporal client throws if no server answers. */
const unanswered = (code = 14): Error => {
  const status = Object.assign(new Error('no answer'), { code, details: 'No connection', metadata: {} });
  return new Error('Failed to get Workflow execution history', { cause: status });
};

describe('watchServer', () => {
  /** The messages of a watch while a server gives these answers. The watch stops after the last answer. */
  async function saidOf(answers: readonly ('yes' | 'no' | 'never')[]): Promise<string[]> {
    const said: string[] = [];
    const stop = new AbortController();
    let asked = 0;
    const ask = (): Promise<unknown> => {
      const answer = answers[asked++];
      if (answer === undefined) stop.abort(new Error('seen enough'));
      if (answer === 'never') return new Promise(() => undefined);
      return answer === 'no' ? Promise.reject(unanswered()) : Promise.resolve();
    };
    const { signal } = stop;
    const watch = { ask, address: 'a:1', note: (line: string) => said.push(line), signal };
    await watchServer({ ...watch, pace: { everyMs: 1, answerMs: 1 } }).catch((error: Error) =>
      said.push(error.message),
    );
    return said;
  }
  const gone = 'the Temporal server at a:1 does not answer: trying for two minutes';
  const back = 'the Temporal server at a:1 answers again';

  it('reports an outage once after two failed requests, and the return of the server once', async () => {
    assert.deepEqual((await saidOf(['yes', 'no', 'never', 'never', 'no', 'yes', 'yes'])).slice(0, 2), [gone, back]);
    const twice = await saidOf(['no', 'no', 'yes', 'never', 'never', 'yes']);
    assert.deepEqual(twice.slice(0, 4), [gone, back, gone, back]);
  });

  it('does not report a single failed request', async () => {
    const said = await saidOf(['no', 'yes', 'never', 'yes']);
    assert.equal(said.length, 1, said.join('\n'));
    assert.doesNotMatch(said[0]!, /server/, 'the end of the watch itself');
  });

  it('gives up after 27 failed requests in a row', async () => {
    const vain = (count: number) => Array<'no'>(count).fill('no');
    const said = await saidOf([...vain(26), 'yes', ...vain(27), 'yes']);
    assert.deepEqual(said.slice(0, 3), [gone, back, gone]);
    assert.match(
      said[3]!,
      /a:1 has not answered for two minutes: start one with npx gauntlet up, then run the same command again/,
    );
    assert.equal(said.length, 4);
    const never = watchServer({
      ask: () => Promise.reject(unanswered()),
      address: 'a:1',
      note: () => undefined,
      signal: new AbortController().signal,
      pace: { everyMs: 1, answerMs: 1 },
    });
    await assert.rejects(never, refusal('SERVER_UNAVAILABLE', 'a:1'));
  });
});

describe('throughOutages', () => {
  const failing = (times: number, error: () => Error) => {
    let calls = 0;
    const call = async (): Promise<string> => {
      if (++calls <= times) throw error();
      return `call ${calls}`;
    };
    return { call, calls: () => calls };
  };

  it('makes a call up to six times if the server does not answer or is too busy to answer in time', async () => {
    assert.equal(await throughOutages(failing(5, unanswered).call), 'call 6');
    assert.equal(await throughOutages(failing(1, () => unanswered(4)).call), 'call 2');
    const { call, calls } = failing(6, unanswered);
    await assert.rejects(throughOutages(call), /Failed to get/);
    assert.equal(calls(), 6);
  });

  it('does not repeat a call that fails for another reason', async () => {
    const { call, calls } = failing(1, () => new Error('the run failed'));
    await assert.rejects(throughOutages(call), /the run failed/);
    assert.equal(calls(), 1);
  });

  it('requests a schedule once more if a busy server did not answer in time', async () => {
    const described = async (times: number) => {
      const { call, calls } = failing(times, () => unanswered(4));
      const answer = describeSchedule({ describe: call } as unknown as ScheduleHandle);
      return [await answer.catch((error: Error) => error.message), calls()];
    };
    assert.deepEqual(await described(1), ['call 2', 2]);
    assert.deepEqual(await described(2), ['Failed to get Workflow execution history', 2]);
  });

  it('repeats the request for a result, and requests the last progress up to twice if the server answered', async () => {
    const watched = async (times: number) => {
      let queries = 0;
      const query = async (): Promise<undefined> => {
        queries++;
      };
      const handle = { result: failing(times, unanswered).call, query } as unknown as WorkflowHandle;
      const result = await watchRun(handle, { quiet: true }).catch((error: Error) => error.message);
      return { result, queries };
    };
    const back = await watched(2);
    const away = await watched(6);
    assert.equal(back.result, 'call 3');
    assert.match(String(away.result), /Failed to get/);
    assert.deepEqual([back.queries, away.queries], [1 + 2, 1]); // one request is made when watching begins
  });
});
