// Catches on frozen programs: writers, ranks, costs and rewards are right, and the page follows from the records.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RandomStream } from '../../core/base/random.js';
import { constantsIn } from '../../core/inputs/dictionaryInputs.js';
import type { Value } from '../../core/schema/value.js';
import { ROOT } from '../../infra/root.mjs';
import { CONTROLS } from '../../lab/catches/controls.js';
import { inputsIn, secondsOf, shareAt, tokensOf } from '../../lab/catches/costs.js';
import { FROZEN } from '../../lab/catches/frozen.js';
import { pageWith } from '../../lab/catches/main.js';
import { catchesOf, GRID } from '../../lab/catches/measure.js';
import { withCatches } from '../../lab/catches/page.js';
import type { FrozenProblem, WrongProgram } from '../../lab/catches/programs.js';
import { GROUPS, measureReal, realTargets } from '../../lab/catches/real.js';
import {
  type CatchesRecord,
  catchRecordsPath,
  memoryRecords,
  type Prices,
  type RealRecord,
  readCatchRecords,
} from '../../lab/catches/records.js';
import { measureArm } from '../../lab/catches/run.js';
import { searchArm } from '../../lab/catches/searches.js';
import { expertTable, withReinforced } from '../../lab/catches/summary.js';
import { hybridOf, writerOf } from '../../lab/catches/writer/arms.js';
import { drawExample, exampleOf, INPUTS, keyholeVocabulary } from '../../lab/catches/writer/corpus.js';
import { interpretKeyhole } from '../../lab/families/keyhole/interpret.js';
import { renderCode } from '../../lab/families/keyhole/render.js';
import { pluck } from '../support/pluck.js';

/** A problem with one number. Wrong programs differ from the reference at the numbers in their names. */
function toyProblem(...wrong: number[][]): FrozenProblem {
  const program = (at: number[]): WrongProgram => ({
    id: at.join(),
    stratum: 'direct',
    flaw: 'extra',
    code: at.map((n) => `if x == ${n}: return 1`).join('\n'),
    run: ([x]) => `${at.includes(x as number)}`,
    byHand: () => at.map((n): Value[] => [n]),
  });
  return {
    id: 'toy',
    description: '',
    known: [[0]],
    reference: program([]),
    wrong: wrong.map(program),
  };
}

const arm = (perProgram: boolean, inputs: (program: WrongProgram) => number[]) => ({
  name: 'toy',
  perProgram,
  write: (_problem: FrozenProblem, program: WrongProgram) => inputs(program).map((x): Value[] => [x]),
});

const prices: Prices = {
  kind: 'prices',
  commit: 'c0ffee',
  machine: 'none',
  call: { sandbox: 0.001, inProcess: 0.0001 },
  draw: { mutation: 0.002, dictionary: 0.003 },
};
const caughtFrom = (first: number, count: number): number[] => GRID.map((n) => (n >= first ? count : 0));

function record(name: string, seed: number, over: Partial<CatchesRecord> = {}): CatchesRecord {
  const cell = { count: 10, caught: caughtFrom(8, 4 + seed) };
  const cells = { direct: cell, computed: cell, conjunctive: cell, 'direct extra': cell, 'direct -2': cell };
  return {
    kind: 'catches',
    family: 'keyhole',
    split: 'test',
    arm: name,
    seed,
    commit: 'c0ffee',
    cells,
    ...over,
  };
}

describe('the measurement of catches', () => {
  it('counts the inputs up to the first that distinguishes a program from the reference', () => {
    const problem = toyProblem([5], [7, 9], [100]);
    const shared = catchesOf(
      problem,
      arm(false, () => [1, 5, 2, 9, 7]),
      0,
    );
    assert.deepEqual(pluck(shared, 'rank'), [2, 4, Number.POSITIVE_INFINITY]);
    const own = catchesOf(
      problem,
      arm(true, ({ id }) => [0, Number(id.split(',').at(-1))]),
      0,
    );
    assert.deepEqual(pluck(own, 'rank'), [2, 2, 2]);
    const limited = catchesOf(
      problem,
      arm(false, () => [1, 5, 2, 9, 7]),
      0,
      3,
    );
    assert.deepEqual(
      limited.map(({ rank }) => Number.isFinite(rank)),
      [true, false, false],
    );
  });

  it('adds up the costs of tokens, draws and calls', () => {
    const control = record('mutation', 0);
    assert.equal(secondsOf(control, 10, prices), 10 * 0.002 + 20 * 0.001);
    assert.equal(tokensOf(control, 10), 0);
    const model = record('hybrid', 0, { model: { inputs: 4, tokens: 10, seconds: 0.001 } });
    // four inputs of ten tokens each, then six that are drawn
    assert.ok(Math.abs(secondsOf(model, 10, prices) - (0.04 + 6 * 0.003 + 20 * 0.001)) < 1e-12);
    assert.equal(tokensOf(model, 10), 40);
    for (const one of [control, model]) {
      const seconds = secondsOf(one, 17, prices);
      assert.ok(Math.abs(inputsIn(one, seconds, prices) - 17) < 1e-6);
    }
    assert.equal(shareAt({ count: 10, caught: caughtFrom(8, 5) }, 7), 0.25); // interpolated between 6 and 8
    assert.equal(shareAt({ count: 10, caught: caughtFrom(8, 5) }, 1e9), 0.5);
  });

  it('has controls that write different inputs, which depend only on the seed', () => {
    for (const problem of [
      FROZEN.keyhole('validation')[0]!,
      FROZEN.nested('validation').find(({ wrong }) => wrong.length > 0)!,
    ]) {
      for (const { name, write } of CONTROLS) {
        const take = (): string[] => {
          const inputs: string[] = [];
          for (const input of write(problem, problem.wrong[0]!, new RandomStream('test', name))) {
            inputs.push(JSON.stringify(input));
            if (inputs.length === 60) break;
          }
          return inputs;
        };
        assert.deepEqual(take(), take(), name);
        assert.ok(new Set(take()).size > 3, name);
      }
    }
  });

  it('has a control that follows constants of the program', () => {
    const caught = (name: string, problem: FrozenProblem): number => {
      const control = CONTROLS.find((one) => one.name === name)!;
      return catchesOf(problem, control, 0, 800).filter(({ rank }) => Number.isFinite(rank)).length;
    };
    assert.ok(constantsIn('if x == -417:').includes(-416));
    assert.deepEqual([caught('dictionary', toyProblem([417])), caught('mutation', toyProblem([417]))], [1, 0]);
  });

  it('has arms that search, whose price counts beside their calls', async () => {
    for (const [family, programs] of [
      ['keyhole', 12],
      ['nested', 1],
    ] as const) {
      const problem = FROZEN[family]('validation').find(({ wrong }) => wrong.length >= programs)!;
      const { arm: found, search } = await searchArm('search', [problem], 0);
      assert.ok(
        catchesOf(problem, found, 0).every(({ rank }) => rank === 1),
        family,
      );
      assert.ok(search > 100, `${search}`);
    }
    const problem = FROZEN.keyhole('validation')[0]!;
    const { arm: blind } = await searchArm('search-reference', [problem], 0);
    const open = catchesOf(problem, blind, 0).filter(({ rank }) => rank > 8);
    assert.deepEqual(
      [
        ...new Set(
          pluck(
            open.map(({ program }) => program),
            'flaw',
          ),
        ),
      ],
      ['extra'],
    );
    const searched = record('search', 0, { search: 500 });
    assert.equal(secondsOf(searched, 2, prices).toFixed(6), (0.05 + 4 * 0.001).toFixed(6));
    assert.equal(inputsIn(searched, 0.01, prices).toFixed(6), '0.000000');
  });

  it('sums catches by stratum and kind of mistake', () => {
    const measured = { family: 'keyhole', split: 'validation', problems: 3, seed: 0, commit: 'c0ffee' } as const;
    const { cells } = measureArm(measured, CONTROLS.find(({ name }) => name === 'by-hand')!);
    for (const stratum of ['direct', 'computed', 'conjunctive']) {
      assert.equal(cells[stratum]!.count, 12);
      const parts = Object.entries(cells).filter(([name]) => name.startsWith(`${stratum} `));
      assert.equal(
        parts.reduce((sum, [, { count }]) => sum + count, 0),
        12,
      );
      assert.ok(cells[stratum]!.caught.at(-1)! >= 11);
    }
  });

  it('teaches inputs of which the first catches the program, and never shows a program to a blind writer', () => {
    const vocabulary = keyholeVocabulary();
    let catching = 0;
    for (let i = 0; i < 60; i++) {
      for (const lesson of ['taught', 'taught-blind', 'untrained'] as const) {
        const { tokens, mask } = exampleOf(vocabulary, lesson, 0, 20_000 + i);
        assert.equal(tokens.length, mask.length);
        assert.ok(tokens.length < 400 && !tokens.includes(vocabulary.idOf('<unk>')));
      }
      assert.ok(drawExample('taught-blind', 0, i).prompt.endsWith('<s5><tests>'));
      const { problem, program, prompt, answer } = drawExample('taught', 0, i);
      assert.ok(prompt.includes(renderCode(program.spec)));
      assert.equal(problem.split, 'train');
      assert.equal(answer.length, INPUTS);
      catching += Number(interpretKeyhole(problem.spec, answer[0]!) !== interpretKeyhole(program.spec, answer[0]!));
    }
    assert.ok(catching >= 55, `${catching}`);
    const rules = (i: number): number => drawExample('untrained', 0, i).problem.spec.rules.length;
    assert.deepEqual([rules(0), rules(10_000), rules(20_000)], [1, 2, 3]);
    assert.equal(vocabulary.encode('-417').length, 2);
  });

  it('measures written inputs, and mutations of the first of them', () => {
    const problem = toyProblem([418], [419]);
    const written = { inputs: { 418: [[417]], 419: [[419]] } as Record<string, Value[][]>, tokens: 9, seconds: 1 };
    const ranks = (one: ReturnType<typeof writerOf>): boolean[] =>
      catchesOf(problem, one, 0).map(({ rank }) => Number.isFinite(rank));
    assert.deepEqual(ranks(writerOf('trained', written)), [false, true]);
    assert.deepEqual(ranks(hybridOf('hybrid', written)), [true, true]);
  });

  it('has programs of real models, whose first catches can be measured again', async () => {
    const targets = realTargets();
    for (const { problem, code, known, group } of targets) {
      assert.ok(known.length > 0 && problem.validator !== undefined, problem.id);
      assert.ok(GROUPS.includes(group) && code !== problem.referenceSolution, problem.id);
    }
    const again = memoryRecords();
    await measureReal(again, { arms: ['codegen-16b'], seeds: [0], commit: '', quick: true }, () => {});
    const [quick, full] = [again.all(), readCatchRecords(catchRecordsPath())].map((records) =>
      records.find((one): one is RealRecord => one.kind === 'real' && one.arm === 'codegen-16b'),
    );
    assert.equal(full!.ranks.length, targets.length);
    assert.deepEqual(quick!.ranks, full!.ranks.slice(0, quick!.ranks.length));
  });

  it('agrees with docs/adversary.md', () => {
    const page = readFileSync(join(ROOT, 'docs', 'adversary.md'), 'utf8');
    const records = readCatchRecords(catchRecordsPath());
    assert.equal(pageWith(page, records), page);
  });

  it('agrees with the tables of docs/evidence.md about reinforcement', () => {
    const page = readFileSync(join(ROOT, 'docs', 'evidence.md'), 'utf8');
    const records = readCatchRecords(catchRecordsPath());
    assert.equal(withReinforced(page, records), page);
    assert.equal(expertTable([]), 'No record yet.');
    const few = ['cases', 'expert'].flatMap((arm) =>
      [0, 1].map((seed) => record(arm, seed, { family: 'keyhole-fresh' })),
    );
    assert.match(expertTable(few), /\| `expert` \| 2 \|.*\| 0\.0[^|]* \| – \|$/m);
  });

  it('compares arms at the time that the trained writer needs for eight inputs', () => {
    const trained = [0, 1, 2].map((seed) =>
      record('trained', seed, { model: { inputs: 16, tokens: 10, seconds: 0.001 } }),
    );
    const page = withCatches('<!-- catches -->old<!-- /catches -->', [
      prices,
      ...trained,
      ...[0, 1, 2].map((seed) => record('mutation', seed)),
    ]);
    assert.ok(!page.includes('old'));
    assert.match(page, /At equal seconds: 96\.0 ms, calls in the sandbox/); // 8 · (10 · 1 ms + 2 ms)
    assert.match(
      page,
      /\| mutation \| 3 \| 50\.0 ± 24\.8 \| 50\.0 ± 24\.8 \| 50\.0 ± 24\.8 \| 24\.0 \| 48\.0 \| 0\.0 \|/,
    );
    assert.match(page, /\| trained \| 3 \| 50\.0 ± 24\.8 .*\| 8\.0 \| 16\.0 \| 80\.0 \|/);
    assert.throws(() => withCatches('# Page', [prices]), /has no <!-- catches -->/);
    assert.match(withCatches('<!-- catches --><!-- /catches -->', []), /No record yet/);
  });
});
