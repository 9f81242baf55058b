// The rounds of a case, with fake contenders: Node programs that speak the protocol.
import assert from 'node:assert/strict';
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CASES, type Case, type Contender } from '../../lab/bench/cases.js';
import { Peer } from '../../lab/bench/peers/peer.js';
import { compare, equalShare, type Outcome, Runner, type RunnerConfig } from '../../lab/bench/runner.js';
import { temporaryFolder, writeInto } from '../infra/support.js';

/** Answers runs with the given seconds, writes its name to a log, and can exit or fail during a run. */
const FAKE = `
const { appendFileSync } = require('node:fs');
const [log, name, seconds, diesAt, token] = process.argv.slice(2);
let runs = 0;
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, op } = JSON.parse(line);
  let result = {};
  if (op === 'hello') result = { [name]: '1.0' };
  if (op === 'memory') result = { bytes: 1000 * Number(seconds) };
  if (op === 'open' && diesAt === 'open') return process.stdout.write(JSON.stringify({ id, error: 'no such model' }) + '\\n');
  if (op === 'run') {
    if (String(++runs) === diesAt) { console.error('Error: out of luck'); process.exit(3); }
    appendFileSync(log, name + ' ');
    result = { seconds: Number(seconds), tokens: [[1, Number(token)]] };
  }
  process.stdout.write(JSON.stringify({ id, result, cpu: runs }) + '\\n');
});
`;

interface Pretended {
  seconds: number;
  diesAt?: number | 'open';
  token?: number;
}

describe('the rounds of a benchmark case', () => {
  const c = CASES.find(({ id }) => id === 'decode tiny batch 1') as Case;

  function make(pretended: Partial<Record<Contender, Pretended>>, more: Partial<RunnerConfig> = {}) {
    const folder = temporaryFolder();
    const [script, log] = [writeInto(folder, 'fake.cjs', FAKE), join(folder, 'log')];
    appendFileSync(log, '');
    const start = (name: Contender): Peer => {
      const { seconds, diesAt = '', token = 7 } = pretended[name]!;
      return Peer.start(name, process.execPath, [script, log, name, `${seconds}`, `${diesAt}`, `${token}`]);
    };
    const contenders = Object.keys(pretended) as Contender[];
    const runner = new Runner({
      contenders,
      start,
      rounds: 2,
      seconds: 60,
      warmMs: 0,
      settleMs: 0,
      say: () => {},
      ...more,
    });
    return { runner, order: () => readFileSync(log, 'utf8').trim().split(' ') };
  }

  it('alternate between the contenders in rotating order, after one warm-up round', async () => {
    const { runner, order } = make({ ours: { seconds: 1 }, torch: { seconds: 4 }, llama: { seconds: 2 } });
    const result = await runner.run(c, 'model');
    await runner.close();
    assert.deepEqual(order(), 'ours torch llama torch llama ours llama ours torch'.split(' '));
    assert.deepEqual(result.ratios, { torch: 4, llama: 2 });
    assert.deepEqual(result.figures.ours?.seconds, [1, 1]);
    assert.equal(result.figures.ours?.cpuSeconds, 1);
    assert.deepEqual(result.agreement, { torch: 1, llama: 1 });
  });

  it('of large work use a fresh process each, with its own warm-up', async () => {
    const { runner, order } = make({ ours: { seconds: 1, diesAt: 3 }, torch: { seconds: 4, diesAt: 3 } });
    const result = await runner.run({ ...c, alone: c.work }, 'model');
    await runner.close();
    assert.deepEqual(order(), 'ours ours torch torch torch torch ours ours'.split(' '));
    assert.deepEqual(result.figures.torch?.seconds, [4, 4]);
    assert.deepEqual(result.failures, {});
  });

  it('continue without a contender that exits and report how it exited', async () => {
    const { runner } = make({ ours: { seconds: 1 }, torch: { seconds: 4, diesAt: 2 } });
    const result = await runner.run(c, 'model');
    await runner.close();
    assert.deepEqual(Object.keys(result.figures), ['ours']);
    assert.match(result.failures.torch!, /^torch ended \(exit 3\): Error: out of luck$/);
  });

  it('start a contender again at the next case if it exited', async () => {
    const { runner, order } = make({ torch: { seconds: 4, diesAt: 2 } });
    await runner.run(c, 'model');
    await runner.run(c, 'model');
    await runner.close();
    assert.deepEqual(order(), ['torch', 'torch']);
  });

  it('continue without a contender that cannot open the model', async () => {
    const { runner, order } = make({ ours: { seconds: 1 }, llama: { seconds: 1, diesAt: 'open' } });
    const result = await runner.run(c, 'model');
    await runner.close();
    assert.equal(result.failures.llama, 'llama: no such model');
    assert.ok(!order().includes('llama'));
  });

  it('end when the time of a case is over, but not before three rounds', async () => {
    const { runner, order } = make({ ours: { seconds: 1 } }, { rounds: 7, seconds: 0 });
    await runner.run(c, 'model');
    await runner.close();
    assert.equal(order().length, 4);
  });

  it('begin when every contender is warm, after at most twelve warm-up rounds', async () => {
    const { runner, order } = make({ ours: { seconds: 1 } }, { warmMs: 60_000 });
    await runner.run(c, 'model');
    await runner.close();
    assert.equal(order().length, 12 + 2);
  });

  it('consist of two runs in a new process if the case measures memory', async () => {
    const { runner, order } = make({ ours: { seconds: 2 }, torch: { seconds: 5 } });
    const memory = CASES.find(({ id }) => id === 'memory train tiny 16x256')!;
    const result = await runner.run(memory, 'model');
    await runner.close();
    assert.deepEqual(order(), ['ours', 'ours', 'torch', 'torch']);
    assert.deepEqual([result.figures.ours?.median, result.ratios.torch], [2000, 2.5]);
  });

  it('are preceded by the versions of all contenders', async () => {
    const { runner } = make({ ours: { seconds: 1 }, torch: { seconds: 1 } });
    assert.deepEqual(await runner.hello(), { ours: '1.0', torch: '1.0' });
    await runner.close();
  });
});

describe('the agreement of two contenders', () => {
  it('is the share of equal tokens at the same positions; missing tokens count as different', () => {
    assert.equal(equalShare([[1, 2, 3, 4]], [[1, 2, 3, 5]]), 0.75);
    assert.equal(
      equalShare(
        [[1, 2]],
        [
          [1, 2],
          [3, 4],
        ],
      ),
      0.5,
    );
    assert.equal(equalShare([], []), 1);
  });

  it('is taken from the worst round', () => {
    const result = { agreement: {} };
    const round = (token: number) =>
      new Map<Contender, Outcome>([
        ['ours', { seconds: 1, tokens: [[1, 2]] }],
        ['torch', { seconds: 1, tokens: [[1, token]] }],
      ]);
    compare(round(9), result);
    compare(round(2), result);
    assert.deepEqual(result, { agreement: { torch: 0.5 } });
  });

  it('includes the difference of the scores of a step beside the share of tokens', () => {
    const result = { agreement: {} };
    compare(
      new Map<Contender, Outcome>([
        ['ours', { seconds: 1, tokens: [[1]], loss: 0.5 }],
        ['torch', { seconds: 1, tokens: [[1]], loss: 0.25 }],
      ]),
      result,
    );
    assert.deepEqual(result, { agreement: { torch: 1 }, scores: { torch: 0.25 } });
  });

  it('is the difference of the losses for training and scoring', () => {
    const result = { agreement: {} };
    compare(
      new Map<Contender, Outcome>([
        ['ours', { seconds: 1, loss: 0.5 }],
        ['torch', { seconds: 1, loss: 0.25 }],
      ]),
      result,
    );
    assert.deepEqual(result, { agreement: { torch: 0.25 } });
  });
});
