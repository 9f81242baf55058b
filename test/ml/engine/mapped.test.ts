// Models with memory-mapped weights give the same results as models in memory, whatever is recomputed, wherever
// the files are, and however many threads there are.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { locateWeights } from '../../../ml/device/weightLocations.js';
import { isLarge, openBase } from '../../../ml/engine/base.js';
import { digestModel } from '../../../ml/hf/digest.js';
import { describeModel, type ModelFiles, readWeights } from '../../../ml/hf/model.js';
import { concurrentSequences, decodePlan, planThreads, threadsOf } from '../../../ml/pool/threads.js';
import { TrainSession, type TrainSessionOptions } from '../../../ml/train/trainSession.js';
import { temporaryFolder } from '../../infra/support.js';
import { randomAdapter, randomRows, writeSmallModel } from '../../support/smallModel.js';

const LOSS = { clip: 0.2, temperature: 0.9 };
const rows = randomRows([30, 21]);

describe('a mapped model', () => {
  let folder: string;
  let model: ModelFiles;
  before(() => {
    folder = temporaryFolder();
    model = writeSmallModel(join(folder, 'f32'));
  });

  /** The log-probs and gradients of a session. */
  async function results(session: TrainSession, of: ModelFiles) {
    const adapter = randomAdapter(of);
    const scores = await session.score(rows, adapter, 1);
    const sums = await session.ppo(rows, adapter, LOSS);
    await session.close();
    return { scores, sums };
  }
  const fed = (of: ModelFiles, options?: TrainSessionOptions, threads = 1) =>
    results(new TrainSession({ config: of.config, weights: readWeights(of.stored) }, options).use(threads), of);
  const mapped = (of: ModelFiles, options?: TrainSessionOptions, threads = 1) =>
    results(new TrainSession({ config: of.config, locations: locateWeights(of.stored) }, options).use(threads), of);

  it('gives the same bits as a model in memory, in f32 and bf16', async () => {
    assert.deepEqual(await mapped(model), await fed(model));
    const half = writeSmallModel(join(folder, 'bf16'), { dtype: 'BF16' });
    assert.deepEqual(await mapped(half), await fed(half));
    assert.notDeepEqual((await mapped(half)).scores, (await mapped(model)).scores);
  });

  it('gives the same bits with recomputed layers, on one and two threads', async () => {
    const expected = await fed(model);
    for (const checkpointing of [true, false])
      for (const threads of [1, 2]) {
        assert.deepEqual(await mapped(model, { checkpointing }, threads), expected);
        assert.deepEqual(await fed(model, { checkpointing }, threads), expected);
      }
  });

  it('may consist of symbolic links, like a model in the Hugging Face cache', async () => {
    const snapshot = join(folder, 'snapshot');
    mkdirSync(snapshot);
    mkdirSync(join(folder, 'blobs'));
    for (const [i, name] of ['config.json', 'model.safetensors'].entries()) {
      writeFileSync(join(folder, 'blobs', `${i}`), readFileSync(join(folder, 'f32', name)));
      symlinkSync(`../blobs/${i}`, join(snapshot, name));
    }
    assert.deepEqual(await mapped(describeModel(snapshot)), await mapped(model));
  });

  it('is used for a large base, not for a small one', async () => {
    const [small, large] = [
      { ...model, parameters: 1e6 },
      { ...model, parameters: 5e8 },
    ];
    assert.deepEqual([isLarge(small), isLarge(large)], [false, true]);
    assert.equal((await openBase(small, 'd')).base.kind, 'fed');
    assert.deepEqual(await openBase(large, 'd'), {
      base: { kind: 'mapped', locations: locateWeights(model.stored) },
      digest: 'd',
    });
  });
});

describe('the digest of a model', () => {
  let folder: string;
  before(() => {
    folder = temporaryFolder();
    writeSmallModel(folder);
  });
  const hash = (...files: string[]): string => {
    const sha = createHash('sha256');
    for (const name of files) sha.update(readFileSync(join(folder, name)));
    return sha.digest('hex');
  };

  it('covers the configuration, the weights, the tokenizer and the chat template', async () => {
    const files = ['config.json', 'model.safetensors'];
    assert.equal(await digestModel(folder), hash(...files));
    for (const name of ['tokenizer.json', 'chat_template.jinja']) {
      writeFileSync(join(folder, name), name);
      files.push(name);
      assert.equal(await digestModel(folder), hash(...files));
      rmSync(join(folder, name));
      files.pop();
    }
  });

  it('is cached for large files until one changes', async () => {
    const options = { cache: join(folder, 'cache'), cachedFrom: 1 };
    const first = await digestModel(folder, options);
    const [entry] = readdirSync(options.cache);
    const forged = 'f'.repeat(64);
    writeFileSync(join(options.cache, entry!), forged);
    assert.equal(await digestModel(folder, options), forged);
    const path = join(folder, 'model.safetensors');
    writeFileSync(`${path}.new`, readFileSync(path));
    renameSync(`${path}.new`, path);
    assert.equal(await digestModel(folder, options), first);
  });
});

describe('threads', () => {
  const [small, large] = [{ parameters: 1e6 }, { parameters: 5e8 }];
  let before: string | undefined;
  beforeEach(() => {
    before = process.env.GAUNTLET_THREADS;
    process.env.GAUNTLET_THREADS = '6';
  });
  afterEach(() => {
    if (before === undefined) delete process.env.GAUNTLET_THREADS;
    else process.env.GAUNTLET_THREADS = before;
  });

  it('a small model has one worker per core, a large model as many as memory allows', () => {
    assert.deepEqual(planThreads(small), { workers: 6, threads: 1 });
    assert.deepEqual(planThreads(large), { workers: 1, threads: 6 });
    assert.deepEqual(planThreads(large, { trainers: 0 }), { workers: 1, threads: 6 });
    assert.deepEqual(planThreads(large, { trainers: 3 }), { workers: 3, threads: 2 });
    assert.deepEqual(planThreads(large, { trainers: 9 }), { workers: 6, threads: 1 });
    assert.deepEqual(planThreads(small, { trainers: 1 }), { workers: 6, threads: 1 });
    assert.deepEqual(planThreads(large, { workers: 2 }), { workers: 2, threads: 3 });
    assert.deepEqual(planThreads(large, { workers: 9 }), { workers: 9, threads: 1 });
    assert.deepEqual(planThreads(small, { workers: 2, threads: 4 }), { workers: 2, threads: 4 });
  });

  it('work for one worker if there are few sequences or the model is large', () => {
    const plan = { workers: 6, threads: 1 };
    const outgrown = { parameters: 3e6 };
    assert.deepEqual(
      [0, 1, 32, 33, 192].map((count) => decodePlan(outgrown, count, plan)),
      [
        { size: 1, threads: 6 },
        { size: 1, threads: 6 },
        { size: 32, threads: 6 },
        { size: 6, threads: 1 },
        { size: 32, threads: 1 },
      ],
    );
    assert.deepEqual([concurrentSequences(outgrown, plan), concurrentSequences(large, plan)], [192, 32]);
    assert.deepEqual(decodePlan(small, 16, plan), { size: 3, threads: 1 });
    assert.deepEqual(decodePlan(large, 99, { workers: 2, threads: 3 }), { size: 99, threads: 6 });
  });

  it('are shared among fewer jobs than workers', () => {
    const plan = { workers: 6, threads: 1 };
    assert.deepEqual(
      [0, 1, 2, 3, 4, 6, 100].map((jobs) => threadsOf(jobs, plan)),
      [6, 6, 3, 2, 1, 1, 1],
    );
    assert.equal(threadsOf(9, { workers: 1, threads: 6 }), 6);
  });

  it('refuse a count that is not a positive integer and name its source', () => {
    assert.throws(() => planThreads(small, { threads: 0 }), /threads must be a positive integer, is 0/);
    process.env.GAUNTLET_THREADS = 'many';
    assert.throws(() => planThreads(small), { code: 'BAD_CONFIG', message: /GAUNTLET_THREADS must be .*, is NaN/ });
  });
});
