// The sandbox benchmark: its programs, its rounds (with fake contenders) and its output.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from '../../infra/root.mjs';
import type { BenchError } from '../../lab/bench/options.js';
import { Peer } from '../../lab/bench/peers/peer.js';
import type { Contender } from '../../lab/bench/sandbox/contenders.js';
import { EXECUTIONS, executionsFrom, rowOf } from '../../lab/bench/sandbox/executions.js';
import { figureOf, measure } from '../../lab/bench/sandbox/measure.js';
import { parseSandboxOptions } from '../../lab/bench/sandbox/options.js';
import { goal, ratio, sandboxMarkdown } from '../../lab/bench/sandbox/table.js';
import { judgePrograms } from '../../sandbox/judgePrograms.js';
import { openSandbox } from '../../workers/openSandbox.js';
import { removeTemporaryFolders, temporaryFolder } from '../infra/support.js';

/** Answers every execution after `ms` milliseconds, correctly by default. */
const FAKE = `
const [name, ms, lies] = process.argv.slice(2);
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, op, executions = [], inFlight } = JSON.parse(line);
  const seconds = Number(ms) / 1000;
  let result = {};
  if (op === 'memory') result = { bytes: 1e6 * inFlight };
  if (op === 'run') result = {
    seconds: (seconds * executions.length) / inFlight,
    latencies: executions.map(() => seconds),
    good: executions.map(({ good }) => lies === 'lies' || good),
  };
  process.stdout.write(JSON.stringify({ id, result }) + '\\n');
});
`;

describe('benchmark executions', function () {
  this.timeout(60_000);
  after(removeTemporaryFolders);

  it('have five tests each, contain good and bad programs, and get the expected verdicts', async () => {
    assert.ok(EXECUTIONS.every(({ tests }) => tests.length === 5));
    const share = EXECUTIONS.filter(({ good }) => good).length / EXECUTIONS.length;
    assert.ok(share > 0.5 && share < 1, `${share}`);
    const sandbox = await openSandbox('wasm', { size: 1 });
    try {
      const outcomes = await judgePrograms(EXECUTIONS.map(rowOf), sandbox);
      assert.deepEqual(
        outcomes.map(({ outcome }) => outcome === 'pass'),
        EXECUTIONS.map(({ good }) => good),
      );
    } finally {
      await sandbox.close();
    }
    assert.deepEqual(
      executionsFrom(EXECUTIONS.length - 1, 3).map(({ id }) => id),
      [EXECUTIONS.at(-1)!, EXECUTIONS[0]!, EXECUTIONS[1]!].map(({ id }) => id),
    );
  });

  for (const scheme of ['bare', 'multiprocessing']) {
    it(`get the same verdicts from the ${scheme} peer, one and two at a time`, () => {
      const requests = [1, 2].map((inFlight) =>
        JSON.stringify({ id: inFlight, op: 'run', inFlight, executions: EXECUTIONS }),
      );
      const script = join(ROOT, 'lab', 'bench', 'peers', 'execution_peer.py');
      const out = execFileSync('python3', [script, scheme], { input: `${requests.join('\n')}\n`, encoding: 'utf8' });
      for (const line of out.trim().split('\n')) {
        const { result } = JSON.parse(line) as { result: { good: boolean[]; latencies: number[] } };
        assert.deepEqual(
          result.good,
          EXECUTIONS.map(({ good }) => good),
        );
        assert.ok(result.latencies.every((seconds) => seconds > 0));
      }
    });
  }

  const pretend = (ways: Partial<Record<Contender, [ms: number, lies?: string]>>) => {
    const folder = temporaryFolder({ 'fake.cjs': FAKE });
    const start = (name: Contender) =>
      Peer.start(name, process.execPath, [join(folder, 'fake.cjs'), name, `${ways[name]![0]}`, ways[name]![1] ?? '']);
    const contenders = Object.keys(ways) as Contender[];
    return measure({
      contenders,
      start,
      levels: [1, 2],
      rounds: 3,
      roundSeconds: 0.2,
      settleMs: 1,
      say: () => undefined,
    });
  };

  it('are measured at every concurrency level; ratios compare speeds', async () => {
    const { figures, failures } = await pretend({ docker: [2], 'python3 -c': [12] });
    assert.deepEqual(failures, {});
    assert.equal(figures.length, 4);
    const docker = figures.find(({ contender, inFlight }) => contender === 'docker' && inFlight === 2)!;
    assert.ok(Math.abs(docker.perSecond - 1000) < 1e-6 && docker.rounds.length === 3);
    assert.ok(Math.abs(ratio(figures, 'python3 -c', 1)! - 6) < 1e-9);
    assert.equal(goal(figures, 'python3 -c'), 'met (5×)');
    assert.equal(ratio(figures, 'wasm', 1), undefined);
  });

  it('skip a contender that returns wrong verdicts and report the reason', async () => {
    const { figures, failures } = await pretend({ docker: [2], multiprocessing: [3, 'lies'] });
    assert.deepEqual([...new Set(figures.map(({ contender }) => contender))], ['docker']);
    assert.match(failures.multiprocessing!, /multiprocessing: .* was judged good|multiprocessing: .* was judged wrong/);
  });
});

describe('execution figures', () => {
  const run = (seconds: number, latencies: number[]) => ({ seconds, latencies, good: latencies.map(() => true) });

  it('contain the median over rounds and quantiles over all executions', () => {
    const figure = figureOf('wasm', 1, [run(1, [0.1, 0.2]), run(0.5, [0.3, 0.4]), run(4, [0.5, 2])], 7);
    assert.deepEqual([figure.perSecond, figure.rounds], [2, [2, 4, 0.5]]);
    assert.deepEqual([figure.executions, figure.p50, figure.p95, figure.bytes], [6, 0.4, 2, 7]);
  });

  it('are shown with goals and with failed measurements', () => {
    const figures = [
      figureOf(
        'docker',
        1,
        [
          run(
            1,
            Array.from({ length: 400 }, () => 0.0025),
          ),
        ],
        100e6,
      ),
      figureOf(
        'python3 -c',
        1,
        [
          run(
            1,
            Array.from({ length: 100 }, () => 0.01),
          ),
        ],
        30e6,
      ),
    ];
    const machine = { cpu: 'Some CPU', cores: 2, memoryGb: 24, system: 'linux 6', loadAtStart: 0.1 };
    const results = {
      figures,
      failures: { wasm: 'it is away' },
      foreignCores: 0.05,
      machine,
      versions: { node: '20' },
      command: 'npm run bench -- sandbox',
      startedAt: '2026-01-02T03:04:05.000Z',
      seconds: 61.2,
    };
    const page = sandboxMarkdown(results);
    assert.ok(
      sandboxMarkdown({ ...results, stolenCores: 0.34 }).includes('in the pauses, the host of this machine took 0.34,'),
    );
    assert.ok(!page.includes('the host'));
    for (const part of ['`npm run bench -- sandbox`', 'Some CPU', 'node 20', 'Not measured: wasm (it is away)'])
      assert.ok(page.includes(part), part);
    assert.ok(page.includes('| docker | 400 (2.5 / 2.5) | 100 |'), page);
    assert.ok(page.includes('| python3 -c | 4.00× | **short of 5×** |'), page);
  });
});

describe('the command line of the sandbox benchmark', () => {
  it('measures all contenders with 1, 2 and 4 in flight by default, and is recorded without file paths', () => {
    const { levels, rounds, contenders } = parseSandboxOptions(['--record', '--venv', '/a', '--out=/b'], {});
    assert.deepEqual([levels, rounds], [[1, 2, 4], 5]);
    assert.ok(contenders.includes('docker') && contenders.includes('pytest subprocess'));
    assert.deepEqual(parseSandboxOptions(['--only', 'wasm', '--in-flight', '3'], {}).contenders, ['wasm']);
  });

  for (const [args, named] of [
    [['--rounds', '0'], /--rounds must be a positive integer, is 0/],
    [['--in-flight', '1,x'], /--in-flight must be a positive integer, is x/],
    [['--only', 'none'], /no contender has none in its name/],
    [['--fast'], /--fast/],
  ] as const) {
    it(`rejects ${args.join(' ')} with one line`, () => {
      assert.throws(
        () => parseSandboxOptions([...args], {}),
        (error: BenchError) => error.exitCode === 2 && named.test(error.message),
      );
    });
  }
});
