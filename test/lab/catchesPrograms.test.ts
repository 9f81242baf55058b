// Programs of a generator after training: suites, rewards, verdicts, and one update. The test gives the programs instead of
// sampling them, so that the outcome is known.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Value } from '../../core/schema/value.js';
import { ROOT } from '../../infra/root.mjs';
import { drawProgram, programExample, programPrompt } from '../../lab/catches/generator/lesson.js';
import { measureAllPrograms } from '../../lab/catches/generator/main.js';
import { SIZES, SUITE, SUITE_ARMS, type SuiteArm, suiteOf } from '../../lab/catches/generator/suites.js';
import { difference, withPrograms } from '../../lab/catches/generator/table.js';
import { judge, measurePrograms, programOf, rewardOf, trainGenerator } from '../../lab/catches/generator/train.js';
import { seedsIn } from '../../lab/catches/main.js';
import {
  catchRecordsPath,
  keyOf,
  memoryRecords,
  type ProgramsRecord,
  readCatchRecords,
} from '../../lab/catches/records.js';
import { keyholeVocabulary } from '../../lab/catches/writer/corpus.js';
import { type KeyholeSpec, STRATA } from '../../lab/families/keyhole/family.js';
import { parseCode } from '../../lab/families/keyhole/parse.js';
import {
  FLAWS,
  freshKeyholeProblems,
  type KeyholeProblem,
  keyholeProblems,
} from '../../lab/families/keyhole/problems.js';
import { renderCode, renderDescription } from '../../lab/families/keyhole/render.js';
import type { Engine } from '../../ml/engine/engine.js';
import { openEngine } from '../../ml/engine/ortEngine.js';
import { temporaryFolder } from '../infra/support.js';
import { writeRandomModel } from '../support/randomModel.js';

const problems = keyholeProblems('train').slice(0, 40);
const written: Value[][] = [
  [[1, 2], 3, 4],
  [[], 5, 6],
  [['x'], 5, 6],
  [7, 8, 9],
];

describe('programs after training', () => {
  describe('and their suites', () => {
    it('have the known inputs and as many different inputs as their arm allows', () => {
      for (const problem of problems) {
        for (const arm of SUITE_ARMS) {
          const suite = suiteOf(arm, 3, problem, written);
          assert.equal(suite.length, problem.known.length + (SIZES[arm] ?? SUITE), arm);
          assert.equal(new Set(suite.map((input) => JSON.stringify(input))).size, suite.length);
          assert.deepEqual(suite.slice(0, problem.known.length), problem.known);
          assert.deepEqual(suiteOf(arm, 3, problem, written), suite);
          assert.ok(suite.every(([nums]) => nums.every(Number.isSafeInteger)));
        }
      }
      const [problem] = problems;
      assert.notDeepEqual(suiteOf('mutation', 0, problem!), suiteOf('mutation', 1, problem!));
      assert.deepEqual(suiteOf('blind-hybrid', 0, problem!, written).slice(3, 5), written.slice(0, 2));
      assert.deepEqual(suiteOf('blind', 0, problem!, written).slice(3, 5), written.slice(0, 2));
    });

    it('pay fully for a program that passes, nothing for text, and find by hand what mutation misses', () => {
      const share = (arm: SuiteArm): number => {
        const mistakes = problems.flatMap((problem) => {
          const suite = suiteOf(arm, 0, problem);
          assert.equal(rewardOf(problem.spec, problem, suite), 0.5);
          assert.equal(rewardOf(undefined, problem, suite), -0.5);
          const wrong = problem.wrong.filter(({ flaw }) => flaw !== 'extra');
          return wrong.map(({ spec }) => rewardOf(spec, problem, suite));
        });
        assert.ok(mistakes.every((reward) => Math.abs(reward) === 0.5));
        return mistakes.filter((reward) => reward < 0).length / mistakes.length;
      };
      assert.equal(share('baseline'), 0);
      assert.ok(share('by-hand') > 0.95);
      assert.ok(share('mutation') < share('dictionary') && share('dictionary') < 0.7);
    });
  });

  it('are judged by behaviour, in the stratum of their mistake', () => {
    for (const problem of problems) {
      assert.ok(Object.values(judge(problem.spec, problem)).every(Boolean));
      assert.ok(!Object.values(judge(undefined, problem)).some(Boolean));
    }
    const all = problems.flatMap((problem) =>
      problem.wrong.map((wrong) => ({ wrong, found: judge(wrong.spec, problem) })),
    );
    for (const flaw of FLAWS) {
      const own = all.filter(({ wrong }) => wrong.flaw === flaw);
      assert.ok(own.filter(({ found }) => found.right).length <= 0.03 * own.length, flaw);
    }
    const missing = all.filter(({ wrong }) => wrong.flaw === 'missing');
    for (const stratum of STRATA) {
      const own = missing.filter(({ wrong }) => wrong.stratum === stratum);
      assert.ok(own.filter(({ found }) => !found[stratum]).length > 0.9 * own.length, stratum);
      const others = missing.filter(({ wrong }) => wrong.stratum !== stratum);
      assert.ok(others.filter(({ found }) => found[stratum]).length > 0.9 * others.length, stratum);
    }
  });

  it('start from a lesson of right and wrong programs of the train split', () => {
    const vocabulary = keyholeVocabulary();
    const right = Array.from({ length: 300 }, (_, i) => drawProgram(0, i)).filter(({ prompt, code }, i) => {
      assert.ok(prompt.startsWith('<gen>') && prompt.endsWith('<s5>') && parseCode(code));
      const { tokens, mask } = programExample(vocabulary, 0, i);
      assert.equal(tokens.length, mask.length);
      assert.ok(tokens.length < 256 && !tokens.includes(vocabulary.idOf('<unk>')));
      return prompt.includes(renderDescription(parseCode(code)!));
    });
    assert.ok(right.length > 135 && right.length < 195, `${right.length}`);
  });

  describe('with an engine', () => {
    const folder = temporaryFolder();
    let engine: Engine;
    before(async () => {
      engine = await openEngine(await writeRandomModel(folder, { context: 512 }));
    });
    after(async () => {
      await engine.close();
    });

    /** Writes a right and a wrong program alternately. */
    const writing = (own: readonly KeyholeProblem[], wrongOf: (problem: KeyholeProblem) => KeyholeSpec): Engine => {
      const byPrompt = new Map(own.map((problem) => [programPrompt(renderDescription(problem.spec)), problem]));
      const generate: Engine['generate'] = async (requests) =>
        requests.map(({ prompt }, i) => {
          const problem = byPrompt.get(engine.decode(prompt))!;
          const code = renderCode(i % 2 === 0 ? problem.spec : wrongOf(problem));
          return { tokens: [...engine.encode(code), engine.info.eosTokens[0]!], finished: true };
        });
      return Object.create(engine, { generate: { value: generate } }) as Engine;
    };

    it('are read without the end token', () => {
      const tokens = engine.encode(renderCode(problems[0]!.spec));
      assert.deepEqual(programOf(engine, tokens), problems[0]!.spec);
      assert.deepEqual(programOf(engine, [...tokens, engine.info.eosTokens[0]!]), problems[0]!.spec);
      assert.equal(programOf(engine, tokens.slice(0, -3)), undefined);
    });

    it('train the generator if the tests distinguish them, in a reproducible way', async () => {
      const missing = ({ wrong }: KeyholeProblem): KeyholeSpec => wrong.find(({ flaw }) => flaw === 'result')!.spec;
      const writer = writing(keyholeProblems('train'), missing);
      const train = (arm: SuiteArm) => trainGenerator(writer, { arm, seed: 0, updates: 1, written: {} }, () => {});
      const [baseline, byHand, again] = [await train('baseline'), await train('by-hand'), await train('by-hand')];
      assert.equal(baseline.trained, 0);
      assert.deepEqual(baseline.adapter.values, engine.initAdapter({ rank: 8, alpha: 16 }, 0).values);
      assert.ok(byHand.trained >= 120 && byHand.trained <= 128, `${byHand.trained}`);
      assert.deepEqual(byHand, again);
      assert.notDeepEqual(byHand.adapter.values, baseline.adapter.values);
    });

    it('are measured on fresh problems', async () => {
      const own = freshKeyholeProblems('validation');
      const shares = await measurePrograms(
        writing(own, ({ wrong }) => wrong.find(({ flaw }) => flaw === 'missing')!.spec),
        { split: 'validation', seed: 0, problems: 20 },
      );
      assert.deepEqual([shares.right, shares.readable, shares.direct], [0.5, 1, 0.5]);
      assert.ok(shares.conjunctive > 0.9);
      const none = await measurePrograms(engine, { split: 'validation', seed: 0, problems: 2 });
      assert.ok(Object.values(none).every((share) => share === 0));
    });
  });

  const record = (arm: SuiteArm, seed: number, right: number): ProgramsRecord => {
    const shares = (share: number) => ({
      right: share,
      readable: 1,
      direct: share,
      computed: share,
      conjunctive: share,
    });
    const [before, after] = [shares(0.25), shares(right)];
    return { kind: 'programs', split: 'test', arm, seed, commit: 'c0ffee', updates: 1, trained: 9, before, after };
  };

  it('are compared seed by seed, with the wider interval of seeds and writers', () => {
    const seeds = [0, 1, 8]; // seeds 0 and 8 have the same writer
    const mutation = seeds.map((seed) => record('mutation', seed, 0.5));
    const hybrid = [0.6, 0.7, 0.8].map((right, i) => record('blind-hybrid', seeds[i]!, right));
    const { value, count, half } = difference(mutation, hybrid);
    assert.ok(Math.abs(value - 20) < 1e-9 && count === 3); // 10, 20 and 30: ± 24.8 over seeds, ± 0 over writers
    assert.ok(Math.abs(half - 24.84) < 0.01);
    const alike = [0.6, 0.8, 0.6].map((right, i) => record('blind-hybrid', seeds[i]!, right));
    assert.ok(difference(mutation, alike).half > 100); // ± 28.7 over seeds, ± 127 over two writers
    const page = withPrograms('<!-- programs -->old<!-- /programs -->', [...mutation, ...hybrid]);
    assert.match(page, /\| \(before training\) \| 3 \| 25\.0 ± 0\.0 /);
    assert.match(page, /\| blind-hybrid \| 3 \| 70\.0 ± 24\.8 \|.* 9 \| \+20\.0 ± 24\.8 \| – \|/);
    assert.match(withPrograms('<!-- programs --><!-- /programs -->', []), /No record yet/);
    assert.throws(() => withPrograms('# Page', []), /has no <!-- programs -->/);
  });

  it('agree with docs/adversary.md', () => {
    const page = readFileSync(join(ROOT, 'docs', 'adversary.md'), 'utf8');
    assert.equal(withPrograms(page, readCatchRecords(catchRecordsPath())), page);
  });

  it('are not measured again if they have a record', async () => {
    const records = memoryRecords();
    const known = record('mutation', 0, 0.5);
    records.save(known);
    assert.equal(keyOf(known), '3 test mutation 0');
    const options = { arms: ['mutation'] as const, seeds: [0], split: 'test' as const, commit: 'none', quick: false };
    await measureAllPrograms(records, { ...options, store: 'none' }, () => assert.fail('measured'));
    assert.deepEqual(records.all(), [known]);
    assert.deepEqual(seedsIn('7,0-2'), [7, 0, 1, 2]);
    assert.throws(() => seedsIn('0-'), /--seeds: '0-' is neither/);
  });
});
