// Compares the memory estimate with the measured peak of a process.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { scriptArguments } from '../../../infra/scripts.js';
import {
  availableMemory,
  checkMemory,
  estimateMemory,
  type MemoryUse,
  partsThatFit,
  trainersThatFit,
} from '../../../ml/engine/memory.js';
import type { ModelFiles } from '../../../ml/hf/model.js';
import { temporaryFolder } from '../../infra/support.js';
import { writeSmallModel } from '../../support/smallModel.js';

const script = scriptArguments(new URL('../../../lab/bench/memory.js', import.meta.url));

describe('the memory estimate', () => {
  let folder: string;
  let large: ModelFiles;
  before(() => {
    folder = temporaryFolder();
    const small = writeSmallModel(folder);
    // the sizes of a published model; no weight is read
    large = {
      ...small,
      parameters: 5e8,
      config: { ...small.config, hidden: 896, layers: 24, ffn: 4864, vocab: 151936 },
    };
  });

  for (const options of [
    ['--task', 'train'],
    ['--task', 'train', '--quantize', '4'],
    ['--task', 'decode', '--quantize', '4'],
  ])
    it(`is between 75 % and 150 % of the measured peak: ${options.join(' ').replaceAll('--', '')}`, async function () {
      if (process.platform !== 'linux') this.skip(); // the peak is read from /proc
      const shape = ['--shape', '0.5B', '--layers', '2', '--vocab', '4000', '--length', '64', '--keep'];
      const { stdout } = await promisify(execFile)(process.execPath, [...script, ...shape, ...options], {
        env: { ...process.env, GAUNTLET_CACHE: folder, NODE_V8_COVERAGE: '' },
      });
      const { gib } = JSON.parse(stdout) as { gib: { peak: number; estimate: number } };
      assert.ok(gib.estimate > 0.75 * gib.peak && gib.estimate < 1.5 * gib.peak, stdout);
    });

  it('grows with sequences, length and rank, and shrinks with quantization and recomputed layers', () => {
    const use: MemoryUse = {
      task: 'train',
      sequences: 1,
      length: 512,
      rank: 16,
      quantization: { bits: 4, groupSize: 32 },
    };
    const of = (change: Partial<MemoryUse>): number => estimateMemory(large, { ...use, ...change });
    const base = of({});
    assert.ok(of({ length: 8192 }) > base);
    assert.ok(of({ rank: 64 }) > base);
    assert.ok(of({ checkpointing: false }) > of({ checkpointing: true }));
    assert.equal(of({ checkpointing: true }), base); // keeping layers needs much memory here
    assert.equal(of({ checkpointing: false, length: 32 }), of({ length: 32 })); // keeping layers needs little memory here
    assert.equal(of({ sequences: 64 }), base); // sequences are trained one by one
    assert.ok(of({ task: 'decode', sequences: 64 }) > of({ task: 'decode', sequences: 2 }));
    assert.ok(of({ quantization: { bits: 8, groupSize: 32 } }) > base);
  });

  it('contains the tables of rotary positions for decoding', () => {
    const of = (contextLength: number): number =>
      estimateMemory(
        { ...large, config: { ...large.config, contextLength } },
        { task: 'decode', sequences: 1, length: 64, rank: 0 },
      );
    const tables = 4 * 2 ** 20 * large.config.headDim;
    assert.ok(of(2 ** 20) - of(256) > 4 * tables, 'measured: five copies while a session opens');
  });

  it('allows more workers on a machine with more memory, and on a small machine none that keeps all graphs open', () => {
    const count = (gigabytes: number): number =>
      trainersThatFit(large, { bits: 4, groupSize: 32 }, (gigabytes / 2) * 1e9);
    assert.deepEqual([count(0), count(4)], [0, 0]);
    assert.ok(count(24) >= 1);
    assert.ok(count(256) > 2 * count(24));
  });

  it('counts every part that is trained at the same time, and finds how many fit', () => {
    const use: MemoryUse = { task: 'train', sequences: 8, length: 8192, rank: 16 };
    const of = (parts: number): number => estimateMemory(large, { ...use, parts });
    const [one, two] = [of(1), of(2)];
    assert.equal(one, estimateMemory(large, use));
    assert.ok(two - one > one / 2, 'activations are most of it');
    const fit = (available: number): number => partsThatFit(large, use, 4, available);
    assert.deepEqual([one - 1, two - 1, two, of(4), Infinity].map(fit), [1, 1, 2, 4, 4]);
  });

  it('finds the memory that is free or allocated by this process, without mapped files, within the limit of a container', () => {
    const proc = join(folder, 'proc');
    mkdirSync(join(proc, 'self'), { recursive: true });
    writeFileSync(join(proc, 'meminfo'), 'MemTotal: 900 kB\nMemFree: 100 kB\nMemAvailable: 500 kB\n');
    writeFileSync(join(proc, 'self', 'status'), 'VmRSS:\t 24300 kB\nRssAnon:\t 300 kB\nRssFile:\t 24000 kB\n');
    for (const none of [0, 2 ** 64]) assert.equal(availableMemory(proc, none), 800 * 1024);
    assert.equal(availableMemory(proc, 700 * 1024), 700 * 1024);
  });

  it('refuses a model that does not fit and names both numbers and the ways out', () => {
    assert.throws(() => checkMemory('/models/x', 5.96e9, 2.04e9), {
      code: 'OUT_OF_MEMORY',
      message:
        '/models/x: needs 6.0 GB, 2.0 GB are free; it needs less with engine.quantization=int8, ' +
        'engine.checkpointing=true or shorter answers (sampling.maxNewTokens)',
    });
    checkMemory('/models/x', 2e9, 2.04e9);
    assert.throws(() => checkMemory('/models/x', 1e15), { code: 'OUT_OF_MEMORY' });
    assert.ok(availableMemory() > process.memoryUsage.rss() / 2);
  });
});
