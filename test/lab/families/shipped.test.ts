// The shipped problems equal those of the families, and the shipped base models match data/manifest.json and their cards.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { createActivities } from '../../../activities/index.js';
import { shippedModelPath, shippedProblemsPath } from '../../../data/paths.js';
import { loadProblems } from '../../../data/problems.js';
import { ROOT } from '../../../infra/root.mjs';
import { linesOf, PROBLEMS } from '../../../lab/families/index.js';
import { openEngine } from '../../../ml/engine/ortEngine.js';
import { digestJson } from '../../../store/canonicalJson.js';
import { openStore } from '../../../store/openStore.js';
import { openSandbox } from '../../../workers/deps/openSandbox.js';
import { temporaryFolder } from '../../infra/support.js';

describe('the shipped problems', () => {
  for (const [name, generate] of Object.entries(PROBLEMS)) {
    it(`equal the problems that the family computes: ${name}`, async () => {
      const generated = generate();
      // compares contents, because versions of zlib compress differently
      const text = gunzipSync(readFileSync(shippedProblemsPath(name))).toString();
      assert.ok(text === linesOf(generated), 'data/ is out of date: npm run make:problems');
      assert.equal(digestJson(await loadProblems(name)), digestJson(generated));
    });
  }
});

const manifest = JSON.parse(readFileSync(join(ROOT, 'data', 'manifest.json'), 'utf8')) as {
  problems: { counts: object; sha256: object };
  model: { sha256: Record<string, string> };
};
const sha256 = (text: string | Uint8Array): string => createHash('sha256').update(text).digest('hex');

describe('data/manifest.json', () => {
  it("has the counts and digests of the tiny problems and of their model's files", () => {
    const splits = Object.entries(PROBLEMS.tiny());
    const perSplit = (of: (problems: (typeof splits)[number][1]) => unknown) =>
      Object.fromEntries(splits.map(([split, problems]) => [split, of(problems)]));
    assert.deepEqual(manifest.problems, {
      ...manifest.problems,
      counts: perSplit((problems) => problems.length),
      sha256: perSplit((problems) => sha256(JSON.stringify(problems))),
    });
    for (const [name, digest] of Object.entries(manifest.model.sha256))
      assert.equal(sha256(readFileSync(join(shippedModelPath('tiny'), name))), digest, name);
  });
});

describe('the card of a shipped model', () => {
  const cardOf = (model: string): string => readFileSync(join(shippedModelPath(model), 'README.md'), 'utf8');

  for (const name of ['tiny', 'nested'])
    it(`has the digest of the weights: ${name}`, () => {
      const digest = sha256(readFileSync(join(shippedModelPath(name), 'model.safetensors')));
      assert.ok(cardOf(name).includes(digest));
    });

  it('has the rates that the model reaches on the test split of tiny', async () => {
    const card = cardOf('tiny');
    const engine = await openEngine(shippedModelPath('tiny'));
    const sandbox = await openSandbox('auto');
    const activities = createActivities({
      store: await openStore(temporaryFolder()),
      engine: async () => engine,
      sandbox: async () => sandbox,
      loadProblems: (source) => loadProblems(source),
      codeVersion: '',
    });
    const model = shippedModelPath('tiny');
    const asked = { source: 'tiny', split: 'test', preset: 'tiny', model } as const;
    const { run, stages, problems } = await activities.prepareSolving(asked);
    const samples = await activities.generateEvaluation({ run, split: 'test', problems, stages, greedy: true });
    const target = { split: 'test', step: 0, checkpoint: 'base' } as const;
    const { rates } = await activities.judgeEvaluation({ run, samples, target });
    await Promise.all([engine.close(), sandbox.close()]);
    const stated = (row: string): number =>
      Number(card.match(new RegExp(`\\| ${row} \\|.*\\| ([\\d.]+) % \\|`))?.[1]) / 100;
    const differs = (rate: number | undefined, row: string): number => Math.abs(rate! - stated(row));
    assert.equal(problems, 267);
    assert.ok(differs(rates.greedyPassRate, 'the same, greedy') < 0.0005);
    assert.ok(differs(rates.passRate, 'programs that pass all hidden tests') < 0.1, 'three standard errors');
    assert.ok(differs(rates.testValidity, 'valid tests, of the two asked for in a turn') < 0.1);
  });
});
