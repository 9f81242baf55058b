import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { shippedModelPath } from '../../data/paths.js';
import { tinyCorpus } from '../../lab/families/tiny/corpusProblems.js';
import { tinyConfig } from '../../lab/families/tiny/modelFiles.js';
import { vocabularyOf } from '../../lab/families/tiny/vocabulary.js';
import { corpusBatches, emptyCount, type TrainingRow } from '../../lab/makeTiny/batches.js';
import { modelCard } from '../../lab/makeTiny/card.js';
import { initialWeights } from '../../lab/makeTiny/initialWeights.js';
import { makeTinyCommand } from '../../lab/makeTiny/main.js';
import { makeTiny, measure } from '../../lab/makeTiny/makeTiny.js';
import { learningRateAt, recipeOf, totalTokens } from '../../lab/makeTiny/recipe.js';
import { trainTiny } from '../../lab/makeTiny/train.js';
import { parseModelConfig } from '../../ml/hf/config.js';
import { loadModel } from '../support/loadModel.js';

const vocabulary = vocabularyOf(tinyCorpus());
const config = parseModelConfig({ ...tinyConfig(vocabulary) }, 'config.json');
const problems = tinyCorpus().filter((problem) => problem.split === 'train');
const silent = { json: true, say: () => {}, note: () => {}, result: () => {} };

describe('recipeOf', () => {
  it('warms up over 100 steps and then decays linearly to 3 % of the peak learning rate', () => {
    const recipe = recipeOf('tiny', 0);
    const phase = recipe.phases[0]!;
    assert.equal(totalTokens(recipe), 9_500_000);
    assert.ok(Math.abs(learningRateAt(recipe, phase, 0, 0) - 4e-5) < 1e-12);
    assert.equal(learningRateAt(recipe, phase, 99, 0), 4e-3);
    assert.ok(Math.abs(learningRateAt(recipe, phase, 900, 3_000_000) - 4e-3 * 0.515) < 1e-12);
    assert.ok(Math.abs(learningRateAt(recipe, phase, 1800, 6_500_000) - 4e-3 * 0.03) < 1e-12);
  });

  it('scales the tokens of both phases by the same factor', () => {
    const tokens = recipeOf('tiny', 0, 0.1).phases.map((phase) => Math.round(phase.tokens));
    assert.deepEqual(tokens, [600_000, 350_000]);
  });
});

describe('initialWeights', () => {
  it('returns the same weights for the same seed, with the standard deviation of each tensor type', () => {
    const weights = initialWeights(config, 3);
    const up = 'model.layers.2.mlp.up_proj.weight';
    assert.deepEqual(weights.get('model.norm.weight')!.data, new Float32Array(128).fill(1));
    assert.deepEqual(initialWeights(config, 3).get(up), weights.get(up));
    assert.notDeepEqual(weights.get('model.layers.1.mlp.up_proj.weight'), weights.get(up));
    const deviation = (name: string): number => {
      const { data } = weights.get(name)!;
      return Math.sqrt(data.reduce((sum, x) => sum + x * x, 0) / data.length);
    };
    const near = (got: number, wanted: number): void =>
      assert.ok(Math.abs(got / wanted - 1) < 0.03, `${got}, ${wanted}`);
    near(deviation('model.embed_tokens.weight'), 0.05);
    near(deviation('model.layers.0.self_attn.q_proj.weight'), 1 / Math.sqrt(128));
    near(deviation('model.layers.3.mlp.down_proj.weight'), 1 / Math.sqrt(352) / Math.sqrt(8));
    assert.equal(deviation('model.layers.1.self_attn.k_proj.bias'), 0);
  });
});

describe('corpus batches', () => {
  const recipe = recipeOf('tiny', 1);
  const take = (pools: number) => {
    const count = emptyCount();
    const stream = corpusBatches(problems, vocabulary, recipe, recipe.phases[1]!, count);
    return { batches: Array.from({ length: pools * recipe.pool }, () => stream.next().value as TrainingRow[]), count };
  };

  it('hold 24 sequences of similar length and count the drawn examples', () => {
    const { batches, count } = take(2);
    for (const batch of batches) {
      const lengths = batch.map((row) => row.tokens.length);
      assert.equal(batch.length, 24);
      assert.ok(Math.max(...lengths) - Math.min(...lengths) < 60);
    }
    assert.equal(count.examples, 2 * 8 * 24);
    const trained = batches.flat().reduce((sum, row) => sum + row.mask.filter((bit) => bit === 1).length, 0);
    assert.equal(count.trainedTokens, trained);
    assert.ok(count.chains > 0 && count.flawedChains > 0 && count.flawedTests > 0 && count.flawedTests < count.tests);
  });

  it('are the same for the same seed', () => {
    assert.deepEqual(take(1).batches, take(1).batches);
  });
});

describe('make:tiny', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gauntlet-make-tiny-'));
  });
  after(() => rm(folder, { recursive: true }));

  it('reduces the loss within a few steps and writes the same bytes for any number of workers', async function () {
    this.timeout(120_000);
    const full = recipeOf('tiny', 5);
    const phases = [{ ...full.phases[0]!, tokens: 6000 }];
    const recipe = { ...full, phases, warmupSteps: 1, batch: 8, pool: 1 };
    const run = async (workers: number) => {
      const losses: number[] = [];
      const start = { config, weights: initialWeights(config, 5), problems, vocabulary, workers };
      const result = await trainTiny(start, recipe, { onStep: (progress) => losses.push(progress.loss) });
      return { losses, result };
    };
    const one = await run(1);
    const two = await run(2);
    assert.ok(one.losses.at(-1)! < one.losses[0]! - 0.1, one.losses.join(' '));
    assert.deepEqual(two.losses, one.losses);
    assert.deepEqual(two.result.weights, one.result.weights);
    assert.ok(one.result.tokens >= 6000);
  });

  it('writes a loadable model folder with its card and digest', async function () {
    this.timeout(120_000);
    const out = join(folder, 'model');
    const options = { family: 'tiny', seed: 1, tokens: 2000, out, evaluate: false, sandbox: 'auto' } as const;
    const result = await makeTiny(options, silent);
    assert.deepEqual(await readdir(folder), ['model']);
    const model = loadModel(out);
    assert.equal(model.config.vocab, vocabulary.tokens.length);
    assert.ok(model.parameters * 4 < 8_000_000);
    const card = await readFile(join(out, 'README.md'), 'utf8');
    for (const fact of [result.digest, 'flawed chains in the corpus', 'seed 1', 'Not measured']) {
      assert.ok(card.includes(fact), fact);
    }
  });

  it('measures the rates that the card of the shipped model states', async function () {
    this.timeout(300_000);
    const shipped = shippedModelPath('tiny');
    const files = new Map<string, Uint8Array>();
    for (const name of await readdir(shipped)) files.set(name, await readFile(join(shipped, name)));
    const { validation, test } = await measure(files, 'tiny', 'auto', silent);
    assert.deepEqual([validation.problems, test.problems], [157, 267]);
    const card = Buffer.from(files.get('README.md')!).toString();
    const stated = (row: string): number[] =>
      card
        .split('\n')
        .find((line) => line.startsWith(`| ${row} |`))!
        .match(/[\d.]+(?= %)/g)!
        .map((share) => Number(share) / 100);
    const [greedyValidation, greedyTest] = stated('the same, greedy');
    assert.ok(Math.abs(validation.greedyPassRate - greedyValidation!) < 0.0005, `${validation.greedyPassRate}`);
    assert.ok(Math.abs(test.greedyPassRate - greedyTest!) < 0.0005, `${test.greedyPassRate}`);
    const [, sampled] = stated('programs that pass all hidden tests');
    assert.ok(Math.abs(test.passRate - sampled!) < 0.1, `${test.passRate}`); // 0.1: three standard errors
    const [, valid] = stated('valid tests, of the two asked for in a turn');
    assert.ok(Math.abs(test.testValidity! - valid!) < 0.1, `${test.testValidity}`);
  });

  it('refuses a bad number, sandbox or folder in one line before it starts to train', async () => {
    const run = (...argv: string[]): Promise<unknown> =>
      makeTinyCommand()
        .exitOverride()
        .configureOutput({ writeErr: () => undefined })
        .parseAsync(argv, { from: 'user' });
    await assert.rejects(
      run('--tokens', 'many'),
      /'--tokens <n>' argument 'many' is invalid\. It is not a whole number of at least 1000/,
    );
    await assert.rejects(run('--seed', '-1'), /'--seed <n>' argument '-1' is invalid/);
    await assert.rejects(
      run('--sandbox', 'none'),
      /'--sandbox <kind>' argument 'none' is invalid\. Allowed choices are auto, docker, wasm/,
    );
    await writeFile(join(folder, 'file'), '');
    await assert.rejects(run('--out', join(folder, 'file', 'where')), /file is no folder/);
    await mkdir(join(folder, 'precious', 'photographs'), { recursive: true });
    await assert.rejects(run('--out', join(folder, 'precious')), /no model folder/);
  });
});

describe('the model card', () => {
  it('states the share of flawed examples, the rates of both splits and the digest', () => {
    const rates = { problems: 10, passRate: 0.653, greedyPassRate: 0.6, testValidity: 0.7, bugCatchRate: 0.25 };
    const count = { examples: 9, chains: 4, flawedChains: 1, tests: 10, flawedTests: 2, trainedTokens: 5 };
    const card = modelCard({
      family: 'tiny',
      recipe: recipeOf('tiny', 7),
      parameters: 788_224,
      vocabulary: 394,
      training: { count, steps: 3, tokens: 9_500_123, loss: 0.25, seconds: 61.4 },
      digest: 'abc123',
      machine: 'one core',
      temperature: 0.8,
      rates: { validation: { ...rates, passRate: 0.5 }, test: rates },
    });
    const facts = [
      '25.0 %** of 4',
      '20.0 %** of 10',
      '9,500,123 tokens',
      '788,224',
      'abc123',
      'seed 7',
      '61 s on one core',
    ];
    for (const fact of facts) assert.ok(card.includes(fact), fact);
    assert.match(card, /pass all hidden tests \| 50\.0 % \| 65\.3 % \|/);
  });
});
