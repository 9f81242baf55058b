// The options, cases, figures and tables of the benchmarks.
import assert from 'node:assert/strict';
import { CASES, type Case, REAL_CASES, selectCases, tokensOf } from '../../lab/bench/cases.js';
import { makeJob } from '../../lab/bench/inputs.js';
import { foreignCores } from '../../lab/bench/machine.js';
import { commandLine, parseOptions } from '../../lab/bench/options.js';
import {
  type BenchResults,
  type CaseResult,
  markdown,
  median,
  ratiosOf,
  summarise,
  verdict,
  withResults,
} from '../../lab/bench/results.js';
import { SHAPES } from '../../lab/bench/shapes.js';
import type { LabError } from '../../lab/flags.js';
import { table } from '../../lab/table.js';

const find = (id: string): Case => CASES.find((c) => c.id === id)!;

describe('the command line of the benchmarks', () => {
  it('measures all contenders in seven rounds by default', () => {
    const options = parseOptions([], {});
    assert.deepEqual(options.contenders, ['ours', 'torch', 'torch-trained', 'llama']);
    assert.deepEqual([options.rounds, options.quick, options.venv], [7, false, undefined]);
  });

  it('leaves out the peers that --without names, in one flag or several', () => {
    assert.deepEqual(parseOptions(['--without', 'torch,llama'], {}).contenders, ['ours']);
    assert.deepEqual(parseOptions(['--without', 'llama', '--without', 'torch'], {}).contenders, ['ours']);
    assert.deepEqual(parseOptions(['--without', 'llama'], {}).contenders, ['ours', 'torch', 'torch-trained']);
  });

  it('prefers the environment of --venv to the environment of the variable', () => {
    const env = { GAUNTLET_BENCH_VENV: '/env' };
    assert.equal(parseOptions([], env).venv, '/env');
    assert.equal(parseOptions(['--venv', '/flag'], env).venv, '/flag');
    assert.equal(parseOptions([], { GAUNTLET_BENCH_VENV: '' }).venv, undefined);
  });

  it('is recorded without local paths, so that the benchmark can be repeated elsewhere', () => {
    assert.equal(commandLine([]), 'npm run bench');
    assert.equal(commandLine(['--venv', '/a', '--out=/b']), 'npm run bench');
    assert.equal(commandLine(['--venv', '/a', '--out', '/b', '--record']), 'npm run bench -- --record');
    assert.equal(
      commandLine(['--quick', '--only', 'decode tiny', '--without', 'llama', '--rounds', '5', '--threads', '1']),
      "npm run bench -- --quick --only 'decode tiny' --without llama --rounds 5 --threads 1",
    );
  });

  for (const [args, named] of [
    [['--rounds', '0'], /--rounds must be a positive integer, is 0/],
    [['--threads', 'two'], /--threads must be a positive integer, is two/],
    [['--without', 'ours'], /--without ours: only torch and llama can be left out/],
    [['--fast'], /--fast/],
  ] as const) {
    it(`refuses ${args.join(' ')} in one line`, () => {
      assert.throws(
        () => parseOptions([...args], {}),
        (error: LabError) => error.exitCode === 2 && named.test(error.message) && !error.message.includes('\n'),
      );
    });
  }
});

describe('the table of cases', () => {
  it('names each case once, with an existing shape and a length within its context', () => {
    const all = [...CASES, ...REAL_CASES];
    assert.equal(new Set(all.map(({ id }) => id)).size, all.length);
    for (const { id, shape, work } of all) {
      if (work.kind === 'step' || work.kind === 'ragged') continue;
      const length = work.kind === 'decode' ? work.prompt + work.newTokens : work.length;
      assert.ok(length <= SHAPES[shape].context, id);
    }
  });

  it('requires the ratios that the project promises', () => {
    const goals = (id: string) => find(id).goals;
    assert.deepEqual(goals('train tiny 16x256'), { torch: { least: 1.25, aim: 1.5 } });
    assert.deepEqual(goals('train 0.5b-6l 1x256'), { torch: { least: 1.5, aim: 2 } });
    assert.equal(goals('decode tiny batch 8')?.torch?.least, 3);
    assert.equal(goals('decode tiny batch 32')?.torch?.least, 2.2);
    assert.equal(goals('decode 0.5b-6l batch 8')?.torch?.least, 2.7);
    assert.deepEqual(
      CASES.filter(({ goals }) => goals?.llama?.least === 1.3).map(({ id }) => id),
      ['decode tiny batch 32', 'decode 0.5b-6l batch 8'],
    );
  });

  it('is filtered by --quick and by parts of names, regardless of upper and lower case', () => {
    assert.deepEqual(
      selectCases(CASES, ['Train TINY'], false).map(({ id }) => id),
      ['memory train tiny 16x256', 'train tiny 16x256'],
    );
    const quick = selectCases(CASES, [], true);
    assert.ok(quick.length > 0 && quick.every((c) => c.quick));
    assert.equal(selectCases(CASES, [], false).length, CASES.length);
    assert.deepEqual(selectCases(CASES, ['no such case'], false), []);
  });

  it('groups the cases of a shape, memory cases first, so that each model is opened once', () => {
    const order = selectCases(CASES, [], false);
    const changes = order.filter((c, i) => c.shape !== order[i - 1]?.shape).length;
    assert.equal(changes, new Set(CASES.map(({ shape }) => shape)).size);
    for (const [i, c] of order.entries())
      if (c.group === 'memory' && order[i - 1]?.shape === c.shape) assert.equal(order[i - 1]!.group, 'memory');
  });

  it('counts generated tokens, or prompt tokens if a case generates only one', () => {
    assert.equal(tokensOf({ kind: 'decode', rows: 8, prompt: 32, newTokens: 64 }), 512);
    assert.equal(tokensOf({ kind: 'decode', rows: 8, prompt: 256, newTokens: 1 }), 2048);
    assert.equal(tokensOf({ kind: 'train', rows: 16, length: 256 }), 4096);
  });
});

describe('the tokens of a benchmark case', () => {
  const work = { kind: 'decode', rows: 4, prompt: 8, newTokens: 2 } as const;

  it('are the same for the same round and differ between rounds', () => {
    assert.deepEqual(makeJob(work, 50, 'a', 0), makeJob(work, 50, 'a', 0));
    assert.notDeepEqual(makeJob(work, 50, 'a', 0), makeJob(work, 50, 'a', 1));
    assert.notDeepEqual(makeJob(work, 50, 'a', 0), makeJob(work, 50, 'b', 0));
  });

  it('repeat a prompt for each of its samples and use a positive temperature', () => {
    const job = makeJob({ ...work, samples: 2 }, 50, 'a', 0);
    assert.ok(job.kind === 'decode' && job.temperature > 0);
    assert.deepEqual(job.prompts[0], job.prompts[1]);
    assert.notDeepEqual(job.prompts[1], job.prompts[2]);
  });

  it('hold five answers after an opening in a chain, and the samples of a problem share the opening', () => {
    const job = makeJob({ kind: 'ragged', problems: 2, samples: 3 }, 50, 'a', 0);
    assert.ok(job.kind === 'train');
    assert.equal(job.rows.length, 6);
    const openings = job.rows.map(({ tokens, mask }) => tokens.slice(0, mask.indexOf(1)).join());
    assert.deepEqual(
      openings,
      [0, 0, 0, 3, 3, 3].map((i) => openings[i]),
    );
    assert.notEqual(openings[0], openings[3]);
    for (const { mask } of job.rows) assert.equal(mask.filter((m, t) => m === 1 && mask[t - 1] === 0).length, 5);
  });

  it('include trained tokens in each row, but never the first, with an advantage each', () => {
    const job = makeJob({ kind: 'train', rows: 3, length: 40 }, 50, 'a', 0);
    assert.ok(job.kind === 'train');
    for (const { tokens, mask, oldLogprobs, advantages } of job.rows) {
      assert.ok(tokens.every((token) => token >= 0 && token < 50));
      assert.deepEqual([mask.length, oldLogprobs.length, advantages!.length], [40, 40, 40]);
      assert.equal(mask[0], 0);
      assert.ok(mask.includes(1) && mask.slice(1).includes(0));
      assert.ok(new Set(advantages).size > 30);
    }
  });
});

const result = (more: Partial<CaseResult> = {}): CaseResult => {
  const { id, group, shape, work, goals } = find('decode tiny batch 8');
  const figures = { ours: summarise([1, 3, 2], [2, 2, 2]), torch: summarise([8, 7, 9], [1, 1, 1]) };
  const parts = {
    ratios: ratiosOf(figures),
    agreement: { torch: 0.75 },
    failures: {},
    foreignCores: 0,
    at: '2026-01-02T03:05',
  };
  return { id, group, shape, work, goals, figures, ...parts, ...more };
};

describe('the figures of the benchmark', () => {
  it('are medians: the middle value or the mean of the two middle values', () => {
    assert.equal(median([3, 1, 2]), 2);
    assert.equal(median([4, 1, 2, 3]), 2.5);
    assert.throws(() => median([]), RangeError);
    const { median: middle, min, cpuSeconds, seconds } = summarise([5, 1, 3], [2, 9, 4]);
    assert.deepEqual([middle, min, cpuSeconds, seconds], [3, 1, 4, [5, 1, 3]]);
  });

  it('have ratios of medians, theirs over ours, and no ratio without ours', () => {
    assert.deepEqual(result().ratios, { torch: 4 });
    assert.deepEqual(ratiosOf({ torch: summarise([1], [1]) }), {});
  });

  it('are compared with the required ratio and the target ratio', () => {
    const goals = { torch: { least: 3, aim: 5 } };
    assert.equal(verdict({ goals, ratios: { torch: 2.9 } }), '**torch short of 3×**');
    assert.equal(verdict({ goals, ratios: { torch: 4 } }), 'torch short of the aim 5×');
    assert.equal(verdict({ goals, ratios: { torch: 5 } }), 'torch met (3, aim 5×)');
    assert.equal(verdict({ goals, ratios: {} }), '', 'who was not measured missed nothing');
  });

  it('report only the CPU time of other processes', () => {
    assert.equal(foreignCores(3, 2, 2), 0.5);
    assert.equal(foreignCores(1, 2, 1), 0);
    assert.equal(foreignCores(1, 0, 0), 0);
  });
});

describe('the results page', () => {
  const growth = (at: number): CaseResult =>
    result({ id: `growth x ${at}`, group: 'growth', series: { name: 'by rows', at }, goals: undefined });
  const results: BenchResults = {
    command: 'npm run bench',
    startedAt: '2026-01-02T03:04:05.000Z',
    commit: 'abc1234',
    seconds: 61.2,
    threads: 2,
    machine: { cpu: 'Some CPU', cores: 2, memoryGb: 24, system: 'linux 6', loadAtStart: 0.1 },
    versions: { node: '20.20.2', torch: '2.15.0' },
    cases: [result(), result({ foreignCores: 0.8, failures: { llama: 'gone' } }), growth(1), growth(2)],
  };

  it('starts with the command, the machine and the versions', () => {
    const [first] = markdown(results).split('\n');
    for (const part of ['`npm run bench`', '2026-01-02', 'Some CPU', '2 cores', 'load at start 0.1', 'torch 2.15.0'])
      assert.ok(first!.includes(part), part);
  });

  it('names the cases of earlier runs', () => {
    assert.ok(!markdown(results).includes('earlier runs'));
    const cases = [result({ at: '2026-01-01T00:00:00.000Z' }), growth(1)];
    assert.ok(markdown({ ...results, cases }).includes('From earlier runs: decode tiny batch 8 (2026-01-01T00:00).'));
  });

  it('shows tokens per second of each contender, the ratio, the verdict and the load of other processes', () => {
    const rows = markdown(results).split('\n');
    assert.ok(
      rows.includes('| tiny batch 8 | 256 | 64.0 | 4.00× | torch short of the aim 5× | torch 75.0 % of tokens | 3 |'),
    );
    assert.ok(rows.some((row) => row.includes('(others used 0.8 cores)')));
  });

  it('shows a growth series in one row per contender', () => {
    const rows = markdown(results).split('\n');
    const at = rows.indexOf('| by rows | 1 | 2 |');
    assert.deepEqual(rows.slice(at + 2, at + 5), [
      '| gauntlet, ms | 2000 | 2000 |',
      '| torch, ms | 8000 | 8000 |',
      '| ratio | 4.00× | 4.00× |',
    ]);
  });

  it('shows memory in megabytes', () => {
    const bytes = (n: number) => ({ seconds: [], median: n, min: n });
    const figures = { ours: bytes(100e6), torch: bytes(250e6) };
    const memory = result({ group: 'memory', figures, ratios: ratiosOf(figures), goals: undefined, agreement: {} });
    assert.ok(markdown({ ...results, cases: [memory] }).includes('| 100 | 250 | 2.50× |'));
  });

  it('escapes a vertical bar in a cell', () => {
    assert.equal(table(['a'], [['x|y']]), '| a |\n| --- |\n| x\\|y |');
  });

  it('replaces the text between its two marker lines', () => {
    const begin = '<!-- results: npm run bench -- --record writes between these lines -->';
    const page = `# Title\n${begin}\nold\n<!-- end of results -->\nrest\n`;
    const once = withResults(page, 'new');
    assert.equal(once, `# Title\n${begin}\n\nnew\n\n<!-- end of results -->\nrest\n`);
    assert.equal(withResults(once, 'new'), once);
    assert.throws(() => withResults('# Title\n', 'new'), RangeError);
  });
});
